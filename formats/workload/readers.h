/**
 * The readers of the formats a workload may be in.
 */
#ifndef RONDE_FORMATS_WORKLOAD_READERS_H
#define RONDE_FORMATS_WORKLOAD_READERS_H

#include "ronde/workload.h"

/** goal_read.c: GOAL. As ronde_workload_parse. */
RONDE_MUST_CHECK enum ronde_status
workload_read_goal(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                   struct ronde_workload **out_workload, struct ronde_error *error);

/** text_read.c: ronde's own form. As ronde_workload_parse. */
RONDE_MUST_CHECK enum ronde_status
workload_read_text(const char *text, size_t bytes, const char *path, const struct ronde_mem *mem,
                   struct ronde_workload **out_workload, struct ronde_error *error);

/**
 * file.c: reads a regular file of at most 1 GiB; *out_data has a zero behind it, to be freed with *out_bytes + 1. Errors: IO;
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status workload_load_file(const char *path, const struct ronde_mem *mem,
                                                      char **out_data, size_t *out_bytes,
                                                      struct ronde_error *error);

#endif
