/**
 * What the parts of `ronde run` share: what executes it, what runs, where, and what has come of it so far. cmd_run.c
 * opens and closes it, run_measure.c measures a size and prints.
 */
#ifndef RONDE_CLI_RUN_H
#define RONDE_CLI_RUN_H

#include "cli/options/options.h"
#include "cli/print/printer.h"

#include "ronde/autotune.h"
#include "ronde/benchmark.h"
#include "ronde/comm.h"

/* What a run with several algorithms to choose from measures with: the hooks of autotune.h, filled in with
 * benchmarks on a target. Every algorithm that is used is loaded once and stays so. */

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

/** Everything a run of the command holds. */
struct ronde_run_session {
    const struct ronde_options *options;  /**< as typed */
    struct ronde_comm *comm;              /**< of the processes, or NULL; the target's */
    const char *engine;                   /**< what executes, in words */
    struct ronde_target target;           /**< what executes */
    struct ronde_compile_request request; /**< its algorithm is the one that was named, or NULL */
    bool is_nccl_tests;                   /**< its table, and its times: means */
    bool is_autotuned;                    /**< none was: the contest's trials run */
    struct ronde_race race;               /**< with no candidates otherwise */
    struct ronde_schedule *given;         /**< what was named; NULL in a contest */
    struct ronde_benchmark named;         /**< of that */
    struct ronde_benchmark *benchmark;    /**< of the size that is run; NULL before the first */
    struct ronde_memory memory;           /**< of the largest size */
    struct ronde_sink sink;               /**< results */
    char machine[160];                    /**< in a line */
    uint64_t wrong;                       /**< elements, all sizes */
    double busbw_sum;                     /**< all rows, both placements */
    uint32_t rows;                        /**< both placements */
    uint32_t least_warmups; /**< runs before a measurement, where they went on until stable */
    uint32_t most_warmups;  /**< the same; 0 = a number was given */
};

/** Everything that is needed to run the same again, and the head of the table. */
void ronde_run_print_head(const struct ronde_run_session *session);

/** The lines that scripts for nccl-tests look for. */
void ronde_run_print_verdict(const struct ronde_run_session *session);

/** Buffers of a process: such as other ranks read in place, unless they are to be any memory. */
const struct ronde_mem *ronde_run_memory(const struct ronde_run_session *session);

/** A communicator's slot is known when something is loaded. */
void ronde_run_note_slot(struct ronde_run_session *session);

/** Checks and measures one size in each placement the collective has, and prints it. Errors: those of the backend. */
RONDE_MUST_CHECK enum ronde_status ronde_run_size(struct ronde_run_session *session, uint64_t count,
                                                  struct ronde_error *error);

/** Prints, where programs read, what everybody who raced took. People read who won. Errors: IO. */
RONDE_MUST_CHECK enum ronde_status ronde_run_print_autotune(struct ronde_run_session *session,
                                                            uint64_t count,
                                                            struct ronde_error *error);

/* What executes a run: the backend that was named, or the one that the other options and a launcher call for. */

/**
 * Fills in options->backend.name where --backend was not given: that of processes where an option is only for these or a
 * launcher has started this process as one of several, else cpu. *out_launcher is the launcher that was found on the
 * way, or zeroed; the caller closes it.
 *
 * Errors: BAD_ARGUMENT for an option that the backend has no use for; those of ronde_launcher_find.
 */
RONDE_MUST_CHECK enum ronde_status ronde_run_backend(struct ronde_options *options,
                                                     struct ronde_launcher *out_launcher,
                                                     struct ronde_error *error);

/* -d all, -o all and -r all: the element types, operators and roots that a run goes through, as nccl-tests does. */

/** Puts the first type, operator and root where all are asked for. */
void ronde_variant_first(struct ronde_options *options);

/**
 * Goes on to the next that the collective has and the type takes: roots fastest, types slowest. False, with the first
 * again, when all have been.
 */
bool ronde_variant_next(struct ronde_options *options, enum ronde_collective collective,
                        uint32_t ranks);

#endif
