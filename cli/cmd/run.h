/**
 * What the parts of `ronde run` share: what runs, where, and what has come of it so far. cmd_run.c opens and closes it,
 * run_measure.c measures a size, run_print.c prints.
 */
#ifndef RONDE_CLI_RUN_H
#define RONDE_CLI_RUN_H

#include "common.h"
#include "race.h"

#include "ronde/comm.h"

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

/** Both placements of a size, as nccl-tests has them; NULL where the schedule does not run so. */
void ronde_run_print_row(const struct ronde_run_session *session,
                         const struct ronde_record *out_of_place,
                         const struct ronde_record *in_place);

/** The lines that scripts for nccl-tests look for. */
void ronde_run_print_verdict(const struct ronde_run_session *session);

/** Whether results are compared with what is right. */
bool ronde_run_is_checked(const struct ronde_run_session *session);

/** Buffers of a process: such as other ranks read in place, unless they are to be any memory. */
const struct ronde_mem *ronde_run_memory(const struct ronde_run_session *session);

/** Whether others read this process's buffers where they lie; a transport may have none to offer. */
bool ronde_run_has_registered(const struct ronde_run_session *session);

/** Whether ranks could be kept to processors, and were not. */
bool ronde_run_is_unbound(const struct ronde_run_session *session);

/** A communicator's slot is known when something is loaded. */
void ronde_run_note_slot(struct ronde_run_session *session);

/** The record of a measurement of `count` elements, before the placement's own fields. */
struct ronde_record ronde_run_record(const struct ronde_run_session *session, uint64_t count,
                                     const struct ronde_stats *stats);

/** Checks and measures one size in each placement the collective has, and prints it. Errors: those of the backend. */
RONDE_MUST_CHECK enum ronde_status ronde_run_size(struct ronde_run_session *session, uint64_t count,
                                                  struct ronde_error *error);

/** Prints, where programs read, what everybody who raced took. People read who won. Errors: IO. */
RONDE_MUST_CHECK enum ronde_status ronde_run_print_autotune(struct ronde_run_session *session,
                                                            uint64_t count,
                                                            struct ronde_error *error);

#endif
