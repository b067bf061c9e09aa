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
 * `flat`. docs/notes/engines.md compares this with other rules that were tried.
 *
 * Nothing has to be undone, because arrivals are served in order of time: an operation's start is known once all its
 * predecessors have ended, which may lie in the future, and no event can cause an earlier one. So only arrivals are
 * events; whatever does not flow is worked out on the spot.
 */
#include "forward.h"
#include "sim/check.h"

#include <string.h>

/* How far ahead of its use memory is prefetched: operations of a large run lie all over it. */
#define AHEAD 8u

/* Sends a message on from a link as far as it gets without waiting. */
static bool pass_on(struct ronde_sim_forward *walk, double at_ns, struct ronde_sim_arrival arrival)
{
    const struct ronde_sim_forward_kind *kind = &walk->graph.kinds[arrival.kind];
    double end_ns = at_ns + kind->own_ns;
    while (arrival.hop < kind->hop_count) {
        struct ronde_sim_forward_link *link =
            ronde_sim_forward_link_at(&walk->graph, kind, arrival.hop++);
        if (link->rate_GBps == 0)
            continue;
        link->backlog_ns = ronde_sim_later(link->backlog_ns, at_ns) + kind->bytes / link->rate_GBps;
        if (link->backlog_ns <= end_ns)
            continue;
        end_ns = link->backlog_ns;
        at_ns = end_ns - kind->own_ns;
        /* Others may reach the next link before this one now does. */
        if (arrival.hop < kind->hop_count)
            return ronde_sim_queue_push(&walk->queue, at_ns, arrival);
    }
    return ronde_sim_forward_finish(walk, (struct ronde_sim_over){end_ns, arrival.op, arrival.kind});
}

/* Prefetches the memory that serving will touch: the kind, its hops, the links of those. */
static void look_ahead_of(const struct ronde_sim_forward_graph *graph,
                          const struct ronde_sim_arrival *batch, uint32_t left)
{
    if (left > 3 * AHEAD)
        __builtin_prefetch(&graph->kinds[batch[3 * AHEAD].kind]);
    if (left > 2 * AHEAD) {
        const struct ronde_sim_arrival *next = &batch[2 * AHEAD];
        __builtin_prefetch(&graph->routes.hops[graph->kinds[next->kind].first_hop + next->hop]);
    }
    if (left <= AHEAD)
        return;
    const struct ronde_sim_forward_kind *kind = &graph->kinds[batch[AHEAD].kind];
    for (uint32_t hop = batch[AHEAD].hop; hop < kind->hop_count; hop++)
        __builtin_prefetch(ronde_sim_forward_link_at(graph, kind, hop), 1);
}

/* Serves everything that arrives at one moment, in order. */
static bool serve(struct ronde_sim_forward *walk, double at_ns,
                  const struct ronde_sim_arrival *batch, uint32_t count)
{
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++) {
        look_ahead_of(&walk->graph, batch + i, count - i);
        fits = pass_on(walk, at_ns, batch[i]);
    }
    return fits;
}

static enum ronde_status replay(struct ronde_sim_forward *walk, struct ronde_sim_result *out_result)
{
    const struct ronde_sim_arrival *batch;
    double at_ns;
    uint32_t count;
    enum ronde_status status = RONDE_OK;
    bool fits =
        ronde_sim_forward_begin(walk) && ronde_sim_queue_pop(&walk->queue, &at_ns, &batch, &count);
    while (fits && count > 0 && status == RONDE_OK) {
        fits = serve(walk, at_ns, batch, count) && ronde_sim_forward_settle(walk) &&
               ronde_sim_queue_pop(&walk->queue, &at_ns, &batch, &count);
        status = ronde_sim_check_cancel(&walk->scene);
    }
    if (!fits)
        return ronde_sim_no_memory(&walk->scene);
    return status == RONDE_OK ? ronde_sim_forward_report(walk, "flat_fifo", out_result) : status;
}

/* Memory: 24 bytes an operation with its route, 4 an edge, and what is on its way. */
enum ronde_status ronde_sim_fifo(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                 const struct ronde_sim_options *options,
                                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                 struct ronde_error *error)
{
    const struct ronde_sim_scene scene = {platform, dag, options ? options : &ronde_sim_defaults,
                                          mem, error};
    struct ronde_sim_forward walk;
    memset(out_result, 0, sizeof *out_result);
    enum ronde_status status = ronde_sim_forward_open(&walk, &scene, "flat_fifo");
    RONDE_THEN(status, replay(&walk, out_result));
    ronde_sim_forward_close(&walk);
    return status;
}
