/* Places and capacities from routes. See machine_graph.h. */
#include "machine_graph.h"

#include "ronde/partition.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A set of pairs by open addressing. */

/* Slots at first. */
#define FEW_SLOTS 64u

/* The slot of a pair: where it is, or where it would be. */
static uint32_t slot_of(const struct ronde_pair_set *set, uint32_t from, uint32_t to)
{
    const uint64_t mixed = (((uint64_t)from << 32) | to) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(mixed >> 32) & (set->slot_count - 1);
    while (set->slots[slot] != 0) {
        const struct ronde_index_pair *pair = &set->pairs[set->slots[slot] - 1];
        if (pair->from == from && pair->to == to)
            break;
        slot = (slot + 1) & (set->slot_count - 1);
    }
    return slot;
}

/* Doubles the slots. What there was stays in the pool, together no more than what there is now. */
static bool grow(struct ronde_pair_set *set)
{
    struct ronde_pair_set larger = *set;
    larger.slot_count = set->slot_count > 0 ? 2 * set->slot_count : FEW_SLOTS;
    larger.slots = ronde_store_new(set->pool, larger.slot_count, sizeof *larger.slots);
    larger.pairs = ronde_store_new(set->pool, larger.slot_count / 2, sizeof *larger.pairs);
    if (set->pool->is_short)
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        larger.pairs[i] = set->pairs[i];
        larger.slots[slot_of(&larger, set->pairs[i].from, set->pairs[i].to)] = i + 1;
    }
    *set = larger;
    return true;
}

/** Adds a pair that the set may have. Errors: false, no memory. */
static bool add_pair(struct ronde_pair_set *set, uint32_t from, uint32_t to)
{
    if (2 * set->count >= set->slot_count && !grow(set))
        return false;
    const uint32_t slot = slot_of(set, from, to);
    if (set->slots[slot] != 0)
        return true;
    set->pairs[set->count++] = (struct ronde_index_pair){from, to};
    set->slots[slot] = set->count;
    return true;
}

/* Capacities times ranks stay below this, so that products of the bound fit int64. */
#define MOST_SUM 0x1p59

