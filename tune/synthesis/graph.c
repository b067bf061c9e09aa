/* Places and capacities from routes. See graph.h. */
#include "graph.h"

#include <math.h>
#include <stdlib.h>

/* Capacities times ranks stay below this, so that products of the bound fit int64. */
#define MOST_SUM 0x1p59

/* Elements that are joined into places: a tail and a head for each wire, then the ranks. */
struct making {
    const struct ronde_wiring *wiring;
    struct ronde_graph *graph;
    uint32_t *parent;   /* union-find over elements */
    uint32_t *place_of; /* per element at a root */
    uint32_t arc_room;
};

static uint32_t tail_of(uint32_t wire)
{
    return 2 * wire;
}

static uint32_t head_of(uint32_t wire)
{
    return 2 * wire + 1;
}

static uint32_t rank_element(const struct making *making, uint32_t rank)
{
    return 2 * making->wiring->wire_count + rank;
}

static uint32_t element_count(const struct making *making)
{
    return rank_element(making, making->wiring->ranks);
}

static uint32_t find(struct making *making, uint32_t element)
{
    while (making->parent[element] != element) {
        making->parent[element] = making->parent[making->parent[element]];
        element = making->parent[element];
    }
    return element;
}

static void join(struct making *making, uint32_t a, uint32_t b)
{
    making->parent[find(making, a)] = find(making, b);
}

/* Ends that only touch, since one of them is a medium's, are an arc without a limit. */
static void touch(struct making *making, uint32_t from, uint32_t to)
{
    struct ronde_graph *graph = making->graph;
    graph->arcs[graph->arc_count++] = (struct ronde_arc){.from = from, .to = to, .wire = RONDE_NONE};
}

/* Walks the route of a pair: what follows one another meets. With `touches` media get their arcs, after all have met. */
static void walk(struct making *making, uint32_t i, uint32_t j, bool touches)
{
    const struct ronde_wiring *wiring = making->wiring;
    const uint32_t pair = i * wiring->ranks + j;
    uint32_t at = rank_element(making, i);
    bool from_medium = false;
    for (uint32_t h = wiring->first[pair]; h <= wiring->first[pair + 1]; h++) {
        const bool is_end = h == wiring->first[pair + 1];
        const bool is_medium = !is_end && wiring->wires[wiring->hops[h]].is_medium;
        const uint32_t to = is_end ? rank_element(making, j) : tail_of(wiring->hops[h]);
        if (!from_medium && !is_medium && !touches)
            join(making, at, to);
        if ((from_medium || is_medium) && touches)
            touch(making, at, to);
        at = is_end ? at : head_of(wiring->hops[h]);
        from_medium = is_medium;
    }
}

static uint32_t place_at(struct making *making, uint32_t element)
{
    const uint32_t root = find(making, element);
    if (making->place_of[root] == RONDE_NONE)
        making->place_of[root] = making->graph->place_count++;
    return making->place_of[root];
}

static int compare_arcs(const void *left, const void *right)
{
    const struct ronde_arc *a = left, *b = right;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return (a->wire > b->wire) - (a->wire < b->wire);
}

/* Numbers the places, ranks first, and drops arcs that are there twice or lead nowhere. */
static enum ronde_status number_places(struct making *making, struct ronde_error *error)
{
    struct ronde_graph *graph = making->graph;
    for (uint32_t i = 0; i < element_count(making); i++)
        making->place_of[i] = RONDE_NONE;
    for (uint32_t r = 0; r < graph->ranks; r++)
        if (place_at(making, rank_element(making, r)) != r)
            return ronde_fail(error, RONDE_UNSUPPORTED,
                              "%s: nothing lies between host %s and another one",
                              ronde_platform_path(making->wiring->platform),
                              ronde_platform_host(making->wiring->platform, r));
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        graph->arcs[a].from = place_at(making, graph->arcs[a].from);
        graph->arcs[a].to = place_at(making, graph->arcs[a].to);
    }
    uint32_t kept = 0;
    qsort(graph->arcs, graph->arc_count, sizeof *graph->arcs, compare_arcs);
    for (uint32_t a = 0; a < graph->arc_count; a++)
        if (graph->arcs[a].from != graph->arcs[a].to &&
            (kept == 0 || compare_arcs(&graph->arcs[kept - 1], &graph->arcs[a]) != 0))
            graph->arcs[kept++] = graph->arcs[a];
    graph->arc_count = kept;
    return RONDE_OK;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static double rate_of(const struct making *making, const struct ronde_arc *arc)
{
    const struct ronde_route_wire *wire =
        arc->wire == RONDE_NONE ? NULL : &making->wiring->wires[arc->wire];
    return wire && !wire->is_free ? wire->rate_GBps : -1;
}

