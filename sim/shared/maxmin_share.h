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

/**
 * All flows that are on their way along one route: they meet the same links, so each has the same rate. A cache line, for
 * solutions go through many.
 */
struct ronde_sim_bundle {
    double rate_GBps;     /**< of each flow, from since_ns on; 0 = none yet */
    double found_GBps;    /**< in the last solution it took part in; 0 = not found yet */
    double carried_bytes; /**< by each flow that has been in it all the time, until since_ns */
    double since_ns;      /**< when its rate last changed */
    uint32_t count;       /**< flows; 0 = its place is free */
    uint32_t route;       /**< which */
    uint32_t solved;      /**< number of the last solution it took part in */
    uint32_t first_hop;   /**< links of its route, into the hops of the routes */
    uint32_t hop_count;   /**< of those */
    uint32_t rank; /**< place of its flows' own rate, the most their route gives one alone, among all own rates */
    uint32_t next; /**< the next one of the same own rate, or NONE, while rates are found */
    uint32_t by;   /**< the link that limits it, or NONE: its own rate does */
};

/** One bundle on a link, as often as its route crosses it. */
struct ronde_sim_crossing {
    uint32_t bundle; /**< which */
    uint32_t hop;    /**< where on its route */
};

/** A link that flows share: a cache line as well. */
struct ronde_sim_shared_link {
    struct ronde_sim_crossing *bundles; /**< on it, in no order */
    double level_GBps; /**< what it gave the flows it limits in the last solution it took part in; 0 = it limits none of its flows */
    double rate_GBps;  /**< its own; 0 = it caps every flow alone and is not shared */
    double demand_GBps; /**< own rates of all flows on it */
    double left_GBps;   /**< not given to flows whose rate is found */
    uint32_t count;     /**< crossings */
    uint32_t capacity;  /**< reserved */
    uint32_t open;      /**< flows whose rate is not found yet, as often as they cross it */
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

/** One more of them; false where there is no memory. */
static inline bool ronde_sim_numbers_push(const struct ronde_mem *mem,
                                          struct ronde_sim_numbers *numbers, uint32_t number)
{
    const bool fits = numbers->count < numbers->capacity ||
                      ronde_mem_grow(mem, &numbers->all, &numbers->capacity,
                                     (size_t)numbers->count + 1, sizeof *numbers->all);
    if (fits)
        numbers->all[numbers->count++] = number;
    return fits;
}

/** All flows and links; close it in every case. */
struct ronde_sim_share {
    const struct ronde_sim_forward_graph *graph; /**< kinds, routes */
    const struct ronde_mem *mem;                 /**< of what grows */
    struct ronde_store store;                    /**< of what does not */
    struct ronde_sim_shared_link *links;         /**< per link of the platform */
    uint32_t link_count;
    struct ronde_sim_bundle *bundles; /**< in places that are used again */
    size_t bundle_capacity;           /**< reserved */
    uint32_t bundle_count;            /**< places used so far */
    uint32_t *bundle_of;              /**< per route, its bundle, or NONE */
    uint32_t *places; /**< per bundle and hop of the longest route, where in the link's list it is */
    size_t place_capacity;          /**< reserved */
    uint32_t most_hops;             /**< of a route */
    uint32_t flow_count;            /**< on their way */
    struct ronde_sim_numbers free;  /**< places of bundles */
    struct ronde_sim_numbers fresh; /**< bundles without a rate yet */
    struct ronde_sim_numbers touched; /**< links on which flows came or went since the last solution */
    struct ronde_sim_numbers affected; /**< bundles of a solution */
    struct ronde_sim_numbers taken;    /**< links of a solution: the tight ones of its bundles */
    uint32_t *rank_of;                 /**< per route, place of its own rate among all own rates */
    double *own_GBps;                  /**< all own rates, ascending */
    uint32_t *rank_head; /**< per own rate, first bundle of the solution that has it, or NONE */
    uint32_t rank_count; /**< of those */
    struct ronde_sim_numbers ranks; /**< own rates that occur in a solution */
    struct ronde_sim_level *levels; /**< heap of a solution's links, the tightest first */
    size_t level_capacity;          /**< reserved */
    uint32_t level_count;           /**< used */
    uint32_t solution; /**< number of the next one: an operation makes two at most, as it begins and ends */
    /** visits of bundles to links, and of entries to places in heaps, since they were last counted */
    uint64_t visits;
};

/** The link of a hop of a bundle. */
static inline struct ronde_sim_shared_link *
ronde_sim_share_link(const struct ronde_sim_share *share, const struct ronde_sim_bundle *bundle,
                     uint32_t hop)
{
    return &share->links[share->graph->routes.hops[bundle->first_hop + hop]];
}

/** Starts without flows; false where there is no memory. */
bool ronde_sim_share_open(struct ronde_sim_share *share,
                          const struct ronde_sim_forward_graph *graph, const struct ronde_mem *mem);

/** Frees what it holds. */
void ronde_sim_share_close(struct ronde_sim_share *share);

/**
 * A message of this kind starts to flow: its bundle, whose rate comes with the next solution. NONE where there is no
 * memory.
 */
uint32_t ronde_sim_share_join(struct ronde_sim_share *share, double at_ns, uint32_t kind);

/** A flow of a bundle is over; that of the last frees the bundle's place. False where there is no memory. */
bool ronde_sim_share_leave(struct ronde_sim_share *share, uint32_t bundle);

/**
 * Finds the rates of all bundles that may have other ones now: share->affected, each with found_GBps. False where there is
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
