/**
 * The graph of a platform, for cuts: places and directed capacities.
 *
 * Links that follow one another on a route meet in a place; the route of a pair begins and ends at its ranks. Only links
 * that some route uses count, since a message cannot take another. A link that is used both ways is a medium of one
 * capacity: a pair of places with one edge between them, which all that enters it passes.
 */
#ifndef RONDE_SYNTHESIS_GRAPH_H
#define RONDE_SYNTHESIS_GRAPH_H

#include "wiring.h"

/** A directed capacity between two places. */
struct ronde_arc {
    uint32_t from;     /**< place */
    uint32_t to;       /**< place */
    uint32_t wire;     /**< of the wiring; RONDE_NONE = places that only touch */
    int64_t capacity;  /**< in units of the graph */
    double latency_ns; /**< of the wire */
};

/** Places 0 .. ranks-1 are the ranks. */
struct ronde_graph {
    const struct ronde_wiring *wiring; /**< must outlive it */
    uint32_t ranks;                    /**< of those */
    uint32_t place_count;              /**< ranks included */
    struct ronde_arc *arcs;            /**< all capacities */
    uint32_t arc_count;                /**< of those */
    int64_t free;     /**< capacity of an arc without a limit: more than all limits together */
    double unit_GBps; /**< rate of capacity 1 */
    uint64_t unit_Bps; /**< the same in bytes per second, where capacities are exact; 0 = rates were rounded */
};

/**
 * Makes the graph. Everything is in the pool. Errors: NO_MEMORY; UNSUPPORTED where two ranks are one place.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_graph_make(const struct ronde_wiring *wiring, struct ronde_index_pool *pool,
                 struct ronde_graph *out_graph, struct ronde_error *error);

/** Turns every arc round: what leaves a set of places then enters it. */
void ronde_graph_reverse(struct ronde_graph *graph);

#endif
