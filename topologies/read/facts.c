/* <prop id="ronde.*">: what ronde needs of a machine beyond its links, and what follows from it
   once all is read. */
#include "reader.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* How the value of a prop is read. */
enum shape {
    TIME,
    RATE,
    BYTES,
    SHARE,
    INTEGER32,
    INTEGER64,
    TEXT,
    CURVE,
    SIZED,
    MODEL,
    SWITCHES,
    RANKS,
    AXES,
    REMARK
};

/* One row per prop; offset is into the facts. REMARKs are for people and carry no meaning here. */
static const struct {
    const char *name;
    enum shape shape;
    size_t offset;
} props[RONDE_FACT_COUNT] = {
    {"alpha_ns", TIME, offsetof(struct ronde_platform_facts, time.alpha_ns)},
    {"step_ns", TIME, offsetof(struct ronde_platform_facts, time.step_ns)},
    {"launch_ns", TIME, offsetof(struct ronde_platform_facts, time.launch_ns)},
    {"gamma_GBps", RATE, offsetof(struct ronde_platform_facts, time.gamma_GBps)},
    {"copy_GBps", RATE, offsetof(struct ronde_platform_facts, time.copy_GBps)},
    {"lane_GBps", RATE, offsetof(struct ronde_platform_facts, time.lane_GBps)},
    {"memory_GBps", RATE, offsetof(struct ronde_platform_facts, shared.memory_GBps)},
    {"core_step_ns", TIME, offsetof(struct ronde_platform_facts, shared.core_step_ns)},
    {"segment_bytes", BYTES, offsetof(struct ronde_platform_facts, packets.segment_bytes)},
    {"header_bytes", BYTES, offsetof(struct ronde_platform_facts, packets.header_bytes)},
    {"burst_bytes", BYTES, offsetof(struct ronde_platform_facts, packets.burst_bytes)},
    {"switch_ns", TIME, offsetof(struct ronde_platform_facts, packets.switch_ns)},
    {"jitter_ns", TIME, offsetof(struct ronde_platform_facts, packets.jitter_ns)},
    {"jitter_GBps", RATE, offsetof(struct ronde_platform_facts, packets.jitter_GBps)},
    {"reverse_share", SHARE, offsetof(struct ronde_platform_facts, packets.reverse_share)},
    {"poll_ns", TIME, offsetof(struct ronde_platform_facts, caches.poll_ns)},
    {"start_ns", TIME, offsetof(struct ronde_platform_facts, caches.start_ns)},
    {"wake_ns", TIME, offsetof(struct ronde_platform_facts, caches.wake_ns)},
    {"line_ns", TIME, offsetof(struct ronde_platform_facts, caches.line_ns)},
    {"core_bytes", BYTES, offsetof(struct ronde_platform_facts, caches.core_bytes)},
    {"combine_GBps", RATE, offsetof(struct ronde_platform_facts, caches.combine_GBps)},
    {"read_curve", CURVE, offsetof(struct ronde_platform_facts, caches.read)},
    {"write_curve", CURVE, offsetof(struct ronde_platform_facts, caches.write)},
    {"cross_copy_curve", CURVE, offsetof(struct ronde_platform_facts, caches.cross_copy)},
    {"cross_combine_curve", CURVE, offsetof(struct ronde_platform_facts, caches.cross_combine)},
    {"cross_write_curve", CURVE, offsetof(struct ronde_platform_facts, caches.cross_write)},
    {"remote_read_curve", CURVE, offsetof(struct ronde_platform_facts, caches.remote_read)},
    {"remote_write_curve", CURVE, offsetof(struct ronde_platform_facts, caches.remote_write)},
    {"cores", INTEGER32, offsetof(struct ronde_platform_facts, shared.cores)},
    {"processors", INTEGER32, offsetof(struct ronde_platform_facts, packets.processors)},
    {"node_hosts", INTEGER32, offsetof(struct ronde_platform_facts, node_hosts)},
    {"channels", INTEGER32, offsetof(struct ronde_platform_facts, channels)},
    {"slot_bytes", INTEGER64, offsetof(struct ronde_platform_facts, slot_bytes)},
    {"copy_curve", CURVE, offsetof(struct ronde_platform_facts, copy_curve)},
    {"gamma_curve", CURVE, offsetof(struct ronde_platform_facts, gamma_curve)},
    {"measured_by", TEXT, offsetof(struct ronde_platform_facts, measured_by)},
    {"description", TEXT, offsetof(struct ronde_platform_facts, description)},
    {"network_model", MODEL, offsetof(struct ronde_platform_facts, is_tcp)},
    {"send_ns", SIZED, offsetof(struct ronde_platform_facts, time.send)},
    {"receive_ns", SIZED, offsetof(struct ronde_platform_facts, time.receive)},
    {"combine_ns", SIZED, offsetof(struct ronde_platform_facts, time.combine)},
    {"fresh_ns", SIZED, offsetof(struct ronde_platform_facts, time.fresh)},
    {"sums_in_place", INTEGER32, offsetof(struct ronde_platform_facts, time.sums_in_place)},
    {"multicast", SWITCHES, offsetof(struct ronde_platform_facts, time.multicasts)},
    {"rank_hosts", RANKS, 0},
    {"rank_shape", AXES, 0},
    {"measured_on", REMARK, 0},
    {"machine", REMARK, 0},
    {"spread", REMARK, 0},
    {"source", REMARK, 0},
    {"version", REMARK, 0},
};

