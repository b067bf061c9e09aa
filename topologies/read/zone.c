/* <zone>, <host>, <router>, <link>, <backbone>, <host_link>. */
#include "reader.h"

#include <string.h>

/* Deeper nesting has no use, and it bounds the recursion here and in the routing. */
#define MAX_DEPTH 16u

static const struct ronde_element fact_props[] = {
    {"prop", "id value", "", 0, RONDE_GROUP_ANY, ronde_read_prop},
};

static const struct ronde_element foreign_props[] = {
    {"prop", "id value", "", 0, RONDE_GROUP_ANY, ronde_read_foreign_prop},
};

/* The speed is only checked: nothing here computes in flops, but SimGrid would refuse the file. */
static enum ronde_status read_host(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone)
{
    const char *id;
    const char *speed;
    uint32_t point;
    enum ronde_status status = ronde_reader_text(reader, node, "id", &id);
    if (status == RONDE_OK)
        status = ronde_reader_text(reader, node, "speed", &speed);
    if (status == RONDE_OK)
        status = ronde_reader_new_point(reader, node, id);
    if (status != RONDE_OK)
        return status;
    if (!ronde_parse_speeds(speed))
        return ronde_reader_fail(reader, node, "speed of host '%s' is '%s', expected e.g. 1Gf", id,
                                 speed);
    status = ronde_platform_add_point(reader->platform, id, zone, true, &point);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    return ronde_reader_walk(reader, node, zone, fact_props, 1);
}

/* A host that is no rank: a place where routes meet. */
static enum ronde_status read_router(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone)
{
    const char *id;
    uint32_t point;
    enum ronde_status status = ronde_reader_text(reader, node, "id", &id);
    if (status == RONDE_OK)
        status = ronde_reader_new_point(reader, node, id);
    if (status != RONDE_OK)
        return status;
    status = ronde_platform_add_point(reader->platform, id, zone, false, &point);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    return ronde_reader_walk(reader, node, zone, NULL, 0);
}

/* Links hold no facts of ours; props of other programs are ignored. */
static enum ronde_status read_link(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone)
{
    struct ronde_link link = {NULL, 0, 0, false, false};
    uint32_t sharing;
    uint32_t up_down[2];
    enum ronde_status status = ronde_reader_text(reader, node, "id", &link.name);
    if (status == RONDE_OK)
        status = ronde_reader_bandwidth(reader, node, "bandwidth", 0, &link.rate_GBps);
    if (status == RONDE_OK && link.rate_GBps <= 0)
        return ronde_reader_fail(reader, node, "bandwidth of link '%s' is empty", link.name);
    if (status == RONDE_OK)
        status = ronde_reader_time(reader, node, "latency", true, &link.latency_ns);
    if (status == RONDE_OK)
        status = ronde_reader_choice(reader, node, "sharing_policy", ronde_sharing_words,
                                     RONDE_SHARING_COUNT, &sharing);
    if (status == RONDE_OK)
        status =
            ronde_reader_new_link(reader, node, &link, (enum ronde_link_sharing)sharing, up_down);
    if (status == RONDE_OK)
        status = ronde_reader_walk(reader, node, zone, foreign_props, 1);
    return status;
}

/* Its index is known before it is read: it is the next link. */
static enum ronde_status read_backbone(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone)
{
    struct ronde_zone *self = RONDE_AT(reader->platform->zones, struct ronde_zone, zone);
    if (self->kind != RONDE_ZONE_STAR || self->backbone != RONDE_NONE)
        return ronde_reader_fail(reader, node,
                                 "<backbone> needs a zone with routing=\"Cluster\" "
                                 "that has none yet");
    self->backbone = reader->platform->links.count;
    return read_link(reader, node, zone);
}

