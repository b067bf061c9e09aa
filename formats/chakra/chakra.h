/**
 * What reading and writing Chakra execution traces share.
 */
#ifndef RONDE_FORMATS_WORKLOAD_CHAKRA_H
#define RONDE_FORMATS_WORKLOAD_CHAKRA_H

#include "ronde/workload.h"

/** Whether a collective's comm_size, which is what a rank puts in, is one of the blocks that its size column counts. */
bool chakra_puts_in_block(enum ronde_collective collective);

/** chakra_names.c: the file of a rank. Errors: BAD_ARGUMENT for a prefix that is too long. */
RONDE_MUST_CHECK enum ronde_status chakra_path(const char *prefix, uint32_t rank,
                                               char out_path[4096], struct ronde_error *error);

/** chakra_names.c: what stands before the rank in a name, or all of it. Errors: BAD_INPUT for a name that has no rank. */
RONDE_MUST_CHECK enum ronde_status chakra_prefix(const char *path, char out_prefix[4096],
                                                 struct ronde_error *error);

/** chakra_names.c: how many ranks have a file, from 0 on until one is not there. Errors: IO where rank 0 has none. */
RONDE_MUST_CHECK enum ronde_status chakra_count_files(const char *prefix, uint32_t *out_ranks,
                                                      struct ronde_error *error);

#endif
