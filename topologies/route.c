/*
 * Routes as SimGrid finds them: in the closest zone that holds both ends, from one child to the other, then on both
 * sides down to the real ends (NetZoneImpl::get_global_route of SimGrid 3.32, which the tests compare with).
 *
 * Where SimGrid would break a tie between equally short paths, this refuses: which of them it takes depends on its
 * containers, and a wrong guess would be a wrong answer.
 */
#include "platform.h"

#include <string.h>

/* Longer routes are refused: no machine has them, and it bounds the recursion on hostile files. */
#define MAX_LINKS 1024u

/* The route being written. */
struct walk {
    const struct ronde_platform *platform;
    struct ronde_error *error;
    uint32_t *links;   /* may be shorter than the route */
    uint32_t capacity; /* of links */
    uint32_t count;    /* links so far */
    uint32_t src;      /* points the caller asked for, for messages */
    uint32_t dst;
};

static const struct ronde_point *point_at(const struct ronde_platform *platform, uint32_t index)
{
    return RONDE_AT(platform->points, struct ronde_point, index);
}

static const struct ronde_zone *zone_at(const struct ronde_platform *platform, uint32_t index)
{
    return RONDE_AT(platform->zones, struct ronde_zone, index);
}

/* Names the two hosts that were asked for, not the zones between which the gap was found. */
static enum ronde_status no_route(struct walk *walk)
{
    return ronde_fail(walk->error, RONDE_BAD_INPUT, "%s: no route from %s to %s",
                      walk->platform->path, point_at(walk->platform, walk->src)->name,
                      point_at(walk->platform, walk->dst)->name);
}

/* Counts on beyond the capacity, so that the caller learns how much it would have taken. */
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
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < hops.count && status == RONDE_OK; i++)
        status = append(walk, *RONDE_AT(walk->platform->hops, uint32_t, hops.first + i));
    return status;
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
static enum ronde_status star_route(struct walk *walk, const struct ronde_point *src,
                                    const struct ronde_point *dst)
{
    enum ronde_status status = append_hops(walk, src->up);
    for (uint32_t i = 0; i < dst->down.count && status == RONDE_OK; i++) {
        const uint32_t link = *RONDE_AT(walk->platform->hops, uint32_t, dst->down.first + i);
        if (!holds(walk->platform, src->up, link))
            status = append(walk, link);
    }
    return status;
}

/* The written route between two points of a zone, or NULL. */
static const struct ronde_route *find_route(const struct ronde_platform *platform, uint32_t src,
                                            uint32_t dst)
{
    const struct ronde_point *point = point_at(platform, src);
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

/* What Dijkstra knows of a point, by slot. */
struct label {
    uint32_t cost;     /* links from the source */
    uint32_t via;      /* route that leads here */
    bool is_done;      /* final */
    bool is_ambiguous; /* another path is as short */
};

/* Settles the cheapest open point; NONE when no open one can be reached. */
static uint32_t settle(struct label *labels, uint32_t count)
{
    uint32_t best = RONDE_NONE;
    for (uint32_t i = 0; i < count; i++)
        if (!labels[i].is_done && labels[i].cost != RONDE_NONE &&
            (best == RONDE_NONE || labels[i].cost < labels[best].cost))
            best = i;
    if (best != RONDE_NONE)
        labels[best].is_done = true;
    return best;
}

/* Offers every neighbour of a settled point the path through it. */
static void relax(const struct ronde_platform *platform, struct label *labels, uint32_t point)
{
    const struct ronde_point *from = point_at(platform, point);
    const struct label *here = &labels[from->slot];
    for (uint32_t i = 0; i < from->route_count; i++) {
        const uint32_t index = from->first_route + i;
        const struct ronde_route *route = RONDE_AT(platform->routes, struct ronde_route, index);
        struct label *there = &labels[point_at(platform, route->dst)->slot];
        const uint32_t cost = here->cost + route->hops.count;
        if (there->is_done || cost > there->cost)
            continue;
        there->is_ambiguous = cost == there->cost || here->is_ambiguous;
        if (cost == there->cost)
            continue;
        there->cost = cost;
        there->via = index;
    }
}

/* Labels all points of the zone of src that are as near as dst. */
static void dijkstra(const struct ronde_platform *platform, struct label *labels, uint32_t src,
                     uint32_t dst)
{
    const struct ronde_zone *zone = zone_at(platform, point_at(platform, src)->zone);
    for (uint32_t i = 0; i < zone->member_count; i++)
        labels[i].cost = RONDE_NONE;
    labels[point_at(platform, src)->slot].cost = 0;
    for (;;) {
        const uint32_t slot = settle(labels, zone->member_count);
        if (slot == RONDE_NONE)
            return;
        const uint32_t point = *RONDE_AT(platform->members, uint32_t, zone->first_member + slot);
        if (point == dst)
            return;
        relax(platform, labels, point);
    }
}

/* Turns the labels into the routes from src to dst, in order; returns how many. */
static uint32_t backtrack(const struct ronde_platform *platform, const struct label *labels,
                          uint32_t src, uint32_t dst, uint32_t *out_routes)
{
    uint32_t count = 0;
    for (uint32_t at = dst; at != src; count++) {
        const uint32_t via = labels[point_at(platform, at)->slot].via;
        out_routes[count] = via;
        at = RONDE_AT(platform->routes, struct ronde_route, via)->src;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = out_routes[i];
        out_routes[i] = out_routes[count - 1 - i];
        out_routes[count - 1 - i] = swapped;
    }
    return count;
}

static enum ronde_status join(struct walk *walk, uint32_t src, uint32_t dst);

/* The routes from one child of a zone to another, in order. */
struct chain {
    uint32_t *routes; /* `single`, or a block of `capacity` */
    uint32_t capacity;
    uint32_t count;
    uint32_t single;
};

/* Writes a chain. Where one route ends at another gateway than the next begins, the way between those is part of it. */
static enum ronde_status append_chain(struct walk *walk, const struct chain *chain, uint32_t from,
                                      uint32_t to)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < chain->count && status == RONDE_OK; i++) {
        const struct ronde_route *route =
            RONDE_AT(walk->platform->routes, struct ronde_route, chain->routes[i]);
        status = join(walk, from, route->gw_src);
        if (status == RONDE_OK)
            status = append_hops(walk, route->hops);
        from = route->gw_dst;
    }
    return status == RONDE_OK ? join(walk, from, to) : status;
}

