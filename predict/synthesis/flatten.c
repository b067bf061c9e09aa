/*
 * Lower trees of the same load. See forest.h.
 *
 * What falls is the sum of the squares of all delays, which weighs a tall tree more than two of middle height, and does not
 * rise that of all depths: a message more costs more than its latency. Hanging a rank below another parent changes the depth
 * and the delay of everything below it by the same numbers, so sizes and sums over subtrees tell the gain without visiting
 * them (growth). After each change the trees concerned are measured anew, in time linear in ranks; passes end when one has
 * changed nothing, and after PASSES.
 */
#include "forest.h"

/* Passes over all ranks of all trees, at most. */
#define PASSES 12u

/* What is known of every rank of every tree, by the number of the edge into it. */
struct flattening {
    struct ronde_forest *forest;
    const uint32_t *limit;
    uint32_t *depth;    /* of the rank */
    uint32_t *delay_ns; /* from the root to it, without bytes */
    uint32_t *size;     /* ranks that hang below it, itself included */
    bool overfills;
    uint64_t *depths;    /* sum of the depths of these */
    uint64_t *delays_ns; /* likewise */
    uint32_t *count;     /* per depth: ranks; room for sorting */
    uint32_t *order;     /* ranks by depth */
};

static void find_depths(struct flattening *flattening, uint32_t tree)
{
    const uint32_t n = flattening->forest->ways->ranks, root = flattening->forest->root[tree];
    const uint32_t *parent = flattening->forest->parent + (size_t)tree * n;
    uint32_t *depth = flattening->depth + (size_t)tree * n;
    for (uint32_t v = 0; v < n; v++)
        depth[v] = RONDE_NONE;
    depth[root] = 0;
    for (uint32_t v = 0; v < n; v++) {
        uint32_t at = v, steps = 0;
        for (; depth[at] == RONDE_NONE; at = parent[at])
            steps++;
        const uint32_t known = depth[at];
        for (at = v; steps > 0; at = parent[at], steps--)
            depth[at] = known + steps;
    }
}

/* Depths of a tree, and sums over what hangs below each rank: the deepest ranks first. */
static void measure(struct flattening *flattening, uint32_t tree)
{
    const uint32_t n = flattening->forest->ways->ranks;
    const uint32_t *parent = flattening->forest->parent + (size_t)tree * n;
    const uint32_t *depth = flattening->depth + (size_t)tree * n;
    uint32_t *size = flattening->size + (size_t)tree * n;
    uint64_t *depths = flattening->depths + (size_t)tree * n;
    uint32_t *delay_ns = flattening->delay_ns + (size_t)tree * n;
    uint64_t *delays_ns = flattening->delays_ns + (size_t)tree * n;
    const uint32_t root = flattening->forest->root[tree];
    find_depths(flattening, tree);
    for (uint32_t d = 0; d <= n; d++)
        flattening->count[d] = 0;
    for (uint32_t v = 0; v < n; v++) {
        flattening->count[depth[v] + 1]++;
        size[v] = 1;
        depths[v] = depth[v];
    }
    for (uint32_t d = 1; d <= n; d++)
        flattening->count[d] += flattening->count[d - 1];
    for (uint32_t v = 0; v < n; v++)
        flattening->order[flattening->count[depth[v]]++] = v;
    delays_ns[root] = delay_ns[root] = 0;
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t v = flattening->order[i];
        delay_ns[v] = delay_ns[parent[v]] + flattening->forest->ways->delay_ns[parent[v] * n + v];
        delays_ns[v] = delay_ns[v];
    }
    for (uint32_t i = n; i-- > 1;) {
        const uint32_t v = flattening->order[i];
        size[parent[v]] += size[v];
        depths[parent[v]] += depths[v];
        delays_ns[parent[v]] += delays_ns[v];
    }
}

/* How much the squares of depths and of delays grow. */
struct growth {
    int64_t depths, delays;
};

/* That of a number of each rank of a subtree, of which there are `size` with a sum, where all grow by as much. */
static int64_t growth_of(int64_t by, uint64_t sum, uint32_t size)
{
    return 2 * by * (int64_t)sum + by * by * size;
}

static uint32_t delay_below(const struct flattening *flattening, uint32_t tree, uint32_t parent,
                            uint32_t rank)
{
    const uint32_t n = flattening->forest->ways->ranks;
    return flattening->delay_ns[tree * n + parent] +
           flattening->forest->ways->delay_ns[parent * n + rank];
}

/* Adds what a tree grows by where a rank gets another parent. */
static void add_growth(const struct flattening *flattening, uint32_t tree, uint32_t rank,
                       uint32_t parent, struct growth *growth)
{
    const uint32_t n = flattening->forest->ways->ranks, edge = tree * n + rank;
    const int64_t deeper =
        (int64_t)flattening->depth[tree * n + parent] + 1 - flattening->depth[edge];
    const int64_t later =
        (int64_t)delay_below(flattening, tree, parent, rank) - flattening->delay_ns[edge];
    const uint32_t size = flattening->size[edge];
    growth->depths += growth_of(deeper, flattening->depths[edge], size);
    growth->delays += growth_of(later, flattening->delays_ns[edge], size);
}

static bool is_below(const struct flattening *flattening, uint32_t tree, uint32_t rank, uint32_t top)
{
    const uint32_t n = flattening->forest->ways->ranks;
    const uint32_t *parent = flattening->forest->parent + (size_t)tree * n;
    while (rank != top && rank != flattening->forest->root[tree])
        rank = parent[rank];
    return rank == top;
}

