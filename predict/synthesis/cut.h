/**
 * The cuts that limit a collective, exactly.
 */
#ifndef RONDE_SYNTHESIS_CUT_H
#define RONDE_SYNTHESIS_CUT_H

#include "flow.h"
#include "graph.h"

/** A set of places, what must leave it, and the capacity of what leaves it. */
struct ronde_graph_cut {
    bool *inside;     /**< per place */
    int64_t capacity; /**< of the arcs that leave it, in units of the graph */
    int64_t blocks;   /**< that must leave it */
};

/** A cut without a set; false where there is no memory. */
bool ronde_cut_create(const struct ronde_graph *graph, struct ronde_index_pool *pool,
                      struct ronde_graph_cut *out_cut);

/** Capacity of the arcs that leave the set. */
int64_t ronde_cut_capacity(const struct ronde_graph *graph, const bool *inside);

/** Ranks in the set. */
uint32_t ronde_cut_ranks(const struct ronde_graph *graph, const bool *inside);

/**
 * all_gather: the set that lacks a rank and has the least capacity for each of its ranks. Errors: false, no memory.
 */
bool ronde_cut_all_gather(const struct ronde_graph *graph, struct ronde_index_pool *pool,
                          struct ronde_graph_cut *cut);

/** scatter: the set with the root that has the least capacity for each rank outside. Errors: false, no memory. */
bool ronde_cut_scatter(const struct ronde_graph *graph, uint32_t root,
                       struct ronde_index_pool *pool, struct ronde_graph_cut *cut);

/** broadcast: the set with the root and without some rank that has the least capacity; one block. Errors: false, no memory. */
bool ronde_cut_broadcast(const struct ronde_graph *graph, uint32_t root,
                         struct ronde_index_pool *pool, struct ronde_graph_cut *cut);

#endif
