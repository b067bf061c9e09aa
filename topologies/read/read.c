/* Reading a platform file: the <platform> element, and what must hold of the whole. */
#include "reader.h"

#include <libxml/xmlversion.h>
#include <string.h>

static enum ronde_status read_root(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone)
{
    (void)zone;
    const char *version = ronde_reader_value(tag, "version");
    return ronde_reader_lists("4 4.0 4.1", version)
               ? RONDE_OK
               : ronde_reader_fail(reader, tag, "platform version '%s', expected 4 or 4.1", version);
}

static enum ronde_status end_root(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone)
{
    (void)zone;
    if (reader->platform->zones.count == 0)
        return ronde_reader_fail_line(reader, line, "the platform has no zone");
    if (reader->platform->hosts.count == 0)
        return ronde_reader_fail_line(reader, line, "the platform has no host");
    return RONDE_OK;
}

static const struct ronde_element root = {
    "platform",
    "version",
    "",
    0,
    RONDE_GROUP_ANY,
    read_root,
    ronde_inner_zones,
    RONDE_INNER_ZONE_COUNT,
    end_root,
};

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

/* A file, or `bytes` where there is text. */
static enum ronde_status read_whole(const char *path, const char *text, size_t bytes,
                                    const struct ronde_mem *mem, bool *out_is_plain,
                                    struct ronde_platform **out_platform, struct ronde_error *error)
{
    struct ronde_xml_reader reader = {.root = &root, .error = error};
    const struct ronde_document_events events = ronde_reader_events(&reader);
    *out_platform = NULL;
    enum ronde_status status = ronde_platform_create(path, mem, &reader.platform);
    if (status != RONDE_OK)
        return ronde_fail(error, status, "%s: no memory for the platform", path);
    status = ronde_document_scan(path, text, bytes, mem, &events, out_is_plain, error);
    RONDE_THEN(status, finish(&reader));
    ronde_list_free(mem, &reader.way_back, sizeof(uint32_t));
    if (status == RONDE_OK)
        *out_platform = reader.platform;
    else
        ronde_platform_destroy(reader.platform);
    return status;
}

/* SimGrid and a copy need it again. */
static enum ronde_status keep_source(struct ronde_platform *platform, const char *text, size_t bytes,
                                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    char *source = ronde_platform_room(platform, bytes + 1);
    if (source) {
        memcpy(source, text, bytes);
        source[bytes] = '\0';
        platform->source = source;
        return RONDE_OK;
    }
    ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for the platform", platform->path);
    ronde_platform_destroy(platform);
    *out_platform = NULL;
    return RONDE_NO_MEMORY;
}

enum ronde_status ronde_platform_read(const char *path, const struct ronde_mem *mem,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    xmlChar *text = NULL;
    int bytes = 0;
    bool is_plain = true;
    RONDE_TRY(read_whole(path, NULL, 0, mem, &is_plain, out_platform, error));
    if (is_plain)
        return RONDE_OK;
    enum ronde_status status = ronde_document_plain(path, &text, &bytes, error);
    if (status != RONDE_OK) {
        ronde_platform_destroy(*out_platform);
        *out_platform = NULL;
    } else if (text) {
        status = keep_source(*out_platform, (const char *)text, (size_t)bytes, out_platform, error);
    }
    xmlFree(text);
    return status;
}

/* A link's numbers under the name that a copy has for it. */
static struct ronde_link renamed(struct ronde_link link, const char *name)
{
    link.name = name;
    return link;
}

enum ronde_status
ronde_platform_parse(const char *path, const char *text, size_t bytes, const struct ronde_mem *mem,
                     struct ronde_platform **out_platform, struct ronde_error *error)
{
    bool is_plain = true;
    RONDE_TRY(read_whole(path, text, bytes, mem, &is_plain, out_platform, error));
    return keep_source(*out_platform, text, bytes, out_platform, error);
}

enum ronde_status ronde_platform_copy(const struct ronde_platform *platform,
                                      const struct ronde_mem *mem, struct ronde_platform **out_copy,
                                      struct ronde_error *error)
{
    enum ronde_status status =
        platform->source ? ronde_platform_parse(platform->path, platform->source,
                                                strlen(platform->source), mem, out_copy, error)
                         : ronde_platform_read(platform->path, mem, out_copy, error);
    if (status == RONDE_OK && platform->links.count != (*out_copy)->links.count)
        status = ronde_fail(error, RONDE_BAD_INPUT, "%s: it has changed since it was read",
                            platform->path);
    RONDE_THEN(status, ronde_platform_without(*out_copy, platform->without.items,
                                              platform->without.count, error));
    for (uint32_t i = 0; status == RONDE_OK && i < platform->links.count; i++)
        *RONDE_AT((*out_copy)->links, struct ronde_link, i) =
            renamed(*RONDE_AT(platform->links, struct ronde_link, i),
                    RONDE_AT((*out_copy)->links, struct ronde_link, i)->name);
    if (status == RONDE_OK)
        (*out_copy)->facts = platform->facts;
    if (status != RONDE_OK) {
        ronde_platform_destroy(*out_copy);
        *out_copy = NULL;
    }
    return status;
}

bool ronde_topologies_available(const char **out_reason)
{
    *out_reason = "libxml2 " LIBXML_DOTTED_VERSION;
    return true;
}
