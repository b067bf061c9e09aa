/**
 * Balances a forest: trees are grown and changed until no wire carries more than its limit.
 *
 * A search with weights that learn: of an overloaded wire some edge is taken, and its child gets the parent whose way costs
 * least, where a way costs the weights of the wires it would overload. Wires that stay overloaded become heavier, which
 * drives trees out of dead ends (P. Morris, "The breakout method for escaping from local minima", AAAI 1993); now and
 * then a tree is taken away and grown anew at these costs. It finds packings on fixed routes, where splitting edges
 * off switches (ForestColl, section 5) may choose ways that no message takes.
 */
#ifndef RONDE_SYNTHESIS_BALANCE_H
#define RONDE_SYNTHESIS_BALANCE_H

#include "forest.h"
#include "progress.h"

/** A search over a forest. */
struct ronde_balance {
    struct ronde_forest *forest; /**< of the trees */
    uint32_t *limit;             /**< per wire: edges it may carry */
    double *weight;              /**< per wire: what overloading it costs */
    uint32_t *overloaded;        /**< wires above their limits */
    uint32_t *place;             /**< per wire: its place among those, or RONDE_NONE */
    uint32_t overloaded_count;   /**< of those */
    uint32_t most_depth;         /**< edges from root to leaf at most */
    uint64_t random;             /**< state of its random numbers */
    double *cost;                /**< per rank: of the cheapest way into it, while a tree grows */
    uint32_t *from;              /**< per rank: where that comes from */
    uint32_t *depth;             /**< per rank: while a tree grows; room otherwise */
    uint32_t *path;              /**< ranks whose edges are turned round */
    bool *is_below;              /**< per rank: it hangs below the edge that moves */
    double *price;               /**< per wire: of one more edge, while a tree grows */
    const struct ronde_synthesis_progress *progress; /**< told of trees and steps; NULL = nobody */
};

/** Makes a search for a forest. Errors: false, no memory. */
bool ronde_balance_create(struct ronde_balance *balance, struct ronde_forest *forest,
                          struct ronde_index_pool *pool);

/** Sets the limits to the most edges that fit `time` (in units per GB/s), and weighs all wires alike again. */
void ronde_balance_aim(struct ronde_balance *balance, double time);

/** Grows all trees that have no edges. Errors: false where some rank cannot be reached. */
bool ronde_balance_grow(struct ronde_balance *balance);

/** Searches for so many steps at most; whether no wire is above its limit. */
bool ronde_balance_search(struct ronde_balance *balance, uint64_t steps);

#endif
