/**
 * A picture of a replay: ranks over time as SVG, a bar per step, the critical path drawn through it.
 */
#ifndef RONDE_CLI_DRAW_TIMELINE_H
#define RONDE_CLI_DRAW_TIMELINE_H

#include "ronde/trace.h"

/** Ranks a picture shows at most; beyond that nobody can read it. */
#define RONDE_TIMELINE_RANKS 64u

/** What is drawn. */
struct ronde_timeline {
    struct ronde_trace trace; /**< the replay, its groups and its critical path */
    const char *title;        /**< first line */
    const char *subtitle;     /**< second line: what it took and why */
};

/**
 * Draws a replay. Of more than RONDE_TIMELINE_RANKS ranks the first are shown; *out_ranks says how many.
 * Errors: BAD_ARGUMENT without times or origins; DEVICE; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_timeline_write(const struct ronde_timeline *timeline,
                                                        FILE *file, uint32_t *out_ranks,
                                                        struct ronde_error *error);

#endif