/* The directed link a <host_link> names. */
static enum ronde_status find_host_link(struct ronde_xml_reader *reader, xmlNode *node,
                                        const char *attribute, struct ronde_hops *out_hops)
{
    const char *name;
    const enum ronde_status status = ronde_reader_text(reader, node, attribute, &name);
    if (status != RONDE_OK)
        return status;
    const uint32_t link = ronde_names_find(&reader->platform->link_names, name);
    if (link == RONDE_NONE)
        return ronde_reader_fail(reader, node, "unknown link '%s'", name);
    out_hops->first = reader->platform->hops.count;
    out_hops->count = 1;
    return ronde_reader_added(reader, ronde_platform_add_hop(reader->platform, link));
}

/* Gives a host of a star zone its way up and down; the backbone joins them at the end of the zone. */
static enum ronde_status read_host_link(struct ronde_xml_reader *reader, xmlNode *node,
                                        uint32_t zone)
{
    const char *id;
    enum ronde_status status = ronde_reader_text(reader, node, "id", &id);
    if (status != RONDE_OK)
        return status;
    const uint32_t index = ronde_names_find(&reader->platform->point_names, id);
    struct ronde_netpoint *point =
        index == RONDE_NONE ? NULL
                            : RONDE_AT(reader->platform->points, struct ronde_netpoint, index);
    if (!point || point->zone != zone)
        return ronde_reader_fail(reader, node, "unknown host '%s' in this zone", id);
    if (RONDE_AT(reader->platform->zones, struct ronde_zone, zone)->kind != RONDE_ZONE_STAR)
        return ronde_reader_fail(reader, node, "<host_link> needs routing=\"Cluster\"");
    if (point->up.count > 0)
        return ronde_reader_fail(reader, node, "a second host_link of '%s'", id);
    status = find_host_link(reader, node, "up", &point->up);
    if (status == RONDE_OK)
        status = find_host_link(reader, node, "down", &point->down);
    return status;
}

/* Puts the backbone between a host and the centre, on both ways. */
static enum ronde_status add_backbone(struct ronde_platform *platform, struct ronde_netpoint *point,
                                      uint32_t backbone)
{
    const uint32_t order[4] = {*RONDE_AT(platform->hops, uint32_t, point->up.first), backbone,
                               backbone, *RONDE_AT(platform->hops, uint32_t, point->down.first)};
    point->up = (struct ronde_hops){platform->hops.count, 2};
    point->down = (struct ronde_hops){platform->hops.count + 2, 2};
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < 4 && status == RONDE_OK; i++)
        status = ronde_platform_add_hop(platform, order[i]);
    return status;
}

/* Completes the hosts of a star zone: the backbone may have been declared last. */
static enum ronde_status finish_star(struct ronde_xml_reader *reader, const xmlNode *node,
                                     uint32_t zone)
{
    struct ronde_platform *platform = reader->platform;
    const uint32_t backbone = RONDE_AT(platform->zones, struct ronde_zone, zone)->backbone;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < platform->points.count && status == RONDE_OK; i++) {
        struct ronde_netpoint *point = RONDE_AT(platform->points, struct ronde_netpoint, i);
        if (point->zone != zone || !point->is_host)
            continue;
        if (point->up.count == 0)
            return ronde_reader_fail(reader, node, "host '%s' has no host_link", point->name);
        if (backbone != RONDE_NONE)
            status = ronde_reader_added(reader, add_backbone(platform, point, backbone));
    }
    return status;
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
static enum ronde_status routing_kind(struct ronde_xml_reader *reader, xmlNode *node,
                                      enum ronde_zone_kind *out_kind)
{
    const char *words[ROUTING_COUNT];
    uint32_t index;
    for (size_t i = 0; i < ROUTING_COUNT; i++)
        words[i] = routings[i].word;
    const enum ronde_status status =
        ronde_reader_choice(reader, node, "routing", words, ROUTING_COUNT, &index);
    *out_kind = routings[index].kind;
    return status;
}

