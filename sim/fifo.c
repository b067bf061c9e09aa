/*
 * Replay with links as queues: an approximation of max-min sharing that takes time per message, not per message and
 * flow it competes with.
 *
 * A message of `bytes` that could flow at `rate` (the slowest link of its route, or the lane) reaches its first link
 * when it is ready. A link works off what has arrived in order, at its own capacity: backlog = max(backlog, arrival) +
 * bytes / capacity. The message is through when its own rate lets it be and the backlog up to it is gone:
 * end = max(arrival + bytes / rate, backlog). So a link that is wider than its flows carries several of them at once
 * without delay, and an overloaded one delays them by exactly what is too much. The head goes on at once (cut-through):
 * it reaches the next link at end - bytes / rate, and what a queue has delayed stays delayed. The message is over at
 * the end of its last link, the receiver's port. Without contention every end is arrival + bytes / rate, which is
 * `flat`. docs/flat-fifo.md compares this with other rules that were tried.
 *
 * Nothing has to be undone, because arrivals are served in order of time: an operation's start is known once all its
 * predecessors have ended, which may lie in the future, and no event can cause an earlier one. So only arrivals are
 * events; whatever does not flow is worked out on the spot.
 */
#include "check.h"
#include "fifo_graph.h"
#include "fifo_queue.h"

#include <stdio.h>
#include <string.h>

/* How far ahead of its use memory is prefetched: operations of a large run lie all over it. */
#define AHEAD 8u

/* An operation that is over and whose successors are not updated yet. */
struct over {
    double finish_ns;
    uint32_t op;
    uint32_t kind;
};

/* The state of a replay. */
struct fifo {
    struct ronde_sim_scene scene;
    struct ronde_sim_fifo_graph graph;
    struct ronde_sim_queue queue;
    struct over *over;
    size_t over_capacity;
    uint32_t over_count;
    double end_ns; /* latest end so far */
};

/* An operation is over; its successors are updated in their turn. */
static bool finish(struct fifo *fifo, struct over over)
{
    void *block = fifo->over;
    const bool fits = fifo->over_count < fifo->over_capacity ||
                      ronde_mem_grow(fifo->scene.mem, &block, &fifo->over_capacity,
                                     (size_t)fifo->over_count + 1, sizeof *fifo->over);
    fifo->over = block;
    if (!fits)
        return false;
    if (fifo->scene.options->out_finish_ns)
        fifo->scene.options->out_finish_ns[over.op] = over.finish_ns;
    fifo->end_ns = ronde_sim_later(fifo->end_ns, over.finish_ns);
    fifo->over[fifo->over_count++] = over;
    return true;
}

/* All predecessors are over. What flows becomes an event, the rest is over after its delay. */
static bool start(struct fifo *fifo, uint32_t op)
{
    const struct ronde_sim_fifo_node *node = &fifo->graph.nodes[op];
    const struct ronde_sim_fifo_kind *kind = &fifo->graph.kinds[node->kind];
    const double leaves_ns = node->ready_ns + kind->delay_ns;
    if (fifo->scene.options->out_start_ns)
        fifo->scene.options->out_start_ns[op] = node->ready_ns;
    if (kind->hop_count == 0)
        return finish(fifo, (struct over){leaves_ns, op, node->kind});
    return ronde_sim_queue_push(&fifo->queue, leaves_ns,
                                (struct ronde_sim_arrival){leaves_ns, op, node->kind, 0});
}

/* Updates the successors of an operation; those that waited only for it start. */
static bool update_successors(struct fifo *fifo, struct over over)
{
    const struct ronde_sim_fifo_graph *graph = &fifo->graph;
    const double arrival_ns = over.finish_ns + graph->kinds[over.kind].latency_ns;
    const uint32_t *first_next = &graph->first_next[over.op];
    bool fits = true;
    for (uint32_t k = first_next[0]; k < first_next[1] && fits; k++) {
        const uint32_t next = graph->next[k];
        const uint32_t successor = next & ~RONDE_SIM_FIFO_MESSAGE;
        struct ronde_sim_fifo_node *node = &graph->nodes[successor];
        node->ready_ns =
            ronde_sim_later(node->ready_ns,
                            next & RONDE_SIM_FIFO_MESSAGE ? arrival_ns : over.finish_ns);
        if (--node->waits == 0)
            fits = start(fifo, successor);
    }
    return fits;
}

