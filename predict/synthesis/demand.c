/*
 * Bounds of data with one destination each. See forest.h.
 *
 * Every candidate is a valid bound, so the largest is taken: blocks that must leave a set over what its arcs carry,
 * in both directions, for sets that machines suggest; and, by lengths of arcs, the sum of all ways' lengths over what
 * arcs carry times their length, once with all lengths 1 (hops) and once with 1 / capacity (time on the wire). No
 * candidate has to be the worst, so the bound may be below the truth, never above it.
 */
#include "forest.h"
#include "machine_graph.h"

#include "ronde/partition.h"

#include <math.h>
#include <string.h>

/* Shortest ways by label correction (Bellman, Ford, Moore), with a queue. */

bool ronde_distances_create(struct ronde_distances *distances, const struct ronde_graph *graph,
                            struct ronde_store *pool)
{
    const uint32_t places = graph->place_count;
    *distances = (struct ronde_distances){
        .graph = graph,
        .first = ronde_store_new(pool, (size_t)places + 1, sizeof *distances->first),
        .arcs = ronde_store_new(pool, graph->arc_count, sizeof *distances->arcs),
        .length = ronde_store_new(pool, graph->arc_count, sizeof *distances->length),
        .to = ronde_store_new(pool, places, sizeof *distances->to),
        .queue = ronde_store_new(pool, places, sizeof *distances->queue),
        .is_queued = ronde_store_new(pool, places, sizeof *distances->is_queued),
    };
    if (!distances->first || !distances->arcs || !distances->length || !distances->to ||
        !distances->queue || !distances->is_queued)
        return false;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        distances->first[graph->arcs[a].from]++;
    for (uint32_t p = 1; p <= places; p++)
        distances->first[p] += distances->first[p - 1];
    for (uint32_t a = graph->arc_count; a-- > 0;)
        distances->arcs[--distances->first[graph->arcs[a].from]] = a;
    return true;
}

void ronde_distances_from(struct ronde_distances *distances, uint32_t source)
{
    const struct ronde_graph *graph = distances->graph;
    const uint32_t places = graph->place_count;
    uint32_t begin = 0, end = 1 % places, waiting = 1;
    for (uint32_t p = 0; p < places; p++)
        distances->to[p] = INFINITY;
    distances->to[source] = 0;
    distances->queue[0] = source;
    while (waiting > 0) {
        const uint32_t from = distances->queue[begin];
        begin = begin + 1 < places ? begin + 1 : 0;
        waiting--;
        distances->is_queued[from] = false;
        for (uint32_t i = distances->first[from]; i < distances->first[from + 1]; i++) {
            const struct ronde_arc *arc = &graph->arcs[distances->arcs[i]];
            const double to = distances->to[from] + distances->length[distances->arcs[i]];
            if (to >= distances->to[arc->to])
                continue;
            distances->to[arc->to] = to;
            if (distances->is_queued[arc->to])
                continue;
            distances->is_queued[arc->to] = true;
            distances->queue[end] = arc->to;
            end = end + 1 < places ? end + 1 : 0;
            waiting++;
        }
    }
}

/* What is compared. */
struct search {
    const struct ronde_demand *demand;
    struct ronde_graph_cut *best;
    double time;  /* of the best */
    bool *inside; /* of the set that is tried */
    struct ronde_distances distances;
    uint32_t *group; /* per place: of places that faster links join */
};

/* Blocks that leave a set. */
static int64_t leaving(const struct ronde_demand *demand, const bool *inside)
{
    const uint32_t n = demand->graph->ranks;
    int64_t count = 0;
    if (!demand->source_of) {
        const int64_t ranks = ronde_cut_ranks(demand->graph, inside);
        return ranks * (n - ranks);
    }
    for (uint32_t r = 0; r < n; r++)
        count += demand->source_of[r] != RONDE_NONE && inside[demand->source_of[r]] && !inside[r];
    return count;
}

/* Both directions of a set. */
static void try_set(struct search *search)
{
    const struct ronde_graph *graph = search->demand->graph;
    for (int turned = 0; turned < 2; turned++) {
        const int64_t blocks = leaving(search->demand, search->inside);
        const int64_t capacity = blocks > 0 ? ronde_cut_capacity(graph, search->inside) : 1;
        const double time = blocks > 0 && capacity < graph->free
                                ? (capacity > 0 ? (double)blocks / (double)capacity : INFINITY)
                                : 0;
        if (time > search->time) {
            search->time = time;
            search->best->capacity = capacity;
            search->best->blocks = blocks;
            memcpy(search->best->inside, search->inside, graph->place_count);
        }
        for (uint32_t p = 0; p < graph->place_count; p++)
            search->inside[p] = !search->inside[p];
    }
}

