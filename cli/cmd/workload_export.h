/**
 * Workloads, and schedules as such, in the formats of point-to-point operations: GOAL, Chakra execution traces.
 */
#ifndef RONDE_CLI_WORKLOAD_EXPORT_H
#define RONDE_CLI_WORKLOAD_EXPORT_H

#include "cli/options/options.h"

#include "ronde/workload.h"

/**
 * The schedule with -b bytes of -d elements as messages and calculations; pieces by --slot, costs of steps by --topo, none
 * without. Owner: the caller. Errors: those of ronde_open_platform and ronde_workload_of_schedule.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_workload_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                        struct ronde_workload **out_workload, struct ronde_error *error);

/** Whether --to, else the name of the output, says GOAL. */
bool ronde_workload_is_goal(const struct ronde_options *options);

/**
 * Writes a workload as --to says, goal or chakra, else as the name of the output does: .goal, or .et for a file a rank.
 * Errors: BAD_ARGUMENT for another format; those of ronde_goal_print and ronde_chakra_write; IO.
 */
RONDE_MUST_CHECK enum ronde_status ronde_workload_write(const struct ronde_options *options,
                                                        const struct ronde_workload *workload,
                                                        struct ronde_error *error);

#endif
