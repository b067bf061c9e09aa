/* <zone>, <host>, <router>, <link>, <backbone>, <host_link>. */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* The next host or router of a zone. */
static enum ronde_status add_point(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone, bool is_host)
{
    const char *id;
    uint32_t point;
    RONDE_TRY(ronde_reader_new_point(reader, tag, ronde_reader_value(tag, "id")));
    RONDE_TRY(ronde_reader_text(reader, tag, "id", &id));
    return ronde_reader_added(reader,
                              ronde_platform_add_point(reader->platform, id, zone, is_host, &point));
}

/* The speed of a host that has several: its number among them, as SimGrid takes it. */
static enum ronde_status read_pstate(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     const char *speeds)
{
    const char *text = ronde_reader_value(tag, "pstate");
    unsigned long count = 1;
    for (const char *at = strchr(speeds, ','); at; at = strchr(at + 1, ','))
        count++;
    if (text[0] != '\0' && (strlen(text) > 6 || text[strspn(text, "0123456789")] != '\0' ||
                            strtoul(text, NULL, 10) >= count))
        return ronde_reader_fail(reader, tag, "pstate is '%s', expected 0 to %lu, one of the speeds",
                                 text, count - 1);
    reader->platform->pstates += count > 1;
    return RONDE_OK;
}

/* The speed is only checked: nothing here computes in flops, but SimGrid would refuse the file. */
static enum ronde_status read_host(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone)
{
    const char *speed = ronde_reader_value(tag, "speed");
    RONDE_TRY(add_point(reader, tag, zone, true));
    if (!ronde_parse_speeds(speed))
        return ronde_reader_fail(reader, tag, "speed of host '%s' is '%s', expected e.g. 1Gf",
                                 ronde_reader_value(tag, "id"), speed);
    return read_pstate(reader, tag, speed);
}

/* What a host keeps on a disk crosses no link. */
static enum ronde_status read_disk(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone)
{
    double GBps;
    (void)zone;
    reader->platform->disks++;
    RONDE_TRY(ronde_reader_bandwidth(reader, tag, "read_bw", 0, &GBps));
    return ronde_reader_bandwidth(reader, tag, "write_bw", 0, &GBps);
}

static enum ronde_status read_config(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t zone)
{
    (void)reader, (void)tag, (void)zone;
    return RONDE_OK;
}

/* An option of SimGrid: its precision and the like change nothing here, models of the network would. */
static enum ronde_status read_option(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t zone)
{
    (void)zone;
    const char *id = ronde_reader_value(tag, "id");
    if (strncmp(id, "network/", 8) == 0 || strcmp(id, "host/model") == 0)
        return ronde_reader_fail(reader, tag,
                                 "<config> sets '%s', which changes what messages take; ronde says "
                                 "that by ronde.network_model and what calibrate writes: leave it "
                                 "out",
                                 id);
    reader->platform->configs++;
    return RONDE_OK;
}

/* A host that is no rank: a place where routes meet. */
static enum ronde_status read_router(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t zone)
{
    return add_point(reader, tag, zone, false);
}

/* Links hold no facts of ours; props of other programs are ignored. */
static enum ronde_status read_link(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone)
{
    (void)zone;
    struct ronde_link link = {NULL, 0, 0, false, false};
    uint32_t sharing;
    uint32_t up_down[2];
    RONDE_TRY(ronde_reader_text(reader, tag, "id", &link.name));
    RONDE_TRY(ronde_reader_bandwidth(reader, tag, "bandwidth", 0, &link.rate_GBps));
    if (link.rate_GBps <= 0)
        return ronde_reader_fail(reader, tag, "bandwidth of link '%s' is empty", link.name);
    RONDE_TRY(ronde_reader_time(reader, tag, "latency", true, &link.latency_ns));
    RONDE_TRY(ronde_reader_choice(reader, tag, "sharing_policy", ronde_sharing_words,
                                  RONDE_SHARING_COUNT, &sharing));
    return ronde_reader_new_link(reader, tag, &link, (enum ronde_link_sharing)sharing, up_down);
}

/* Its index is known before it is read: it is the next link. */
static enum ronde_status read_backbone(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                       uint32_t zone)
{
    struct ronde_zone *self = RONDE_AT(reader->platform->zones, struct ronde_zone, zone);
    if (self->kind != RONDE_ZONE_STAR || self->backbone != RONDE_NONE)
        return ronde_reader_fail(reader, tag,
                                 "<backbone> needs a zone with routing=\"Cluster\" "
                                 "that has none yet");
    self->backbone = reader->platform->links.count;
    return read_link(reader, tag, zone);
}

