/*
 * <cluster>: hosts PREFIX n SUFFIX for the numbers of `radical`, each with a private link ID_link_n, optionally one
 * backbone ID_backbone that all routes cross, and a router. Names as SimGrid 3.32 makes them.
 */
#include "reader.h"
#include "ronde/limits.h"

#include <math.h>
#include <string.h>

/* The attributes that shape every host. */
struct cluster {
    const char *id;
    const char *prefix;
    const char *suffix;
    double rate_GBps;
    double latency_ns;
    double limiter_GBps; /* 0 = none: a SHARED link both directions of a host cross */
    uint32_t sharing;    /* enum ronde_link_sharing, of the private links */
    uint32_t zone;
    uint32_t backbone; /* link or NONE */
    bool is_star;      /* hosts have private links */
    bool is_torus;     /* links lead from host to host; else SimGrid makes links of its own */
};

/* Up: limiter, port, backbone. Down: backbone, port, limiter. Absent ones are NONE. */
static enum ronde_status add_ports(struct ronde_xml_reader *reader, uint32_t point,
                                   const uint32_t up_down[2], uint32_t limiter, uint32_t backbone)
{
    struct ronde_platform *platform = reader->platform;
    const uint32_t order[6] = {limiter, up_down[0], backbone, backbone, up_down[1], limiter};
    struct ronde_hops hops[2] = {{0, 0}, {0, 0}};
    for (uint32_t i = 0; i < 6; i++) {
        struct ronde_hops *side = &hops[i / 3];
        if (i % 3 == 0)
            side->first = platform->hops.count;
        if (order[i] == RONDE_NONE)
            continue;
        if (ronde_platform_add_hop(platform, order[i]) != RONDE_OK)
            return ronde_reader_no_memory(reader);
        side->count++;
    }
    RONDE_AT(platform->points, struct ronde_netpoint, point)->up = hops[0];
    RONDE_AT(platform->points, struct ronde_netpoint, point)->down = hops[1];
    return RONDE_OK;
}

/* The private links of a host. */
static enum ronde_status add_links(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   const struct cluster *cluster, const char *number, uint32_t point)
{
    struct ronde_platform *platform = reader->platform;
    struct ronde_link link = {NULL, cluster->rate_GBps, cluster->latency_ns, false, false};
    uint32_t up_down[2];
    uint32_t limiter[2] = {RONDE_NONE, RONDE_NONE};
    link.name = ronde_platform_text(platform, cluster->id, "_link_", number);
    if (!link.name)
        return ronde_reader_no_memory(reader);
    struct ronde_link limit = {NULL, cluster->limiter_GBps, 0, false, false};
    limit.name = ronde_platform_text(platform, link.name, "_limiter", "");
    if (!limit.name)
        return ronde_reader_no_memory(reader);
    RONDE_TRY(ronde_reader_new_link(reader, tag, &link, (enum ronde_link_sharing)cluster->sharing,
                                    up_down));
    if (cluster->limiter_GBps > 0)
        RONDE_TRY(ronde_reader_new_link(reader, tag, &limit, RONDE_SHARING_SHARED, limiter));
    return add_ports(reader, point, up_down, limiter[0], cluster->backbone);
}

/* The name decides the host, so it is checked before anything is added. */
static enum ronde_status add_host(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  const struct cluster *cluster, uint64_t number)
{
    struct ronde_platform *platform = reader->platform;
    char digits[24];
    uint32_t point;
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
    const char *name = ronde_platform_text(platform, cluster->prefix, digits, cluster->suffix);
    if (!name)
        return ronde_reader_no_memory(reader);
    RONDE_TRY(ronde_reader_new_point(reader, tag, name));
    const enum ronde_status status =
        ronde_platform_add_point(platform, name, cluster->zone, true, &point);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    return cluster->is_star ? add_links(reader, tag, cluster, digits, point) : RONDE_OK;
}

/* Numbers and ranges separated by commas: "0-3,7". */
static enum ronde_status add_hosts(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   const struct cluster *cluster, const char *radical)
{
    const char *at = radical;
    for (;;) {
        uint64_t first;
        uint64_t last;
        at += strspn(at, " ");
        bool is_good = ronde_parse_integer(&at, INT32_MAX, &first);
        last = first;
        if (is_good && *at == '-') {
            at++;
            is_good = ronde_parse_integer(&at, INT32_MAX, &last);
        }
        at += strspn(at, " ");
        if (!is_good || last < first || (*at != '\0' && *at != ','))
            return ronde_reader_fail(reader, tag,
                                     "radical is '%s', expected numbers and ranges "
                                     "such as 0-3,7",
                                     radical);
        /* Before making any: a range may be a slip of the pen worth gigabytes. */
        if (last - first >= RONDE_MAX_RANKS - reader->platform->hosts.count)
            return ronde_reader_fail(reader, tag, "more than %u hosts", RONDE_MAX_RANKS);
        RONDE_TRY(ronde_limit_check_file(RONDE_LIMIT_HOSTS,
                                         reader->platform->hosts.count + (last - first + 1),
                                         reader->platform->path, tag->line, reader->error));
        for (uint64_t number = first; number <= last; number++)
            RONDE_TRY(add_host(reader, tag, cluster, number));
        if (*at++ == '\0')
            return RONDE_OK;
    }
}

