/**
 * What the parts of `ronde tune` share: cmd_tune.c has parts measured, tune_part.c measures one, tune_result.c makes a
 * table of all.
 */
#ifndef RONDE_CLI_TUNE_H
#define RONDE_CLI_TUNE_H

#include "common.h"

#include "ronde/comm.h"
#include "ronde/measured.h"

/** Rounds at most. */
#define RONDE_TUNE_ROUNDS 9u
/** Numbers of ranks at most. */
#define RONDE_TUNE_RANK_COUNTS 16u

/** Everything the command holds. */
struct ronde_tuning {
    const struct ronde_options *options;    /**< as typed */
    char path[RONDE_PATH_BYTES];            /**< of the result */
    uint32_t ranks[RONDE_TUNE_RANK_COUNTS]; /**< numbers of ranks that are measured */
    uint32_t rank_counts;                   /**< how many */
    struct ronde_measured *parts[RONDE_TUNE_ROUNDS][RONDE_TUNE_RANK_COUNTS]; /**< what was measured */
    uint32_t rounds;                                                         /**< that are whole */
    struct ronde_measured *old; /**< what stands at the path and still holds; or NULL */
};

/** The sizes of the sweep, as columns. Errors: BAD_ARGUMENT for too many or none. */
RONDE_MUST_CHECK enum ronde_status ronde_tune_sizes(const struct ronde_options *options,
                                                    struct ronde_measured *table,
                                                    struct ronde_error *error);

/**
 * Measures a part, one number of ranks in one round, and in the first process writes it to --output. A body of
 * ronde_job_run; without processes the communicator is NULL, else it is the part's to destroy. Returns the exit code.
 */
int ronde_tune_part(const struct ronde_options *options, struct ronde_comm *comm);

/** Writes the medians of all rounds to the path of the result, and says so. Errors: NO_MEMORY, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_tune_write(struct ronde_tuning *session,
                                                    struct ronde_error *error);

#endif
