/*
 * What orders the accesses of a plan, and which are not ordered.
 *
 * Acts are the nodes of a graph: a threadblock's in turn, a signal before its wait, packets before who reads them, everything
 * before a barrier before everything behind it, a release before its acquire. Two accesses to the same chunk, one of them a
 * write, need a path between them. In place input and output are the same chunks.
 */
#include "plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it the table of paths would be larger than 128 MiB. */
#define MOST_ACTS 32768u

/* An access to a chunk. */
struct access {
    uint64_t chunk; /* rank and place */
    uint32_t act;
    bool is_write;
};

/* The graph, and who can be reached from whom. */
struct graph {
    const struct mscclpp_plan *plan;
    uint32_t count, words;      /* acts; words of a row */
    uint32_t *first, *to;       /* edges by their start: first[a] .. first[a + 1] */
    uint32_t edges;             /* how many there are so far */
    uint32_t *order;            /* acts, those before first */
    uint64_t *reached;          /* a row of bits for each act */
    struct ronde_list accesses; /* struct access */
};

/* --- edges ----------------------------------------------------------------------------------- */

/* Called for every edge; counts where `to` is not there yet. */
static void add_edge(struct graph *graph, uint32_t from, uint32_t to)
{
    if (graph->to)
        graph->to[graph->first[from + 1]++] = to;
    else
        graph->first[from + 2]++;
    graph->edges++;
}

static bool is_first_of_tb(const struct graph *graph, uint32_t act)
{
    const struct mscclpp_act *own = mscclpp_act_at(graph->plan, act);
    return mscclpp_tb_at(graph->plan, own->rank, own->tb)->first_act == act;
}

/* Everything before the barrier in another threadblock. */
static void add_barrier(struct graph *graph, uint32_t at)
{
    const struct mscclpp_act *barrier = mscclpp_act_at(graph->plan, at);
    const struct mscclpp_gpu *gpu = mscclpp_gpu_at(graph->plan, barrier->rank);
    for (uint32_t t = 0; t < gpu->tb_count; t++) {
        const uint32_t other =
            t == barrier->tb ? RONDE_NONE : mscclpp_same_barrier(graph->plan, at, t);
        if (other != RONDE_NONE && !is_first_of_tb(graph, other))
            add_edge(graph, other - 1, at);
    }
}

/* Everything that writes packets which are read here. */
static void add_packets(struct graph *graph, uint32_t at)
{
    const struct mscclpp_act *reader = mscclpp_act_at(graph->plan, at);
    for (uint32_t a = 0; a < graph->count; a++) {
        const struct mscclpp_act *put = mscclpp_act_at(graph->plan, a);
        if (put->kind == MSCCLPP_PUT_PACKET && put->peer == reader->rank &&
            mscclpp_overlaps(&put->target, &reader->source))
            add_edge(graph, a, at);
    }
}

static void add_edges(struct graph *graph)
{
    for (uint32_t a = 0; a < graph->count; a++) {
        const struct mscclpp_act *act = mscclpp_act_at(graph->plan, a);
        if (!is_first_of_tb(graph, a))
            add_edge(graph, a - 1, a);
        if ((act->kind == MSCCLPP_WAIT || act->kind == MSCCLPP_ACQUIRE) && act->partner != RONDE_NONE)
            add_edge(graph, act->partner, a);
        if (act->kind == MSCCLPP_BARRIER)
            add_barrier(graph, a);
        if (act->kind == MSCCLPP_READ_PACKET)
            add_packets(graph, a);
    }
}