/* SimGrid makes one in every cluster; without a name of its own it is PREFIX ID _router SUFFIX. */
static enum ronde_status add_router(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const struct cluster *cluster)
{
    struct ronde_platform *platform = reader->platform;
    const char *id;
    uint32_t point;
    RONDE_TRY(ronde_reader_text(reader, tag, "router_id", &id));
    if (*id == '\0') {
        id = ronde_platform_text(platform, cluster->prefix, cluster->id, "_router");
        if (id)
            id = ronde_platform_text(platform, id, cluster->suffix, "");
    }
    if (!id)
        return ronde_reader_no_memory(reader);
    RONDE_TRY(ronde_reader_new_point(reader, tag, id));
    return ronde_reader_added(reader,
                              ronde_platform_add_point(platform, id, cluster->zone, false, &point));
}

/* bb_lat alone would make a link without bandwidth, at which SimGrid aborts. */
static enum ronde_status add_backbone(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      struct cluster *cluster)
{
    struct ronde_link link = {NULL, 0, 0, false, false};
    uint32_t sharing;
    uint32_t up_down[2] = {RONDE_NONE, RONDE_NONE};
    enum ronde_status status = ronde_reader_bandwidth(reader, tag, "bb_bw", 0, &link.rate_GBps);
    RONDE_THEN(status, ronde_reader_time(reader, tag, "bb_lat", false, &link.latency_ns));
    RONDE_THEN(status, ronde_reader_choice(reader, tag, "bb_sharing_policy", ronde_sharing_words, 3,
                                           &sharing));
    if (status != RONDE_OK || (link.rate_GBps == 0 && link.latency_ns == 0))
        return status;
    if (link.rate_GBps == 0)
        return ronde_reader_fail(reader, tag, "cluster '%s' has bb_lat but no bb_bw", cluster->id);
    link.name = ronde_platform_text(reader->platform, cluster->id, "_backbone", "");
    if (!link.name)
        return ronde_reader_no_memory(reader);
    status = ronde_reader_new_link(reader, tag, &link, (enum ronde_link_sharing)sharing, up_down);
    cluster->backbone = up_down[0];
    RONDE_AT(reader->platform->zones, struct ronde_zone, cluster->zone)->backbone = up_down[0];
    return status;
}

/* Numbers that shape the hosts; loopbacks are read only to be checked, for a message to oneself never flows. */
static enum ronde_status read_rates(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    struct cluster *cluster)
{
    double unused;
    enum ronde_status status = ronde_reader_bandwidth(reader, tag, "bw", 0, &cluster->rate_GBps);
    if (status == RONDE_OK && cluster->rate_GBps <= 0)
        return ronde_reader_fail(reader, tag, "bw of cluster '%s' is empty", cluster->id);
    RONDE_THEN(status, ronde_reader_time(reader, tag, "lat", true, &cluster->latency_ns));
    RONDE_THEN(status,
               ronde_reader_bandwidth(reader, tag, "limiter_link", 0, &cluster->limiter_GBps));
    RONDE_THEN(status, ronde_reader_bandwidth(reader, tag, "loopback_bw", 0, &unused));
    RONDE_THEN(status, ronde_reader_time(reader, tag, "loopback_lat", false, &unused));
    RONDE_THEN(status, ronde_reader_choice(reader, tag, "sharing_policy", ronde_sharing_words,
                                           RONDE_SHARING_COUNT, &cluster->sharing));
    if (cluster->sharing == RONDE_SHARING_DEFAULT)
        cluster->sharing = RONDE_SHARING_SPLIT;
    return status;
}

/* Names and speed. */
static enum ronde_status read_names(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    struct cluster *cluster)
{
    const char *speed = ronde_reader_value(tag, "speed");
    RONDE_TRY(ronde_reader_text(reader, tag, "id", &cluster->id));
    RONDE_TRY(ronde_reader_text(reader, tag, "prefix", &cluster->prefix));
    RONDE_TRY(ronde_reader_text(reader, tag, "suffix", &cluster->suffix));
    if (!ronde_parse_speeds(speed))
        return ronde_reader_fail(reader, tag, "speed of cluster '%s' is '%s', expected e.g. 1Gf",
                                 cluster->id, speed);
    return ronde_reader_new_point(reader, tag, cluster->id);
}

