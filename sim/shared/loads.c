/* Loads of links over time: flows join and leave when the replay says, and rates are found in between. */
#include "maxmin_share.h"

#include <stdlib.h>

/* What differs by less, relative, is one moment. */
#define SAME 1e-12

/* One end of the flow of an operation. */
struct end {
    double at_ns;
    uint32_t op;
    bool is_begin;
};

/* The state of a search. */
struct search {
    const struct ronde_sim_scene *scene;
    struct ronde_sim_forward_graph graph;
    struct ronde_sim_share share;
    struct end *ends; /* two per operation at most */
    size_t end_count;
    uint32_t *bundle_of; /* per operation, of its flow */
};

/* Ends before beginnings, so that what touches does not overlap. */
static int compare_ends(const void *left, const void *right)
{
    const struct end *a = left;
    const struct end *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (int)a->is_begin - (int)b->is_begin;
}

/* When every message began and ended to flow. */
static void list_ends(struct search *search)
{
    const struct ronde_sim_options *options = search->scene->options;
    for (uint32_t op = 0; op < search->graph.node_count; op++) {
        const struct ronde_sim_forward_kind *kind =
            &search->graph.kinds[search->graph.nodes[op].kind];
        const double from_ns = options->out_start_ns[op] + kind->delay_ns;
        if (kind->hop_count == 0 || options->out_finish_ns[op] <= from_ns)
            continue;
        search->ends[search->end_count++] = (struct end){from_ns, op, true};
        search->ends[search->end_count++] = (struct end){options->out_finish_ns[op], op, false};
    }
    if (search->end_count > 0)
        qsort(search->ends, search->end_count, sizeof *search->ends, compare_ends);
}

/* One end; false where there is no memory. */
static bool pass_end(struct search *search, const struct end *end)
{
    if (!end->is_begin)
        return ronde_sim_share_leave(&search->share, search->bundle_of[end->op]);
    search->bundle_of[end->op] =
        ronde_sim_share_join(&search->share, end->at_ns, search->graph.nodes[end->op].kind);
    return search->bundle_of[end->op] != RONDE_NONE;
}

/* The load of a link now, if it is another one. */
static bool note(const struct search *search, struct ronde_sim_loads *loads, double at_ns)
{
    const struct ronde_sim_shared_link *link = &search->share.links[loads->link];
    double rate_GBps = 0;
    for (uint32_t i = 0; i < link->count; i++) {
        const struct ronde_sim_bundle *bundle = &search->share.bundles[link->bundles[i].bundle];
        rate_GBps += bundle->rate_GBps * bundle->count;
    }
    if (loads->count > 0 ? loads->all[loads->count - 1].rate_GBps == rate_GBps : rate_GBps == 0)
        return true;
    const bool fits = ronde_mem_grow(search->scene->mem, &loads->all, &loads->capacity,
                                     loads->count + 1, sizeof *loads->all);
    if (fits)
        loads->all[loads->count++] = (struct ronde_sim_load){at_ns, rate_GBps};
    return fits;
}

/* All ends of one moment, the rates from it on, and what that makes of the loads. */
static bool pass_moment(struct search *search, size_t *next, struct ronde_sim_loads *loads,
                        uint32_t count)
{
    const double at_ns = search->ends[*next].at_ns;
    bool fits = true;
    while (fits && *next < search->end_count && search->ends[*next].at_ns <= at_ns * (1 + SAME))
        fits = pass_end(search, &search->ends[(*next)++]);
    fits = fits && ronde_sim_share_solve(&search->share);
    for (uint32_t i = 0; fits && i < search->share.affected.count; i++) {
        struct ronde_sim_bundle *bundle = &search->share.bundles[search->share.affected.all[i]];
        bundle->rate_GBps = bundle->found_GBps;
    }
    for (uint32_t i = 0; fits && i < count; i++)
        fits = note(search, &loads[i], at_ns);
    return fits;
}

static enum ronde_status find(struct search *search, struct ronde_sim_loads *loads, uint32_t count)
{
    const struct ronde_mem *mem = search->scene->mem;
    const size_t ops = search->graph.node_count;
    search->ends = ronde_mem_new(mem, 2 * ops, sizeof *search->ends);
    search->bundle_of = ronde_mem_new(mem, ops, sizeof *search->bundle_of);
    bool fits = ronde_sim_share_open(&search->share, &search->graph, mem) && search->ends &&
                search->bundle_of;
    if (fits)
        list_ends(search);
    for (size_t next = 0; fits && next < search->end_count;)
        fits = pass_moment(search, &next, loads, count);
    ronde_sim_share_close(&search->share);
    ronde_mem_free(mem, search->bundle_of, ops, sizeof *search->bundle_of);
    ronde_mem_free(mem, search->ends, 2 * ops, sizeof *search->ends);
    return fits ? RONDE_OK : ronde_sim_no_memory(search->scene);
}

enum ronde_status ronde_sim_loads_find(const struct ronde_sim_scene *scene,
                                       struct ronde_sim_loads *loads, uint32_t count)
{
    struct search search = {.scene = scene};
    enum ronde_status status = ronde_sim_forward_graph_make(scene, &search.graph);
    RONDE_THEN(status, find(&search, loads, count));
    ronde_sim_forward_graph_free(&search.graph, scene->mem);
    return status;
}