/* The directed link a <host_link> names. */
static enum ronde_status find_host_link(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                        const char *attribute, struct ronde_hops *out_hops)
{
    const char *name = ronde_reader_value(tag, attribute);
    bool is_split;
    const uint32_t link = ronde_platform_find_link(reader->platform, name, &is_split);
    if (link == RONDE_NONE || is_split)
        return ronde_reader_fail(reader, tag, "unknown link '%s'", name);
    out_hops->first = reader->platform->hops.count;
    out_hops->count = 1;
    return ronde_reader_added(reader, ronde_platform_add_hop(reader->platform, link));
}

/* Gives a host of a star zone its way up and down; the backbone joins them at the end of the zone. */
static enum ronde_status read_host_link(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, uint32_t zone)
{
    const char *id = ronde_reader_value(tag, "id");
    const uint32_t index = ronde_names_find(&reader->platform->point_names, id);
    struct ronde_netpoint *point =
        index == RONDE_NONE ? NULL
                            : RONDE_AT(reader->platform->points, struct ronde_netpoint, index);
    if (!point || point->zone != zone)
        return ronde_reader_fail(reader, tag, "unknown host '%s' in this zone", id);
    if (RONDE_AT(reader->platform->zones, struct ronde_zone, zone)->kind != RONDE_ZONE_STAR)
        return ronde_reader_fail(reader, tag, "<host_link> needs routing=\"Cluster\"");
    if (point->up.count > 0)
        return ronde_reader_fail(reader, tag, "a second host_link of '%s'", id);
    RONDE_TRY(find_host_link(reader, tag, "up", &point->up));
    return find_host_link(reader, tag, "down", &point->down);
}

/* Puts the backbone between a host and the centre, on both ways. */
static enum ronde_status add_backbone(struct ronde_platform *platform, struct ronde_netpoint *point,
                                      uint32_t backbone)
{
    const uint32_t order[4] = {*RONDE_AT(platform->hops, uint32_t, point->up.first), backbone,
                               backbone, *RONDE_AT(platform->hops, uint32_t, point->down.first)};
    point->up = (struct ronde_hops){platform->hops.count, 2};
    point->down = (struct ronde_hops){platform->hops.count + 2, 2};
    for (uint32_t i = 0; i < 4; i++)
        RONDE_TRY(ronde_platform_add_hop(platform, order[i]));
    return RONDE_OK;
}

/* Completes the hosts of a star zone: the backbone may have been declared last. */
enum ronde_status ronde_end_zone(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone)
{
    struct ronde_platform *platform = reader->platform;
    const struct ronde_zone *self = RONDE_AT(platform->zones, struct ronde_zone, zone);
    if (self->kind != RONDE_ZONE_STAR)
        return RONDE_OK;
    for (uint32_t i = 0; i < platform->points.count; i++) {
        struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, i);
        if (point->zone != zone || !point->is_host)
            continue;
        if (point->up.count == 0)
            return ronde_reader_fail_line(reader, line, "host '%s' has no host_link", point->name);
        if (self->backbone != RONDE_NONE)
            RONDE_TRY(ronde_reader_added(reader, add_backbone(platform, point, self->backbone)));
    }
    return RONDE_OK;
}

/* Words of `routing` and what they mean here; Floyd and the two Dijkstras give the same routes. */
static const struct {
    const char *word;
    enum ronde_zone_kind kind;
} routings[] = {
    {"Full", RONDE_ZONE_FULL},         {"Floyd", RONDE_ZONE_SHORTEST},
    {"Dijkstra", RONDE_ZONE_SHORTEST}, {"DijkstraCache", RONDE_ZONE_SHORTEST},
    {"Cluster", RONDE_ZONE_STAR},      {"None", RONDE_ZONE_FULL},
};

#define ROUTING_COUNT (sizeof routings / sizeof routings[0])

/* `None` has no routes of its own and is read as a FULL zone that writes none out. */
static enum ronde_status routing_kind(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      enum ronde_zone_kind *out_kind)
{
    const char *words[ROUTING_COUNT];
    uint32_t index;
    for (size_t i = 0; i < ROUTING_COUNT; i++)
        words[i] = routings[i].word;
    const enum ronde_status status =
        ronde_reader_choice(reader, tag, "routing", words, ROUTING_COUNT, &index);
    *out_kind = routings[index].kind;
    return status;
}

/* The root is a zone in <platform>. */
static enum ronde_status check_depth(struct ronde_xml_reader *reader, const struct ronde_tag *tag)
{
    return reader->depth <= RONDE_ZONE_DEPTH
               ? RONDE_OK
               : ronde_reader_fail(reader, tag, "zones nested deeper than %u", RONDE_ZONE_DEPTH);
}