/* Links that SimGrid makes for "LEVELS;DOWN,...;UP,...;PORTS,...": on each level a node has UP parents, over PORTS links each. */
static double fat_tree_links(const uint64_t *numbers, size_t count)
{
    const size_t levels = (size_t)numbers[0];
    double nodes = 1, links = 0;
    if (count != 1 + 3 * levels)
        return 0;
    for (size_t l = 1; l <= levels; l++)
        nodes *= (double)numbers[l];
    for (size_t l = 1; l <= levels && nodes > 0; l++) {
        const double up = (double)numbers[levels + l];
        links += nodes * up * (double)numbers[2 * levels + l];
        nodes *= up / (double)numbers[l];
    }
    return links;
}

/* At most so many, for "GROUPS,N;CHASSIS,N;ROUTERS,N;HOSTS". */
static double dragonfly_links(const uint64_t *numbers, size_t count)
{
    const double groups = (double)numbers[0];
    if (count != 7)
        return 0;
    return groups * (double)numbers[2] * (double)numbers[4] *
               ((double)numbers[2] + (double)numbers[4] + (double)numbers[6]) +
           groups * groups;
}

/* SimGrid makes all links of such a topology, whatever the number of hosts. */
static enum ronde_status check_links(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     bool is_fat_tree)
{
    const char *text = ronde_reader_value(tag, "topo_parameters");
    uint64_t numbers[64];
    size_t count = 0;
    for (const char *at = text;; at++) {
        at += strspn(at, " ");
        if (count == 64 || !ronde_parse_integer(&at, INT32_MAX, &numbers[count++]) ||
            (*at != ',' && *at != ';' && *at != '\0'))
            return ronde_reader_fail(
                reader, tag, "topo_parameters is '%s', expected numbers such as 2;4,4;1,2;1,2",
                text);
        if (*at == '\0')
            break;
    }
    const double links =
        is_fat_tree ? fat_tree_links(numbers, count) : dragonfly_links(numbers, count);
    return ronde_limit_check_file(RONDE_LIMIT_LINKS, (uint64_t)fmin(links, 1e18),
                                  reader->platform->path, tag->line, reader->error);
}

/*
 * The zone a cluster is. A cluster with a topology is kept for its hosts; its links are SimGrid's.
 */
static enum ronde_status open_zone(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t parent, struct cluster *cluster)
{
    static const char *const topologies[] = {"", "FLAT", "TORUS", "FAT_TREE", "DRAGONFLY"};
    struct ronde_platform *platform = reader->platform;
    uint32_t topology;
    RONDE_TRY(ronde_reader_choice(reader, tag, "topology", topologies, 5, &topology));
    if (parent == RONDE_NONE && platform->zones.count > 0)
        return ronde_reader_fail(reader, tag, "a second root zone '%s'", cluster->id);
    cluster->is_star = topology < 2;
    /* A limiter is a link of its own on either side of such a torus. */
    cluster->is_torus = topology == 2 && cluster->limiter_GBps == 0;
    const enum ronde_status status =
        ronde_platform_add_zone(platform, cluster->id, parent,
                                cluster->is_star ? RONDE_ZONE_STAR : RONDE_ZONE_FOREIGN,
                                &cluster->zone);
    if (status != RONDE_OK)
        return ronde_reader_no_memory(reader);
    RONDE_AT(platform->zones, struct ronde_zone, cluster->zone)->routing = topologies[topology];
    if (parent == RONDE_NONE)
        (void)snprintf(platform->facts.name, sizeof platform->facts.name, "%s", cluster->id);
    return cluster->is_star ? add_backbone(reader, tag, cluster)
           : topology > 2   ? check_links(reader, tag, topology == 3)
                            : RONDE_OK;
}

static enum ronde_status make_torus(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                    const struct cluster *cluster)
{
    const struct ronde_link link = {cluster->id, cluster->rate_GBps, cluster->latency_ns, false,
                                    false};
    return ronde_reader_torus(reader, tag, cluster->zone, &link,
                              (enum ronde_link_sharing)cluster->sharing);
}

/* Numbers first, then the zone, its router, its hosts; its props come after it, as they stand in the file. */
enum ronde_status ronde_read_cluster(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                     uint32_t parent)
{
    struct cluster cluster = {.zone = RONDE_NONE, .backbone = RONDE_NONE};
    enum ronde_status status = read_names(reader, tag, &cluster);
    RONDE_THEN(status, read_rates(reader, tag, &cluster));
    RONDE_THEN(status, open_zone(reader, tag, parent, &cluster));
    RONDE_THEN(status, add_router(reader, tag, &cluster));
    RONDE_THEN(status, add_hosts(reader, tag, &cluster, ronde_reader_value(tag, "radical")));
    if (status == RONDE_OK && cluster.is_torus)
        status = make_torus(reader, tag, &cluster);
    reader->inner = cluster.zone;
    return status;
}
