/**
 * A comparison: measures, replays and prices a grid of ranks, sizes and algorithms, point by point.
 */
#ifndef RONDE_CLI_COMPARE_H
#define RONDE_CLI_COMPARE_H

#include "common.h"
#include "crew.h"
#include "validate.h"

/** What is compared, and what has come of it. Everything is released by ronde_comparison_close. */
struct ronde_comparison {
    const struct ronde_options *options; /**< ranks, algorithms, sizes, backend, slot */
    struct ronde_platform *platform;     /**< the machine file; not owned */
    struct ronde_validation grid;        /**< filled in as points are done */
    uint64_t sizes[RONDE_MAX_SIZES];     /**< size column as asked for */
    char machine[160];                   /**< processor and cores */
    struct ronde_sink *records;          /**< where records go beside what is printed, or NULL */
    size_t wrong;                        /**< elements that differed from host, all points */
    struct ronde_crew_tally tally;       /**< on a rig: repetitions that count, and the others */
};

/**
 * Lays out the grid: the sweep of the options plus its largest size, which -f may step over.
 * `platform` outlives it.
 * Errors: BAD_ARGUMENT (no collective, ranks or algorithms; too many sizes; unknown names),
 * UNSUPPORTED, NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_comparison_open(const struct ronde_options *options, struct ronde_platform *platform,
                      struct ronde_comparison *out_comparison, struct ronde_error *error);

/** Frees the grid; a zeroed comparison is allowed. */
void ronde_comparison_close(struct ronde_comparison *comparison);

/** Fills the grid in, printing each row (or three records) into the sink as it is done. Errors: those of the parts. */
RONDE_MUST_CHECK enum ronde_status ronde_comparison_run(struct ronde_comparison *comparison,
                                                        struct ronde_sink *sink,
                                                        struct ronde_error *error);

/** Prints errors, winners and crossovers of a filled grid. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_summary_print(const struct ronde_validation *grid,
                                                       FILE *file, struct ronde_error *error);

/** Prints one paragraph: how far off, and what dominates. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_paragraph_print(const struct ronde_comparison *comparison,
                                                         FILE *file, struct ronde_error *error);

#endif