/*
 * Prefetches the memory that the updates will touch: where successors are listed, the list, the
 * successors themselves.
 */
static void look_ahead(const struct fifo *fifo, uint32_t at)
{
    const struct ronde_sim_fifo_graph *graph = &fifo->graph;
    if (at + 3 * AHEAD < fifo->over_count) {
        __builtin_prefetch(&graph->first_next[fifo->over[at + 3 * AHEAD].op]);
        __builtin_prefetch(&graph->kinds[fifo->over[at + 3 * AHEAD].kind].latency_ns);
    }
    if (at + 2 * AHEAD < fifo->over_count)
        __builtin_prefetch(&graph->next[graph->first_next[fifo->over[at + 2 * AHEAD].op]]);
    if (at + AHEAD >= fifo->over_count)
        return;
    const uint32_t *first_next = &graph->first_next[fifo->over[at + AHEAD].op];
    for (uint32_t k = first_next[0]; k < first_next[1]; k++)
        __builtin_prefetch(&graph->nodes[graph->next[k] & ~RONDE_SIM_FIFO_MESSAGE], 1);
}

/* Updates all successors, and those of whatever is over because of it. */
static bool settle(struct fifo *fifo)
{
    bool fits = true;
    for (uint32_t at = 0; at < fifo->over_count && fits; at++) {
        look_ahead(fifo, at);
        fits = update_successors(fifo, fifo->over[at]);
    }
    fifo->over_count = 0;
    return fits;
}

/* A link of the route of a kind. */
static struct ronde_sim_fifo_link *link_at(const struct ronde_sim_fifo_graph *graph,
                                           const struct ronde_sim_fifo_kind *kind, uint32_t hop)
{
    return &graph->links[graph->routes.hops[kind->first_hop + hop]];
}

/* Sends a message on from a link as far as it gets without waiting. */
static bool pass_on(struct fifo *fifo, double at_ns, struct ronde_sim_arrival arrival)
{
    const struct ronde_sim_fifo_kind *kind = &fifo->graph.kinds[arrival.kind];
    double end_ns = at_ns + kind->own_ns;
    while (arrival.hop < kind->hop_count) {
        struct ronde_sim_fifo_link *link = link_at(&fifo->graph, kind, arrival.hop++);
        if (link->rate_GBps == 0)
            continue;
        link->backlog_ns = ronde_sim_later(link->backlog_ns, at_ns) + kind->bytes / link->rate_GBps;
        if (link->backlog_ns <= end_ns)
            continue;
        end_ns = link->backlog_ns;
        at_ns = end_ns - kind->own_ns;
        /* Others may reach the next link before this one now does. */
        if (arrival.hop < kind->hop_count)
            return ronde_sim_queue_push(&fifo->queue, at_ns, arrival);
    }
    return finish(fifo, (struct over){end_ns, arrival.op, arrival.kind});
}

/* Prefetches the memory that serving will touch: the kind, its hops, the links of those. */
static void look_ahead_of(const struct fifo *fifo, const struct ronde_sim_arrival *batch,
                          uint32_t left)
{
    const struct ronde_sim_fifo_graph *graph = &fifo->graph;
    if (left > 3 * AHEAD)
        __builtin_prefetch(&graph->kinds[batch[3 * AHEAD].kind]);
    if (left > 2 * AHEAD) {
        const struct ronde_sim_arrival *next = &batch[2 * AHEAD];
        __builtin_prefetch(&graph->routes.hops[graph->kinds[next->kind].first_hop + next->hop]);
    }
    if (left <= AHEAD)
        return;
    const struct ronde_sim_fifo_kind *kind = &graph->kinds[batch[AHEAD].kind];
    for (uint32_t hop = batch[AHEAD].hop; hop < kind->hop_count; hop++)
        __builtin_prefetch(link_at(graph, kind, hop), 1);
}

