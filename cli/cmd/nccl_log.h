/** --nccl-log: the rings and trees of an NCCL log as the schedule that a command is about. */
#ifndef RONDE_CLI_NCCL_LOG_H
#define RONDE_CLI_NCCL_LOG_H

#include "cli/options/options.h"

#include "ronde/nccl_graph.h"

/**
 * Reads the log: the communicator of -N ranks, else the largest. Owner: the caller. Errors: BAD_ARGUMENT for several -N; as
 * ronde_nccl_graph_read.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_log_read(const struct ronde_options *options,
                                                       struct ronde_nccl_graph **out_graph,
                                                       struct ronde_error *error);

/**
 * The schedule of the collective that is named first: over the rings, or the trees for -a tree. Owner: the caller.
 * Errors: BAD_ARGUMENT for what the log decides, said otherwise; as ronde_nccl_graph_schedule.
 */
RONDE_MUST_CHECK enum ronde_status ronde_nccl_log_schedule(const struct ronde_options *options,
                                                           struct ronde_schedule **out_schedule,
                                                           struct ronde_error *error);

#endif
