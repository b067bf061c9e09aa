/**
 * Standard input where a file is asked for: `-` or /dev/stdin.
 */
#ifndef RONDE_CLI_STDIN_FILE_H
#define RONDE_CLI_STDIN_FILE_H

#include "options.h"

/**
 * Turns every `-` that stands for a file to read into /dev/stdin, and, where one does, a pipe on standard input into a
 * file without a name: commands read their inputs several times, and have child processes read them. Errors: BAD_ARGUMENT
 * where two inputs, or one and --token -, would share it; IO where it cannot be read.
 */
RONDE_MUST_CHECK enum ronde_status ronde_stdin_to_file(struct ronde_options *options,
                                                       struct ronde_error *error);

#endif
