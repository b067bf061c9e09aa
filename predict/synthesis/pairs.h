/**
 * A set of pairs of numbers, in the order in which they came.
 */
#ifndef RONDE_SYNTHESIS_PAIRS_H
#define RONDE_SYNTHESIS_PAIRS_H

#include "pool.h"

#include <stdbool.h>
#include <stdint.h>

/** Two numbers. */
struct ronde_index_pair {
    uint32_t from; /**< the first */
    uint32_t to;   /**< the second */
};

/** A set; empty with a pool and zeroes. Its memory is the pool's. */
struct ronde_pair_set {
    struct ronde_index_pool *pool;  /**< must outlive it */
    struct ronde_index_pair *pairs; /**< in the order in which they came */
    uint32_t count;                 /**< of those */
    uint32_t *slots;                /**< numbers of pairs plus 1, by their hash; 0 = free */
    uint32_t slot_count;            /**< a power of two, or 0; at least twice the pairs */
};

/** Adds a pair that the set may have. Errors: false, no memory. */
bool ronde_pair_set_add(struct ronde_pair_set *set, uint32_t from, uint32_t to);

#endif
