/**
 * Memory: every allocation of the library goes through a caller-supplied resize function.
 */
#ifndef RONDE_MEM_H
#define RONDE_MEM_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Resizes a block: old NULL and old_bytes 0 allocates, new_bytes 0 frees and returns NULL. Returns NULL when there is
 * no memory; the old block is then unchanged. Blocks are aligned for any type.
 */
typedef void *(*ronde_resize)(void *self, void *old, size_t old_bytes, size_t new_bytes);

/** An allocator. Passed by const pointer and never copied; wherever one is passed NULL is ronde_mem_default(). */
struct ronde_mem {
    ronde_resize resize; /**< the one function */
    void *self;          /**< passed to it unchanged */
};

/** The allocator of the C library; the only place that calls malloc. */
RONDE_API const struct ronde_mem *ronde_mem_default(void);

/** Resizes a block, as the allocator's function does. */
RONDE_API void *ronde_mem_resize(const struct ronde_mem *mem, void *old, size_t old_bytes,
                                 size_t new_bytes);

/** Allocates count zeroed elements; NULL when there is no memory or the product overflows. Count 0 gives a valid block. */
RONDE_API void *ronde_mem_new(const struct ronde_mem *mem, size_t count, size_t element_bytes);

/** Frees a block of count elements got from ronde_mem_new or ronde_mem_grow; NULL is allowed. */
RONDE_API void ronde_mem_free(const struct ronde_mem *mem, void *block, size_t count,
                              size_t element_bytes);

/**
 * Grows an array so that it holds at least `needed` elements; capacity doubles, new elements are zeroed. `block` is the address
 * of a pointer to the elements. Returns false when there is no memory; *block and *capacity are then unchanged.
 */
RONDE_API RONDE_MUST_CHECK bool ronde_mem_grow(const struct ronde_mem *mem, void *block,
                                               size_t *capacity, size_t needed,
                                               size_t element_bytes);

/** An array that grows; zeroed, it is empty. Who has one says what its items are. */
struct ronde_list {
    void *items;     /**< they move when the list grows */
    size_t capacity; /**< reserved */
    uint32_t count;  /**< used; at most UINT32_MAX - 1, so that no index is the value for "none" */
};

/** Appends a zeroed item; NULL when there is no memory. */
RONDE_API void *ronde_list_push(const struct ronde_mem *mem, struct ronde_list *list,
                                size_t item_bytes);

/** Appends a copy of an item; false when there is no memory. */
RONDE_API bool ronde_list_append(const struct ronde_mem *mem, struct ronde_list *list,
                                 const void *item, size_t item_bytes);

/** Frees the items; the list is empty then. */
RONDE_API void ronde_list_free(const struct ronde_mem *mem, struct ronde_list *list,
                               size_t item_bytes);

struct ronde_store_block;

/** Blocks that are freed all at once; zeroed with an allocator it is empty. */
struct ronde_store {
    const struct ronde_mem *mem;      /**< must outlive the pool */
    struct ronde_store_block *blocks; /**< the latest first */
    bool is_short; /**< some block could not be had: one look is enough for many requests */
};

/** Allocates count zeroed elements; NULL when there is no memory. */
RONDE_API void *ronde_store_new(struct ronde_store *pool, size_t count, size_t element_bytes);

/** Frees everything. */
RONDE_API void ronde_store_clear(struct ronde_store *pool);

#ifdef __cplusplus
}
#endif
#endif
