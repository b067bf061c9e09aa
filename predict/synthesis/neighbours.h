/**
 * Few neighbours for each rank: whom it may receive from, where trees that were packed freely need more connections than
 * are wanted.
 */
#ifndef RONDE_SYNTHESIS_NEIGHBOURS_H
#define RONDE_SYNTHESIS_NEIGHBOURS_H

#include "forest.h"

/** What to choose by. */
struct ronde_neighbours_task {
    const struct ronde_wiring *wiring;
    const struct ronde_forest *up;   /**< trees that data runs up, or NULL; those of all ranks */
    const struct ronde_forest *down; /**< trees that data runs down, or NULL */
    uint32_t most;                   /**< ranks that one receives from */
    bool is_mutual; /**< who receives from a rank sends to it, too; `most` is 2 at least then */
};

/**
 * Keeps the neighbours that most edges of the trees go to, of those the nearest, and the next rank, so that all reach all.
 * Per route (from * ranks + to) whether messages may take it. NULL: no memory.
 */
bool *ronde_neighbours_choose(const struct ronde_neighbours_task *task,
                              struct ronde_index_pool *pool);

#endif
