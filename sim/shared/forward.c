/*
 * What all replays forwards in time have in common: readiness, successors, the report. Only what flows is an event;
 * everything else is worked out on the spot.
 */
#include "forward.h"

#include "sim/check.h"

#include <stdio.h>

/* Operations whose memory is prefetched together: those of a large run lie all over it. */
#define AHEAD 16u

bool ronde_sim_forward_finish(struct ronde_sim_forward *walk, struct ronde_sim_over over)
{
    const bool fits = walk->over_count < walk->over_capacity ||
                      ronde_mem_grow(walk->scene.mem, &walk->over, &walk->over_capacity,
                                     (size_t)walk->over_count + 1, sizeof *walk->over);
    if (!fits)
        return false;
    if (walk->scene.options->out_finish_ns)
        walk->scene.options->out_finish_ns[over.op] = over.finish_ns;
    walk->end_ns = ronde_sim_later(walk->end_ns, over.finish_ns);
    walk->over[walk->over_count++] = over;
    __builtin_prefetch(&walk->graph.first_next[over.op >> walk->graph.piece_bits]);
    __builtin_prefetch(&walk->graph.kinds[over.kind].latency_ns);
    return true;
}

/* All predecessors are over. What flows becomes an event, the rest is over after its delay. */
static bool start(struct ronde_sim_forward *walk, uint32_t op)
{
    const struct ronde_sim_forward_node node = *ronde_sim_forward_node(&walk->graph, op);
    const struct ronde_sim_forward_kind *kind = &walk->graph.kinds[node.kind];
    const double leaves_ns = node.ready_ns + kind->delay_ns;
    if (walk->graph.steps)
        ronde_sim_forward_pass(&walk->graph, op);
    if (walk->scene.options->out_start_ns)
        walk->scene.options->out_start_ns[op] = node.ready_ns;
    if (kind->hop_count == 0)
        return ronde_sim_forward_finish(walk, (struct ronde_sim_over){leaves_ns, op, node.kind});
    return ronde_sim_queue_push(&walk->queue, leaves_ns,
                                (struct ronde_sim_arrival){leaves_ns, op, node.kind, 0});
}

/* Updates the successors of an operation; those that waited only for it start. */
static bool update_successors(struct ronde_sim_forward *walk, struct ronde_sim_over over)
{
    struct ronde_sim_forward_graph *graph = &walk->graph;
    const double arrival_ns = over.finish_ns + graph->kinds[over.kind].latency_ns;
    const uint32_t *first_next = &graph->first_next[over.op >> graph->piece_bits];
    bool fits = true;
    for (uint32_t k = first_next[0]; k < first_next[1] && fits; k++) {
        const uint32_t next = graph->next[k];
        const uint32_t successor = ronde_sim_forward_successor(graph, over.op, next);
        if (successor == RONDE_NONE)
            continue;
        if (graph->steps && !ronde_sim_forward_reaches(graph, successor) &&
            !ronde_sim_forward_widen(graph, successor, walk->scene.mem))
            return false;
        struct ronde_sim_forward_node *node = ronde_sim_forward_node(graph, successor);
        node->ready_ns =
            ronde_sim_later(node->ready_ns,
                            next & RONDE_SIM_FORWARD_MESSAGE ? arrival_ns : over.finish_ns);
        if (--node->waits == 0)
            fits = start(walk, successor);
    }
    return fits;
}

/*
 * Prefetches the memory that the updates of some operations will touch, for all of them at once: where successors are listed (asked
 * for when the operation ended), the lists, the successors themselves.
 */
static void look_ahead(const struct ronde_sim_forward *walk, uint32_t from, uint32_t to)
{
    const struct ronde_sim_forward_graph *graph = &walk->graph;
    for (uint32_t at = from; at < to; at++)
        __builtin_prefetch(&graph->next[graph->first_next[walk->over[at].op >> graph->piece_bits]]);
    for (uint32_t at = from; at < to; at++) {
        const uint32_t op = walk->over[at].op;
        const uint32_t *first_next = &graph->first_next[op >> graph->piece_bits];
        for (uint32_t k = first_next[0]; k < first_next[1]; k++) {
            const uint32_t next = ronde_sim_forward_successor(graph, op, graph->next[k]);
            if (next == RONDE_NONE)
                continue;
            __builtin_prefetch(ronde_sim_forward_node(graph, next), 1);
            if (graph->steps)
                __builtin_prefetch(&graph->steps[next >> graph->piece_bits], 1);
        }
    }
}

