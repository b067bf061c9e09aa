/**
 * Bounds of collectives whose data has one destination each: all_to_all and send_recv.
 *
 * The worst cut of many demands is hard to find (sparsest cut); these are the best of cuts that machines have: single
 * ranks, groups that faster links join than others, the cuts of all_gather; and of two lengths, by which all data
 * together must go further than all links carry in a time (T. Leighton, S. Rao, "Multicommodity max-flow min-cut
 * theorems", JACM 46, 1999, the dual).
 */
#ifndef RONDE_SYNTHESIS_DEMAND_H
#define RONDE_SYNTHESIS_DEMAND_H

#include "cut.h"

/** Who sends a block to whom. */
struct ronde_demand {
    const struct ronde_graph *graph; /**< of the ranks */
    const uint32_t *
        source_of; /**< send_recv: per rank, the rank whose block it receives, or RONDE_NONE; NULL = all_to_all */
};

/**
 * The least time for blocks of one unit of capacity, in 1 / capacity. `cut` is the set that decides; its capacity is 0 where
 * lengths do. Errors: false, no memory.
 */
bool ronde_demand_bound(const struct ronde_demand *demand, struct ronde_index_pool *pool,
                        struct ronde_graph_cut *cut, double *out_time);

#endif
