/* Trees and what they load. See forest.h. */
#include "forest.h"

#include <math.h>

/* Longer delays are taken for this one, so that the squares of those of a tree can be added up. */
#define MOST_DELAY_NS 1e6

/* What edges of trees load. */

/* Adds the limited hops of a route to those of a pair. */
static void add_route(const struct ronde_wiring *wiring, struct ronde_ways *ways, uint32_t pair,
                      uint32_t route, uint32_t *used)
{
    const uint32_t n = ways->ranks;
    double delay_ns = wiring->alpha_ns;
    ways->is_open[pair] = ways->is_open[pair] && ronde_wiring_is_open(wiring, route / n, route % n);
    for (uint32_t h = wiring->first[route]; h < wiring->first[route + 1]; h++) {
        delay_ns += wiring->wires[wiring->hops[h]].latency_ns;
        if (!wiring->wires[wiring->hops[h]].is_free)
            ways->hops[(*used)++] = wiring->hops[h];
    }
    ways->delay_ns[pair] += delay_ns < 1 ? 1 : (uint32_t)fmin(delay_ns, MOST_DELAY_NS);
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

bool ronde_ways_list_users(struct ronde_ways *ways, struct ronde_store *pool)
{
    const uint32_t pairs = ways->ranks * ways->ranks;
    ways->first_user = ronde_store_new(pool, (size_t)ways->wire_count + 1, sizeof *ways->first_user);
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
                 struct ronde_store *pool, struct ronde_ways *out_ways)
{
    const uint32_t n = wiring->ranks;
    const size_t pairs = (size_t)n * n;
    const size_t hops = (size_t)wiring->first[pairs] * (goes_down && goes_up ? 2 : 1);
    *out_ways = (struct ronde_ways){
        .ranks = n,
        .wire_count = wiring->wire_count,
        .first = ronde_store_new(pool, pairs + 1, sizeof *out_ways->first),
        .hops = ronde_store_new(pool, hops, sizeof *out_ways->hops),
        .is_open = ronde_store_new(pool, pairs, sizeof *out_ways->is_open),
        .delay_ns = ronde_store_new(pool, pairs, sizeof *out_ways->delay_ns),
        .users = ronde_store_new(pool, hops, sizeof *out_ways->users),
        .rate_GBps = ronde_store_new(pool, wiring->wire_count, sizeof *out_ways->rate_GBps),
    };
    if (!out_ways->first || !out_ways->hops || !out_ways->is_open || !out_ways->delay_ns ||
        !out_ways->users || !out_ways->rate_GBps)
        return false;
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        out_ways->rate_GBps[w] = wiring->wires[w].is_free ? INFINITY : wiring->wires[w].rate_GBps;
    fill(wiring, goes_down, goes_up, out_ways);
    return ronde_ways_list_users(out_ways, pool);
}

bool ronde_ways_make(const struct ronde_wiring *wiring, bool is_reversed, struct ronde_store *pool,
                     struct ronde_ways *out_ways)
{
    return make(wiring, !is_reversed, is_reversed, pool, out_ways);
}

bool ronde_ways_make_joint(const struct ronde_wiring *wiring, struct ronde_store *pool,
                           struct ronde_ways *out_ways)
{
    if (!make(wiring, true, true, pool, out_ways))
        return false;
    ronde_ways_count_messages(out_ways);
    return true;
}

void ronde_ways_count_messages(struct ronde_ways *ways)
{
    for (uint32_t pair = 0; pair < ways->ranks * ways->ranks; pair++)
        ways->delay_ns[pair] = 1;
}

bool ronde_forest_create(struct ronde_forest *forest, const struct ronde_ways *ways,
                         const uint32_t *roots, uint32_t count, struct ronde_store *pool)
{
    const size_t edges = (size_t)count * ways->ranks, pairs = (size_t)ways->ranks * ways->ranks;
    *forest = (struct ronde_forest){
        .ways = ways,
        .tree_count = count,
        .root = ronde_store_new(pool, count, sizeof *forest->root),
        .parent = ronde_store_new(pool, edges, sizeof *forest->parent),
        .next = ronde_store_new(pool, edges, sizeof *forest->next),
        .previous = ronde_store_new(pool, edges, sizeof *forest->previous),
        .head = ronde_store_new(pool, pairs, sizeof *forest->head),
        .load = ronde_store_new(pool, ways->wire_count, sizeof *forest->load),
    };
    if (!forest->root || !forest->parent || !forest->next || !forest->previous || !forest->head ||
        !forest->load)
        return false;
    for (uint32_t t = 0; t < count; t++)
        forest->root[t] = roots[t];
    for (size_t e = 0; e < edges; e++)
        forest->parent[e] = RONDE_NONE;
    for (size_t p = 0; p < pairs; p++)
        forest->head[p] = RONDE_NONE;
    return true;
}

void ronde_forest_link(struct ronde_forest *forest, uint32_t tree, uint32_t parent, uint32_t child)
{
    const struct ronde_ways *ways = forest->ways;
    const uint32_t pair = parent * ways->ranks + child, edge = tree * ways->ranks + child;
    forest->parent[edge] = parent;
    forest->previous[edge] = RONDE_NONE;
    forest->next[edge] = forest->head[pair];
    if (forest->head[pair] != RONDE_NONE)
        forest->previous[forest->head[pair]] = edge;
    forest->head[pair] = edge;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        forest->load[ways->hops[h]]++;
}

void ronde_forest_unlink(struct ronde_forest *forest, uint32_t tree, uint32_t child)
{
    const struct ronde_ways *ways = forest->ways;
    const uint32_t edge = tree * ways->ranks + child;
    const uint32_t pair = forest->parent[edge] * ways->ranks + child;
    if (forest->previous[edge] != RONDE_NONE)
        forest->next[forest->previous[edge]] = forest->next[edge];
    else
        forest->head[pair] = forest->next[edge];
    if (forest->next[edge] != RONDE_NONE)
        forest->previous[forest->next[edge]] = forest->previous[edge];
    forest->parent[edge] = RONDE_NONE;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++)
        forest->load[ways->hops[h]]--;
}

