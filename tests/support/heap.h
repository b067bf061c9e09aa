/**
 * An allocator that counts, checks sizes and fails on demand, for tests of what happens when memory runs out.
 */
#ifndef RONDE_TESTS_HEAP_H
#define RONDE_TESTS_HEAP_H

#include "ronde/mem.h"

/** Start from heap_start. */
struct heap {
    size_t live_blocks; /**< not freed yet */
    size_t live_bytes;  /**< of them */
    size_t peak_bytes;  /**< most live at once; a growing block counts twice while it moves */
    size_t requests;    /**< allocations and growths so far */
    size_t refuse_at;   /**< number of the first request that fails; SIZE_MAX for none */
    bool refuse_once;   /**< only that one fails, else all from there on */
    size_t wrong_sizes; /**< blocks freed with another size than they were allocated with */
    size_t limit_bytes; /**< a request that would take live_bytes beyond this fails; 0 for no limit */
    size_t over_limit; /**< requests that failed for it */
    bool is_busy;      /**< a thread is in it */
};

/** A heap whose request number `refuse_at`, counted from 0, is the first to fail. */
struct heap heap_start(size_t refuse_at, bool refuse_once);

/** An allocator on top of the heap, which must outlive it. */
struct ronde_mem heap_mem(struct heap *heap);

#endif
