/** What ronde validate --published prints: records, tables and what documents show of them. */
#ifndef RONDE_CLI_PUBLISHED_PRINT_H
#define RONDE_CLI_PUBLISHED_PRINT_H

#include "cli/cmd/common.h"

#include "ronde/published.h"

/** How a mode calls itself. */
struct ronde_published_mode {
    const char *name;  /**< as typed */
    const char *title; /**< as printed */
    const char *says;  /**< what a prediction has seen */
};

/** Where to print, and how. */
struct ronde_published_view {
    struct ronde_sink *sink;
    const struct ronde_published *published;
    const struct ronde_published_mode *mode;
    const char *path; /**< of the table or log */
    bool is_markdown;
};

/** What stands above the scores of a mode. */
void ronde_published_print_head(const struct ronde_published_view *view);

/** The score of a system. */
void ronde_published_print_score(const struct ronde_published_view *view, const char *name,
                                 const struct ronde_published_score *score);

/** Every row of a system as a record. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_rows(const struct ronde_published_view *view, uint32_t system,
                           struct ronde_error *error);

/** Every row that was refused as a record: its line, and why. Errors: as ronde_sink_row. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_refused(const struct ronde_published_view *view, struct ronde_error *error);

/** Rows that are not predicted and words that are not understood, by reason; nothing where there are none. */
void ronde_published_print_whys(const struct ronde_published_view *view);

/** Where the fastest algorithm changes with the size, by system; nothing where no system has two. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_crossovers(const struct ronde_published_view *view, struct ronde_error *error);

/** The ten rows that are furthest off, whatever they are. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
ronde_published_print_worst(const struct ronde_published_view *view, struct ronde_error *error);

#endif
