/**
 * What a run with several algorithms to choose from measures with: the hooks of autotune.h, filled in with benchmarks on a
 * target.
 *
 * Every algorithm that is used is loaded once and stays so.
 */
#ifndef RONDE_CLI_RACE_H
#define RONDE_CLI_RACE_H

#include "cli/options/options.h"

#include "ronde/autotune.h"
#include "ronde/benchmark.h"
#include "ronde/comm.h"

/** What may run, and what is loaded of it. Not moved while it is open: the hooks point to it. */
struct ronde_race {
    struct ronde_benchmark_options how; /**< how runs are launched */
    const struct ronde_target *target;  /**< where they run; outlives it */
    struct ronde_memory *memory;        /**< on what; outlives it */
    struct ronde_comm *comm;            /**< of processes; NULL = ranks are threads */
    struct ronde_benchmark *benchmarks; /**< per index; not loaded until it is chosen or measured */
    struct ronde_autotune autotune;     /**< decides */
};

/**
 * Lists the candidates of a request, of processes that `comm` joins (NULL = none), which outlives it. The target need not be
 * open yet. The caller closes *out_race in every case. Errors: as ronde_autotune_open; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_race_open(const struct ronde_options *options, const struct ronde_compile_request *request,
                struct ronde_comm *comm, bool is_race, struct ronde_race *out_race,
                struct ronde_error *error);

/** Finds out what decides on a target, as ronde_autotune_enter. `engine` is the backend's name, or the transport's. */
RONDE_MUST_CHECK enum ronde_status ronde_race_enter(struct ronde_race *race,
                                                    const struct ronde_target *target,
                                                    struct ronde_memory *memory, const char *engine,
                                                    uint64_t count, struct ronde_error *error);

/** The benchmark of the algorithm for so many elements, loaded, as ronde_autotune_pick. */
RONDE_MUST_CHECK enum ronde_status
ronde_race_pick(struct ronde_race *race, uint64_t count, struct ronde_decision *out_decision,
                struct ronde_benchmark **out_benchmark, struct ronde_error *error);

/** Unloads everything; a zeroed one is allowed. */
void ronde_race_close(struct ronde_race *race);

/**
 * The times of the slowest rank, by its median: a collective is over when it is over everywhere. Does nothing without a
 * communicator. Errors: the communicator's; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_stats_join(struct ronde_comm *comm, struct ronde_stats *io_stats, struct ronde_error *error);

#endif
