/**
 * A workload as one graph of operations.
 */
#ifndef RONDE_PREDICT_WORKLOAD_GRAPH_H
#define RONDE_PREDICT_WORKLOAD_GRAPH_H

#include "formats/workload/matching.h"

#include "ronde/predict.h"
#include "ronde/workload_sim.h"

/* Kinds of calls: collectives of one family of groups with equal sizes, which run by one algorithm. */

/** How a kind of calls runs. */
struct workload_run {
    const char *algorithm; /**< NULL where nothing moves */
    const struct ronde_schedule
        *schedule;          /**< one of those that are kept; NULL as well where a time is said */
    struct ronde_load load; /**< what it is launched with */
    struct ronde_time_params params; /**< of the machine for that */
    uint64_t steps;                  /**< of one call */
    double alone_ns;                 /**< on the first group's hosts, with nothing else */
    struct ronde_dag *dag;           /**< the steps; NULL where nothing moves */
};

/** One kind. */
struct workload_call {
    uint32_t family;                  /**< of groups */
    uint32_t ranks;                   /**< of a group */
    enum ronde_collective collective; /**< what */
    uint64_t bytes;                   /**< size column */
    uint32_t root;                    /**< within the group */
    const char *named;                /**< the algorithm the workload asks for, or NULL */
    uint32_t example;                 /**< first group that makes it */
    uint32_t count;                   /**< calls of all groups */
    bool is_open;                     /**< no algorithm is named: it runs by the fastest */
    double planned_ns;                /**< of an open one: by the fastest alone; else 0 */
    bool is_short;                    /**< that has too many steps for so many calls */
    struct workload_run run;          /**< how */
};

/** All kinds of a workload. */
struct workload_calls {
    struct workload_call *all;   /**< in the order they first come */
    uint32_t count;              /**< how many */
    size_t capacity;             /**< reserved */
    uint32_t *call_of;           /**< per instance */
    uint32_t instance_count;     /**< entries of that */
    struct ronde_list schedules; /**< struct ronde_schedule *: those of the runs */
    const struct ronde_mem *mem; /**< whose memory */
};

/** Whether the machine can have the workload. Errors: BAD_ARGUMENT for an unknown algorithm; BAD_INPUT; UNSUPPORTED. */
RONDE_MUST_CHECK enum ronde_status workload_calls_check(const struct ronde_workload *workload,
                                                        const struct ronde_workload_sim *options,
                                                        struct ronde_error *error);

/**
 * Finds the kinds, and for each its algorithm and its steps. The caller closes *out_calls in every case. Errors: those of
 * ronde_compile for what the workload names; UNSUPPORTED where no algorithm serves; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
workload_calls_open(const struct ronde_workload *workload, const struct workload_matching *matching,
                    const struct ronde_workload_sim *options, struct workload_calls *out_calls,
                    struct ronde_error *error);

/** Runs of other algorithms that are near the fastest alone, the nearest first; their alone_ns may be INFINITY: not known yet. */
#define WORKLOAD_RIVALS 6u
struct workload_rivals {
    struct workload_run runs[WORKLOAD_RIVALS];
    uint32_t count;
};

/**
 * together.c: makes a kind of several groups run by whichever of its run and its rivals is the fastest in all of them at once. Errors:
 * those of the replays but UNSUPPORTED and TIMEOUT; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
workload_call_settle(const struct ronde_workload *workload,
                     const struct ronde_workload_sim *options, struct workload_rivals *rivals,
                     struct workload_call *call, struct ronde_error *error);

/** The hosts of a kind's first group. */
const uint32_t *workload_call_hosts(const struct ronde_workload *workload,
                                    const struct workload_call *call);

/** Its bytes as elements of a block. */
uint64_t workload_call_count(const struct workload_call *call);

