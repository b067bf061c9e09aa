/* Memory: the default allocator and overflow-checked arrays on top of any. The only file that calls malloc. */
#include "ronde/mem.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* First capacity of a growing array: small enough for the many short ones, large enough to skip the first doublings. */
#define FIRST_CAPACITY 8u

static void *default_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    (void)self;
    (void)old_bytes;
    if (new_bytes == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, new_bytes);
}

const struct ronde_mem *ronde_mem_default(void)
{
    static const struct ronde_mem mem = {default_resize, NULL};
    return &mem;
}

void *ronde_mem_resize(const struct ronde_mem *mem, void *old, size_t old_bytes, size_t new_bytes)
{
    return mem ? mem->resize(mem->self, old, old_bytes, new_bytes)
               : default_resize(NULL, old, old_bytes, new_bytes);
}

/* Bytes of an array; false if the product overflows. An empty array takes one byte, so that NULL always means failure. */
static bool array_bytes(size_t count, size_t element_bytes, size_t *out_bytes)
{
    if (element_bytes != 0 && count > SIZE_MAX / element_bytes)
        return false;
    const size_t bytes = count * element_bytes;
    *out_bytes = bytes == 0 ? 1 : bytes;
    return true;
}

void *ronde_mem_new(const struct ronde_mem *mem, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (!array_bytes(count, element_bytes, &bytes))
        return NULL;
    /* Large blocks come from the system zeroed: the pages of what is never used are never touched. */
    if (!mem || mem->resize == default_resize)
        return calloc(bytes, 1);
    void *block = ronde_mem_resize(mem, NULL, 0, bytes);
    if (block)
        memset(block, 0, bytes);
    return block;
}

void ronde_mem_free(const struct ronde_mem *mem, void *block, size_t count, size_t element_bytes)
{
    size_t bytes;
    if (block && array_bytes(count, element_bytes, &bytes))
        (void)ronde_mem_resize(mem, block, bytes, 0);
}

/* Pointers to objects all look alike, whatever they point to; copied, no two types name one object. */
bool ronde_mem_grow(const struct ronde_mem *mem, void *block, size_t *capacity, size_t needed,
                    size_t element_bytes)
{
    char *old = NULL;
    memcpy(&old, block, sizeof old);
    if (old && needed <= *capacity)
        return true;
    size_t wanted = *capacity < FIRST_CAPACITY ? FIRST_CAPACITY : *capacity;
    while (wanted < needed)
        wanted = wanted > SIZE_MAX / 2 ? needed : wanted * 2;
    size_t old_bytes = 0;
    size_t new_bytes;
    if (!array_bytes(wanted, element_bytes, &new_bytes))
        return false;
    if (old && !array_bytes(*capacity, element_bytes, &old_bytes))
        return false;
    char *grown = ronde_mem_resize(mem, old, old_bytes, new_bytes);
    if (!grown)
        return false;
    memset(grown + old_bytes, 0, new_bytes - old_bytes);
    memcpy(block, &grown, sizeof grown);
    *capacity = wanted;
    return true;
}

/* Items are zeroed here and not when they are reserved alone: lists are emptied and used again. */
void *ronde_list_push(const struct ronde_mem *mem, struct ronde_list *list, size_t item_bytes)
{
    if (list->count >= UINT32_MAX - 1 ||
        !ronde_mem_grow(mem, &list->items, &list->capacity, (size_t)list->count + 1, item_bytes))
        return NULL;
    void *item = (char *)list->items + (size_t)list->count++ * item_bytes;
    memset(item, 0, item_bytes);
    return item;
}

bool ronde_list_append(const struct ronde_mem *mem, struct ronde_list *list, const void *item,
                       size_t item_bytes)
{
    void *kept = ronde_list_push(mem, list, item_bytes);
    if (kept)
        memcpy(kept, item, item_bytes);
    return kept != NULL;
}

void ronde_list_free(const struct ronde_mem *mem, struct ronde_list *list, size_t item_bytes)
{
    ronde_mem_free(mem, list->items, list->capacity, item_bytes);
    *list = (struct ronde_list){NULL, 0, 0};
}

struct ronde_store_block {
    struct ronde_store_block *next;
    size_t bytes; /* the head included */
    alignas(max_align_t) unsigned char data[];
};

void *ronde_store_new(struct ronde_store *pool, size_t count, size_t element_bytes)
{
    size_t bytes = SIZE_MAX;
    const bool fits = array_bytes(count, element_bytes, &bytes) &&
                      bytes < SIZE_MAX - sizeof(struct ronde_store_block);
    struct ronde_store_block *block =
        fits ? ronde_mem_new(pool->mem, sizeof *block + bytes, 1) : NULL;
    if (!block) {
        pool->is_short = true;
        return NULL;
    }
    block->next = pool->blocks;
    block->bytes = sizeof *block + bytes;
    pool->blocks = block;
    return block->data;
}

void ronde_store_clear(struct ronde_store *pool)
{
    while (pool->blocks) {
        struct ronde_store_block *block = pool->blocks;
        pool->blocks = block->next;
        ronde_mem_free(pool->mem, block, block->bytes, 1);
    }
    pool->is_short = false;
}
