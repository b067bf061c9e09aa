/* <route> and <zoneRoute>: a list of links from one child of a zone to another, usually meant both ways. */
#include "reader.h"

#include <string.h>

/* The link a <link_ctn> means; `is_reverse` asks for the way back, on which a direction turns round. */
static enum ronde_status resolve(struct ronde_xml_reader *reader, xmlNode *node, bool is_reverse,
                                 uint32_t *out_link)
{
    static const char *const directions[] = {"", "UP", "DOWN", "NONE"};
    const struct ronde_platform *platform = reader->platform;
    const char *id;
    uint32_t direction;
    enum ronde_status status = ronde_reader_text(reader, node, "id", &id);
    if (status == RONDE_OK)
        status = ronde_reader_choice(reader, node, "direction", directions, 4, &direction);
    if (status != RONDE_OK)
        return status;
    const bool is_directed = direction == 1 || direction == 2;
    const uint32_t split = ronde_names_find(&platform->split_names, id);
    const uint32_t plain = ronde_names_find(&platform->link_names, id);
    if (split == RONDE_NONE && plain == RONDE_NONE)
        return ronde_reader_fail(reader, node, "unknown link '%s'", id);
    if (is_directed != (split != RONDE_NONE))
        return ronde_reader_fail(reader, node,
                                 is_directed
                                     ? "link '%s' is not SPLITDUPLEX and has no direction"
                                     : "SPLITDUPLEX link '%s' needs a direction, UP or DOWN",
                                 id);
    *out_link = plain;
    if (is_directed) {
        const uint32_t down = *RONDE_AT(platform->reverses, uint32_t, split);
        *out_link = (direction == 1) != is_reverse ? split : down;
    }
    return RONDE_OK;
}

/* Appends the links of a route element to hops; backwards for the way back. */
static enum ronde_status collect(struct ronde_xml_reader *reader, xmlNode *node, bool is_reverse,
                                 struct ronde_hops *out_hops)
{
    out_hops->first = reader->platform->hops.count;
    xmlNode *child = is_reverse ? node->last : node->children;
    for (; child; child = is_reverse ? child->prev : child->next) {
        uint32_t link = RONDE_NONE;
        if (child->type != XML_ELEMENT_NODE)
            continue;
        enum ronde_status status = resolve(reader, child, is_reverse, &link);
        if (status == RONDE_OK)
            status = ronde_reader_added(reader, ronde_platform_add_hop(reader->platform, link));
        if (status != RONDE_OK)
            return status;
    }
    out_hops->count = reader->platform->hops.count - out_hops->first;
    return RONDE_OK;
}

/* The children only have to be link_ctn here; collect reads them, in whichever order. */
static enum ronde_status accept_link_ctn(struct ronde_xml_reader *reader, xmlNode *node,
                                         uint32_t zone)
{
    return ronde_reader_walk(reader, node, zone, NULL, 0);
}

/* One direction. Pairs given twice are found when all are sorted, by the sealing. */
static enum ronde_status push_route(struct ronde_xml_reader *reader, const struct ronde_route *route)
{
    struct ronde_route *copy =
        ronde_list_push(reader->platform->mem, &reader->platform->routes, sizeof *copy);
    if (!copy)
        return ronde_reader_no_memory(reader);
    *copy = *route;
    return RONDE_OK;
}

/* Reads the links of a route whose ends are known and stores it, both ways if it says so. */
static enum ronde_status store(struct ronde_xml_reader *reader, xmlNode *node,
                               struct ronde_route *route)
{
    static const struct ronde_element inside[] = {
        {"link_ctn", "id", "direction", 0, RONDE_GROUP_ANY, accept_link_ctn},
    };
    static const char *const answers[] = {"", "YES", "yes", "NO", "no"};
    uint32_t answer;
    enum ronde_status status = ronde_reader_walk(reader, node, RONDE_NONE, inside, 1);
    if (status == RONDE_OK)
        status = ronde_reader_choice(reader, node, "symmetrical", answers, 5, &answer);
    if (status == RONDE_OK)
        status = collect(reader, node, false, &route->hops);
    if (status == RONDE_OK && route->hops.count == 0)
        return ronde_reader_fail(reader, node, "the route has no links");
    route->line = ronde_reader_line(node);
    if (status == RONDE_OK)
        status = push_route(reader, route);
    if (status != RONDE_OK || answer > 2 || route->src == route->dst)
        return status;
    struct ronde_route back = {route->dst,    route->src,  route->gw_dst,
                               route->gw_src, route->line, {0, 0}};
    status = collect(reader, node, true, &back.hops);
    return status == RONDE_OK ? push_route(reader, &back) : status;
}

