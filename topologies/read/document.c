/* The bytes of a file as an XML document, for all readers of this folder. */
#include "document.h"

#include "topologies/platform.h"

#include <errno.h>
#include <libxml/parser.h>
#include <string.h>

/* The largest platform we generate (512 GPUs, every pair written out) has 27 MB; this bounds devices and mistakes. */
#define MAX_FILE_BYTES (1u << 28)

/* Chunk of reading. */
#define READ_BYTES (1u << 16)

/* A finding of libxml2: one line, as all of ours. */
static enum ronde_status fail_xml(const char *path, const xmlError *found, struct ronde_error *error)
{
    char text[200] = "not XML";
    uint32_t line = 1;
    if (found && found->message) {
        (void)snprintf(text, sizeof text, "%s", found->message);
        text[strcspn(text, "\r\n")] = '\0';
        line = found->line > 0 ? (uint32_t)found->line : 1;
    }
    return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%u: not well-formed XML: %s", path, line,
                         text);
}

/*
 * A document that declares entities or defaults of attributes can be made of far more characters than its file has: 64 kB
 * that name one entity thousands of times take half a minute to read. Platform files and dumps of topologies have none
 * (SimGrid's parser knows neither), so the first declaration ends the parsing.
 */
struct declaration {
    uint32_t line; /* 0 = none was found */
    const char *what;
};

static void refuse_declaration(xmlParserCtxt *context, const char *what)
{
    struct declaration *found = context->_private;
    if (found->line == 0) {
        found->line =
            context->input && context->input->line > 0 ? (uint32_t)context->input->line : 1;
        found->what = what;
    }
    xmlStopParser(context);
}

static void on_entity(void *context, const xmlChar *name, int type, const xmlChar *public_id,
                      const xmlChar *system_id, xmlChar *content)
{
    (void)name;
    (void)type;
    (void)public_id;
    (void)system_id;
    (void)content;
    refuse_declaration(context, "an entity");
}

static void on_attribute(void *context, const xmlChar *element, const xmlChar *name, int type,
                         int kind, const xmlChar *value, xmlEnumeration *tree)
{
    (void)element;
    (void)name;
    (void)type;
    (void)kind;
    (void)value;
    xmlFreeEnumeration(tree);
    refuse_declaration(context, "an attribute");
}

/*
 * libxml2's messages without a context, such as bytes that its character decoder refuses, must not reach the terminal.
 */
static void ignore_message(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

/* Parses with the thread's message handler set aside: some of libxml2's messages ignore the options. */
static xmlDoc *parse_quietly(xmlParserCtxt *context, const char *bytes, size_t count)
{
    const int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                        XML_PARSE_BIG_LINES | XML_PARSE_NOCDATA;
    const xmlGenericErrorFunc handler = xmlGenericError;
    void *handler_context = xmlGenericErrorContext;
    xmlSetGenericErrorFunc(NULL, ignore_message);
    xmlDoc *document = xmlCtxtReadMemory(context, bytes, (int)count, NULL, NULL, options);
    xmlSetGenericErrorFunc(handler_context, handler);
    return document;
}

/* Neither the DTD nor anything else is fetched: the checks are ours and work offline. */
enum ronde_status ronde_document_parse(const char *path, const char *bytes, size_t count,
                                       xmlDoc **out_document, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    struct declaration declaration = {0, NULL};
    xmlParserCtxt *context = xmlNewParserCtxt();
    *out_document = NULL;
    if (!context)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the document", path);
    context->_private = &declaration;
    context->sax->entityDecl = on_entity;
    context->sax->attributeDecl = on_attribute;
    xmlDoc *document = parse_quietly(context, bytes, count);
    if (declaration.line > 0) {
        status = ronde_fail_at(error, RONDE_BAD_INPUT, declaration.line,
                               "%s:%u: declares %s, which such files do not: leave it out", path,
                               declaration.line, declaration.what);
        xmlFreeDoc(document);
    } else if (document && xmlDocGetRootElement(document)) {
        *out_document = document;
    } else {
        status = fail_xml(path, xmlCtxtGetLastError(context), error);
        xmlFreeDoc(document);
    }
    xmlFreeParserCtxt(context);
    return status;
}

/* The whole file in one growing block. */
static enum ronde_status slurp(const char *path, FILE *file, const struct ronde_mem *mem,
                               struct ronde_list *bytes, struct ronde_error *error)
{
    size_t used = 0;
    for (;;) {
        if (!ronde_mem_grow(mem, &bytes->items, &bytes->capacity, used + READ_BYTES, 1))
            return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the file", path);
        const size_t got = fread((char *)bytes->items + used, 1, READ_BYTES, file);
        used += got;
        if (used > MAX_FILE_BYTES)
            return ronde_fail(error, RONDE_BAD_INPUT, "%s: larger than %u bytes", path,
                              MAX_FILE_BYTES);
        if (got == READ_BYTES)
            continue;
        if (ferror(file))
            return ronde_fail(error, RONDE_IO, "%s: cannot be read", path);
        bytes->count = (uint32_t)used;
        return used > 0 ? RONDE_OK
                        : ronde_fail_at(error, RONDE_BAD_INPUT, 1, "%s:1: the file is empty", path);
    }
}

/* The file is read by us and not by libxml2, which would also take URLs and compressed data for a path. */
enum ronde_status ronde_document_read(const char *path, const struct ronde_mem *mem,
                                      xmlDoc **out_document, struct ronde_error *error)
{
    struct ronde_list bytes = {NULL, 0, 0};
    *out_document = NULL;
    FILE *file = fopen(path, "rb");
    if (!file)
        return ronde_fail(error, RONDE_IO, "%s: cannot be opened: %s", path, strerror(errno));
    enum ronde_status status = slurp(path, file, mem, &bytes, error);
    (void)fclose(file);
    if (status == RONDE_OK)
        status = ronde_document_parse(path, bytes.items, bytes.count, out_document, error);
    ronde_list_free(mem, &bytes, 1);
    return status;
}
