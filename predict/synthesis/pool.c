/* Memory that is freed all at once. See pool.h. */
#include "pool.h"

#include <stdalign.h>
#include <stdint.h>

struct ronde_pool_block {
    struct ronde_pool_block *next;
    size_t bytes; /* the head included */
    alignas(max_align_t) unsigned char data[];
};

void *ronde_pool_new(struct ronde_index_pool *pool, size_t count, size_t element_bytes)
{
    if (element_bytes != 0 && count > (SIZE_MAX - sizeof(struct ronde_pool_block)) / element_bytes)
        return NULL;
    const size_t bytes = sizeof(struct ronde_pool_block) + count * element_bytes;
    struct ronde_pool_block *block = ronde_mem_new(pool->mem, bytes, 1);
    if (!block)
        return NULL;
    block->next = pool->blocks;
    block->bytes = bytes;
    pool->blocks = block;
    return block->data;
}

void ronde_pool_clear(struct ronde_index_pool *pool)
{
    while (pool->blocks) {
        struct ronde_pool_block *block = pool->blocks;
        pool->blocks = block->next;
        ronde_mem_free(pool->mem, block, block->bytes, 1);
    }
}