/*
 * Rates are whole bytes per second, and capacities these over their greatest common divisor. Where even so they are too
 * large for exact products, they are rounded down to what fits.
 */
static void set_capacities(struct making *making)
{
    struct ronde_graph *graph = making->graph;
    uint64_t divisor = 0;
    double sum_Bps = 0;
    bool is_exact = true;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const double rate_Bps = 1e9 * rate_of(making, &graph->arcs[a]);
        if (rate_Bps <= 0)
            continue;
        is_exact =
            is_exact && rate_Bps < 0x1p62 && fabs(rate_Bps - rint(rate_Bps)) < 1e-12 * rate_Bps;
        divisor = is_exact ? common_divisor((uint64_t)llrint(rate_Bps), divisor) : 1;
        sum_Bps += rate_Bps;
    }
    double unit_Bps = divisor > 0 ? (double)divisor : 1;
    const double most = MOST_SUM / graph->ranks;
    is_exact = is_exact && sum_Bps / unit_Bps < most;
    if (!is_exact)
        unit_Bps = sum_Bps / most;
    graph->unit_Bps = is_exact ? (uint64_t)unit_Bps : 0;
    graph->unit_GBps = unit_Bps / 1e9;
    graph->free = (int64_t)(sum_Bps / unit_Bps) + 1;
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const double rate_Bps = 1e9 * rate_of(making, &graph->arcs[a]);
        graph->arcs[a].capacity = rate_Bps < 0 ? graph->free
                                  : is_exact   ? llrint(rate_Bps) / (int64_t)unit_Bps
                                               : (int64_t)(rate_Bps / unit_Bps);
    }
}

/* Arcs there can be: one a wire, two for each hop that enters or leaves a medium. */
static bool make_room(struct making *making, struct ronde_index_pool *pool)
{
    const struct ronde_wiring *wiring = making->wiring;
    const uint32_t pairs = wiring->ranks * wiring->ranks;
    size_t room = wiring->wire_count;
    for (uint32_t h = 0; h < wiring->first[pairs]; h++)
        room += wiring->wires[wiring->hops[h]].is_medium ? 2 : 0;
    making->graph->arcs = ronde_pool_new(pool, room, sizeof *making->graph->arcs);
    making->parent = ronde_pool_new(pool, element_count(making), sizeof *making->parent);
    making->place_of = ronde_pool_new(pool, element_count(making), sizeof *making->place_of);
    return making->graph->arcs && making->parent && making->place_of;
}

enum ronde_status ronde_graph_make(const struct ronde_wiring *wiring, struct ronde_index_pool *pool,
                                   struct ronde_graph *out_graph, struct ronde_error *error)
{
    struct making making = {.wiring = wiring, .graph = out_graph};
    *out_graph = (struct ronde_graph){.wiring = wiring, .ranks = wiring->ranks};
    if (!make_room(&making, pool))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the graph of %u ranks",
                          wiring->ranks);
    for (uint32_t i = 0; i < element_count(&making); i++)
        making.parent[i] = i;
    for (int touches = 0; touches < 2; touches++)
        for (uint32_t pair = 0; pair < wiring->ranks * wiring->ranks; pair++)
            if (pair / wiring->ranks != pair % wiring->ranks)
                walk(&making, pair / wiring->ranks, pair % wiring->ranks, touches);
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        out_graph->arcs[out_graph->arc_count++] =
            (struct ronde_arc){.from = tail_of(w),
                               .to = head_of(w),
                               .wire = w,
                               .latency_ns = wiring->wires[w].latency_ns};
    const enum ronde_status status = number_places(&making, error);
    if (status == RONDE_OK)
        set_capacities(&making);
    return status;
}

void ronde_graph_reverse(struct ronde_graph *graph)
{
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const uint32_t from = graph->arcs[a].from;
        graph->arcs[a].from = graph->arcs[a].to;
        graph->arcs[a].to = from;
    }
}
