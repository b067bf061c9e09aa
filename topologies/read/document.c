/* The bytes of a file as an XML document, or as its tags, for all readers of XML. */
#include "document.h"

#include "topologies/platform.h"

#include <errno.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <string.h>

/* The largest platform we generate (131,072 GPUs) has 95 MB; this bounds devices and mistakes. */
#define MAX_FILE_BYTES (1u << 28)

/* The state of one parsing, which libxml2 hands to what it calls (_private). */
struct parsing {
    const char *path;
    FILE *file;     /* NULL: the bytes */
    const char *at; /* of the bytes, what is left */
    size_t left;
    uint64_t used;           /* bytes read so far */
    uint32_t declared_line;  /* 0 = no declaration was found */
    const char *declaration; /* what it declares */
    const struct ronde_document_events *events;
    const struct ronde_mem *mem;
    struct ronde_list values; /* the attributes of a tag, one after the other */
    bool is_plain;            /* SimGrid's parser takes the file, or it cannot be read again */
    enum ronde_status status; /* of the events and of reading */
    struct ronde_error *error;
};

/* A finding of libxml2: one line, as all of ours. */
static enum ronde_status fail_xml(const struct parsing *parsing, const xmlError *found)
{
    char text[200] = "not XML";
    uint32_t line = 1;
    if (found && found->message) {
        (void)snprintf(text, sizeof text, "%s", found->message);
        text[strcspn(text, "\r\n")] = '\0';
        line = found->line > 0 ? (uint32_t)found->line : 1;
    }
    return ronde_fail_at(parsing->error, RONDE_BAD_INPUT, line, "%s:%u: not well-formed XML: %s",
                         parsing->path, line, text);
}

static uint32_t line_of(const xmlParserCtxt *context)
{
    return context->input && context->input->line > 0 ? (uint32_t)context->input->line : 1;
}

/*
 * A document that declares entities or defaults of attributes can be made of far more characters than its file has: 64 kB
 * that name one entity thousands of times take half a minute to read. Platform files and dumps of topologies have none
 * (SimGrid's parser knows neither), so the first declaration ends the parsing.
 */