/* What is no slip of the pen, besides 0. A part of a byte would make packets without number. */
static const struct {
    double least;
    double most;
} ranges[] = {
    [TIME] = {0, RONDE_MOST_NS},
    [RATE] = {RONDE_LEAST_GBPS, RONDE_MOST_GBPS},
    [BYTES] = {1, 1e18},
    [SHARE] = {0, 1},
};

/* Stores a text whole or not at all. */
static enum ronde_status store_text(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    uint32_t row, const char *value)
{
    char *field = (char *)&reader->platform->facts + props[row].offset;
    const size_t limit = RONDE_FACT_TEXT_BYTES;
    if (strlen(value) >= limit)
        return ronde_reader_fail(reader, tag, "ronde.%s has %zu bytes, at most %zu fit",
                                 props[row].name, strlen(value), limit - 1);
    memcpy(field, value, strlen(value) + 1);
    return RONDE_OK;
}

/* Counts are bounded by what any machine or file can have, which also keeps later products from overflowing. */
static enum ronde_status store_integer(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                       uint32_t row, const char *value)
{
    char *field = (char *)&reader->platform->facts + props[row].offset;
    const uint64_t limit = props[row].shape == INTEGER32 ? RONDE_MAX_RANKS : UINT64_MAX / 16;
    uint64_t integer;
    const char *at = value;
    if (!ronde_parse_integer(&at, limit, &integer) || *at != '\0')
        return ronde_reader_fail(reader, tag,
                                 "ronde.%s is '%s', expected an integer from 0 to "
                                 "%llu",
                                 props[row].name, value, (unsigned long long)limit);
    const uint32_t narrow = (uint32_t)integer;
    if (props[row].shape == INTEGER32)
        memcpy(field, &narrow, sizeof narrow);
    else
        memcpy(field, &integer, sizeof integer);
    return RONDE_OK;
}

/* No cost and no rate is negative; infinite ones are written as 0. */
static enum ronde_status store_number(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      uint32_t row, const char *value)
{
    double number;
    if (!ronde_parse_number(value, &number) || number < 0)
        return ronde_reader_fail(reader, tag, "ronde.%s is '%s', expected a number of at least 0",
                                 props[row].name, value);
    const double least = ranges[props[row].shape].least, most = ranges[props[row].shape].most;
    if (number != 0 && (number < least || number > most))
        return ronde_reader_fail(reader, tag, "ronde.%s is '%s', expected 0 or %g to %g",
                                 props[row].name, value, least, most);
    memcpy((char *)&reader->platform->facts + props[row].offset, &number, sizeof number);
    return RONDE_OK;
}

/* One "bytes:value", moving *at behind it and the blanks that follow. */
static bool read_pair(const char **at, double *out_bytes, double *out_value)
{
    char text[64];
    const size_t length = strcspn(*at, " ");
    const char *colon = memchr(*at, ':', length);
    if (!colon || length >= sizeof text)
        return false;
    memcpy(text, *at, length);
    text[length] = '\0';
    text[colon - *at] = '\0';
    *at += length;
    *at += strspn(*at, " ");
    return ronde_parse_number(text, out_bytes) &&
           ronde_parse_number(text + strlen(text) + 1, out_value) &&
           *out_bytes >= ranges[BYTES].least && *out_bytes <= ranges[BYTES].most;
}

/* Ascending points with blanks between them; false where they are not that, or more than `room`. */
static bool read_points(const char *text, double least, double most, uint32_t room, double *bytes,
                        double *values, uint32_t *out_count)
{
    uint32_t i = 0;
    for (const char *at = text; *at != '\0'; i++)
        if (i == room || !read_pair(&at, &bytes[i], &values[i]) || values[i] < least ||
            values[i] > most || (i > 0 && bytes[i] <= bytes[i - 1]))
            return false;
    *out_count = i;
    return true;
}

static enum ronde_status refuse_points(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                       uint32_t row, const char *value, uint32_t room,
                                       const char *unit)
{
    return ronde_reader_fail(reader, tag,
                             "ronde.%s is '%s', expected at most %u ascending points "
                             "'bytes:%s' with blanks between them",
                             props[row].name, value, room, unit);
}

