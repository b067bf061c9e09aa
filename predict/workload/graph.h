/**
 * A workload as one graph of operations.
 */
#ifndef RONDE_PREDICT_WORKLOAD_GRAPH_H
#define RONDE_PREDICT_WORKLOAD_GRAPH_H

#include "calls.h"

/** The order in which items are put into the graph, each behind all it waits for. */
struct workload_order {
    uint32_t *entries;    /**< items that are no collectives, and work_count + instance for those */
    uint32_t count;       /**< how many */
    uint32_t *cpu_before; /**< per item: the calculation its cpu does before it, or RONDE_NONE */
    uint32_t work_count;  /**< entries of that */
    const struct ronde_mem *mem; /**< whose memory */
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
    uint32_t work_count;  /**< items */
    uint32_t op_room;     /**< operations reserved */
    uint32_t edge_room;   /**< edges reserved */
    const struct ronde_mem *mem; /**< whose memory */
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