/* SimGrid takes one root. */
static enum ronde_status check_root(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    uint32_t parent, const char *id)
{
    if (parent != RONDE_NONE)
        return RONDE_OK;
    if (reader->platform->zones.count > 0)
        return ronde_reader_fail(reader, tag, "a second root zone '%s'", id);
    (void)snprintf(reader->platform->facts.name, sizeof reader->platform->facts.name, "%s", id);
    return RONDE_OK;
}

static const struct ronde_element fact_props[] = {
    {.name = "prop", .required = "id value", .optional = "", .read = ronde_read_prop},
};

static const struct ronde_element foreign_props[] = {
    {.name = "prop", .required = "id value", .optional = "", .read = ronde_read_foreign_prop},
};

static const struct ronde_element config_props[] = {
    {.name = "prop", .required = "id value", .optional = "", .read = read_option},
};

static const struct ronde_element host_parts[] = {
    {.name = "prop", .required = "id value", .optional = "", .read = ronde_read_prop},
    {.name = "disk",
     .required = "id read_bw write_bw",
     .optional = "",
     .read = read_disk,
     .inside = foreign_props,
     .inside_count = 1},
};

static const struct ronde_element route_links[] = {
    {.name = "link_ctn", .required = "id", .optional = "direction", .read = ronde_read_link_ctn},
};

/* Zones hold zones. */
#define ZONE_PARTS 12
static const struct ronde_element zone_parts[ZONE_PARTS];

/* Rows of what is read alike, under its names now and before. */
#define ZONE(word)                                                                                 \
    {                                                                                              \
        word, "id routing", "", 1, RONDE_GROUP_ZONES, ronde_read_zone, zone_parts, ZONE_PARTS,     \
            ronde_end_zone                                                                         \
    }
#define CLUSTER                                                                                    \
    {                                                                                              \
        "cluster", "id prefix suffix radical speed bw lat",                                        \
            "core sharing_policy topology topo_parameters bb_bw bb_lat bb_sharing_policy "         \
            "router_id limiter_link loopback_bw loopback_lat",                                     \
            1, RONDE_GROUP_ZONES, ronde_read_cluster, fact_props, 1, NULL                          \
    }
#define PART(word, required, optional, reader)                                                     \
    {                                                                                              \
        word, required, optional, 1, RONDE_GROUP_ANY, reader, foreign_props, 1, NULL               \
    }
#define HOST(word, required, optional, reader, inside, count)                                      \
    {                                                                                              \
        word, required, optional, 1, RONDE_GROUP_HOSTS, reader, inside, count, NULL                \
    }
#define ROUTE(word, required, group, reader)                                                       \
    {                                                                                              \
        word, required, "symmetrical", 2, group, reader, route_links, 1, ronde_end_route           \
    }

const struct ronde_element ronde_inner_zones[RONDE_INNER_ZONE_COUNT] = {
    {"config", "", "id", 0, RONDE_GROUP_ANY, read_config, config_props, 1, NULL},
    ZONE("zone"),
    ZONE("AS"),
    CLUSTER};

/* What a zone may hold; rows of equal stage may stand in any order. */
static const struct ronde_element zone_parts[ZONE_PARTS] = {
    ZONE("zone"),
    ZONE("AS"),
    CLUSTER,
    {"prop", "id value", "", 0, RONDE_GROUP_ANY, ronde_read_prop, NULL, 0, NULL},
    HOST("host", "id speed", "core pstate", read_host, host_parts, 2),
    HOST("router", "id", "", read_router, NULL, 0),
    HOST("host_link", "id up down", "", read_host_link, NULL, 0),
    /* The DTD gives latency a default, which SimGrid 3.32 then fails to read. */
    PART("link", "id bandwidth latency", "sharing_policy", read_link),
    PART("backbone", "id bandwidth latency", "", read_backbone),
    ROUTE("route", "src dst", RONDE_GROUP_HOSTS, ronde_read_route),
    ROUTE("zoneRoute", "src dst gw_src gw_dst", RONDE_GROUP_ZONES, ronde_read_zone_route),
    ROUTE("ASroute", "src dst gw_src gw_dst", RONDE_GROUP_ZONES, ronde_read_zone_route),
};

/* The zone is entered before its parts, which refer to it by index. */
enum ronde_status ronde_read_zone(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  uint32_t parent)
{
    const char *id;
    enum ronde_zone_kind kind = RONDE_ZONE_FULL;
    RONDE_TRY(ronde_reader_text(reader, tag, "id", &id));
    RONDE_TRY(check_depth(reader, tag));
    RONDE_TRY(ronde_reader_new_point(reader, tag, id));
    RONDE_TRY(routing_kind(reader, tag, &kind));
    RONDE_TRY(check_root(reader, tag, parent, id));
    return ronde_reader_added(reader, ronde_platform_add_zone(reader->platform, id, parent, kind,
                                                              &reader->inner));
}