/* Refused whole, as all that has points. */
static enum ronde_status store_curve(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t row, const char *value)
{
    struct ronde_curve curve = {0};
    if (!read_points(value, RONDE_LEAST_GBPS, RONDE_MOST_GBPS, RONDE_MAX_CURVE, curve.bytes,
                     curve.GBps, &curve.count))
        return refuse_points(reader, tag, row, value, RONDE_MAX_CURVE, "GBps");
    memcpy((char *)&reader->platform->facts + props[row].offset, &curve, sizeof curve);
    return RONDE_OK;
}

/* The same of times, which may be 0. */
static enum ronde_status store_sized(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t row, const char *value)
{
    struct ronde_sized_ns sized = {0};
    if (!read_points(value, 0, RONDE_MOST_NS, RONDE_MAX_SIZED, sized.bytes, sized.ns, &sized.count))
        return refuse_points(reader, tag, row, value, RONDE_MAX_SIZED, "ns");
    memcpy((char *)&reader->platform->facts + props[row].offset, &sized, sizeof sized);
    return RONDE_OK;
}

/* What is not so, and what is: SimGrid's names of its models, bytes over rate or TCP as it was calibrated; switches. */
static enum ronde_status store_flag(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    uint32_t row, const char *value)
{
    static const char *const all[][2] = {[MODEL] = {"CM02", "LV08"}, [SWITCHES] = {"0", "1"}};
    const char *const *words = all[props[row].shape];
    const bool is_so = strcmp(value, words[1]) == 0;
    memcpy((char *)&reader->platform->facts + props[row].offset, &is_so, sizeof is_so);
    if (is_so || strcmp(value, words[0]) == 0)
        return RONDE_OK;
    return ronde_reader_fail(reader, tag, "ronde.%s is '%s', expected %s or %s", props[row].name,
                             value, words[0], words[1]);
}

/* Radices with an x between them; whether they are those of the ranks is known in the end. */
static enum ronde_status store_axes(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const char *value)
{
    struct ronde_platform_facts *facts = &reader->platform->facts;
    const char *at = value;
    for (facts->rank_axes = 0; facts->rank_axes < RONDE_MAX_SHAPE; at++) {
        char *end = NULL;
        const unsigned long radix = *at >= '1' && *at <= '9' ? strtoul(at, &end, 10) : 0;
        if (radix == 0 || radix > RONDE_MAX_RANKS)
            break;
        facts->rank_shape[facts->rank_axes++] = (uint32_t)radix;
        at = end;
        if (*at == '\0')
            return RONDE_OK;
        if (*at != 'x')
            break;
    }
    return ronde_reader_fail(reader, tag,
                             "ronde.rank_shape is '%s', expected up to %u numbers as 8x8x8", value,
                             RONDE_MAX_SHAPE);
}

/* By shape; ranks are kept as text until all hosts are known. */
static enum ronde_status store(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                               uint32_t row, const char *value)
{
    switch (props[row].shape) {
    case TIME:
    case RATE:
    case BYTES:
    case SHARE:
        return store_number(reader, tag, row, value);
    case INTEGER32:
    case INTEGER64:
        return store_integer(reader, tag, row, value);
    case TEXT:
        return store_text(reader, tag, row, value);
    case CURVE:
        return store_curve(reader, tag, row, value);
    case SIZED:
        return store_sized(reader, tag, row, value);
    case MODEL:
    case SWITCHES:
        return store_flag(reader, tag, row, value);
    case RANKS:
        return ronde_reader_text(reader, tag, "value", &reader->rank_hosts);
    case AXES:
        return store_axes(reader, tag, value);
    case REMARK:
        return RONDE_OK;
    }
    return RONDE_OK;
}

/* ronde.* only; what other programs keep in props is theirs. */
enum ronde_status ronde_read_prop(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  uint32_t zone)
{
    (void)zone;
    const char *id = ronde_reader_value(tag, "id");
    if (strncmp(id, "ronde.", 6) != 0)
        return RONDE_OK;
    uint32_t row = 0;
    while (row < RONDE_FACT_COUNT && strcmp(props[row].name, id + 6) != 0)
        row++;
    if (row == RONDE_FACT_COUNT)
        return ronde_reader_fail(reader, tag, "unknown prop '%s'", id);
    /* One machine model per file: a second value, even an equal one, is more likely a slip than a wish. */
    if (reader->fact_lines[row] != 0)
        return ronde_reader_fail(reader, tag, "a second '%s'; the first is on line %u", id,
                                 reader->fact_lines[row]);
    reader->fact_lines[row] = tag->line;
    return store(reader, tag, row, ronde_reader_value(tag, "value"));
}

