/**
 * Schedules in the formats of point-to-point operations, which need byte counts: GOAL, Chakra execution traces.
 */
#ifndef RONDE_CLI_WORKLOAD_EXPORT_H
#define RONDE_CLI_WORKLOAD_EXPORT_H

#include "options.h"

#include "ronde/workload.h"

/**
 * The schedule with -b bytes of -d elements as messages and calculations; pieces by --slot, costs of steps by --topo, none
 * without. Owner: the caller. Errors: those of ronde_open_platform and ronde_workload_of_schedule.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_workload_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                        struct ronde_workload **out_workload, struct ronde_error *error);

/** The same printed as GOAL. Owner: the caller frees *out_text with *out_bytes + 1. Errors: likewise. */
RONDE_MUST_CHECK enum ronde_status
ronde_goal_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                    char **out_text, size_t *out_bytes, struct ronde_error *error);

#endif