bool ronde_sim_forward_settle(struct ronde_sim_forward *walk)
{
    bool fits = true;
    for (uint32_t at = 0, seen = 0; at < walk->over_count && fits; at++) {
        if (at == seen) {
            seen = walk->over_count - at < AHEAD ? walk->over_count : at + AHEAD;
            look_ahead(walk, at, seen);
        }
        fits = update_successors(walk, walk->over[at]);
    }
    walk->over_count = 0;
    return fits;
}

bool ronde_sim_forward_begin(struct ronde_sim_forward *walk)
{
    const struct ronde_sim_forward_graph *graph = &walk->graph;
    const size_t steps = ronde_sim_forward_steps(graph);
    bool fits = true;
    for (uint32_t step = 0; step < steps && fits; step++)
        if (ronde_sim_forward_node(graph, step << graph->piece_bits)->waits == 0)
            fits = start(walk, step << graph->piece_bits);
    return fits && ronde_sim_forward_settle(walk);
}

/* The link that is used most of the time. */
static enum ronde_status find_busiest(const struct ronde_sim_forward *walk,
                                      struct ronde_sim_result *result)
{
    const struct ronde_sim_scene *scene = &walk->scene;
    const struct ronde_sim_forward_graph *graph = &walk->graph;
    const uint32_t links = graph->link_count;
    double *bytes = ronde_mem_new(scene->mem, links, sizeof *bytes);
    if (!bytes)
        return ronde_sim_no_memory(scene);
    for (uint32_t i = 0; i < graph->kind_count; i++) {
        const struct ronde_sim_forward_kind *kind = &graph->kinds[i];
        for (uint32_t k = kind->first_hop; k < kind->first_hop + kind->hop_count; k++)
            bytes[graph->routes.hops[k]] += kind->bytes * kind->ops;
    }
    for (uint32_t l = 0; l < links && walk->end_ns > 0; l++) {
        const double rate_GBps = graph->links[l].rate_GBps;
        const double use = rate_GBps > 0 ? bytes[l] / (rate_GBps * walk->end_ns) : 0;
        if (use <= result->busiest_utilisation)
            continue;
        result->busiest_utilisation = use;
        (void)snprintf(result->busiest_link, sizeof result->busiest_link, "%s",
                       ronde_platform_link(scene->platform, l)->name);
    }
    ronde_mem_free(scene->mem, bytes, links, sizeof *bytes);
    return RONDE_OK;
}

enum ronde_status ronde_sim_forward_report(const struct ronde_sim_forward *walk, const char *engine,
                                           struct ronde_sim_result *result)
{
    result->engine = engine;
    result->time_ns = ronde_dag_end_ns(walk->scene.dag, walk->end_ns);
    return find_busiest(walk, result);
}

enum ronde_status ronde_sim_forward_open(struct ronde_sim_forward *walk,
                                         const struct ronde_sim_scene *scene, const char *engine)
{
    *walk = (struct ronde_sim_forward){.scene = *scene, .queue = {.mem = scene->mem}};
    RONDE_TRY(
        ronde_sim_check_hosts(scene->platform, scene->dag->ranks, scene->options, scene->error));
    RONDE_TRY(ronde_sim_refuse_shared(scene->platform, engine, scene->error));
    if (scene->dag->op_count >= RONDE_SIM_FORWARD_MESSAGE)
        return ronde_fail(scene->error, RONDE_UNSUPPORTED, "%s replays up to %u operations, not %u",
                          engine, RONDE_SIM_FORWARD_MESSAGE - 1, scene->dag->op_count);
    return ronde_sim_forward_graph_make(&walk->scene, &walk->graph);
}

void ronde_sim_forward_close(struct ronde_sim_forward *walk)
{
    const struct ronde_mem *mem = walk->scene.mem;
    ronde_mem_free(mem, walk->over, walk->over_capacity, sizeof *walk->over);
    ronde_sim_queue_free(&walk->queue);
    ronde_sim_forward_graph_free(&walk->graph, mem);
}
