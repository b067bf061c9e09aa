/**
 * What `plan --synthesize` adds: for each size the schedule that is made for the machine and this size, beside the best of
 * the algorithms that there are, and why one of them is faster.
 */
#ifndef RONDE_CLI_PLAN_FOREST_H
#define RONDE_CLI_PLAN_FOREST_H

#include "common.h"

#include "ronde/plan.h"

/** Makes and prints a schedule for each row: a comment line in tables, an object of kind "synthesised" elsewhere. The plan has a platform. */
RONDE_MUST_CHECK enum ronde_status ronde_plan_forest_print(const struct ronde_plan *plan,
                                                           struct ronde_sink *sink,
                                                           struct ronde_error *error);

#endif
