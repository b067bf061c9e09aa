/**
 * A workload as one graph of operations.
 */
#ifndef RONDE_PREDICT_WORKLOAD_GRAPH_H
#define RONDE_PREDICT_WORKLOAD_GRAPH_H

#include "formats/workload/matching.h"

#include "ronde/workload_sim.h"

/* Kinds of calls: collectives of one family of groups with equal sizes, which run by one algorithm. */

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
    const char *algorithm;            /**< by which it runs; NULL where nothing moves */
    double alone_ns;                  /**< by that, on the first group's hosts alone */
    struct ronde_dag *dag;            /**< its steps; NULL where nothing moves */
};

/** All kinds of a workload. */
struct workload_calls {
    struct workload_call *all;   /**< in the order they first come */
    uint32_t count;              /**< how many */
    size_t capacity;             /**< reserved */
    uint32_t *call_of;           /**< per instance */
    uint32_t instance_count;     /**< entries of that */
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

/** Makes a kind run by another algorithm. On an error it stays as it was. Errors: those of ronde_compile. */
RONDE_MUST_CHECK enum ronde_status
workload_call_set(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
                  struct workload_call *call, const char *algorithm, const struct ronde_mem *mem,
                  struct ronde_error *error);

/**
 * The messages and calculations of a kind by its algorithm, rank r being the r-th of a group. Owner: the caller. Errors: those
 * of ronde_compile and ronde_workload_of_schedule.
 */
RONDE_MUST_CHECK enum ronde_status
workload_call_messages(const struct ronde_workload *workload,
                       const struct ronde_workload_sim *options, const struct workload_call *call,
                       const struct ronde_mem *mem, struct ronde_workload **out_messages,
                       struct ronde_error *error);

/** What a kind takes alone by an algorithm. Errors: those of ronde_compile and of the replay. */
RONDE_MUST_CHECK enum ronde_status
workload_call_alone(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
                    const struct workload_call *call, const char *algorithm, double *out_ns,
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