static void refuse_declaration(xmlParserCtxt *context, const char *what)
{
    struct parsing *parsing = context->_private;
    if (parsing->declared_line == 0) {
        parsing->declared_line = line_of(context);
        parsing->declaration = what;
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

/* Ends the parsing with the status of an event. */
static void take_status(xmlParserCtxt *context, enum ronde_status status)
{
    struct parsing *parsing = context->_private;
    parsing->status = status;
    if (status != RONDE_OK)
        xmlStopParser(context);
}

static size_t bytes_between(const xmlChar *from, const xmlChar *to)
{
    return (size_t)(to - from);
}

/*
 * Attributes as strings of their own: libxml2's values end where the quotes do. `found` has five pointers an attribute:
 * name, prefix, namespace, value, its end. A prefix stays in the name, so that it is known to none.
 */
static enum ronde_status take_attributes(struct parsing *parsing, uint32_t count,
                                         const xmlChar **found, struct ronde_tag *tag)
{
    size_t bytes = 0, used = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += bytes_between(found[5 * i + 3], found[5 * i + 4]) + 2 +
                 (found[5 * i + 1] ? strlen((const char *)found[5 * i]) +
                                         strlen((const char *)found[5 * i + 1]) + 1
                                   : 0);
    if (count > RONDE_TAG_ATTRIBUTES)
        return ronde_fail_at(parsing->error, RONDE_BAD_INPUT, tag->line,
                             "%s:%u: <%s> has %u attributes, more than any element has",
                             parsing->path, tag->line, tag->name, count);
    if (!ronde_mem_grow(parsing->mem, &parsing->values.items, &parsing->values.capacity, bytes, 1))
        return ronde_fail(parsing->error, RONDE_NO_MEMORY, "%s: no memory for the document",
                          parsing->path);
    char *room = parsing->values.items;
    for (uint32_t i = 0; i < count; i++, found += 5) {
        const size_t length = bytes_between(found[3], found[4]);
        tag->attributes[i].value = room + used;
        memcpy(room + used, found[3], length);
        room[used + length] = '\0';
        used += length + 1;
        tag->attributes[i].name = (const char *)found[0];
        if (!found[1])
            continue;
        tag->attributes[i].name = room + used;
        used += (size_t)snprintf(room + used, bytes - used, "%s:%s", (const char *)found[1],
                                 (const char *)found[0]) +
                1;
    }
    tag->count = count;
    return RONDE_OK;
}

/* Some of libxml2's calls go on after what ends a parsing, when others have stopped. */
static bool is_over(const xmlParserCtxt *context)
{
    const struct parsing *parsing = context->_private;
    return !context->wellFormed || parsing->status != RONDE_OK || parsing->declared_line > 0;
}

static void on_start(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri,
                     int namespaces, const xmlChar **declared, int attributes, int defaulted,
                     const xmlChar **found)
{
    (void)prefix, (void)uri, (void)namespaces, (void)declared, (void)defaulted;
    struct parsing *parsing = ((xmlParserCtxt *)context)->_private;
    struct ronde_tag tag;
    if (is_over(context))
        return;
    tag.name = (const char *)name;
    tag.line = line_of(context);
    enum ronde_status status = take_attributes(parsing, (uint32_t)attributes, found, &tag);
    RONDE_THEN(status, parsing->events->start(parsing->events->user, &tag));
    take_status(context, status);
}

static void on_end(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri)
{
    (void)name, (void)prefix, (void)uri;
    struct parsing *parsing = ((xmlParserCtxt *)context)->_private;
    if (!is_over(context))
        take_status(context, parsing->events->end(parsing->events->user));
}

static void on_text(void *context, const xmlChar *text, int bytes)
{
    struct parsing *parsing = ((xmlParserCtxt *)context)->_private;
    int at = 0;
    while (at < bytes && strchr(" \t\r\n", text[at]) && text[at] != '\0')
        at++;
    if (at < bytes && !is_over(context))
        take_status(context, parsing->events->text(parsing->events->user));
}

static void on_reference(void *context, const xmlChar *name)
{
    on_text(context, name, (int)strlen((const char *)name));
}

/* Nothing is kept of what is told. */
static void hear_events(xmlSAXHandler *handler)
{
    handler->startElementNs = on_start;
    handler->endElementNs = on_end;
    handler->characters = on_text;
    handler->ignorableWhitespace = on_text;
    handler->cdataBlock = on_text;
    handler->reference = on_reference;
    handler->comment = NULL;
    handler->processingInstruction = NULL;
}

/* Of a file or of bytes in memory, as libxml2 asks for them; -1 ends the parsing. */
static int read_bytes(void *context, char *out, int room)
{
    struct parsing *parsing = context;
    size_t got = parsing->left < (size_t)room ? parsing->left : (size_t)room;
    if (parsing->file) {
        got = fread(out, 1, (size_t)room, parsing->file);
    } else if (got > 0) {
        memcpy(out, parsing->at, got);
        parsing->at += got;
        parsing->left -= got;
    }
    parsing->used += got;
    if (parsing->file && ferror(parsing->file))
        parsing->status = ronde_fail(parsing->error, RONDE_IO, "%s: cannot be read: %s",
                                     parsing->path, strerror(errno));
    else if (parsing->used > MAX_FILE_BYTES)
        parsing->status = ronde_fail(parsing->error, RONDE_BAD_INPUT, "%s: larger than %u bytes",
                                     parsing->path, MAX_FILE_BYTES);
    return parsing->status == RONDE_OK ? (int)got : -1;
}

/*
 * libxml2's messages without a context, such as bytes that its character decoder refuses, must not reach the terminal.
 */
static void ignore_message(void *context, const char *format, ...)
{
    (void)context;
    (void)format;
}

/*
 * Parses with the thread's message handler set aside: some of libxml2's messages ignore the options. Neither the DTD nor
 * anything else is fetched: the checks are ours and work offline. Entities are those of XML itself, &amp; and the like.
 */
static xmlDoc *parse_quietly(xmlParserCtxt *context, struct parsing *parsing)
{
    const int options = XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING |
                        XML_PARSE_BIG_LINES | XML_PARSE_NOCDATA | XML_PARSE_NOENT;
    const xmlGenericErrorFunc handler = xmlGenericError;
    void *handler_context = xmlGenericErrorContext;
    xmlSetGenericErrorFunc(NULL, ignore_message);
    xmlDoc *document = xmlCtxtReadIO(context, read_bytes, NULL, parsing, NULL, NULL, options);
    xmlSetGenericErrorFunc(handler_context, handler);
    return document;
}

/* What came of a parsing; `is_whole`: the document has a root and is well-formed. */
static enum ronde_status judge(const struct parsing *parsing, xmlParserCtxt *context, bool is_whole)
{
    if (parsing->status != RONDE_OK)
        return parsing->status;
    if (parsing->used == 0)
        return ronde_fail_at(parsing->error, RONDE_BAD_INPUT, 1, "%s:1: the file is empty",
                             parsing->path);
    if (parsing->declared_line > 0)
        return ronde_fail_at(parsing->error, RONDE_BAD_INPUT, parsing->declared_line,
                             "%s:%u: declares %s, which such files do not: leave it out",
                             parsing->path, parsing->declared_line, parsing->declaration);
    return is_whole ? RONDE_OK : fail_xml(parsing, xmlCtxtGetLastError(context));
}

/* With events there is no document: its parts are gone once they are told of. */
static enum ronde_status parse(struct parsing *parsing, xmlDoc **out_document)
{
    xmlParserCtxt *context = xmlNewParserCtxt();
    if (!context)
        return ronde_fail(parsing->error, RONDE_NO_MEMORY, "%s: no memory for the document",
                          parsing->path);
    context->_private = parsing;
    context->sax->entityDecl = on_entity;
    context->sax->attributeDecl = on_attribute;
    if (parsing->events)
        hear_events(context->sax);
    xmlDoc *document = parse_quietly(context, parsing);
    const bool is_whole = document && (parsing->events || xmlDocGetRootElement(document));
    const enum ronde_status status = judge(parsing, context, is_whole);
    if (status == RONDE_OK && !parsing->events)
        *out_document = document;
    else
        xmlFreeDoc(document);
    xmlFreeParserCtxt(context);
    return status;
}

/* Whether SimGrid's parser takes a file, with the one document type it knows: what matters is at its beginning. */
static bool is_plain(FILE *file)
{
    char head[16384];
    if (fseek(file, 0, SEEK_SET) != 0)
        return true;
    head[fread(head, 1, sizeof head - 1, file)] = '\0';
    const char *type = strstr(head, "//simgrid.org/simgrid.dtd"), *root = strstr(head, "<platform");
    const char *end = strstr(head, "?>"), *alone = strstr(head, "standalone");
    return head[0] == '<' && type && (!root || type < root) && (!alone || !end || alone > end);
}

/* The file is read by us and not by libxml2, which would also take URLs and compressed data for a path. */
static enum ronde_status parse_file(struct parsing *parsing, xmlDoc **out_document)
{
    parsing->file = fopen(parsing->path, "rb");
    if (!parsing->file)
        return ronde_fail(parsing->error, RONDE_IO, "%s: cannot be opened: %s", parsing->path,
                          strerror(errno));
    const enum ronde_status status = parse(parsing, out_document);
    if (status == RONDE_OK && parsing->events)
        parsing->is_plain = is_plain(parsing->file);
    (void)fclose(parsing->file);
    return status;
}

enum ronde_status ronde_document_parse(const char *path, const char *bytes, size_t count,
                                       xmlDoc **out_document, struct ronde_error *error)
{
    struct parsing parsing = {.path = path, .at = bytes, .left = count, .error = error};
    *out_document = NULL;
    return parse(&parsing, out_document);
}

enum ronde_status ronde_document_read(const char *path, xmlDoc **out_document,
                                      struct ronde_error *error)
{
    struct parsing parsing = {.path = path, .error = error};
    *out_document = NULL;
    return parse_file(&parsing, out_document);
}

enum ronde_status ronde_document_scan(const char *path, const char *bytes, size_t count,
                                      const struct ronde_mem *mem,
                                      const struct ronde_document_events *events,
                                      bool *out_is_plain, struct ronde_error *error)
{
    struct parsing parsing = {
        .path = path, .at = bytes, .left = count, .events = events, .mem = mem, .error = error};
    const enum ronde_status status = bytes ? parse(&parsing, NULL) : parse_file(&parsing, NULL);
    ronde_list_free(mem, &parsing.values, 1);
    *out_is_plain = bytes || parsing.is_plain;
    return status;
}

enum ronde_status ronde_document_plain(const char *path, xmlChar **out_text, int *out_bytes,
                                       struct ronde_error *error)
{
    xmlDoc *document = NULL;
    *out_text = NULL;
    RONDE_TRY(ronde_document_read(path, &document, error));
    if (document->intSubset) {
        xmlDtd *const type = document->intSubset;
        xmlUnlinkNode((xmlNode *)type);
        xmlFreeDtd(type);
    }
    document->standalone = -1;
    if (xmlCreateIntSubset(document, BAD_CAST "platform", NULL,
                           BAD_CAST "https://simgrid.org/simgrid.dtd"))
        xmlDocDumpMemory(document, out_text, out_bytes);
    xmlFreeDoc(document);
    return *out_text ? RONDE_OK
                     : ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the document", path);
}
