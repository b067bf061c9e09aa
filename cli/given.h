/**
 * Schedules that the user gives as a file instead of naming a collective and an algorithm.
 *
 * A file is proved when it is read, so what follows cannot tell it from a compiled one: it runs, is replayed and priced.
 */
#ifndef RONDE_CLI_GIVEN_H
#define RONDE_CLI_GIVEN_H

#include "common.h"

/** Whether a word names a file: it is no collective, and has a dot or a slash. */
bool ronde_is_file(const char *word);

/** Whether the command's first argument does. */
bool ronde_is_given(const struct ronde_options *options);

/** Reads and proves a file, as ronde_given_read. */
RONDE_MUST_CHECK enum ronde_status ronde_given_open(const char *path, struct ronde_proof *out_proof,
                                                    struct ronde_schedule **out_schedule,
                                                    struct ronde_error *error);

/**
 * Reads and proves the file. out_proof may be NULL; it has the findings also when the schedule is rejected. Errors: IO,
 * BAD_INPUT and REJECTED naming file and line; BAD_ARGUMENT for options that say otherwise than the file.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_given_read(const struct ronde_options *options, struct ronde_proof *out_proof,
                 struct ronde_schedule **out_schedule, struct ronde_error *error);

/** What a schedule does, as a request that names no algorithm: none of ours made it. */
struct ronde_request ronde_given_request(const struct ronde_schedule *schedule);

/**
 * The one schedule a command is about: read, or compiled as ronde_single_request has it. Owner: the caller.
 * Errors: theirs.
 */
RONDE_MUST_CHECK enum ronde_status ronde_given_or_compiled(const struct ronde_options *options,
                                                           struct ronde_schedule **out_schedule,
                                                           struct ronde_error *error);

#endif
