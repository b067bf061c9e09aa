/**
 * Packs trees: so many for each root, balanced to the least time that so few of them can take.
 */
#ifndef RONDE_SYNTHESIS_PACK_H
#define RONDE_SYNTHESIS_PACK_H

#include "cut.h"
#include "forest.h"
#include "progress.h"
#include "symmetry.h"

/** What to pack. */
struct ronde_pack_task {
    const struct ronde_graph *graph; /**< reversed where ways are */
    const struct ronde_ways *ways;   /**< of the trees' edges */
    uint32_t root;                   /**< the only one, or RONDE_NONE: every rank is one */
    const struct ronde_wiring_symmetry
        *symmetry; /**< the trees of rank 0 stand for those of all, on turned ways; NULL = no */
    const struct ronde_graph_cut *cut; /**< the worst cut: what leaves it limits all trees */
    double rate_GBps;                  /**< of the data of a root, by that cut */
    uint32_t arrivals; /**< messages of a tree in all, where that may limit them; 0 = it does not */
    uint32_t trees;    /**< for each root; 0 = as few as serve */
    uint32_t usual_trees; /**< for each root by preference, where `trees` is 0; 0 = most_trees */
    uint32_t most_trees;  /**< for each root at most: where the usual ones allow less than ENOUGH */
    uint32_t most_height; /**< of a tree, as far as links allow; 0 = any */
    const struct ronde_synthesis_progress *progress; /**< told what is being done; NULL = nobody */
};

/** Trees, those of root 0 first. */
struct ronde_packing {
    struct ronde_forest forest; /**< balanced */
    uint32_t trees;             /**< for each root */
    double time; /**< units of a tree per GB/s on the busiest link: data of a root moves at trees / time GB/s */
    double bound_time; /**< the least that is known of so few trees */
};

/**
 * Packs. Everything is in the pool. Time: see docs/guide/synthesis.md. Errors: NO_MEMORY; BAD_INPUT where some rank cannot be
 * reached from a root.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_pack(const struct ronde_pack_task *task, struct ronde_index_pool *pool,
           struct ronde_packing *out_packing, struct ronde_error *error);

#endif
