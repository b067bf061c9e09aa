/**
 * Flows that share links by max-min fairness: no flow can have more without another that has no more than it having
 * less. A flow has at most what its route gives it alone (`own`), so only links count on which all flows' own rates
 * together are more than the link has (`tight`); where no tight link joins them, flows do not know of one another. A change
 * is worked out only where it is felt, even where tight links join all flows of a machine.
 */
#ifndef RONDE_SIM_MAXMIN_SHARE_H
#define RONDE_SIM_MAXMIN_SHARE_H

#include "forward.h"
#include "sim/routes.h"

/** A message on its way: a cache line, for solutions go through many. */
struct ronde_sim_flow {
    double rate_GBps;   /**< from since_ns on; 0 = none yet */
    double found_GBps;  /**< its rate in the last solution it took part in; 0 = not found yet */
    double left_bytes;  /**< at since_ns */
    double since_ns;    /**< when its rate last changed */
    uint32_t solved;    /**< number of the last solution it took part in */
    uint32_t first_hop; /**< links of its route, into the hops of the routes */
    uint32_t hop_count; /**< of those */
    uint32_t rank; /**< place of its own rate, the most its route gives it alone, among all own rates */
    uint32_t next; /**< the next one of the same own rate, or NONE, while rates are found */
    uint32_t by;   /**< the link that limits it, or NONE: its own rate does */
    uint32_t op;   /**< whose message */
    uint32_t kind; /**< of the operation */
};

/** One flow on a link, as often as its route crosses it. */
struct ronde_sim_crossing {
    uint32_t flow; /**< which */
    uint32_t hop;  /**< where on its route */
};

/** A link that flows share: a cache line as well. */
struct ronde_sim_shared_link {
    struct ronde_sim_crossing *flows; /**< on it, in no order */
    double level_GBps; /**< what it gave the flows it limits in the last solution it took part in; 0 = it limits none of its flows */
    double rate_GBps;  /**< its own; 0 = it caps every flow alone and is not shared */
    double demand_GBps; /**< own rates of all flows on it */
    double left_GBps;   /**< not given to flows whose rate is found */
    uint32_t count;     /**< crossings */
    uint32_t capacity;  /**< reserved */
    uint32_t open;      /**< crossings of flows whose rate is not found yet */
    uint32_t solved;    /**< number of the last solution it took part in */
    float most_GBps; /**< to single precision, of its flows that the last solution left as they were */
    bool is_touched;  /**< flows came or went since the last solution */
    bool is_tight;    /**< when rates were last found */
    bool has_others;  /**< the last solution it took part in left some of its flows as they were */
    bool limits_some; /**< of these */
};

/** A link by the rate it could give each of its open flows. */
struct ronde_sim_level {
    double GBps;   /**< when it was last looked at: it has not become less */
    uint32_t link; /**< which */
};

/** A growing list of numbers. */
struct ronde_sim_numbers {
    uint32_t *all;   /**< count entries */
    size_t capacity; /**< reserved */
    uint32_t count;  /**< used */
};

/** All flows and links; close it in every case. */
struct ronde_sim_share {
    const struct ronde_sim_forward_graph *graph; /**< kinds, routes */
    const struct ronde_mem *mem;                 /**< of what grows */
    struct ronde_store store;                    /**< of what does not */
    struct ronde_sim_shared_link *links;         /**< per link of the platform */
    uint32_t link_count;
    struct ronde_sim_flow *flows; /**< slots */
    size_t flow_capacity;         /**< reserved */
    uint32_t flow_count;          /**< slots used so far */
    uint32_t *places; /**< per slot and hop of the longest route, where in the link's list it is */
    size_t place_capacity;          /**< reserved */
    uint32_t most_hops;             /**< of a route */
    struct ronde_sim_numbers free;  /**< slots */
    struct ronde_sim_numbers fresh; /**< flows without a rate yet */
    struct ronde_sim_numbers touched; /**< links on which flows came or went since the last solution */
    struct ronde_sim_numbers affected; /**< flows of a solution */
    struct ronde_sim_numbers taken;    /**< links of a solution: the tight ones of its flows */
    uint32_t *rank_of;                 /**< per route, place of its own rate among all own rates */
    double *own_GBps;                  /**< all own rates, ascending */
    uint32_t *rank_head; /**< per own rate, first flow of the solution that has it, or NONE */
    uint32_t rank_count; /**< of those */
    struct ronde_sim_numbers ranks; /**< own rates that occur in a solution */
    struct ronde_sim_level *levels; /**< heap of a solution's links, the tightest first */
    size_t level_capacity;          /**< reserved */
    uint32_t level_count;           /**< used */
    uint32_t solution; /**< number of the next one: an operation makes two at most, as it begins and ends */
    /** visits of flows to links, and of entries to places in heaps, since they were last counted */
    uint64_t visits;
};

/** The link of a hop of a flow. */
static inline struct ronde_sim_shared_link *ronde_sim_share_link(const struct ronde_sim_share *share,
                                                                 const struct ronde_sim_flow *flow,
                                                                 uint32_t hop)
{
    return &share->links[share->graph->routes.hops[flow->first_hop + hop]];
}

/** Starts without flows; false where there is no memory. */
bool ronde_sim_share_open(struct ronde_sim_share *share,
                          const struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem);

/** Frees what it holds. */
void ronde_sim_share_close(struct ronde_sim_share *share);

/** A message starts to flow; its rate comes with the next solution. NONE where there is no memory. */
uint32_t ronde_sim_share_join(struct ronde_sim_share *share, double at_ns,
                              const struct ronde_sim_arrival *arrival);

/** A flow is over, and its slot the next one's. False where there is no memory. */
bool ronde_sim_share_leave(struct ronde_sim_share *share, uint32_t flow);

/**
 * Finds the rates of all flows that may have other ones now: share->affected, each with found_GBps. False where there is
 * no memory.
 */
bool ronde_sim_share_solve(struct ronde_sim_share *share);

/**
 * Replays what a walk has been opened for: the moments of ronde_sim_maxmin (maxmin.c). Errors: TIMEOUT, UNSUPPORTED (too
 * much work), CANCELLED, NO_MEMORY.
 */
enum ronde_status ronde_sim_maxmin_walk(struct ronde_sim_forward *walk,
                                        struct ronde_sim_result *out_result);

/* What links carry at every moment of a replay that shares them by max-min fairness, from when its messages began
 * and ended to flow: the rates are found once more. */

/** The load of a link from a time on. */
struct ronde_sim_load {
    double at_ns;     /**< from then on */
    double rate_GBps; /**< of all flows together */
};

/** The loads of one link; start from zeroes. */
struct ronde_sim_loads {
    uint32_t link;              /**< which */
    struct ronde_sim_load *all; /**< count entries, in order of time, the last one 0 */
    size_t capacity;            /**< reserved */
    size_t count;               /**< used */
};

/**
 * Finds the loads of `count` links of a scene whose options have start and finish times. Errors: NO_MEMORY; those of the
 * routes. Free what each holds in every case.
 */
enum ronde_status ronde_sim_loads_find(const struct ronde_sim_scene *scene,
                                       struct ronde_sim_loads *loads, uint32_t count);

#endif
