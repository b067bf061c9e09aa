/**
 * Blocks of hw/cuda/block.h on real threads: one that decides and some that move, as a GPU has them, for ThreadSanitizer.
 *
 * Counters are set and read without any order of their own; what orders them are the fences and acquiring loads of the
 * port, which tell the sanitizer what PTX's memory model promises of them and nothing more. One that is left out, or
 * stands in the wrong place, is a race.
 */
#ifndef RONDE_TESTS_CUDA_THREADS_BLOCK_H
#define RONDE_TESTS_CUDA_THREADS_BLOCK_H

#include "hw/cuda/job.h"

/** What the port leaves out, to show that this is found. */
enum threaded_control {
    THREADED_RIGHT,    /**< nothing */
    THREADED_NO_FENCE, /**< fences */
    THREADED_EARLY_FENCE, /**< the wait for the movers: fences stand before the barrier that ends what is published */
    THREADED_NO_ACQUIRE, /**< the order that acquiring loads make */
    THREADED_CONTROLS    /**< number of them */
};

/** Of all blocks from now on. */
void threaded_leave_out(enum threaded_control control);

/** Begins a block's part of a run, with so many movers, at most 8. */
struct threaded_block *threaded_block_start(const struct ronde_job *job,
                                            const struct ronde_given *given, uint32_t index,
                                            uint32_t movers);

/** Waits for its end and frees it. */
void threaded_block_join(struct threaded_block *block);

#endif
