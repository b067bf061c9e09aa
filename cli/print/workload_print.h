/**
 * A replayed step as a table, and as rows.
 */
#ifndef RONDE_CLI_WORKLOAD_PRINT_H
#define RONDE_CLI_WORKLOAD_PRINT_H

#include "cli/cmd/common.h"

#include "ronde/workload_sim.h"

/** What was replayed, where, and what came out. */
struct ronde_workload_report {
    const char *path;                           /**< of the workload */
    const struct ronde_workload *workload;      /**< itself */
    const struct ronde_platform *platform;      /**< where */
    const struct ronde_workload_result *result; /**< what came out */
    bool has_alternatives;                      /**< other algorithms were tried */
    bool is_nccl;                               /**< calls take what NCCL's model says */
    const char *algorithm; /**< of calls that name none; NULL = the fastest alone */
};

/** Writes when every item began and ended, for Perfetto or chrome://tracing. Errors: IO; DEVICE; NO_MEMORY; UNAVAILABLE. */
RONDE_MUST_CHECK enum ronde_status ronde_workload_trace(const struct ronde_workload_report *report,
                                                        const char *path, struct ronde_error *error);

/** Prints it. Errors: those of ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_workload_print(const struct ronde_workload_report *report,
                                                        struct ronde_sink *sink,
                                                        struct ronde_error *error);

#endif
