/**
 * Elements of one length that are reused: allocated in slabs, released when the pool is closed.
 */
#ifndef RONDE_HW_P2P_POOL_H
#define RONDE_HW_P2P_POOL_H

#include "ronde/mem.h"

#include <stdint.h>

struct ronde_p2p_slab;

/** A pool; elements are aligned for any type. */
struct ronde_p2p_pool {
    const struct ronde_mem *mem;
    size_t element_bytes; /**< a multiple of 16 */
    uint32_t per_slab;
    struct ronde_p2p_slab *slabs; /**< all, linked */
    void *free;                   /**< elements not in use, linked by their first word */
};

/** Makes an empty pool. */
void ronde_p2p_pool_open(struct ronde_p2p_pool *pool, const struct ronde_mem *mem,
                         size_t element_bytes, uint32_t per_slab);

/** An element with undefined contents; NULL without memory. */
void *ronde_p2p_pool_take(struct ronde_p2p_pool *pool);

/** Returns an element to the pool. */
void ronde_p2p_pool_give(struct ronde_p2p_pool *pool, void *element);

/** Releases all elements, those in use included. */
void ronde_p2p_pool_close(struct ronde_p2p_pool *pool);

#endif
