/* Reading a platform file: the <platform> element, and what must hold of the whole. */
#include "document.h"
#include "reader.h"

#include <libxml/xmlversion.h>
#include <string.h>

/* The root of the document and what must hold of it as a whole. */
static enum ronde_status read_platform(struct ronde_xml_reader *reader, xmlNode *root)
{
    static const struct ronde_element self = {"platform", "version", "", 0, RONDE_GROUP_ANY, NULL};
    const char *version;
    if (strcmp((const char *)root->name, "platform") != 0)
        return ronde_reader_fail(reader, root, "root element is <%s>, expected <platform>",
                                 (const char *)root->name);
    enum ronde_status status = ronde_reader_attributes(reader, root, &self);
    if (status == RONDE_OK)
        status = ronde_reader_text(reader, root, "version", &version);
    if (status != RONDE_OK)
        return status;
    if (!ronde_reader_lists("4 4.0 4.1", version))
        return ronde_reader_fail(reader, root, "platform version '%s', expected 4 or 4.1", version);
    status = ronde_reader_walk(reader, root, RONDE_NONE, ronde_inner_zones, RONDE_INNER_ZONE_COUNT);
    if (status == RONDE_OK && reader->platform->zones.count == 0)
        return ronde_reader_fail(reader, root, "the platform has no zone");
    if (status == RONDE_OK && reader->platform->hosts.count == 0)
        return ronde_reader_fail(reader, root, "the platform has no host");
    return status;
}

/* What must hold of the whole. */
static enum ronde_status finish(struct ronde_xml_reader *reader)
{
    struct ronde_route_clash clash = {0, 0, "", ""};
    enum ronde_status status = ronde_platform_seal(reader->platform, &clash);
    if (status == RONDE_BAD_INPUT)
        return ronde_reader_fail_line(reader, clash.second_line,
                                      "a second route from %s to %s; the first is on line %u "
                                      "(routes are symmetrical unless they say NO)",
                                      clash.src, clash.dst, clash.first_line);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    return ronde_reader_finish_facts(reader);
}

/* The root of the document, then what only the whole shows. */
static enum ronde_status read_document(struct ronde_xml_reader *reader, const xmlDoc *document)
{
    const enum ronde_status status = read_platform(reader, xmlDocGetRootElement(document));
    return status == RONDE_OK ? finish(reader) : status;
}

/* What a document makes, which is freed. */
static enum ronde_status read_whole(const char *path, xmlDoc *document, const struct ronde_mem *mem,
                                    struct ronde_platform **out_platform, struct ronde_error *error)
{
    struct ronde_xml_reader reader = {NULL, error, {0}, NULL};
    enum ronde_status status = ronde_platform_create(path, mem, &reader.platform);
    if (status == RONDE_OK)
        status = read_document(&reader, document);
    else
        ronde_fail(error, status, "%s: no memory for the platform", path);
    xmlFreeDoc(document);
    if (status == RONDE_OK)
        *out_platform = reader.platform;
    else
        ronde_platform_destroy(reader.platform);
    return status;
}

enum ronde_status ronde_platform_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    xmlDoc *document = NULL;
    *out_platform = NULL;
    const enum ronde_status status = ronde_document_read(path, mem, &document, error);
    return status == RONDE_OK ? read_whole(path, document, mem, out_platform, error) : status;
}

enum ronde_status
ronde_platform_parse(const char *path, const char *text, size_t bytes, const struct ronde_mem *mem,
                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    xmlDoc *document = NULL;
    *out_platform = NULL;
    const enum ronde_status status = ronde_document_parse(path, text, bytes, &document, error);
    return status == RONDE_OK ? read_whole(path, document, mem, out_platform, error) : status;
}

bool ronde_topologies_available(const char **out_reason)
{
    *out_reason = "libxml2 " LIBXML_DOTTED_VERSION;
    return true;
}
