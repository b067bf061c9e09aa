/**
 * Warm-up: unmeasured runs until their times no longer change.
 *
 * The first runs of a loaded schedule touch pages for the first time, among them every slot of every connection: between
 * two processes each of the first 64 runs of 8 bytes takes two page faults, ten times as long as a run without them.
 */
#ifndef RONDE_WARMUP_H
#define RONDE_WARMUP_H

#include "ronde/benchmark.h"

#include "ronde/comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Runs at least, however long they take. */
#define RONDE_WARMUP_LEAST 5u
/** Runs at most. */
#define RONDE_WARMUP_MOST 1000u
/** Time after which no further batch of runs begins, ns. */
#define RONDE_WARMUP_MOST_NS 5e7

/** What is known of a warm-up after some batches of runs; the same on all ranks. Zeroed: nothing has run. */
struct ronde_warmup {
    uint32_t runs;         /**< so far */
    double spent_ns;       /**< time of these runs */
    double last_ns;        /**< median of the last batch; 0: none yet */
    double before_ns;      /**< median of the batch before it; 0: none yet */
    uint32_t used_batches; /**< batches that began when every slot had been used */
};

/** Runs of the next batch; 0 when runs are stable or a bound is reached. Pure: ranks that know the same decide the same. */
RONDE_API uint32_t ronde_warmup_next(const struct ronde_warmup *warmup);

/** Adds a batch: its runs, what they took together and their median, ns. */
RONDE_API void ronde_warmup_add(struct ronde_warmup *warmup, uint32_t runs, double total_ns,
                                double median_ns);

/**
 * Runs a trial, as it was aimed, until it is warm. With `comm`, collective over its ranks: all run equally often, decided
 * after each batch from the slowest rank's times; NULL for a backend that runs all ranks itself. *out_runs says how many
 * runs that were. Errors: those of the runs; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_warm_up(struct ronde_benchmark *benchmark, struct ronde_comm *comm, uint32_t *out_runs,
              struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