enum ronde_status ronde_read_foreign_prop(struct ronde_xml_reader *reader,
                                          const struct ronde_tag *tag, uint32_t zone)
{
    (void)zone;
    const char *id = ronde_reader_value(tag, "id");
    if (strncmp(id, "ronde.", 6) != 0)
        return RONDE_OK;
    return ronde_reader_fail(reader, tag,
                             "'%s' on a link; ronde's props belong to the root "
                             "zone, a cluster or a host",
                             id);
}

/* Line a prop stood on, for checks that come after the whole file. */
static uint32_t fact_line(const struct ronde_xml_reader *reader, const char *name)
{
    uint32_t row = 0;
    while (strcmp(props[row].name, name) != 0)
        row++;
    return reader->fact_lines[row];
}

/* Puts the host of one name at the next rank, out of those not placed yet. */
static enum ronde_status place(struct ronde_xml_reader *reader, const char *name, uint32_t rank)
{
    struct ronde_platform *platform = reader->platform;
    const uint32_t line = fact_line(reader, "rank_hosts");
    const uint32_t point = ronde_names_find(&platform->point_names, name);
    if (point == RONDE_NONE || !RONDE_AT(platform->points, struct ronde_netpoint, point)->is_host)
        return ronde_reader_fail_line(reader, line, "ronde.rank_hosts: unknown host '%s'", name);
    uint32_t *hosts = platform->hosts.items;
    for (uint32_t i = rank; i < platform->hosts.count; i++) {
        if (hosts[i] != point)
            continue;
        hosts[i] = hosts[rank];
        hosts[rank] = point;
        return RONDE_OK;
    }
    return ronde_reader_fail_line(reader, line, "ronde.rank_hosts: host '%s' twice", name);
}

/* Ranks in the order of ronde.rank_hosts; hosts it leaves out are no ranks. */
static enum ronde_status order_ranks(struct ronde_xml_reader *reader)
{
    const char *at = reader->rank_hosts;
    uint32_t rank = 0;
    while (at && *(at += strspn(at, ", \n\t")) != '\0') {
        char name[256];
        const size_t length = strcspn(at, ", \n\t");
        if (length >= sizeof name)
            return ronde_reader_fail_line(reader, fact_line(reader, "rank_hosts"),
                                          "ronde.rank_hosts: a name of %zu bytes", length);
        memcpy(name, at, length);
        name[length] = '\0';
        RONDE_TRY(place(reader, name, rank++));
        at += length;
    }
    if (reader->rank_hosts && rank == 0)
        return ronde_reader_fail_line(reader, fact_line(reader, "rank_hosts"),
                                      "ronde.rank_hosts names no host");
    if (reader->rank_hosts)
        reader->platform->hosts.count = rank;
    reader->platform->facts.hosts = reader->platform->hosts.count;
    return RONDE_OK;
}

/* The ranks fill the shape they are said to have. */
static enum ronde_status check_shape(struct ronde_xml_reader *reader)
{
    const struct ronde_platform_facts *facts = &reader->platform->facts;
    uint64_t ranks = 1;
    for (uint32_t axis = 0; axis < facts->rank_axes && ranks <= RONDE_MAX_RANKS; axis++)
        ranks *= facts->rank_shape[axis];
    if (facts->rank_axes == 0 || ranks == facts->hosts)
        return RONDE_OK;
    return ronde_reader_fail_line(reader, fact_line(reader, "rank_shape"),
                                  "ronde.rank_shape has %llu ranks, and there are %u hosts",
                                  (unsigned long long)ranks, facts->hosts);
}

/* The memory of a shared host is a link, so that SimGrid can share it: the backbone of that bandwidth. */
static enum ronde_status find_memory(struct ronde_xml_reader *reader)
{
    struct ronde_platform *platform = reader->platform;
    const double memory = platform->facts.shared.memory_GBps;
    for (uint32_t i = 0; memory > 0 && i < platform->zones.count; i++) {
        const uint32_t backbone = RONDE_AT(platform->zones, struct ronde_zone, i)->backbone;
        const struct ronde_link *link = ronde_platform_link(platform, backbone);
        if (link && !link->is_fatpipe && link->rate_GBps == memory) {
            platform->facts.memory_link = backbone;
            return RONDE_OK;
        }
    }
    if (memory == 0)
        return RONDE_OK;
    return ronde_reader_fail_line(reader, fact_line(reader, "memory_GBps"),
                                  "ronde.memory_GBps is %.17g, but no cluster has a SHARED "
                                  "backbone (bb_bw) of that bandwidth",
                                  memory);
}

/* Needs every host and every link. */
enum ronde_status ronde_reader_finish_facts(struct ronde_xml_reader *reader)
{
    RONDE_TRY(order_ranks(reader));
    RONDE_TRY(check_shape(reader));
    return find_memory(reader);
}
