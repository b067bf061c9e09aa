/**
 * A replay forwards in time, whatever links do with the messages on them: operations become ready when their
 * predecessors are over, what flows becomes an arrival at its first link, and the engine says when it is over.
 *
 *     ronde_sim_forward_open(&walk, ...)
 *     ronde_sim_forward_begin(&walk)
 *     for each moment of walk.queue:
 *         the engine takes arrivals and calls ronde_sim_forward_finish for what is over
 *         ronde_sim_forward_settle(&walk)
 */
#ifndef RONDE_SIM_FORWARD_H
#define RONDE_SIM_FORWARD_H

#include "event_queue.h"
#include "forward_graph.h"

/** An operation that is over and whose successors are not updated yet. */
struct ronde_sim_over {
    double finish_ns; /**< when, maybe in the future */
    uint32_t op;      /**< which */
    uint32_t kind;    /**< of the operation, so that it need not be looked at again */
};

/** The state of a replay; close it in every case. */
struct ronde_sim_forward {
    struct ronde_sim_scene scene;         /**< what and where */
    struct ronde_sim_forward_graph graph; /**< the step graph forwards */
    struct ronde_sim_queue queue;         /**< arrivals to come */
    struct ronde_sim_over *over;          /**< over_count entries */
    size_t over_capacity;                 /**< reserved */
    uint32_t over_count;                  /**< used */
    double end_ns;                        /**< latest end so far */
};

/**
 * Checks the arguments and makes the graph; `engine` is who asks, for messages. Errors: as ronde_sim_flat; UNSUPPORTED
 * beyond 2^31 - 1 operations.
 */
enum ronde_status ronde_sim_forward_open(struct ronde_sim_forward *walk,
                                         const struct ronde_sim_scene *scene, const char *engine);

/** Frees what it holds. */
void ronde_sim_forward_close(struct ronde_sim_forward *walk);

/** Starts everything that waits for nothing; false where there is no memory. */
bool ronde_sim_forward_begin(struct ronde_sim_forward *walk);

/** An operation is over; false where there is no memory. Its successors are updated by the next settling. */
bool ronde_sim_forward_finish(struct ronde_sim_forward *walk, struct ronde_sim_over over);

/** Updates the successors of what is over, and those of whatever is over because of it. False where there is no memory. */
bool ronde_sim_forward_settle(struct ronde_sim_forward *walk);

/**
 * Fills in engine, time, and the busiest link: bytes carried over capacity times the time the run was under way. Errors:
 * NO_MEMORY.
 */
enum ronde_status ronde_sim_forward_report(const struct ronde_sim_forward *walk, const char *engine,
                                           struct ronde_sim_result *result);

/** A link of the route of a kind. */
static inline struct ronde_sim_forward_link *
ronde_sim_forward_link_at(const struct ronde_sim_forward_graph *graph,
                          const struct ronde_sim_forward_kind *kind, uint32_t hop)
{
    return &graph->links[graph->routes.hops[kind->first_hop + hop]];
}

#endif
