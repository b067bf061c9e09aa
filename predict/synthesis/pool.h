/**
 * Memory that is freed all at once: everything a bound or a synthesis holds until its result is handed over.
 */
#ifndef RONDE_SYNTHESIS_POOL_H
#define RONDE_SYNTHESIS_POOL_H

#include "ronde/mem.h"

struct ronde_pool_block;

/** Blocks that live as long as the pool; zeroed with an allocator it is empty. */
struct ronde_index_pool {
    const struct ronde_mem *mem;     /**< must outlive the pool */
    struct ronde_pool_block *blocks; /**< the latest first */
};

/** Allocates count zeroed elements; NULL when there is no memory. */
void *ronde_pool_new(struct ronde_index_pool *pool, size_t count, size_t element_bytes);

/** Frees everything. */
void ronde_pool_clear(struct ronde_index_pool *pool);

#endif
