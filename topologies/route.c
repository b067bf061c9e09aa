/*
 * Routes as SimGrid finds them: in the closest zone that holds both ends, from one child to the other, then on both
 * sides down to the real ends (NetZoneImpl::get_global_route of SimGrid 3.32, which the tests compare with).
 *
 * Where SimGrid would break a tie between equally short paths, this refuses: which of them it takes depends on its
 * containers, and a wrong guess would be a wrong route.
 */
#include "router.h"

#include <string.h>

/* Longer routes are refused: no machine has them, and it bounds the recursion on malicious files. */
#define MAX_LINKS 1024u

/* The route being written. */
struct walk {
    const struct ronde_platform *platform;
    struct ronde_router *router;
    struct ronde_error *error;
    uint32_t *links;   /* may be shorter than the route */
    uint32_t capacity; /* of links */
    uint32_t count;    /* links so far */
    uint32_t src;      /* points the caller requested, for messages */
    uint32_t dst;
};

static const struct ronde_netpoint *point_at(const struct ronde_platform *platform, uint32_t index)
{
    return RONDE_AT(platform->points, struct ronde_netpoint, index);
}

static const struct ronde_zone *zone_at(const struct ronde_platform *platform, uint32_t index)
{
    return RONDE_AT(platform->zones, struct ronde_zone, index);
}

/* Names the two hosts that were requested, not the zones between which the gap was found. */
static enum ronde_status no_route(struct walk *walk)
{
    return ronde_fail(walk->error, RONDE_BAD_INPUT, "%s: no route from %s to %s",
                      walk->platform->path, point_at(walk->platform, walk->src)->name,
                      point_at(walk->platform, walk->dst)->name);
}

/* Counts on beyond the capacity, so that *out_count is the whole length. */
static enum ronde_status append(struct walk *walk, uint32_t link)
{
    if (walk->count == MAX_LINKS)
        return ronde_fail(walk->error, RONDE_BAD_INPUT,
                          "%s: the route from %s to %s has more than %u links",
                          walk->platform->path, point_at(walk->platform, walk->src)->name,
                          point_at(walk->platform, walk->dst)->name, MAX_LINKS);
    if (walk->count < walk->capacity)
        walk->links[walk->count] = link;
    walk->count++;
    return RONDE_OK;
}

static enum ronde_status append_hops(struct walk *walk, struct ronde_hops hops)
{
    for (uint32_t i = 0; i < hops.count; i++)
        RONDE_TRY(append(walk, *RONDE_AT(walk->platform->hops, uint32_t, hops.first + i)));
    return RONDE_OK;
}

/* Lists of a star are a few links long; a search is cheaper than any index. */
static bool holds(const struct ronde_platform *platform, struct ronde_hops hops, uint32_t link)
{
    for (uint32_t i = 0; i < hops.count; i++)
        if (*RONDE_AT(platform->hops, uint32_t, hops.first + i) == link)
            return true;
    return false;
}

/* Up from one, down to the other; a link both sides name (backbone, shared port) is crossed once. */
static enum ronde_status star_route(struct walk *walk, const struct ronde_netpoint *src,
                                    const struct ronde_netpoint *dst)
{
    RONDE_TRY(append_hops(walk, src->up));
    for (uint32_t i = 0; i < dst->down.count; i++) {
        const uint32_t link = *RONDE_AT(walk->platform->hops, uint32_t, dst->down.first + i);
        if (!holds(walk->platform, src->up, link))
            RONDE_TRY(append(walk, link));
    }
    return RONDE_OK;
}

