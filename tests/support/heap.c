/* A counting, failing allocator. See heap.h. */
#include "support/heap.h"

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Each block is preceded by its size, in as many bytes as keep it aligned. */
#define HEADER_BYTES ((size_t)16)

static size_t size_of(const void *block)
{
    size_t bytes;
    memcpy(&bytes, (const char *)block - HEADER_BYTES, sizeof bytes);
    return bytes;
}

static void give_back(struct heap *heap, void *block, size_t bytes)
{
    if (!block)
        return;
    heap->wrong_sizes += size_of(block) != bytes;
    heap->live_blocks--;
    heap->live_bytes -= size_of(block);
    free((char *)block - HEADER_BYTES);
}

static void *take(struct heap *heap, size_t bytes)
{
    char *base = malloc(HEADER_BYTES + bytes);
    if (!base)
        return NULL;
    memcpy(base, &bytes, sizeof bytes);
    /* Memory that was never written should look like nothing that works. */
    memset(base + HEADER_BYTES, 0xa5, bytes);
    heap->live_blocks++;
    heap->live_bytes += bytes;
    if (heap->live_bytes > heap->peak_bytes)
        heap->peak_bytes = heap->live_bytes;
    return base + HEADER_BYTES;
}

/* Growing always moves, so that stale pointers are found by the sanitizer. */
static void *resize(struct heap *heap, void *old, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes == 0) {
        give_back(heap, old, old_bytes);
        return NULL;
    }
    const size_t request = heap->requests++;
    if (request == heap->refuse_at || (request > heap->refuse_at && !heap->refuse_once))
        return NULL;
    if (heap->limit_bytes > 0 && new_bytes > heap->limit_bytes - heap->live_bytes) {
        heap->over_limit++;
        return NULL;
    }
    void *block = take(heap, new_bytes);
    if (block && old)
        memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    if (block)
        give_back(heap, old, old_bytes);
    return block;
}

/* One thread at a time, since a communicator loads on another one. Not a mutex: there are builds without threads. */
static void *heap_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct heap *heap = self;
    while (__atomic_test_and_set(&heap->is_busy, __ATOMIC_ACQUIRE))
        (void)sched_yield();
    void *block = resize(heap, old, old_bytes, new_bytes);
    __atomic_clear(&heap->is_busy, __ATOMIC_RELEASE);
    return block;
}

struct heap heap_start(size_t refuse_at, bool refuse_once)
{
    struct heap heap = {.refuse_at = refuse_at, .refuse_once = refuse_once};
    return heap;
}

struct ronde_mem heap_mem(struct heap *heap)
{
    struct ronde_mem mem = {heap_resize, heap};
    return mem;
}