/* Twice: to count, then to fill in. */
static bool make_edges(struct graph *graph)
{
    const struct ronde_mem *mem = graph->plan->mem;
    graph->first = ronde_mem_new(mem, graph->count + 2, sizeof *graph->first);
    graph->order = ronde_mem_new(mem, graph->count, sizeof *graph->order);
    if (!graph->first || !graph->order)
        return mscclpp_fail_memory(graph->plan);
    memset(graph->first, 0, (graph->count + 2) * sizeof *graph->first);
    add_edges(graph);
    for (uint32_t a = 0; a < graph->count; a++)
        graph->first[a + 2] += graph->first[a + 1];
    const uint32_t edges = graph->edges;
    graph->to = ronde_mem_new(mem, edges + 1, sizeof *graph->to);
    if (!graph->to)
        return mscclpp_fail_memory(graph->plan);
    graph->edges = 0;
    add_edges(graph);
    graph->edges = edges;
    return true;
}

/* --- paths ----------------------------------------------------------------------------------- */

/* Acts in an order in which they could run; where there is none, the first that never runs. */
static bool sort_acts(struct graph *graph)
{
    const struct ronde_mem *mem = graph->plan->mem;
    uint32_t *waits = ronde_mem_new(mem, graph->count, sizeof *waits);
    uint32_t sorted = 0;
    bool can_run = true;
    if (!waits)
        return mscclpp_fail_memory(graph->plan);
    memset(waits, 0, graph->count * sizeof *waits);
    for (uint32_t e = 0; e < graph->edges; e++)
        waits[graph->to[e]]++;
    for (uint32_t a = 0; a < graph->count; a++)
        if (waits[a] == 0)
            graph->order[sorted++] = a;
    for (uint32_t i = 0; i < sorted; i++)
        for (uint32_t e = graph->first[graph->order[i]]; e < graph->first[graph->order[i] + 1]; e++)
            if (--waits[graph->to[e]] == 0)
                graph->order[sorted++] = graph->to[e];
    for (uint32_t a = 0; a < graph->count && can_run && sorted < graph->count; a++)
        if (waits[a] > 0)
            can_run = mscclpp_fail(graph->plan, RONDE_REJECTED, mscclpp_act_at(graph->plan, a),
                                   "cycle: never runs, since what it waits for waits for it");
    ronde_mem_free(mem, waits, graph->count, sizeof *waits);
    return can_run;
}

static bool find_paths(struct graph *graph)
{
    graph->words = (graph->count + 63) / 64;
    const size_t words = (size_t)graph->count * graph->words;
    graph->reached = ronde_mem_new(graph->plan->mem, words, sizeof *graph->reached);
    if (!graph->reached)
        return mscclpp_fail_memory(graph->plan);
    memset(graph->reached, 0, words * sizeof *graph->reached);
    for (uint32_t i = graph->count; i-- > 0;) {
        const uint32_t act = graph->order[i];
        uint64_t *row = graph->reached + (size_t)act * graph->words;
        for (uint32_t e = graph->first[act]; e < graph->first[act + 1]; e++) {
            const uint64_t *behind = graph->reached + (size_t)graph->to[e] * graph->words;
            for (uint32_t w = 0; w < graph->words; w++)
                row[w] |= behind[w];
            row[graph->to[e] / 64] |= (uint64_t)1 << graph->to[e] % 64;
        }
    }
    return true;
}

static bool reaches(const struct graph *graph, uint32_t from, uint32_t to)
{
    return graph->reached[(size_t)from * graph->words + to / 64] >> to % 64 & 1;
}

/* --- accesses -------------------------------------------------------------------------------- */

/* A number of its own for every chunk of a rank; in place the smaller user buffer is a part of the larger. */
static uint64_t number_of(const struct mscclpp_plan *plan, uint32_t rank, uint8_t buffer,
                          uint32_t chunk)
{
    const struct ronde_collective_traits *traits = ronde_collective_traits(plan->collective);
    const uint32_t own = rank * mscclpp_parts(plan);
    uint64_t place = chunk;
    if (plan->is_in_place && buffer == RONDE_IN && !traits->in_per_rank && traits->out_per_rank)
        place += own;
    if (plan->is_in_place && buffer == RONDE_OUT && traits->in_per_rank && !traits->out_per_rank)
        place += own;
    if (plan->is_in_place && buffer == RONDE_OUT)
        buffer = RONDE_IN;
    return (uint64_t)rank << 32 | (uint64_t)buffer << 30 | place;
}