/** Keeps a schedule as long as the calls, and destroys it where that fails. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status workload_calls_keep(struct workload_calls *calls,
                                                       struct ronde_schedule *schedule,
                                                       struct ronde_error *error);

/** A run of a forecast whose schedule is kept, without the graph. */
struct workload_run workload_run_of(const struct ronde_forecast *forecast, double alone_ns);

/** Makes the graph of a run. Errors: those of ronde_dag_create. */
RONDE_MUST_CHECK enum ronde_status
workload_run_graph(struct workload_run *run, const struct ronde_mem *mem, struct ronde_error *error);

/**
 * The run of a kind by a named algorithm, set up as by default, without its graph. Errors: those of ronde_compile and of the replay.
 */
RONDE_MUST_CHECK enum ronde_status
workload_run_named(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
                   const struct workload_call *call, const char *algorithm,
                   struct workload_calls *calls, struct workload_run *out_run,
                   struct ronde_error *error);

/** An algorithm, and what a kind takes alone by it. */
struct workload_alternative {
    const char *algorithm; /**< of the registry, or of a choice */
    double alone_ns;       /**< set up as by default, or as planned */
    uint32_t candidate;    /**< of a choice: which */
};

/** Adds one to `count` of them, the fastest first, of which the fastest `most` stay; returns how many there are then. */
uint32_t workload_keep_fastest(struct workload_alternative *fastest, uint32_t count, uint32_t most,
                               struct workload_alternative next);

/** The algorithms, up to `most` of them, by which a kind is fastest alone, the fastest first; `without` one, or NULL. Returns how many. */
uint32_t workload_call_alternatives(const struct ronde_workload *workload,
                                    const struct ronde_workload_sim *options,
                                    const struct workload_call *call, const char *without,
                                    uint32_t most, struct workload_alternative *out);

/**
 * fastest.c: the runs of all kinds that are open, as ronde_selector_decide finds them for one call alone, with as many steps as all
 * calls together may have. Errors: UNSUPPORTED where no algorithm serves; those of the selector; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status workload_calls_choose(const struct ronde_workload *workload,
                                                         const struct ronde_workload_sim *options,
                                                         struct workload_calls *calls,
                                                         struct ronde_error *error);

/** Frees them; zeroes are allowed. */
void workload_calls_close(struct workload_calls *calls);

/** The order in which items are put into the graph, each behind all it waits for. */
struct workload_order {
    uint32_t *entries;    /**< items that are no collectives, and work_count + instance for those */
    uint32_t count;       /**< how many */
    uint32_t *cpu_before; /**< per item: the calculation its cpu does before it, or RONDE_NONE */
    struct ronde_store store; /**< of both */
};

/**
 * order.c: decides the order of each cpu, by when calculations become ready if every collective takes as long as alone and
 * nothing shares a link. The caller frees *out_order in every case. Errors: BAD_INPUT naming an item where nothing can go on;
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
workload_order_find(const struct ronde_workload *workload, const struct workload_matching *matching,
                    const struct workload_calls *calls, const struct ronde_mem *mem,
                    struct workload_order *out_order, struct ronde_error *error);

/** Frees it; zeroes are allowed. */
void workload_order_free(struct workload_order *order);

/** The graph. */
struct workload_graph {
    struct ronde_dag dag; /**< operations of all items; no origins */
    uint32_t *begin_op;   /**< per item: the operation that starts when the item does */
    uint32_t *end_op;     /**< per item: the one that is over when the item is */
    uint32_t *owner;      /**< per operation: an item; of a collective's steps its first rank's */
    struct ronde_store store; /**< of all of it */
};

/**
 * Makes the graph. The caller frees *out_graph in every case. Errors: UNSUPPORTED beyond RONDE_KEPT_STEPS operations;
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
workload_graph_make(const struct ronde_workload *workload, const struct workload_matching *matching,
                    const struct workload_calls *calls, const struct workload_order *order,
                    const struct ronde_mem *mem, struct workload_graph *out_graph,
                    struct ronde_error *error);

/** Frees it; zeroes are allowed. */
void workload_graph_free(struct workload_graph *graph);

#endif