/* The one route a FULL zone writes out. */
static enum ronde_status find_written(struct walk *walk, const uint32_t *children,
                                      struct chain *chain)
{
    const struct ronde_route *route = find_route(walk->platform, children[0], children[1]);
    if (!route)
        return no_route(walk);
    chain->single = (uint32_t)(route - (const struct ronde_route *)walk->platform->routes.block);
    chain->routes = &chain->single;
    chain->count = 1;
    return RONDE_OK;
}

/* The shortest chain, if there is exactly one. */
static enum ronde_status pick_shortest(struct walk *walk, const uint32_t *children,
                                       struct label *labels, struct chain *chain)
{
    const struct ronde_platform *platform = walk->platform;
    const struct label *end = &labels[point_at(platform, children[1])->slot];
    dijkstra(platform, labels, children[0], children[1]);
    if (end->cost == RONDE_NONE)
        return no_route(walk);
    if (end->is_ambiguous)
        return ronde_fail(walk->error, RONDE_UNSUPPORTED,
                          "%s: two equally short routes lead from %s to %s and only SimGrid "
                          "knows which it takes; use --engine simgrid",
                          platform->path, point_at(platform, children[0])->name,
                          point_at(platform, children[1])->name);
    chain->count = backtrack(platform, labels, children[0], children[1], chain->routes);
    return RONDE_OK;
}

/* The same with the memory it takes; chain->routes is the caller's to free. */
static enum ronde_status find_shortest(struct walk *walk, const uint32_t *children,
                                       struct chain *chain)
{
    const struct ronde_mem *mem = walk->platform->mem;
    const uint32_t zone = point_at(walk->platform, children[0])->zone;
    const uint32_t members = zone_at(walk->platform, zone)->member_count;
    struct label *labels = ronde_mem_new(mem, members, sizeof *labels);
    chain->routes = ronde_mem_new(mem, members, sizeof *chain->routes);
    chain->capacity = members;
    const enum ronde_status status =
        labels && chain->routes ? pick_shortest(walk, children, labels, chain)
                                : ronde_fail(walk->error, RONDE_NO_MEMORY,
                                             "no memory for a route among %u points", members);
    ronde_mem_free(mem, labels, members, sizeof *labels);
    return status;
}

/* From one point to another through the two children of one zone they sit in (or are). */
static enum ronde_status route_in_zone(struct walk *walk, const uint32_t *children, uint32_t from,
                                       uint32_t to)
{
    const struct ronde_platform *platform = walk->platform;
    const struct ronde_point *src = point_at(platform, children[0]);
    const struct ronde_zone *zone = zone_at(platform, src->zone);
    if (zone->kind == RONDE_ZONE_FOREIGN)
        return ronde_fail(walk->error, RONDE_UNSUPPORTED,
                          "%s: only SimGrid routes %s zones such as %s; use --engine simgrid",
                          platform->path, zone->routing, point_at(platform, zone->point)->name);
    if (zone->kind == RONDE_ZONE_STAR)
        return star_route(walk, src, point_at(platform, children[1]));
    struct chain chain = {NULL, 0, 0, RONDE_NONE};
    enum ronde_status status = zone->kind == RONDE_ZONE_FULL ? find_written(walk, children, &chain)
                                                             : find_shortest(walk, children, &chain);
    if (status == RONDE_OK)
        status = append_chain(walk, &chain, from, to);
    if (chain.capacity > 0)
        ronde_mem_free(platform->mem, chain.routes, chain.capacity, sizeof *chain.routes);
    return status;
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
    uint32_t depths[2] = {depth_of(platform, src), depth_of(platform, dst)};
    if (src == dst)
        return RONDE_OK;
    while (point_at(platform, children[0])->zone != point_at(platform, children[1])->zone) {
        const uint32_t deeper = depths[0] >= depths[1] ? 0 : 1;
        children[deeper] = parent_of(platform, children[deeper]);
        depths[deeper]--;
    }
    return route_in_zone(walk, children, src, dst);
}

/* From a host to itself leads no link: such messages never flow. */
enum ronde_status ronde_platform_route(const struct ronde_platform *platform, uint32_t src,
                                       uint32_t dst, uint32_t capacity, uint32_t *out_links,
                                       uint32_t *out_count, struct ronde_error *error)
{
    *out_count = 0;
    if (src >= platform->hosts.count || dst >= platform->hosts.count)
        return ronde_fail(error, RONDE_BAD_INPUT, "%s: host %u of %u", platform->path,
                          src >= platform->hosts.count ? src : dst, platform->hosts.count);
    struct walk walk = {platform, error, out_links, capacity, 0, 0, 0};
    walk.src = *RONDE_AT(platform->hosts, uint32_t, src);
    walk.dst = *RONDE_AT(platform->hosts, uint32_t, dst);
    const enum ronde_status status = join(&walk, walk.src, walk.dst);
    if (status == RONDE_OK)
        *out_count = walk.count;
    return status;
}