static bool add_span(struct graph *graph, uint32_t rank, uint32_t act,
                     const struct mscclpp_span *span, bool is_write)
{
    for (uint32_t i = 0; i < span->count; i++) {
        const struct access access = {number_of(graph->plan, rank, span->buffer, span->first + i),
                                      act, is_write};
        if (!ronde_list_append(graph->plan->mem, &graph->accesses, &access, sizeof access))
            return mscclpp_fail_memory(graph->plan);
    }
    return true;
}

static bool add_accesses(struct graph *graph, uint32_t at)
{
    const struct mscclpp_act *act = mscclpp_act_at(graph->plan, at);
    return add_span(graph, mscclpp_source_rank(act), at, &act->source, false) &&
           add_span(graph, act->rank, at, &act->with, false) &&
           add_span(graph, mscclpp_target_rank(act), at, &act->target, true);
}

static int compare_accesses(const void *left, const void *right)
{
    const struct access *a = left, *b = right;
    if (a->chunk != b->chunk)
        return a->chunk < b->chunk ? -1 : 1;
    return a->act < b->act ? -1 : a->act > b->act;
}

static bool check_pair(const struct graph *graph, const struct access *a, const struct access *b)
{
    if (a->act == b->act || (!a->is_write && !b->is_write) || reaches(graph, a->act, b->act) ||
        reaches(graph, b->act, a->act))
        return true;
    const struct mscclpp_act *other = mscclpp_act_at(graph->plan, b->act);
    return mscclpp_fail(graph->plan, RONDE_REJECTED, mscclpp_act_at(graph->plan, a->act),
                        "race: on chunk %" PRIu64 " of gpu %" PRIu64 " with gpu %" PRIu32
                        " threadblock %" PRIu32 " op %" PRIu32 ": nothing orders them",
                        a->chunk & 0x3fffffff, a->chunk >> 32, other->rank, other->tb, other->op);
}

static bool check_accesses(struct graph *graph)
{
    struct access *all = graph->accesses.items;
    if (graph->accesses.count > 0)
        qsort(all, graph->accesses.count, sizeof *all, compare_accesses);
    for (uint32_t i = 0; i < graph->accesses.count; i++)
        for (uint32_t k = i + 1; k < graph->accesses.count && all[k].chunk == all[i].chunk; k++)
            if (!check_pair(graph, &all[i], &all[k]))
                return false;
    return true;
}

bool mscclpp_check_order(const struct mscclpp_plan *plan)
{
    const struct ronde_mem *mem = plan->mem;
    struct graph graph = {.plan = plan, .count = plan->acts.count};
    if (graph.count == 0)
        return true;
    if (graph.count > MOST_ACTS) {
        (void)ronde_fail(plan->error, RONDE_UNSUPPORTED,
                         "%s: %" PRIu32 " operations, of more than %u no races are looked for",
                         plan->path, graph.count, MOST_ACTS);
        return false;
    }
    bool is_right = make_edges(&graph) && sort_acts(&graph) && find_paths(&graph);
    for (uint32_t a = 0; a < graph.count && is_right; a++)
        is_right = add_accesses(&graph, a);
    is_right = is_right && check_accesses(&graph);
    ronde_list_free(mem, &graph.accesses, sizeof(struct access));
    ronde_mem_free(mem, graph.reached, graph.reached ? (size_t)graph.count * graph.words : 0,
                   sizeof *graph.reached);
    ronde_mem_free(mem, graph.to, graph.to ? graph.edges + 1 : 0, sizeof *graph.to);
    ronde_mem_free(mem, graph.order, graph.order ? graph.count : 0, sizeof *graph.order);
    ronde_mem_free(mem, graph.first, graph.first ? graph.count + 2 : 0, sizeof *graph.first);
    return is_right;
}
