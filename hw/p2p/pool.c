/* Elements that are reused. See pool.h. */
#include "hw/p2p/pool.h"

#include <stdalign.h>

/* The header of a slab, before its elements. */
struct ronde_p2p_slab {
    alignas(16) struct ronde_p2p_slab *next;
    size_t bytes;
};

void ronde_p2p_pool_open(struct ronde_p2p_pool *pool, const struct ronde_mem *mem,
                         size_t element_bytes, uint32_t per_slab)
{
    *pool = (struct ronde_p2p_pool){.mem = mem,
                                    .element_bytes = (element_bytes + 15) / 16 * 16,
                                    .per_slab = per_slab};
}

static bool add_slab(struct ronde_p2p_pool *pool)
{
    const size_t bytes = sizeof(struct ronde_p2p_slab) + pool->per_slab * pool->element_bytes;
    struct ronde_p2p_slab *slab = ronde_mem_new(pool->mem, bytes, 1);
    if (!slab)
        return false;
    slab->next = pool->slabs;
    slab->bytes = bytes;
    pool->slabs = slab;
    for (uint32_t k = 0; k < pool->per_slab; k++)
        ronde_p2p_pool_give(pool, (unsigned char *)(slab + 1) + k * pool->element_bytes);
    return true;
}

void *ronde_p2p_pool_take(struct ronde_p2p_pool *pool)
{
    if (!pool->free && !add_slab(pool))
        return NULL;
    void **element = pool->free;
    pool->free = *element;
    return element;
}

void ronde_p2p_pool_give(struct ronde_p2p_pool *pool, void *element)
{
    *(void **)element = pool->free;
    pool->free = element;
}

void ronde_p2p_pool_close(struct ronde_p2p_pool *pool)
{
    while (pool->slabs) {
        struct ronde_p2p_slab *slab = pool->slabs;
        pool->slabs = slab->next;
        ronde_mem_free(pool->mem, slab, slab->bytes, 1);
    }
    pool->free = NULL;
}
