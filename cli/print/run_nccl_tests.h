/** ronde run as nccl-tests prints it: --style nccl-tests, -g, -t, and the named front ends. */
#ifndef RONDE_CLI_RUN_NCCL_TESTS_H
#define RONDE_CLI_RUN_NCCL_TESTS_H

#include "cli/cmd/run.h"

/** Whether the options ask for nccl-tests' table. Errors: BAD_ARGUMENT for another style. */
RONDE_MUST_CHECK enum ronde_status ronde_run_is_nccl_tests(const struct ronde_options *options,
                                                           bool *out_is, struct ronde_error *error);

/** nccl-tests' name of the program that measures a collective, e.g. "alltoall_perf"; NULL where it has none. */
const char *ronde_nccl_tests_program(enum ronde_collective collective);

/** The lines before the columns, and the columns. */
void ronde_run_nccl_tests_head(const struct ronde_run_session *session);

/** A size: nccl-tests' thirteen columns, then algorithm and protocol. NULL where the schedule does not run so. */
void ronde_run_nccl_tests_row(const struct ronde_run_session *session,
                              const struct ronde_record *out_of_place,
                              const struct ronde_record *in_place);

/** The lines behind the columns. */
void ronde_run_nccl_tests_end(const struct ronde_run_session *session);

#endif
