/* <route> and <zoneRoute>: a list of links from one child of a zone to another, usually meant both ways. */
#include "reader.h"

#include <string.h>

/* One direction. Pairs given twice are found when all are sorted, by the sealing. */
static enum ronde_status push_route(struct ronde_xml_reader *reader, const struct ronde_route *route)
{
    return ronde_list_append(reader->platform->mem, &reader->platform->routes, route, sizeof *route)
               ? RONDE_OK
               : ronde_reader_no_memory(reader);
}

/* A route whose ends are known; its links follow. */
static enum ronde_status begin(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                               const struct ronde_route *route)
{
    static const char *const answers[] = {"", "YES", "yes", "NO", "no"};
    uint32_t answer;
    const enum ronde_status status =
        ronde_reader_choice(reader, tag, "symmetrical", answers, 5, &answer);
    reader->route = *route;
    reader->route.hops.first = reader->platform->hops.count;
    reader->has_way_back = answer <= 2 && route->src != route->dst;
    reader->way_back.count = 0;
    return status;
}

/* The next link of the route; on the way back its direction turns round. */
enum ronde_status ronde_read_link_ctn(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      uint32_t zone)
{
    static const char *const directions[] = {"", "UP", "DOWN", "NONE"};
    struct ronde_platform *platform = reader->platform;
    const char *id = ronde_reader_value(tag, "id");
    uint32_t direction;
    bool is_split;
    (void)zone;
    RONDE_TRY(ronde_reader_choice(reader, tag, "direction", directions, 4, &direction));
    const bool is_directed = direction == 1 || direction == 2;
    const uint32_t link = ronde_platform_find_link(platform, id, &is_split);
    if (link == RONDE_NONE)
        return ronde_reader_fail(reader, tag, "unknown link '%s'", id);
    if (is_directed != is_split)
        return ronde_reader_fail(reader, tag,
                                 is_directed
                                     ? "link '%s' is not SPLITDUPLEX and has no direction"
                                     : "SPLITDUPLEX link '%s' needs a direction, UP or DOWN",
                                 id);
    const uint32_t down = is_split ? *RONDE_AT(platform->reverses, uint32_t, link) : link;
    const uint32_t back = direction == 1 ? down : link;
    RONDE_TRY(
        ronde_reader_added(reader, ronde_platform_add_hop(platform, direction == 2 ? down : link)));
    return ronde_list_append(platform->mem, &reader->way_back, &back, sizeof back)
               ? RONDE_OK
               : ronde_reader_no_memory(reader);
}

/* Its links are all there: it is stored, both ways if it says so. */
enum ronde_status ronde_end_route(struct ronde_xml_reader *reader, uint32_t line, uint32_t zone)
{
    struct ronde_platform *platform = reader->platform;
    struct ronde_route *route = &reader->route;
    (void)zone;
    route->hops.count = platform->hops.count - route->hops.first;
    if (route->hops.count == 0)
        return ronde_reader_fail_line(reader, line, "the route has no links");
    enum ronde_status status = push_route(reader, route);
    if (status != RONDE_OK || !reader->has_way_back)
        return status;
    const struct ronde_route back = {route->dst,    route->src,
                                     route->gw_dst, route->gw_src,
                                     line,          {platform->hops.count, reader->way_back.count}};
    for (uint32_t i = reader->way_back.count; i-- > 0 && status == RONDE_OK;)
        status = ronde_platform_add_hop(platform, *RONDE_AT(reader->way_back, uint32_t, i));
    return status == RONDE_OK ? push_route(reader, &back) : ronde_reader_no_memory(reader);
}

/* The point an attribute names, which must sit directly in `zone`. */
static enum ronde_status find_end(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                  const char *name, uint32_t zone, uint32_t *out_point)
{
    const struct ronde_platform *platform = reader->platform;
    const char *text = ronde_reader_value(tag, name);
    *out_point = ronde_names_find(&platform->point_names, text);
    if (*out_point == RONDE_NONE)
        return ronde_reader_fail(reader, tag,
                                 "%s of <%s> is '%s', which is no host, router or "
                                 "zone of this file",
                                 name, tag->name, text);
    if (RONDE_AT(platform->points, struct ronde_netpoint, *out_point)->zone != zone)
        return ronde_reader_fail(reader, tag,
                                 "%s of <%s> is '%s', which is not directly in this "
                                 "zone",
                                 name, tag->name, text);
    return RONDE_OK;
}

/* The host or router inside the zone `outer` stands for that an attribute names. */
static enum ronde_status find_gateway(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                      const char *name, uint32_t outer, uint32_t *out_point)
{
    const struct ronde_platform *platform = reader->platform;
    const char *text = ronde_reader_value(tag, name);
    *out_point = ronde_names_find(&platform->point_names, text);
    uint32_t at = *out_point;
    if (at == RONDE_NONE ||
        RONDE_AT(platform->points, struct ronde_netpoint, at)->inner != RONDE_NONE)
        return ronde_reader_fail(reader, tag, "%s is '%s', which is no host or router", name, text);
    while (at != outer) {
        const uint32_t zone = RONDE_AT(platform->points, struct ronde_netpoint, at)->zone;
        if (zone == RONDE_NONE)
            return ronde_reader_fail(reader, tag, "%s is '%s', which is not inside zone '%s'", name,
                                     text,
                                     RONDE_AT(platform->points, struct ronde_netpoint, outer)->name);
        at = RONDE_AT(platform->zones, struct ronde_zone, zone)->point;
    }
    return RONDE_OK;
}

/* A star finds its routes itself; SimGrid ignores or rejects written ones, depending on the version. */
static enum ronde_status check_routable(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, uint32_t zone)
{
    if (RONDE_AT(reader->platform->zones, struct ronde_zone, zone)->kind == RONDE_ZONE_STAR)
        return ronde_reader_fail(reader, tag,
                                 "<%s> in a zone with routing=\"Cluster\", which "
                                 "takes <host_link>",
                                 tag->name);
    return RONDE_OK;
}

/* Between what: `src` and `dst`. */
static enum ronde_status find_ends(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone, struct ronde_route *route)
{
    RONDE_TRY(check_routable(reader, tag, zone));
    RONDE_TRY(find_end(reader, tag, "src", zone, &route->src));
    return find_end(reader, tag, "dst", zone, &route->dst);
}

/* Between hosts or routers, which are their own gateways. */
enum ronde_status ronde_read_route(struct ronde_xml_reader *reader, const struct ronde_tag *tag,
                                   uint32_t zone)
{
    struct ronde_route route = {.line = tag->line};
    RONDE_TRY(find_ends(reader, tag, zone, &route));
    route.gw_src = route.src;
    route.gw_dst = route.dst;
    return begin(reader, tag, &route);
}

/* Between zones: the links lead from a point inside the one to a point inside the other. */
enum ronde_status ronde_read_zone_route(struct ronde_xml_reader *reader,
                                        const struct ronde_tag *tag, uint32_t zone)
{
    struct ronde_route route = {.line = tag->line};
    RONDE_TRY(find_ends(reader, tag, zone, &route));
    RONDE_TRY(find_gateway(reader, tag, "gw_src", route.src, &route.gw_src));
    RONDE_TRY(find_gateway(reader, tag, "gw_dst", route.dst, &route.gw_dst));
    return begin(reader, tag, &route);
}
