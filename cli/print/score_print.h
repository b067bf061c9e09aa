/**
 * Scores of a filled grid, for people and for programs.
 */
#ifndef RONDE_CLI_SCORE_PRINT_H
#define RONDE_CLI_SCORE_PRINT_H

#include "cli/cmd/common.h"

#include "ronde/score.h"

/** Prints the sums, a line a source; nothing where there is no pair. */
void ronde_score_print(const struct ronde_validation *validation, FILE *file);

/**
 * Writes the scores as JSON: for each source a row per pair, then the sum. Nothing for a table, nor as CSV, whose columns are
 * those of records. Errors: as ronde_sink_row.
 */
RONDE_MUST_CHECK enum ronde_status ronde_score_rows(const struct ronde_validation *validation,
                                                    struct ronde_sink *sink,
                                                    struct ronde_error *error);

#endif
