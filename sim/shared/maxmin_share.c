/*
 * The flows and links of max-min fairness: flows come and go, in a bundle for each route that has some, and links know how
 * much is asked of them. Their rates: maxmin_solve.c.
 */
#include "maxmin_share.h"

#include <stdlib.h>

static void free_numbers(const struct ronde_mem *mem, struct ronde_sim_numbers *numbers)
{
    ronde_mem_free(mem, numbers->all, numbers->capacity, sizeof *numbers->all);
}

static int compare_rates(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Numbers the own rates of all routes in ascending order. */
static bool rank_routes(struct ronde_sim_share *share)
{
    const struct ronde_sim_routes *routes = &share->graph->routes;
    double *rates = ronde_store_new(&share->store, routes->count, sizeof *rates);
    share->own_GBps = rates;
    share->rank_of = ronde_store_new(&share->store, routes->count, sizeof *share->rank_of);
    share->rank_head = ronde_store_new(&share->store, routes->count, sizeof *share->rank_head);
    share->bundle_of = ronde_store_new(&share->store, routes->count, sizeof *share->bundle_of);
    const bool fits = !share->store.is_short;
    for (uint32_t i = 0; fits && i < routes->count; i++) {
        rates[i] = routes->all[i].path.rate_GBps;
        share->rank_head[i] = share->bundle_of[i] = RONDE_NONE;
    }
    if (fits && routes->count > 0)
        qsort(rates, routes->count, sizeof *rates, compare_rates);
    for (uint32_t i = 0; fits && i < routes->count; i++)
        if (i == 0 || rates[i] != rates[share->rank_count - 1])
            rates[share->rank_count++] = rates[i];
    for (uint32_t i = 0; fits && i < routes->count; i++) {
        const double *found = bsearch(&routes->all[i].path.rate_GBps, rates, share->rank_count,
                                      sizeof *rates, compare_rates);
        share->rank_of[i] = (uint32_t)(found - rates);
    }
    return fits;
}

bool ronde_sim_share_open(struct ronde_sim_share *share,
                          const struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem)
{
    *share =
        (struct ronde_sim_share){.graph = graph, .mem = mem, .store = {.mem = mem}, .solution = 1};
    share->link_count = graph->link_count;
    share->links = ronde_store_new(&share->store, share->link_count, sizeof *share->links);
    for (uint32_t i = 0; share->links && i < share->link_count; i++)
        share->links[i].rate_GBps = graph->links[i].rate_GBps;
    for (uint32_t i = 0; i < graph->routes.count; i++)
        if (graph->routes.all[i].hop_count > share->most_hops)
            share->most_hops = graph->routes.all[i].hop_count;
    return rank_routes(share);
}

void ronde_sim_share_close(struct ronde_sim_share *share)
{
    const struct ronde_mem *mem = share->mem;
    for (uint32_t i = 0; share->links && i < share->link_count; i++)
        ronde_mem_free(mem, share->links[i].bundles, share->links[i].capacity,
                       sizeof *share->links[i].bundles);
    ronde_mem_free(mem, share->bundles, share->bundle_capacity, sizeof *share->bundles);
    ronde_mem_free(mem, share->places, share->place_capacity, sizeof *share->places);
    ronde_mem_free(mem, share->levels, share->level_capacity, sizeof *share->levels);
    ronde_store_clear(&share->store);
    free_numbers(mem, &share->free);
    free_numbers(mem, &share->fresh);
    free_numbers(mem, &share->touched);
    free_numbers(mem, &share->affected);
    free_numbers(mem, &share->taken);
    free_numbers(mem, &share->ranks);
}

static uint32_t *place_of(const struct ronde_sim_share *share, struct ronde_sim_crossing crossing)
{
    return &share->places[(size_t)crossing.bundle * share->most_hops + crossing.hop];
}

/* The next solution looks at this link. */
static bool touch(struct ronde_sim_share *share, struct ronde_sim_shared_link *link)
{
    if (link->is_touched)
        return true;
    link->is_touched = true;
    return ronde_sim_numbers_push(share->mem, &share->touched, (uint32_t)(link - share->links));
}

/* Room for one more bundle, with its places. */
static bool reserve_bundle(struct ronde_sim_share *share)
{
    bool fits = ronde_mem_grow(share->mem, &share->bundles, &share->bundle_capacity,
                               (size_t)share->bundle_count + 1, sizeof *share->bundles);
    fits = fits && ronde_mem_grow(share->mem, &share->places, &share->place_capacity,
                                  share->bundle_capacity * share->most_hops, sizeof *share->places);
    return fits;
}

/* Room for one more bundle on a link. */
static bool reserve_crossing(struct ronde_sim_share *share, struct ronde_sim_shared_link *link)
{
    size_t capacity = link->capacity;
    if (link->count < capacity)
        return true;
    const bool fits = ronde_mem_grow(share->mem, &link->bundles, &capacity, (size_t)link->count + 1,
                                     sizeof *link->bundles);
    link->capacity = (uint32_t)capacity;
    return fits;
}

/* Puts a bundle on a link of its route. */
static bool cross(struct ronde_sim_share *share, struct ronde_sim_shared_link *link,
                  struct ronde_sim_crossing crossing)
{
    if (!reserve_crossing(share, link))
        return false;
    *place_of(share, crossing) = link->count;
    link->bundles[link->count++] = crossing;
    return true;
}

/* The last of the list takes the place of what leaves. */
static void uncross(struct ronde_sim_share *share, struct ronde_sim_shared_link *link,
                    struct ronde_sim_crossing crossing)
{
    const uint32_t place = *place_of(share, crossing);
    link->bundles[place] = link->bundles[--link->count];
    *place_of(share, link->bundles[place]) = place;
}

/* A bundle for the first flow along a route. */
static uint32_t open_bundle(struct ronde_sim_share *share, double at_ns,
                            const struct ronde_sim_forward_kind *kind)
{
    if (share->free.count == 0 && !reserve_bundle(share))
        return RONDE_NONE;
    const uint32_t index =
        share->free.count > 0 ? share->free.all[--share->free.count] : share->bundle_count++;
    struct ronde_sim_bundle *bundle = &share->bundles[index];
    *bundle = (struct ronde_sim_bundle){.since_ns = at_ns,
                                        .route = kind->route,
                                        .first_hop = kind->first_hop,
                                        .hop_count = kind->hop_count,
                                        .rank = share->rank_of[kind->route],
                                        .by = RONDE_NONE};
    share->bundle_of[kind->route] = index;
    bool fits = ronde_sim_numbers_push(share->mem, &share->fresh, index);
    for (uint32_t hop = 0; hop < bundle->hop_count && fits; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
        if (link->rate_GBps > 0)
            fits = cross(share, link, (struct ronde_sim_crossing){index, hop});
    }
    return fits ? index : RONDE_NONE;
}

uint32_t ronde_sim_share_join(struct ronde_sim_share *share, double at_ns, uint32_t kind)
{
    const struct ronde_sim_forward_kind *what = &share->graph->kinds[kind];
    const uint32_t known = share->bundle_of[what->route];
    const uint32_t index = known == RONDE_NONE ? open_bundle(share, at_ns, what) : known;
    if (index == RONDE_NONE)
        return RONDE_NONE;
    struct ronde_sim_bundle *bundle = &share->bundles[index];
    bool fits = true;
    bundle->count++;
    share->flow_count++;
    for (uint32_t hop = 0; hop < bundle->hop_count && fits; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
        link->demand_GBps += share->own_GBps[bundle->rank];
        fits = link->rate_GBps <= 0 || touch(share, link);
    }
    return fits ? index : RONDE_NONE;
}

/* The last flow of a bundle is over. */
static bool close_bundle(struct ronde_sim_share *share, uint32_t index)
{
    const struct ronde_sim_bundle *bundle = &share->bundles[index];
    share->bundle_of[bundle->route] = RONDE_NONE;
    for (uint32_t hop = 0; hop < bundle->hop_count; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
        if (link->rate_GBps > 0)
            uncross(share, link, (struct ronde_sim_crossing){index, hop});
    }
    return ronde_sim_numbers_push(share->mem, &share->free, index);
}

/* A link without flows has no rounding left either. */
bool ronde_sim_share_leave(struct ronde_sim_share *share, uint32_t index)
{
    struct ronde_sim_bundle *bundle = &share->bundles[index];
    bool fits = --bundle->count > 0 || close_bundle(share, index);
    share->flow_count--;
    for (uint32_t hop = 0; hop < bundle->hop_count && fits; hop++) {
        struct ronde_sim_shared_link *link = ronde_sim_share_link(share, bundle, hop);
        link->demand_GBps =
            link->count > 0 ? link->demand_GBps - share->own_GBps[bundle->rank] : 0.0;
        fits = link->rate_GBps <= 0 || touch(share, link);
    }
    return fits;
}