static void set_parent(struct flattening *flattening, uint32_t tree, uint32_t rank, uint32_t parent)
{
    ronde_forest_unlink(flattening->forest, tree, rank);
    ronde_forest_link(flattening->forest, tree, parent, rank);
}

static bool is_shrinking(const struct growth *growth)
{
    return growth->delays <= 0 && growth->depths <= 0 && growth->delays + growth->depths < 0;
}

/* Two trees exchange the parents of a rank, if both stay trees and delays fall. */
static bool exchange(struct flattening *flattening, uint32_t rank, uint32_t a, uint32_t b)
{
    const uint32_t n = flattening->forest->ways->ranks;
    const uint32_t edge_a = a * n + rank, edge_b = b * n + rank;
    const uint32_t parent_a = flattening->forest->parent[edge_a];
    const uint32_t parent_b = flattening->forest->parent[edge_b];
    struct growth growth = {0, 0};
    if (parent_a == parent_b)
        return false;
    add_growth(flattening, a, rank, parent_b, &growth);
    add_growth(flattening, b, rank, parent_a, &growth);
    if (!is_shrinking(&growth) || is_below(flattening, a, parent_b, rank) ||
        is_below(flattening, b, parent_a, rank))
        return false;
    set_parent(flattening, a, rank, parent_b);
    set_parent(flattening, b, rank, parent_a);
    measure(flattening, a);
    measure(flattening, b);
    return true;
}

/* How often a way is on a wire, up to one of its hops: on turned ways a wire stands for all of a class. */
static uint32_t times_until(const struct ronde_ways *ways, uint32_t pair, uint32_t hop)
{
    uint32_t times = 0;
    for (uint32_t h = ways->first[pair]; h <= hop; h++)
        times += ways->hops[h] == ways->hops[hop];
    return times;
}

/* Whether a way carries one more edge, beside what it carries. */
static bool has_room(const struct flattening *flattening, uint32_t pair)
{
    const struct ronde_ways *ways = flattening->forest->ways;
    for (uint32_t h = ways->first[pair]; h < ways->first[pair + 1]; h++) {
        const uint32_t wire = ways->hops[h];
        const uint32_t load = flattening->forest->load[wire], limit = flattening->limit[wire];
        if (load >= limit || (!flattening->overfills && load + times_until(ways, pair, h) > limit))
            return false;
    }
    return true;
}

/* Whether data is at a rank earlier by one parent than by another, or as early in fewer messages. */
static bool is_nearer(const struct flattening *flattening, uint32_t tree, uint32_t rank,
                      uint32_t by, uint32_t other)
{
    const uint32_t *depth = flattening->depth + (size_t)tree * flattening->forest->ways->ranks;
    const uint32_t by_ns = delay_below(flattening, tree, by, rank);
    const uint32_t other_ns = delay_below(flattening, tree, other, rank);
    return by_ns < other_ns || (by_ns == other_ns && depth[by] < depth[other]);
}

/* A rank moves to the parent by which data is there first and that has room, if that is before its own and no deeper. */
static bool rise(struct flattening *flattening, uint32_t tree, uint32_t rank)
{
    const struct ronde_ways *ways = flattening->forest->ways;
    const uint32_t n = ways->ranks, old = flattening->forest->parent[tree * n + rank];
    const uint32_t *depth = flattening->depth + (size_t)tree * n;
    uint32_t best = old;
    if (depth[rank] < 2)
        return false;
    ronde_forest_unlink(flattening->forest, tree, rank);
    for (uint32_t p = 0; p < n; p++)
        if (depth[p] <= depth[old] && ways->is_open[p * n + rank] &&
            is_nearer(flattening, tree, rank, p, best) && has_room(flattening, p * n + rank))
            best = p;
    ronde_forest_link(flattening->forest, tree, best, rank);
    if (best != old)
        measure(flattening, tree);
    return best != old;
}

static bool pass(struct flattening *flattening)
{
    const struct ronde_forest *forest = flattening->forest;
    bool has_changed = false;
    for (uint32_t v = 0; v < forest->ways->ranks; v++)
        for (uint32_t a = 0; a < forest->tree_count; a++) {
            if (forest->root[a] == v)
                continue;
            has_changed = rise(flattening, a, v) || has_changed;
            for (uint32_t b = a + 1; b < forest->tree_count; b++)
                if (forest->root[b] != v)
                    has_changed = exchange(flattening, v, a, b) || has_changed;
        }
    return has_changed;
}

bool ronde_flatten(struct ronde_forest *forest, const uint32_t *limit, bool overfills,
                   const struct ronde_synthesis_progress *progress, struct ronde_store *pool)
{
    const size_t n = forest->ways->ranks, edges = n * forest->tree_count;
    struct flattening flattening = {
        .forest = forest,
        .limit = limit,
        .overfills = overfills,
        .depth = ronde_store_new(pool, edges, sizeof *flattening.depth),
        .delay_ns = ronde_store_new(pool, edges, sizeof *flattening.delay_ns),
        .size = ronde_store_new(pool, edges, sizeof *flattening.size),
        .depths = ronde_store_new(pool, edges, sizeof *flattening.depths),
        .delays_ns = ronde_store_new(pool, edges, sizeof *flattening.delays_ns),
        .count = ronde_store_new(pool, n + 1, sizeof *flattening.count),
        .order = ronde_store_new(pool, n, sizeof *flattening.order),
    };
    if (pool->is_short)
        return false;
    for (uint32_t t = 0; t < forest->tree_count; t++)
        measure(&flattening, t);
    for (uint32_t i = 0; i < PASSES && pass(&flattening); i++)
        ronde_synthesis_say(progress, "lowering trees, passes", i + 1, PASSES);
    return true;
}