static void try_ranks(struct search *search)
{
    const struct ronde_graph *graph = search->demand->graph;
    for (uint32_t r = 0; r < graph->ranks; r++) {
        memset(search->inside, 0, graph->place_count);
        search->inside[r] = true;
        try_set(search);
    }
}

/* Groups that arcs above a capacity join, each as a set. */
static void try_groups(struct search *search, int64_t above)
{
    const struct ronde_graph *graph = search->demand->graph;
    for (uint32_t p = 0; p < graph->place_count; p++)
        search->group[p] = p;
    for (uint32_t a = 0; a < graph->arc_count; a++)
        if (graph->arcs[a].capacity > above)
            ronde_partition_join(search->group, graph->arcs[a].from, graph->arcs[a].to);
    for (uint32_t g = 0; g < graph->place_count; g++) {
        if (ronde_partition_find(search->group, g) != g)
            continue;
        for (uint32_t p = 0; p < graph->place_count; p++)
            search->inside[p] = ronde_partition_find(search->group, p) == g;
        try_set(search);
    }
}

/* For every capacity that occurs, from the least on. */
static void try_all_groups(struct search *search)
{
    const struct ronde_graph *graph = search->demand->graph;
    int64_t above = -1;
    for (;;) {
        int64_t next = INT64_MAX;
        for (uint32_t a = 0; a < graph->arc_count; a++)
            if (graph->arcs[a].capacity > above && graph->arcs[a].capacity < next)
                next = graph->arcs[a].capacity;
        if (next >= graph->free)
            return;
        try_groups(search, next);
        above = next;
    }
}

/* What all data goes in lengths of arcs, over what all arcs carry in a unit of time. */
static void try_lengths(struct search *search, bool by_time)
{
    const struct ronde_graph *graph = search->demand->graph;
    struct ronde_distances *distances = &search->distances;
    double carried = 0, needed = 0;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const int64_t capacity = graph->arcs[a].capacity;
        const bool is_free = capacity >= graph->free;
        distances->length[a] = is_free         ? 0
                               : capacity <= 0 ? INFINITY
                               : by_time       ? 1.0 / (double)capacity
                                               : 1.0;
        if (!is_free && capacity > 0)
            carried += distances->length[a] * (double)capacity;
    }
    for (uint32_t r = 0; r < graph->ranks; r++) {
        ronde_distances_from(distances, r);
        for (uint32_t to = 0; to < graph->ranks; to++)
            if (r != to && (!search->demand->source_of || search->demand->source_of[to] == r))
                needed += distances->to[to];
    }
    if (carried > 0 && needed / carried > search->time) {
        search->time = needed / carried;
        search->best->capacity = 0;
    }
}

/* The set that all_gather leaves slowest, and the one that it enters slowest: they differ where cables have two rates. */
static bool try_all_gather(struct search *search, struct ronde_store *pool)
{
    struct ronde_graph turned = *search->demand->graph;
    struct ronde_graph_cut cut;
    turned.arcs = ronde_store_new(pool, turned.arc_count, sizeof *turned.arcs);
    if (!turned.arcs || !ronde_cut_create(&turned, pool, &cut))
        return false;
    for (uint32_t a = 0; a < turned.arc_count; a++)
        turned.arcs[a] = search->demand->graph->arcs[a];
    for (int is_turned = 0; is_turned < 2; is_turned++) {
        if (!ronde_cut_all_gather(&turned, pool, &cut))
            return false;
        memcpy(search->inside, cut.inside, turned.place_count);
        try_set(search);
        ronde_graph_reverse(&turned);
    }
    return true;
}

bool ronde_demand_bound(const struct ronde_demand *demand, struct ronde_store *pool,
                        struct ronde_graph_cut *cut, double *out_time)
{
    const struct ronde_graph *graph = demand->graph;
    struct search search = {.demand = demand, .best = cut, .time = 0};
    search.inside = ronde_store_new(pool, graph->place_count, sizeof *search.inside);
    search.group = ronde_store_new(pool, graph->place_count, sizeof *search.group);
    cut->capacity = graph->free;
    if (!search.inside || !search.group ||
        !ronde_distances_create(&search.distances, graph, pool) || !try_all_gather(&search, pool))
        return false;
    try_ranks(&search);
    try_all_groups(&search);
    try_lengths(&search, false);
    try_lengths(&search, true);
    *out_time = search.time;
    return true;
}