/* Counted on the tree of the file, which is what recursion follows. */
static enum ronde_status check_depth(struct ronde_xml_reader *reader, const xmlNode *node)
{
    uint32_t depth = 0;
    for (const xmlNode *at = node; at; at = at->parent)
        depth++;
    return depth <= MAX_DEPTH + 2
               ? RONDE_OK
               : ronde_reader_fail(reader, node, "zones nested deeper than %u", MAX_DEPTH);
}

/* SimGrid takes one root. */
static enum ronde_status check_root(struct ronde_xml_reader *reader, const xmlNode *node,
                                    uint32_t parent, const char *id)
{
    if (parent != RONDE_NONE)
        return RONDE_OK;
    if (reader->platform->zones.count > 0)
        return ronde_reader_fail(reader, node, "a second root zone '%s'", id);
    (void)snprintf(reader->platform->facts.name, sizeof reader->platform->facts.name, "%s", id);
    return RONDE_OK;
}

#define INNER_ZONES                                                                                \
    {"zone", "id routing", "", 1, RONDE_GROUP_ZONES, ronde_read_zone},                             \
        {"AS", "id routing", "", 1, RONDE_GROUP_ZONES, ronde_read_zone},                           \
    {                                                                                              \
        "cluster", "id prefix suffix radical speed bw lat",                                        \
            "core sharing_policy topology topo_parameters bb_bw bb_lat bb_sharing_policy "         \
            "router_id limiter_link loopback_bw loopback_lat",                                     \
            1, RONDE_GROUP_ZONES, ronde_read_cluster                                               \
    }

const struct ronde_element ronde_inner_zones[RONDE_INNER_ZONE_COUNT] = {INNER_ZONES};

/* What a zone may hold; rows of equal stage may stand in any order. */
static const struct ronde_element zone_parts[] = {
    INNER_ZONES,
    {"prop", "id value", "", 0, RONDE_GROUP_ANY, ronde_read_prop},
    {"host", "id speed", "core", 1, RONDE_GROUP_HOSTS, read_host},
    {"router", "id", "", 1, RONDE_GROUP_HOSTS, read_router},
    {"host_link", "id up down", "", 1, RONDE_GROUP_HOSTS, read_host_link},
    /* The DTD gives latency a default, which SimGrid 3.32 then fails to read. */
    {"link", "id bandwidth latency", "sharing_policy", 1, RONDE_GROUP_ANY, read_link},
    {"backbone", "id bandwidth latency", "", 1, RONDE_GROUP_ANY, read_backbone},
    {"route", "src dst", "symmetrical", 2, RONDE_GROUP_HOSTS, ronde_read_route},
    {"zoneRoute", "src dst gw_src gw_dst", "symmetrical", 2, RONDE_GROUP_ZONES,
     ronde_read_zone_route},
    {"ASroute", "src dst gw_src gw_dst", "symmetrical", 2, RONDE_GROUP_ZONES, ronde_read_zone_route},
};

/* The zone is entered before its parts, which refer to it by index. */
enum ronde_status ronde_read_zone(struct ronde_xml_reader *reader, xmlNode *node, uint32_t parent)
{
    const char *id;
    enum ronde_zone_kind kind = RONDE_ZONE_FULL;
    uint32_t zone;
    enum ronde_status status = ronde_reader_text(reader, node, "id", &id);
    if (status == RONDE_OK)
        status = check_depth(reader, node);
    if (status == RONDE_OK)
        status = ronde_reader_new_point(reader, node, id);
    if (status == RONDE_OK)
        status = routing_kind(reader, node, &kind);
    if (status == RONDE_OK)
        status = check_root(reader, node, parent, id);
    if (status != RONDE_OK)
        return status;
    status = ronde_platform_add_zone(reader->platform, id, parent, kind, &zone);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    status =
        ronde_reader_walk(reader, node, zone, zone_parts, sizeof zone_parts / sizeof zone_parts[0]);
    return status == RONDE_OK && kind == RONDE_ZONE_STAR ? finish_star(reader, node, zone) : status;
}
