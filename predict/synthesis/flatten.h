/**
 * Makes the trees of a balanced forest lower, without loading any wire above its limit.
 *
 * A pipeline fills one level after the other, so a tall tree costs a replay more than the last percent of balance. Two
 * trees that enter a rank from different parents may exchange these, which changes no load at all; and a rank may move
 * to a parent nearer the root where the way has room. Both are done wherever the sum of the squares of all depths falls.
 */
#ifndef RONDE_SYNTHESIS_FLATTEN_H
#define RONDE_SYNTHESIS_FLATTEN_H

#include "forest.h"
#include "progress.h"

/** Flattens a forest whose loads are at most `limit`, per wire. Errors: false, no memory. */
bool ronde_flatten(struct ronde_forest *forest, const uint32_t *limit,
                   const struct ronde_synthesis_progress *progress, struct ronde_index_pool *pool);

#endif
