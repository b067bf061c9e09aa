/**
 * The readers of the formats a workload may be in.
 */
#ifndef RONDE_LAB_WORKLOAD_READERS_H
#define RONDE_LAB_WORKLOAD_READERS_H

#include "ronde/workload.h"

/** goal_read.c: GOAL. As ronde_workload_parse. */
RONDE_MUST_CHECK enum ronde_status
workload_read_goal(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                   struct ronde_workload **out_workload, struct ronde_error *error);

/** text_read.c: ronde's own form. As ronde_workload_parse. */
RONDE_MUST_CHECK enum ronde_status
workload_read_text(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                   struct ronde_workload **out_workload, struct ronde_error *error);

#endif