/* The point an attribute names, which must sit directly in `zone`. */
static enum ronde_status find_end(struct ronde_xml_reader *reader, xmlNode *node, const char *name,
                                  uint32_t zone, uint32_t *out_point)
{
    const struct ronde_platform *platform = reader->platform;
    const char *text;
    const enum ronde_status status = ronde_reader_text(reader, node, name, &text);
    if (status != RONDE_OK)
        return status;
    *out_point = ronde_names_find(&platform->point_names, text);
    if (*out_point == RONDE_NONE)
        return ronde_reader_fail(reader, node,
                                 "%s of <%s> is '%s', which is no host, router or "
                                 "zone of this file",
                                 name, (const char *)node->name, text);
    if (RONDE_AT(platform->points, struct ronde_netpoint, *out_point)->zone != zone)
        return ronde_reader_fail(reader, node,
                                 "%s of <%s> is '%s', which is not directly in this "
                                 "zone",
                                 name, (const char *)node->name, text);
    return RONDE_OK;
}

/* The host or router inside the zone `outer` stands for that an attribute names. */
static enum ronde_status find_gateway(struct ronde_xml_reader *reader, xmlNode *node,
                                      const char *name, uint32_t outer, uint32_t *out_point)
{
    const struct ronde_platform *platform = reader->platform;
    const char *text;
    const enum ronde_status status = ronde_reader_text(reader, node, name, &text);
    if (status != RONDE_OK)
        return status;
    *out_point = ronde_names_find(&platform->point_names, text);
    uint32_t at = *out_point;
    if (at == RONDE_NONE ||
        RONDE_AT(platform->points, struct ronde_netpoint, at)->inner != RONDE_NONE)
        return ronde_reader_fail(reader, node, "%s is '%s', which is no host or router", name, text);
    while (at != outer) {
        const uint32_t zone = RONDE_AT(platform->points, struct ronde_netpoint, at)->zone;
        if (zone == RONDE_NONE)
            return ronde_reader_fail(reader, node, "%s is '%s', which is not inside zone '%s'",
                                     name, text,
                                     RONDE_AT(platform->points, struct ronde_netpoint, outer)->name);
        at = RONDE_AT(platform->zones, struct ronde_zone, zone)->point;
    }
    return RONDE_OK;
}

/* A star finds its routes itself; SimGrid ignores or rejects written ones, depending on the version. */
static enum ronde_status check_routable(struct ronde_xml_reader *reader, const xmlNode *node,
                                        uint32_t zone)
{
    if (RONDE_AT(reader->platform->zones, struct ronde_zone, zone)->kind == RONDE_ZONE_STAR)
        return ronde_reader_fail(reader, node,
                                 "<%s> in a zone with routing=\"Cluster\", which "
                                 "takes <host_link>",
                                 (const char *)node->name);
    return RONDE_OK;
}

/* Between hosts or routers, which are their own gateways. */
enum ronde_status ronde_read_route(struct ronde_xml_reader *reader, xmlNode *node, uint32_t zone)
{
    struct ronde_route route = {0, 0, 0, 0, 0, {0, 0}};
    enum ronde_status status = check_routable(reader, node, zone);
    if (status == RONDE_OK)
        status = find_end(reader, node, "src", zone, &route.src);
    if (status == RONDE_OK)
        status = find_end(reader, node, "dst", zone, &route.dst);
    if (status != RONDE_OK)
        return status;
    route.gw_src = route.src;
    route.gw_dst = route.dst;
    return store(reader, node, &route);
}

/* Between zones: the links lead from a point inside the one to a point inside the other. */
enum ronde_status ronde_read_zone_route(struct ronde_xml_reader *reader, xmlNode *node,
                                        uint32_t zone)
{
    struct ronde_route route = {0, 0, 0, 0, 0, {0, 0}};
    enum ronde_status status = check_routable(reader, node, zone);
    if (status == RONDE_OK)
        status = find_end(reader, node, "src", zone, &route.src);
    if (status == RONDE_OK)
        status = find_end(reader, node, "dst", zone, &route.dst);
    if (status == RONDE_OK)
        status = find_gateway(reader, node, "gw_src", route.src, &route.gw_src);
    if (status == RONDE_OK)
        status = find_gateway(reader, node, "gw_dst", route.dst, &route.gw_dst);
    return status == RONDE_OK ? store(reader, node, &route) : status;
}
