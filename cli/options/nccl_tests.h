/**
 * nccl-tests' programs by name: `all_reduce_perf -b 8 -e 128M -f 2 -g 4` is `ronde run all_reduce ...`, told in its words.
 */
#ifndef RONDE_CLI_NCCL_TESTS_H
#define RONDE_CLI_NCCL_TESTS_H

#include "ronde/status.h"

#include <stdbool.h>

/** Most words that a command line of nccl-tests becomes. */
#define RONDE_NCCL_TESTS_WORDS 64

/** A command line of `ronde run`. */
struct ronde_nccl_tests {
    int count;                           /**< words, the program's name not among them */
    char *words[RONDE_NCCL_TESTS_WORDS]; /**< "run", the collective, options; NULL-terminated */
};

/** Whether the program was started by the name of one of nccl-tests', e.g. by a link to it. */
bool ronde_is_nccl_tests(const char *program);

/**
 * Translates a command line. Options that can have no meaning here are noted on standard error where nccl-tests' result would
 * be the same, and refused where it would not. *out_is_help: the usage was asked for and printed. Words point into argv and
 * to constants.
 * Errors: BAD_ARGUMENT.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_nccl_tests_translate(int argc, char **argv, struct ronde_nccl_tests *out, bool *out_is_help,
                           struct ronde_error *error);

#endif
