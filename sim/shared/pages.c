/*
 * Large pages: a replay reads all over tens of megabytes, and with pages of 4 KiB each such read costs a walk through
 * the page tables as well. Only a wish: it changes no result, and a system may not grant it.
 */
#define _DEFAULT_SOURCE
#include "pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

/* The usual large page; a block that has none would gain nothing. */
#define LARGE_PAGE ((uintptr_t)2 << 20)

/* Requests large pages for those that lie wholly in a block. */
static void prefer_large(void *block, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    const uintptr_t begin = ((uintptr_t)block + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + bytes) & ~(LARGE_PAGE - 1);
    if (begin < end)
        (void)madvise((char *)block + (begin - (uintptr_t)block), end - begin, MADV_HUGEPAGE);
#else
    (void)block;
    (void)bytes;
#endif
}

/* An empty array has one byte, as ronde_mem_free takes it. */
void *ronde_sim_pages_new(const struct ronde_mem *mem, size_t count, size_t element_bytes)
{
    if (count > SIZE_MAX / element_bytes)
        return NULL;
    const size_t bytes = count > 0 ? count * element_bytes : 1;
    void *block = ronde_mem_resize(mem, NULL, 0, bytes);
    if (block)
        prefer_large(block, bytes);
    return block;
}

void *ronde_sim_pages_new_zeroed(const struct ronde_mem *mem, size_t count, size_t element_bytes)
{
    void *block = ronde_sim_pages_new(mem, count, element_bytes);
    if (block)
        memset(block, 0, count * element_bytes);
    return block;
}
