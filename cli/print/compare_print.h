/**
 * A comparison as people and programs see it: rows as points are done, then what the filled grid says in words.
 */
#ifndef RONDE_CLI_COMPARE_PRINT_H
#define RONDE_CLI_COMPARE_PRINT_H

#include "cli/cmd/common.h"
#include "lab/validate/compare.h"

/** Where points go. */
struct ronde_comparison_printer {
    struct ronde_sink *sink;    /**< a row each, or records */
    struct ronde_sink *records; /**< records beside what is printed, or NULL */
};

/** Runs a comparison, printing each row (or its records) as it is done. Errors: as ronde_comparison_run and ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status ronde_comparison_show(struct ronde_comparison *comparison,
                                                         struct ronde_comparison_printer *printer,
                                                         struct ronde_error *error);

/** Prints errors, winners and crossovers of a filled grid. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_summary_print(const struct ronde_validation *grid,
                                                       FILE *file, struct ronde_error *error);

/** The part of that without crossovers: errors and scores. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_summary_errors(const struct ronde_validation *grid,
                                                        FILE *file, struct ronde_error *error);

/** Prints one paragraph: how far off, and what dominates. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_paragraph_print(const struct ronde_comparison *comparison,
                                                         FILE *file, struct ronde_error *error);

#endif
