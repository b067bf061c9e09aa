/**
 * Schedules that the user gives as a file instead of naming a collective and an algorithm.
 *
 * A file is proved when it is read, so what follows cannot tell it from a compiled one: it runs, is replayed and priced.
 */
#ifndef RONDE_CLI_SCHEDULE_FILE_H
#define RONDE_CLI_SCHEDULE_FILE_H

#include "cli/cmd/common.h"

#include "ronde/schedule_file.h"

/** Whether the command's first argument names a file, or --nccl-log one. */
bool ronde_is_schedule_file(const struct ronde_options *options);

/**
 * Reads and proves the file. out_facts and out_proof may be NULL; they are set also when the schedule is rejected. Errors: IO,
 * BAD_INPUT and REJECTED naming file and line; BAD_ARGUMENT for options that say otherwise than the file.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_read(const struct ronde_options *options, struct ronde_msccl_facts *out_facts,
                         struct ronde_proof *out_proof, struct ronde_schedule **out_schedule,
                         struct ronde_error *error);

/**
 * Writes a printed schedule where --output says, and frees it. Called last, so that a refused request leaves an existing file
 * alone. Errors: IO; DEVICE.
 */
RONDE_MUST_CHECK enum ronde_status ronde_schedule_text_write(const struct ronde_options *options,
                                                             char *text, size_t bytes,
                                                             struct ronde_error *error);

#endif
