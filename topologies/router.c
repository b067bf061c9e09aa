/*
 * Shortest routes inside one zone: Dijkstra with buckets, since costs are small numbers of links (R. Dial, Algorithm
 * 360: Shortest-path forest with topological ordering, CACM 12 (1969)). Every route has at least one link, so a point
 * that is taken from the cheapest bucket is final and so is the count of ways that lead to it.
 */
#include "router.h"

static const struct ronde_netpoint *point_at(const struct ronde_router *router, uint32_t index)
{
    return RONDE_AT(router->platform->points, struct ronde_netpoint, index);
}

/* Longest route that starts in each zone: open points never differ by more, so as many buckets and one are enough. */
static void size_buckets(struct ronde_router *router)
{
    const struct ronde_platform *platform = router->platform;
    for (uint32_t i = 0; i < platform->routes.count; i++) {
        const struct ronde_route *route = RONDE_AT(platform->routes, struct ronde_route, i);
        const uint32_t zone = point_at(router, route->src)->zone;
        struct ronde_search *search = &router->searches[zone];
        if (RONDE_AT(platform->zones, struct ronde_zone, zone)->kind == RONDE_ZONE_SHORTEST &&
            search->bucket_count <= route->hops.count)
            search->bucket_count = route->hops.count + 1;
    }
    for (uint32_t i = 0; i < platform->zones.count; i++) {
        router->searches[i].first_bucket = router->bucket_count;
        router->bucket_count += router->searches[i].bucket_count;
    }
}

enum ronde_status ronde_router_create(const struct ronde_platform *platform,
                                      const struct ronde_mem *mem, struct ronde_router **out_router,
                                      struct ronde_error *error)
{
    *out_router = NULL;
    struct ronde_router *router = ronde_mem_new(mem, 1, sizeof *router);
    if (!router)
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory for a router", platform->path);
    router->platform = platform;
    router->store.mem = mem;
    router->visits = ronde_store_new(&router->store, platform->points.count, sizeof *router->visits);
    router->chain = ronde_store_new(&router->store, platform->points.count, sizeof *router->chain);
    router->searches =
        ronde_store_new(&router->store, platform->zones.count, sizeof *router->searches);
    if (router->searches)
        size_buckets(router);
    router->buckets = ronde_store_new(&router->store, router->bucket_count, sizeof *router->buckets);
    if (platform->detours)
        ronde_detour_search_open(platform->detours, &router->store, &router->detour);
    if (router->store.is_short) {
        ronde_router_destroy(router);
        return ronde_fail(error, RONDE_NO_MEMORY, "%s: no memory to route among %u points",
                          platform->path, platform->points.count);
    }
    *out_router = router;
    return RONDE_OK;
}

void ronde_router_destroy(struct ronde_router *router)
{
    if (!router)
        return;
    const struct ronde_mem *mem = router->store.mem;
    ronde_store_clear(&router->store);
    ronde_mem_free(mem, router, 1, sizeof *router);
}

const struct ronde_platform *ronde_router_platform(const struct ronde_router *router)
{
    return router->platform;
}

/* The bucket of a cost, emptied if an older search left something in it. */
static struct ronde_bucket *bucket_of(struct ronde_router *router,
                                      const struct ronde_search *search, uint32_t cost)
{
    struct ronde_bucket *bucket =
        &router->buckets[search->first_bucket + cost % search->bucket_count];
    if (bucket->search != search->number)
        *bucket = (struct ronde_bucket){search->number, RONDE_NONE};
    return bucket;
}

static void enqueue(struct ronde_router *router, struct ronde_search *search, uint32_t point)
{
    struct ronde_visit *visit = &router->visits[point];
    struct ronde_bucket *bucket = bucket_of(router, search, visit->cost);
    visit->previous = RONDE_NONE;
    visit->next = bucket->head;
    if (bucket->head != RONDE_NONE)
        router->visits[bucket->head].previous = point;
    bucket->head = point;
    search->open++;
}

static void dequeue(struct ronde_router *router, struct ronde_search *search, uint32_t point)
{
    const struct ronde_visit *visit = &router->visits[point];
    if (visit->previous != RONDE_NONE)
        router->visits[visit->previous].next = visit->next;
    else
        bucket_of(router, search, visit->cost)->head = visit->next;
    if (visit->next != RONDE_NONE)
        router->visits[visit->next].previous = visit->previous;
    search->open--;
}

/* The cheapest open point; there is one. */
static uint32_t take_cheapest(struct ronde_router *router, struct ronde_search *search)
{
    while (bucket_of(router, search, search->cost)->head == RONDE_NONE)
        search->cost++;
    const uint32_t point = bucket_of(router, search, search->cost)->head;
    dequeue(router, search, point);
    router->visits[point].is_done = true;
    return point;
}

/* Offers the end of a route the path through its start. */
static void offer(struct ronde_router *router, struct ronde_search *search, uint32_t route)
{
    const struct ronde_route *way = RONDE_AT(router->platform->routes, struct ronde_route, route);
    const struct ronde_visit *here = &router->visits[way->src];
    struct ronde_visit *there = &router->visits[way->dst];
    const uint32_t cost = here->cost + way->hops.count;
    const bool is_known = there->search == search->number;
    if (is_known && (there->is_done || cost > there->cost))
        return;
    if (is_known && cost == there->cost) {
        there->is_ambiguous = true;
        return;
    }
    if (is_known)
        dequeue(router, search, way->dst);
    *there = (struct ronde_visit){.search = search->number,
                                  .cost = cost,
                                  .via = route,
                                  .is_ambiguous = here->is_ambiguous};
    enqueue(router, search, way->dst);
}

/* A search from another source; what the last one left behind is void by its number. */
static void begin(struct ronde_router *router, struct ronde_search *search, uint32_t src)
{
    search->number = ++router->searched;
    search->source = src;
    search->cost = 0;
    search->open = 0;
    router->visits[src] = (struct ronde_visit){.search = search->number, .via = RONDE_NONE};
    enqueue(router, search, src);
}

void ronde_router_search(struct ronde_router *router, uint32_t src, uint32_t dst)
{
    struct ronde_search *search = &router->searches[point_at(router, src)->zone];
    /* A zone without routes has no buckets either. */
    if (search->bucket_count == 0)
        return;
    if (search->number == 0 || search->source != src)
        begin(router, search, src);
    const struct ronde_visit *end = &router->visits[dst];
    while (search->open > 0 && !(end->search == search->number && end->is_done)) {
        const uint32_t point = take_cheapest(router, search);
        const struct ronde_netpoint *from = point_at(router, point);
        for (uint32_t i = 0; i < from->route_count; i++)
            offer(router, search, from->first_route + i);
    }
}

bool ronde_router_reached(const struct ronde_router *router, uint32_t point)
{
    const struct ronde_search *search = &router->searches[point_at(router, point)->zone];
    return search->number != 0 && router->visits[point].search == search->number;
}

uint32_t ronde_router_push(struct ronde_router *router, uint32_t dst)
{
    uint32_t *routes = &router->chain[router->chain_count];
    uint32_t count = 0;
    for (uint32_t via = router->visits[dst].via; via != RONDE_NONE; count++) {
        routes[count] = via;
        const uint32_t src = RONDE_AT(router->platform->routes, struct ronde_route, via)->src;
        via = router->visits[src].via;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        const uint32_t swapped = routes[i];
        routes[i] = routes[count - 1 - i];
        routes[count - 1 - i] = swapped;
    }
    router->chain_count += count;
    return count;
}
