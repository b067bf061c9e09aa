/* What edges of trees load. See ways.h. */
#include "ways.h"

#include <math.h>

static bool is_limited(const struct ronde_wiring *wiring, uint32_t hop)
{
    return !wiring->wires[wiring->hops[hop]].is_free;
}

/* Adds the limited hops of a route to those of a pair. */
static void add_route(const struct ronde_wiring *wiring, struct ronde_ways *ways, uint32_t pair,
                      uint32_t route, uint32_t *used)
{
    const uint32_t n = ways->ranks;
    ways->is_open[pair] = ways->is_open[pair] && ronde_wiring_is_open(wiring, route / n, route % n);
    for (uint32_t h = wiring->first[route]; h < wiring->first[route + 1]; h++)
        if (is_limited(wiring, h))
            ways->hops[(*used)++] = wiring->hops[h];
}

/* Hops of all pairs, by the routes that data takes: from the parent, to it, or both. */
static void fill(const struct ronde_wiring *wiring, bool goes_down, bool goes_up,
                 struct ronde_ways *ways)
{
    const uint32_t n = ways->ranks;
    uint32_t used = 0;
    for (uint32_t parent = 0; parent < n; parent++)
        for (uint32_t child = 0; child < n; child++) {
            const uint32_t pair = parent * n + child;
            ways->first[pair] = used;
            ways->is_open[pair] = parent != child;
            if (goes_down)
                add_route(wiring, ways, pair, pair, &used);
            if (goes_up)
                add_route(wiring, ways, pair, child * n + parent, &used);
        }
    ways->first[n * n] = used;
}

bool ronde_ways_list_users(struct ronde_ways *ways, struct ronde_index_pool *pool)
{
    const uint32_t pairs = ways->ranks * ways->ranks;
    ways->first_user = ronde_pool_new(pool, (size_t)ways->wire_count + 1, sizeof *ways->first_user);
    if (!ways->first_user)
        return false;
    for (uint32_t h = 0; h < ways->first[pairs]; h++)
        ways->first_user[ways->hops[h]]++;
    for (uint32_t w = 1; w <= ways->wire_count; w++)
        ways->first_user[w] += ways->first_user[w - 1];
    for (uint32_t pair = pairs; pair-- > 0;)
        for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
            ways->users[--ways->first_user[ways->hops[h]]] = pair;
    return true;
}

static bool make(const struct ronde_wiring *wiring, bool goes_down, bool goes_up,
                 struct ronde_index_pool *pool, struct ronde_ways *out_ways)
{
    const uint32_t n = wiring->ranks;
    const size_t pairs = (size_t)n * n;
    const size_t hops = (size_t)wiring->first[pairs] * (goes_down && goes_up ? 2 : 1);
    *out_ways = (struct ronde_ways){
        .ranks = n,
        .wire_count = wiring->wire_count,
        .first = ronde_pool_new(pool, pairs + 1, sizeof *out_ways->first),
        .hops = ronde_pool_new(pool, hops, sizeof *out_ways->hops),
        .is_open = ronde_pool_new(pool, pairs, sizeof *out_ways->is_open),
        .users = ronde_pool_new(pool, hops, sizeof *out_ways->users),
        .rate_GBps = ronde_pool_new(pool, wiring->wire_count, sizeof *out_ways->rate_GBps),
    };
    if (!out_ways->first || !out_ways->hops || !out_ways->is_open || !out_ways->users ||
        !out_ways->rate_GBps)
        return false;
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        out_ways->rate_GBps[w] = wiring->wires[w].is_free ? INFINITY : wiring->wires[w].rate_GBps;
    fill(wiring, goes_down, goes_up, out_ways);
    return ronde_ways_list_users(out_ways, pool);
}

bool ronde_ways_make(const struct ronde_wiring *wiring, bool is_reversed,
                     struct ronde_index_pool *pool, struct ronde_ways *out_ways)
{
    return make(wiring, !is_reversed, is_reversed, pool, out_ways);
}

bool ronde_ways_make_joint(const struct ronde_wiring *wiring, struct ronde_index_pool *pool,
                           struct ronde_ways *out_ways)
{
    return make(wiring, true, true, pool, out_ways);
}