/* Elements that are joined into places: a tail and a head for each wire, then the ranks. */
struct making {
    const struct ronde_wiring *wiring;
    struct ronde_graph *graph;
    uint32_t *parent;              /* union-find over elements */
    uint32_t *place_of;            /* per element at a root */
    uint32_t *last_next;           /* per wire: what followed it last on a route */
    uint32_t *last_previous;       /* per wire: what it followed last */
    struct ronde_pair_set joined;  /* elements that joined places, where their images must, too */
    struct ronde_pair_set touches; /* elements that only touch, since one of them is a medium's */
    bool has_memory;
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

/* Two elements are one place; which are so anew is noted where turns make more of it. */
static void join(struct making *making, uint32_t a, uint32_t b)
{
    const uint32_t place = ronde_partition_find(making->parent, a),
                   other = ronde_partition_find(making->parent, b);
    if (place == other)
        return;
    making->parent[place] = other;
    if (making->wiring->turns)
        making->has_memory = add_pair(&making->joined, a, b) && making->has_memory;
}

/* Walks a route: what follows one another meets, or touches. */
static void walk(struct making *making, uint32_t source, uint32_t to)
{
    const struct ronde_wiring *wiring = making->wiring;
    const uint32_t pair = source * wiring->ranks + to;
    uint32_t at = rank_element(making, ronde_wiring_source(wiring, source)), last = RONDE_NONE;
    bool from_medium = false;
    for (uint32_t h = wiring->first[pair]; h < wiring->first[pair + 1]; h++) {
        const uint32_t wire = wiring->hops[h];
        const bool is_medium = wiring->wires[wire].is_medium;
        const bool is_known = last != RONDE_NONE && (making->last_next[last] == wire ||
                                                     making->last_previous[wire] == last);
        if (!is_known && (from_medium || is_medium))
            making->has_memory = add_pair(&making->touches, at, tail_of(wire)) && making->has_memory;
        else if (!is_known)
            join(making, at, tail_of(wire));
        if (last != RONDE_NONE)
            making->last_next[last] = wire;
        making->last_previous[wire] = last;
        last = wire;
        at = head_of(wire);
        from_medium = is_medium;
    }
    if (from_medium)
        making->has_memory =
            add_pair(&making->touches, at, rank_element(making, to)) && making->has_memory;
    else
        join(making, at, rank_element(making, to));
}

/* What a turn makes of an element. */
static uint32_t turned(const struct making *making, uint32_t element, uint32_t turn)
{
    const struct ronde_wiring *wiring = making->wiring;
    const uint32_t first_rank = rank_element(making, 0), wire = element / 2;
    if (element >= first_rank)
        return rank_element(making, wiring->turns->rank_to[turn][element - first_rank]);
    return 2 * wiring->turned[wiring->turns->count * wire + turn] + element % 2;
}

/*
 * What holds of elements holds of their images, and of the images of these. Only pairs that joined places need be turned:
 * another one is a chain of such pairs, and so are its images.
 */
static void turn_all(struct making *making)
{
    const uint32_t turns = making->wiring->turns ? making->wiring->turns->count : 0;
    for (uint32_t i = 0; turns > 0 && i < making->joined.count && making->has_memory; i++)
        for (uint32_t t = 0; t < turns; t++) {
            const struct ronde_index_pair pair = making->joined.pairs[i];
            join(making, turned(making, pair.from, t), turned(making, pair.to, t));
        }
    for (uint32_t i = 0; turns > 0 && i < making->touches.count && making->has_memory; i++)
        for (uint32_t t = 0; t < turns; t++) {
            const struct ronde_index_pair pair = making->touches.pairs[i];
            making->has_memory = add_pair(&making->touches, turned(making, pair.from, t),
                                          turned(making, pair.to, t)) &&
                                 making->has_memory;
        }
}

/* Walks all routes. */
static void walk_all(struct making *making)
{
    const struct ronde_wiring *wiring = making->wiring;
    for (uint32_t i = 0; i < ronde_wiring_source_count(wiring); i++)
        for (uint32_t j = 0; j < wiring->ranks && making->has_memory; j++)
            if (j != ronde_wiring_source(wiring, i) && ronde_wiring_has_way(wiring, i, j))
                walk(making, i, j);
    turn_all(making);
}

/* An arc without a limit for each two that touch, and one for each wire. Errors: false, no memory. */
static bool list_arcs(struct making *making, struct ronde_store *pool)
{
    const struct ronde_wiring *wiring = making->wiring;
    struct ronde_graph *graph = making->graph;
    graph->arcs = ronde_store_new(pool, (size_t)wiring->wire_count + making->touches.count,
                                  sizeof *graph->arcs);
    if (!graph->arcs)
        return false;
    for (uint32_t i = 0; i < making->touches.count; i++)
        graph->arcs[graph->arc_count++] = (struct ronde_arc){.from = making->touches.pairs[i].from,
                                                             .to = making->touches.pairs[i].to,
                                                             .wire = RONDE_NONE};
    for (uint32_t w = 0; w < wiring->wire_count; w++)
        graph->arcs[graph->arc_count++] =
            (struct ronde_arc){.from = tail_of(w),
                               .to = head_of(w),
                               .wire = w,
                               .latency_ns = wiring->wires[w].latency_ns};
    return true;
}

static uint32_t place_at(struct making *making, uint32_t element)
{
    const uint32_t root = ronde_partition_find(making->parent, element);
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

static bool make_room(struct making *making, struct ronde_store *pool)
{
    const uint32_t wires = making->wiring->wire_count;
    making->parent = ronde_store_new(pool, element_count(making), sizeof *making->parent);
    making->place_of = ronde_store_new(pool, element_count(making), sizeof *making->place_of);
    making->last_next = ronde_store_new(pool, wires, sizeof *making->last_next);
    making->last_previous = ronde_store_new(pool, wires, sizeof *making->last_previous);
    if (pool->is_short)
        return false;
    for (uint32_t i = 0; i < element_count(making); i++)
        making->parent[i] = i;
    for (uint32_t w = 0; w < wires; w++)
        making->last_next[w] = making->last_previous[w] = RONDE_NONE;
    return true;
}

enum ronde_status ronde_graph_make(const struct ronde_wiring *wiring, struct ronde_store *pool,
                                   struct ronde_graph *out_graph, struct ronde_error *error)
{
    struct making making = {.wiring = wiring,
                            .graph = out_graph,
                            .joined = {.pool = pool},
                            .touches = {.pool = pool},
                            .has_memory = true};
    *out_graph = (struct ronde_graph){.wiring = wiring, .ranks = wiring->ranks};
    making.has_memory = make_room(&making, pool);
    if (making.has_memory)
        walk_all(&making);
    if (!making.has_memory || !list_arcs(&making, pool))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the graph of %u ranks",
                          wiring->ranks);
    RONDE_TRY(number_places(&making, error));
    set_capacities(&making);
    return RONDE_OK;
}

void ronde_graph_reverse(struct ronde_graph *graph)
{
    for (uint32_t a = 0; a < graph->arc_count; a++) {
        const uint32_t from = graph->arcs[a].from;
        graph->arcs[a].from = graph->arcs[a].to;
        graph->arcs[a].to = from;
    }
}