const struct ronde_route *ronde_platform_written_route(const struct ronde_platform *platform,
                                                       uint32_t src, uint32_t dst)
{
    const struct ronde_netpoint *point = point_at(platform, src);
    uint32_t low = point->first_route;
    uint32_t high = low + point->route_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const struct ronde_route *route = RONDE_AT(platform->routes, struct ronde_route, middle);
        if (route->dst == dst)
            return route;
        if (route->dst < dst)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static enum ronde_status join(struct walk *walk, uint32_t src, uint32_t dst);

/* Along one axis of a torus, from one coordinate to another; *at is the host this has come to, counted from 0. */
static enum ronde_status ring_route(struct walk *walk, const struct ronde_zone *zone,
                                    const uint32_t *stride_and_length, uint32_t to, uint32_t *at)
{
    const struct ronde_platform *platform = walk->platform;
    const uint32_t *members = RONDE_AT(platform->members, uint32_t, zone->first_member + 1);
    const uint32_t stride = stride_and_length[0];
    const uint32_t length = stride_and_length[1];
    const uint32_t half = length / 2;
    const uint32_t from = *at / stride % length;
    /* SimGrid's rule to the letter: at half the length it goes up, except from some coordinates of even rings. */
    const bool is_up =
        (to > from && to <= from + half) || (from > half && (from + half) % length >= to);
    enum ronde_status status = RONDE_OK;
    for (uint32_t here = from; here != to && status == RONDE_OK;) {
        const uint32_t next = (here + (is_up ? 1 : length - 1)) % length;
        const uint32_t host = *at - here * stride + next * stride;
        status =
            append_hops(walk,
                        ronde_platform_written_route(platform, members[*at], members[host])->hops);
        here = next;
        *at = host;
    }
    return status;
}

/* First axis first. The router of a torus has no links of its own: what enters there is already inside. */
static enum ronde_status torus_route(struct walk *walk, const struct ronde_zone *zone,
                                     const struct ronde_netpoint *src,
                                     const struct ronde_netpoint *dst)
{
    enum ronde_status status = RONDE_OK;
    if (!src->is_host || !dst->is_host)
        return status;
    uint32_t at = src->slot - 1;
    uint32_t stride = 1;
    for (uint32_t i = 0; i < zone->axis_count && status == RONDE_OK; i++) {
        const uint32_t stride_and_length[2] = {stride, zone->axes[i]};
        status = ring_route(walk, zone, stride_and_length, (dst->slot - 1) / stride % zone->axes[i],
                            &at);
        stride *= zone->axes[i];
    }
    return status;
}

/* Writes one route of a zone, and before it the way from where the last one ended to where this one begins. */
static enum ronde_status append_route(struct walk *walk, uint32_t index, uint32_t *from)
{
    const struct ronde_route *route = RONDE_AT(walk->platform->routes, struct ronde_route, index);
    enum ronde_status status = join(walk, *from, route->gw_src);
    RONDE_THEN(status, append_hops(walk, route->hops));
    *from = route->gw_dst;
    return status;
}

/* The one route a FULL zone writes out. */
static enum ronde_status written_route(struct walk *walk, const uint32_t *children, uint32_t from,
                                       uint32_t to)
{
    const struct ronde_route *route =
        ronde_platform_written_route(walk->platform, children[0], children[1]);
    if (!route)
        return no_route(walk);
    const uint32_t index =
        (uint32_t)(route - (const struct ronde_route *)walk->platform->routes.items);
    RONDE_TRY(append_route(walk, index, &from));
    return join(walk, from, to);
}

/* The shortest chain of routes, if there is exactly one. */
static enum ronde_status shortest_route(struct walk *walk, const uint32_t *children, uint32_t from,
                                        uint32_t to)
{
    struct ronde_router *router = walk->router;
    ronde_router_search(router, children[0], children[1]);
    if (!ronde_router_reached(router, children[1]))
        return no_route(walk);
    if (router->visits[children[1]].is_ambiguous)
        return ronde_fail(walk->error, RONDE_UNSUPPORTED,
                          "%s: two equally short routes lead from %s to %s and only SimGrid knows "
                          "which it takes; name an algorithm for it to replay: ronde sim -a NAME",
                          walk->platform->path, point_at(walk->platform, children[0])->name,
                          point_at(walk->platform, children[1])->name);
    /* Copied before going on: inside the gateways' zones other searches run, but never one of this zone. */
    const uint32_t first = router->chain_count;
    const uint32_t count = ronde_router_push(router, children[1]);
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = append_route(walk, router->chain[first + i], &from);
    router->chain_count = first;
    return status == RONDE_OK ? join(walk, from, to) : status;
}

/* From one point to another through the two children of one zone they sit in (or are). */
static enum ronde_status route_in_zone(struct walk *walk, const uint32_t *children, uint32_t from,
                                       uint32_t to)
{
    const struct ronde_platform *platform = walk->platform;
    const struct ronde_netpoint *src = point_at(platform, children[0]);
    const struct ronde_zone *zone = zone_at(platform, src->zone);
    switch (zone->kind) {
    case RONDE_ZONE_STAR:
        return star_route(walk, src, point_at(platform, children[1]));
    case RONDE_ZONE_FULL:
        return written_route(walk, children, from, to);
    case RONDE_ZONE_SHORTEST:
        return shortest_route(walk, children, from, to);
    case RONDE_ZONE_TORUS:
        return torus_route(walk, zone, src, point_at(platform, children[1]));
    case RONDE_ZONE_FOREIGN:
        break;
    }
    return ronde_fail(walk->error, RONDE_UNSUPPORTED,
                      "%s: only SimGrid routes %s zones such as %s; name an algorithm for it to "
                      "replay: ronde sim -a NAME",
                      platform->path, zone->routing, point_at(platform, zone->point)->name);
}

/* The zone a point sits in, as a point. */
static uint32_t parent_of(const struct ronde_platform *platform, uint32_t point)
{
    const uint32_t zone = point_at(platform, point)->zone;
    return zone == RONDE_NONE ? RONDE_NONE : zone_at(platform, zone)->point;
}

/* Zones above a point. */
static uint32_t depth_of(const struct ronde_platform *platform, uint32_t point)
{
    uint32_t depth = 0;
    while (parent_of(platform, point) != RONDE_NONE) {
        point = parent_of(platform, point);
        depth++;
    }
    return depth;
}

/* Appends the whole route between two hosts or routers. */
static enum ronde_status join(struct walk *walk, uint32_t src, uint32_t dst)
{
    const struct ronde_platform *platform = walk->platform;
    uint32_t children[2] = {src, dst};
    if (src == dst)
        return RONDE_OK;
    if (point_at(platform, src)->zone == point_at(platform, dst)->zone)
        return route_in_zone(walk, children, src, dst);
    uint32_t depths[2] = {depth_of(platform, src), depth_of(platform, dst)};
    while (point_at(platform, children[0])->zone != point_at(platform, children[1])->zone) {
        const uint32_t deeper = depths[0] >= depths[1] ? 0 : 1;
        children[deeper] = parent_of(platform, children[deeper]);
        depths[deeper]--;
    }
    return route_in_zone(walk, children, src, dst);
}

/* The way around what is out, written forwards. */
static enum ronde_status detour(struct walk *walk, uint32_t src, uint32_t dst)
{
    const struct ronde_platform *platform = walk->platform;
    struct ronde_detour_search *search = &walk->router->detour;
    const uint32_t count = ronde_detour_find(platform->detours, search, src, dst);
    if (count == RONDE_NONE)
        return ronde_fail(walk->error, RONDE_BAD_INPUT,
                          "%s: no way is left from %s to %s around what is taken out",
                          platform->path, point_at(platform, walk->src)->name,
                          point_at(platform, walk->dst)->name);
    walk->count = 0;
    for (uint32_t i = count; i-- > 0;)
        RONDE_TRY(append(walk, search->queue[i]));
    return RONDE_OK;
}

static bool crosses_what_is_out(const struct walk *walk)
{
    for (uint32_t i = 0; i < walk->count; i++)
        if (walk->platform->is_out[walk->links[i]])
            return true;
    return false;
}

/* The file's route, and around what is out of it; a route that is longer than the caller's room is looked at in ours. */
static enum ronde_status join_around(struct walk *walk, uint32_t src, uint32_t dst)
{
    uint32_t links[MAX_LINKS];
    struct walk whole = *walk;
    whole.links = links;
    whole.capacity = MAX_LINKS;
    whole.error = NULL;
    enum ronde_status status = join(&whole, walk->src, walk->dst);
    /* Of a tie that only SimGrid decides, all ways are taken in turn: it cannot replay such a machine anyway. */
    const bool is_tie = status == RONDE_UNSUPPORTED;
    whole.error = walk->error;
    if (is_tie || (status == RONDE_OK && crosses_what_is_out(&whole)))
        status = detour(&whole, src, dst);
    else if (status != RONDE_OK)
        return join(walk, walk->src, walk->dst);
    for (uint32_t i = 0; status == RONDE_OK && i < whole.count; i++)
        status = append(walk, links[i]);
    return status;
}

/* From a host to itself leads no link: such messages never flow. */
enum ronde_status ronde_router_route(struct ronde_router *router, uint32_t src, uint32_t dst,
                                     uint32_t capacity, uint32_t *out_links, uint32_t *out_count,
                                     struct ronde_error *error)
{
    const struct ronde_platform *platform = router->platform;
    *out_count = 0;
    if (src >= platform->hosts.count || dst >= platform->hosts.count)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: host %u of %u", platform->path,
                          src >= platform->hosts.count ? src : dst, platform->hosts.count);
    struct walk walk = {platform, router, error, out_links, capacity, 0, 0, 0};
    walk.src = *RONDE_AT(platform->hosts, uint32_t, src);
    walk.dst = *RONDE_AT(platform->hosts, uint32_t, dst);
    RONDE_TRY(platform->detours ? join_around(&walk, src, dst) : join(&walk, walk.src, walk.dst));
    *out_count = walk.count;
    return RONDE_OK;
}

enum ronde_status ronde_platform_route(const struct ronde_platform *platform, uint32_t src,
                                       uint32_t dst, uint32_t capacity, uint32_t *out_links,
                                       uint32_t *out_count, struct ronde_error *error)
{
    struct ronde_router *router;
    *out_count = 0;
    RONDE_TRY(ronde_router_create(platform, platform->mem, &router, error));
    const enum ronde_status status =
        ronde_router_route(router, src, dst, capacity, out_links, out_count, error);
    ronde_router_destroy(router);
    return status;
}
