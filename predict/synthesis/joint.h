/**
 * Trees of all_reduce that data runs up and down at once, of roots that are free.
 *
 * Where ranks are equal, reduce_scatter and then all_gather load links as evenly as can be. Where some are not, a rank with
 * slow links is a leaf of as many trees as can be, and sends and receives each tree's data once: both directions of an edge
 * count, and what links carry for one half they need not have for the other.
 */
#ifndef RONDE_SYNTHESIS_JOINT_H
#define RONDE_SYNTHESIS_JOINT_H

#include "pack.h"

/** What to pack. */
struct ronde_joint_task {
    const struct ronde_graph *graph; /**< of the wiring */
    double rate_GBps;                /**< that no schedule exceeds */
    uint32_t most_height;            /**< of a tree, as far as links allow; 0 = any */
    const struct ronde_synthesis_progress *progress; /**< told what is being done; NULL = nobody */
};

/**
 * Packs trees, each for its own part of the data, rooted in their centres. Errors: NO_MEMORY; BAD_INPUT where some rank
 * cannot be reached.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_joint_pack(const struct ronde_joint_task *task, struct ronde_index_pool *pool,
                 struct ronde_packing *out_packing, struct ronde_error *error);

#endif