/* Serves everything that arrives at one moment, in order. */
static bool serve(struct fifo *fifo, double at_ns, const struct ronde_sim_arrival *batch,
                  uint32_t count)
{
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++) {
        look_ahead_of(fifo, batch + i, count - i);
        fits = pass_on(fifo, at_ns, batch[i]);
    }
    return fits;
}

/* Bytes carried over capacity times the time the run was under way, for the link where that is most. */
static enum ronde_status find_busiest(const struct fifo *fifo, struct ronde_sim_result *result)
{
    const struct ronde_sim_scene *scene = &fifo->scene;
    const struct ronde_sim_fifo_graph *graph = &fifo->graph;
    const uint32_t links = ronde_platform_link_count(scene->platform);
    double *bytes = ronde_mem_new(scene->mem, links, sizeof *bytes);
    if (!bytes)
        return ronde_sim_no_memory(scene);
    for (uint32_t i = 0; i < graph->kind_count; i++) {
        const struct ronde_sim_fifo_kind *kind = &graph->kinds[i];
        for (uint32_t k = kind->first_hop; k < kind->first_hop + kind->hop_count; k++)
            bytes[graph->routes.hops[k]] += kind->bytes * kind->ops;
    }
    for (uint32_t l = 0; l < links && fifo->end_ns > 0; l++) {
        const struct ronde_link *link = ronde_platform_link(scene->platform, l);
        const double use = bytes[l] / (link->rate_GBps * fifo->end_ns);
        if (link->is_fatpipe || use <= result->busiest_utilisation)
            continue;
        result->busiest_utilisation = use;
        (void)snprintf(result->busiest_link, sizeof result->busiest_link, "%s", link->name);
    }
    ronde_mem_free(scene->mem, bytes, links, sizeof *bytes);
    return RONDE_OK;
}

static enum ronde_status replay(struct fifo *fifo, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_arrival *batch;
    double at_ns;
    uint32_t count;
    bool fits = true;
    for (uint32_t op = 0; op < fifo->graph.node_count && fits; op++)
        if (fifo->graph.nodes[op].waits == 0)
            fits = start(fifo, op);
    fits = fits && settle(fifo) && ronde_sim_queue_pop(&fifo->queue, &at_ns, &batch, &count);
    while (fits && count > 0)
        fits = serve(fifo, at_ns, batch, count) && settle(fifo) &&
               ronde_sim_queue_pop(&fifo->queue, &at_ns, &batch, &count);
    if (!fits)
        return ronde_sim_no_memory(&fifo->scene);
    out_result->engine = "flat_fifo";
    out_result->time_ns = fifo->end_ns + fifo->scene.dag->launch_ns;
    return find_busiest(fifo, out_result);
}

/* Memory: 24 bytes an operation with its route, 4 an edge, and what is on its way. */
static enum ronde_status prepare_and_replay(struct fifo *fifo, struct ronde_sim_result *out_result)
{
    const struct ronde_mem *mem = fifo->scene.mem;
    enum ronde_status status = ronde_sim_fifo_graph_make(&fifo->scene, &fifo->graph);
    if (status == RONDE_OK)
        status = replay(fifo, out_result);
    ronde_mem_free(mem, fifo->over, fifo->over_capacity, sizeof *fifo->over);
    ronde_sim_queue_free(&fifo->queue);
    ronde_sim_fifo_graph_free(&fifo->graph, mem);
    return status;
}

enum ronde_status ronde_sim_fifo(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                 const struct ronde_sim_options *options,
                                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                 struct ronde_error *error)
{
    options = options ? options : &ronde_sim_defaults;
    struct fifo fifo = {.scene = {platform, dag, options, mem, error}, .queue = {.mem = mem}};
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_check_hosts(platform, dag->ranks, options, error);
    if (status == RONDE_OK)
        status = ronde_sim_refuse_shared(platform, "flat_fifo", error);
    if (status != RONDE_OK)
        return status;
    if (dag->op_count >= RONDE_SIM_FIFO_MESSAGE)
        return ronde_fail(error, RONDE_UNSUPPORTED, "flat_fifo replays up to %u operations, not %u",
                          RONDE_SIM_FIFO_MESSAGE - 1, dag->op_count);
    return prepare_and_replay(&fifo, out_result);
}