uint32_t ronde_forest_depth(const struct ronde_forest *forest, uint32_t tree, uint32_t rank)
{
    const uint32_t *parent = forest->parent + (size_t)tree * forest->ways->ranks;
    uint32_t depth = 0;
    for (; rank != forest->root[tree]; rank = parent[rank])
        depth++;
    return depth;
}

void ronde_forest_heights(const struct ronde_forest *forest, uint32_t tree, uint32_t *heights)
{
    const uint32_t n = forest->ways->ranks;
    const uint32_t *parent = forest->parent + (size_t)tree * n;
    for (uint32_t v = 0; v < n; v++)
        heights[v] = 0;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t steps = 0;
        for (uint32_t at = v; at != forest->root[tree]; at = parent[at])
            if (heights[parent[at]] < ++steps)
                heights[parent[at]] = steps;
    }
}

/* Makes a rank the root: the edges between it and the old root are turned round. */
static void set_root(struct ronde_forest *forest, uint32_t tree, uint32_t root)
{
    const uint32_t *parent = forest->parent + (size_t)tree * forest->ways->ranks;
    uint32_t at = root, below = RONDE_NONE;
    while (at != RONDE_NONE) {
        const uint32_t above = parent[at];
        if (above != RONDE_NONE)
            ronde_forest_unlink(forest, tree, at);
        if (below != RONDE_NONE)
            ronde_forest_link(forest, tree, below, at);
        below = at;
        at = above;
    }
    forest->root[tree] = root;
}

/* The rank farthest below, by heights: from the root always to the highest child. */
static uint32_t farthest(const struct ronde_forest *forest, uint32_t tree, const uint32_t *heights)
{
    const uint32_t n = forest->ways->ranks;
    const uint32_t *parent = forest->parent + (size_t)tree * n;
    uint32_t at = forest->root[tree];
    while (heights[at] > 0)
        for (uint32_t v = 0, top = at; v < n && at == top; v++)
            if (parent[v] == top && heights[v] + 1 == heights[top])
                at = v;
    return at;
}

void ronde_forest_centre(struct ronde_forest *forest, uint32_t tree, uint32_t *room)
{
    const uint32_t *parent = forest->parent + (size_t)tree * forest->ways->ranks;
    ronde_forest_heights(forest, tree, room);
    set_root(forest, tree, farthest(forest, tree, room));
    ronde_forest_heights(forest, tree, room);
    const uint32_t length = room[forest->root[tree]];
    uint32_t at = farthest(forest, tree, room);
    for (uint32_t i = 0; i < length / 2; i++)
        at = parent[at];
    set_root(forest, tree, at);
}

double ronde_forest_time(const struct ronde_forest *forest)
{
    double longest = 0;
    for (uint32_t w = 0; w < forest->ways->wire_count; w++) {
        const double time = forest->load[w] / forest->ways->rate_GBps[w];
        if (forest->load[w] > 0 && time > longest)
            longest = time;
    }
    return longest;
}
