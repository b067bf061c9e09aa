/**
 * The algorithm of each size of a run: as the command line names it, as the chooser decides, or as a race of all of them.
 *
 * Every algorithm that is used is loaded once and stays so. Where ranks are processes rank 0 decides and tells the others,
 * which compile and prove only what it chose.
 */
#ifndef RONDE_CLI_CONTEST_H
#define RONDE_CLI_CONTEST_H

#include "chooser.h"
#include "trial.h"

#include "ronde/comm.h"

/** Everybody that may run, and what is loaded of them. */
struct ronde_contest {
    const struct ronde_options *options; /**< outlives it */
    const struct ronde_target *target;   /**< where they run; outlives it */
    struct ronde_memory *memory;         /**< on what; outlives it */
    struct ronde_comm *comm;             /**< of processes; NULL = ranks are threads */
    struct ronde_request request;        /**< of all of them; names none */
    struct ronde_chooser chooser;        /**< who decides; empty where this process only hears */
    bool is_race;                        /**< nobody: they race */
    bool only_hears;                     /**< rank 0 decides, and this is another */
    struct ronde_schedule **heard;       /**< what it chose so far; where this process only hears */
    uint32_t heard_count;                /**< how many */
    uint32_t most;                       /**< entries of trials, and of heard */
    struct ronde_trial *trials; /**< per candidate or schedule heard; not loaded until it is chosen or races */
    struct ronde_error refusal; /**< why rank 0 cannot decide, until all are told */
};

/** Whether algorithms are to be measured against one another: -a race. */
bool ronde_is_race(const struct ronde_options *options);

/**
 * Lists the candidates of a request, of processes that `comm` joins (NULL = none), which outlives the contest. `target`
 * need not be open yet. The caller closes *out_contest in every case. Errors: as ronde_chooser_open; rank 0's are told
 * to all by ronde_contest_enter.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_contest_open(const struct ronde_options *options, const struct ronde_request *request,
                   struct ronde_comm *comm, struct ronde_contest *out_contest,
                   struct ronde_error *error);

/**
 * Finds out who decides, and leaves out who cannot run `count` elements there. `engine` is the backend's name, or the
 * transport's. Collective over the communicator. Errors: as ronde_chooser_open and ronde_chooser_rely; UNSUPPORTED where
 * the backend runs none of them, with the last reason; those of rank 0.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_contest_enter(struct ronde_contest *contest, const struct ronde_target *target,
                    struct ronde_memory *memory, const char *engine, uint64_t count,
                    struct ronde_error *error);

/**
 * The trial of the algorithm for so many elements, loaded. After a race the chooser's quotes are the measured times. A
 * process that only hears knows no runner-up and no times. Collective over the communicator. Errors: those of the parts.
 */
RONDE_MUST_CHECK enum ronde_status ronde_contest_pick(struct ronde_contest *contest, uint64_t count,
                                                      struct ronde_decision *out_decision,
                                                      struct ronde_trial **out_trial,
                                                      struct ronde_error *error);

/** Unloads everything; a zeroed contest is allowed. */
void ronde_contest_close(struct ronde_contest *contest);

/**
 * The times of the slowest rank, by its median: a collective is over when it is over everywhere. Does nothing without a
 * communicator. Errors: the communicator's; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_stats_join(struct ronde_comm *comm, struct ronde_stats *io_stats, struct ronde_error *error);

#endif
