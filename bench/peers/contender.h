/**
 * What all contenders of the bench share: they read points to measure, and answer with a time.
 *
 * A contender is one process, or one per rank. Each of its processes reads the same lines from a FIFO of its own and
 * sleeps in that read while others measure: no process polls on another's time. A line is a point,
 *
 *     all_reduce BYTES WARMUPS ITERATIONS row|apart
 *
 * where BYTES is nccl-tests' size: of a rank's larger buffer. Runs follow one another in a row, or apart: all ranks
 * synchronise before each, untimed. Rank 0 answers "TIME_NS WRONG COUNT ALGORITHM PROTOCOL": the mean of ITERATIONS
 * runs on the slowest rank, wrong elements (looked for when a point is new; the worst process's), elements of a block.
 * Elements are float32, all_reduce sums. Input and output are separate, but for broadcast, where MPI and Gloo have no
 * other form than in place.
 */
#ifndef BENCH_CONTENDER_H
#define BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Most ranks of a contender. */
#define CONTENDER_RANKS 64

/** What is run. */
enum contender_collective {
    CONTENDER_ALL_REDUCE,
    CONTENDER_BROADCAST, /**< root 0 */
    CONTENDER_ALL_GATHER,
    CONTENDER_COLLECTIVES /**< number of them */
};

/** What is run, on what. */
struct contender_point {
    enum contender_collective collective; /**< what */
    size_t bytes;                         /**< nccl-tests' size */
    size_t count;                         /**< elements of a block */
    void *in[CONTENDER_RANKS];  /**< input of each rank that this process holds, else NULL */
    void *out[CONTENDER_RANKS]; /**< output likewise; broadcast: the input */
};

/** One process of a contender. The functions are called by all its processes together. */
struct contender {
    int rank;       /**< of this process; 0 where it holds all ranks */
    int ranks;      /**< of the contender */
    bool holds_all; /**< ranks are threads of this process */
    void *self;     /**< passed to the functions */
    /** Gets ready for a point whose buffers are new; untimed. Returns "ALGORITHM PROTOCOL", NULL for a failure. */
    const char *(*prepare)(void *self, const struct contender_point *point);
    /** Runs once. False for a failure, which it has reported on stderr. */
    bool (*run)(void *self, const struct contender_point *point);
    /** The largest value of all processes; returns when all have called it. */
    double (*max)(void *self, double value);
    /** The library's barrier; false for a failure. */
    bool (*meet)(void *self);
    /** Memory for a buffer, of this process alone, NULL for a failure; NULL = whole pages of the C library's. */
    void *(*allocate)(void *self, size_t bytes);
    /** Gives it back; `memory` may be NULL. NULL where allocate is. */
    void (*release)(void *self, void *memory, size_t bytes);
};

/** Serves points until the FIFO ends: folder/in.RANK, folder/out. Returns what main returns. */
int contender_serve(struct contender *contender, const char *folder);

/** Binds this process to the processor of its rank, if every rank can have one of its own. */
void contender_pin(int rank, int ranks);

/** Name of a collective. */
const char *contender_collective_text(enum contender_collective collective);

/** Monotonic clock, ns. */
double contender_clock_ns(void);

#ifdef __cplusplus
}
#endif
#endif
