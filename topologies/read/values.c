/* Values of attributes that several elements have: bandwidths, times, words, names of points and links. */
#include "reader.h"

#include <string.h>

const char *const ronde_sharing_words[RONDE_SHARING_COUNT] = {"", "SHARED", "FATPIPE",
                                                              "SPLITDUPLEX", "FULLDUPLEX"};

/* Zero passes the parser of SimGrid and aborts it at the first flow: it is refused here. */
enum ronde_status ronde_reader_bandwidth(struct ronde_xml_reader *reader,
                                         const struct ronde_tag *tag, const char *name,
                                         double fallback, double *out_GBps)
{
    const char *text = ronde_reader_value(tag, name);
    *out_GBps = fallback;
    if (*text == '\0')
        return RONDE_OK;
    if (!ronde_parse_bandwidth(text, out_GBps))
        return ronde_reader_fail(reader, tag,
                                 "%s of <%s> is '%s', expected a bandwidth such as "
                                 "50GBps",
                                 name, tag->name, text);
    if (*out_GBps <= 0)
        return ronde_reader_fail(reader, tag, "%s of <%s> is '%s', expected more than 0", name,
                                 tag->name, text);
    if (*out_GBps < RONDE_LEAST_GBPS || *out_GBps > RONDE_MOST_GBPS)
        return ronde_reader_fail(reader, tag, "%s of <%s> is '%s', expected %gBps to %gBps", name,
                                 tag->name, text, RONDE_LEAST_GBPS * 1e9, RONDE_MOST_GBPS * 1e9);
    return RONDE_OK;
}

/* Zero is a good latency, a negative one is not, and neither is an empty one where SimGrid wants a time. */
enum ronde_status ronde_reader_time(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *name, bool is_required, double *out_ns)
{
    const char *text = ronde_reader_value(tag, name);
    *out_ns = 0;
    if (*text == '\0' && is_required)
        return ronde_reader_fail(reader, tag, "%s of <%s> is empty, expected a time such as 1us",
                                 name, tag->name);
    if (*text == '\0')
        return RONDE_OK;
    if (!ronde_parse_time(text, out_ns) || *out_ns < 0)
        return ronde_reader_fail(reader, tag,
                                 "%s of <%s> is '%s', expected a time of at least 0 "
                                 "such as 1us",
                                 name, tag->name, text);
    if (*out_ns > RONDE_MOST_NS)
        return ronde_reader_fail(reader, tag, "%s of <%s> is '%s', expected at most %gs", name,
                                 tag->name, text, RONDE_MOST_NS / 1e9);
    return RONDE_OK;
}

/* The first word of a list is the empty one where the attribute may be absent. */
enum ronde_status ronde_reader_choice(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      const char *name, const char *const *words, size_t count,
                                      uint32_t *out_index)
{
    const char *text = ronde_reader_value(tag, name);
    *out_index = 0;
    for (uint32_t i = 0; i < count; i++) {
        *out_index = i;
        if (strcmp(words[i], text) == 0)
            return RONDE_OK;
    }
    char all[128] = "";
    for (size_t i = 0; i < count; i++) {
        const size_t used = strlen(all);
        (void)snprintf(all + used, sizeof all - used, " %s", words[i]);
    }
    return ronde_reader_fail(reader, tag, "%s of <%s> is '%s', expected one of:%s", name, tag->name,
                             text, all);
}

/* Hosts, routers and zones share one space of names in SimGrid. */
enum ronde_status ronde_reader_new_point(struct ronde_xml_reader *reader,
                                         const struct ronde_tag *tag, const char *name)
{
    if (*name == '\0')
        return ronde_reader_fail(reader, tag, "<%s> with an empty id", tag->name);
    if (ronde_names_find(&reader->platform->point_names, name) != RONDE_NONE)
        return ronde_reader_fail(reader, tag, "a second host, router or zone '%s'", name);
    return RONDE_OK;
}

static bool has_link(const struct ronde_platform *platform, const char *name)
{
    bool is_split;
    return ronde_platform_find_link(platform, name, &is_split) != RONDE_NONE;
}

/* Checks the names of the halves too: a plain link may be called like one of them. */
static enum ronde_status new_split(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   const struct ronde_link *link, uint32_t out_up_down[2])
{
    struct ronde_platform *platform = reader->platform;
    const char *up = ronde_platform_text(platform, link->name, "_UP", "");
    const char *down = ronde_platform_text(platform, link->name, "_DOWN", "");
    if (!up || !down)
        return ronde_reader_no_memory(reader);
    if (has_link(platform, up) || has_link(platform, down))
        return ronde_reader_fail(reader, tag, "a second link '%s' or '%s'", up, down);
    const enum ronde_status status =
        ronde_platform_add_split(platform, link, up, down, &out_up_down[0]);
    out_up_down[1] = out_up_down[0] + 1;
    return ronde_reader_added(reader, status);
}

enum ronde_status ronde_reader_new_link(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, struct ronde_link *link,
                                        enum ronde_link_sharing sharing, uint32_t out_up_down[2])
{
    struct ronde_platform *platform = reader->platform;
    if (*link->name == '\0' || has_link(platform, link->name))
        return ronde_reader_fail(reader, tag, "a second link '%s', or one without a name",
                                 link->name);
    if (sharing == RONDE_SHARING_SPLIT || sharing == RONDE_SHARING_FULL)
        return new_split(reader, tag, link, out_up_down);
    link->is_fatpipe = sharing == RONDE_SHARING_FATPIPE;
    const enum ronde_status status = ronde_platform_add_link(platform, link, &out_up_down[0]);
    out_up_down[1] = out_up_down[0];
    return ronde_reader_added(reader, status);
}
