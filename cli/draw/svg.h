/**
 * Pictures as SVG, without a library: text, timelines, trees.
 */
#ifndef RONDE_CLI_DRAW_SVG_H
#define RONDE_CLI_DRAW_SVG_H

#include "ronde/ir.h"
#include "ronde/status.h"
#include "ronde/topologies.h"
#include "ronde/trace.h"

#include <stdbool.h>
#include <stdio.h>

/* Pictures are SVG: a name that promises another format is refused before anything is drawn. */

/** Whether a name ends in ".svg" or ".pdf", as is asked, in letters of either case. */
bool ronde_picture_is(const char *path, const char *suffix);

/** Refuses names that end as files of other pictures do. Errors: BAD_ARGUMENT saying how to get there. */
RONDE_MUST_CHECK enum ronde_status ronde_picture_check(const char *path, struct ronde_error *error);

/* Text inside SVG. */

/** Prints text with what would be markup written out. */
void ronde_markup_print(FILE *file, const char *text);

/* Pictures of what ranks do over time, as SVG: a row a rank, bars in it, the critical path drawn through them. */

/** Ranks a picture shows at most; more are too small to read. */
#define RONDE_TIMELINE_RANKS 64u

/** Kinds of bars at most. */
#define RONDE_TIMELINE_KINDS 32u

/** A kind of bars. Colours should differ in brightness too (Okabe and Ito's palette). */
struct ronde_timeline_kind {
    const char *label;  /**< in the legend */
    const char *colour; /**< "#0072b2" */
};

/** A bar. */
struct ronde_timeline_bar {
    uint32_t rank;    /**< its row */
    uint32_t track;   /**< strip of the row; bars of a track follow one another */
    uint32_t kind;    /**< index of a kind */
    double start_ns;  /**< beginning */
    double middle_ns; /**< where its light half begins; end_ns = all of it is dark */
    double end_ns;    /**< end */
    bool is_on_path;  /**< on the critical path */
};

/** What is drawn. */
struct ronde_timeline {
    const char *title;    /**< first line */
    const char *subtitle; /**< second line: what it took and why */
    const char *shades;   /**< what dark and light mean; NULL = all bars are dark */
    uint32_t ranks;       /**< rows */
    const struct ronde_trace_group *groups;  /**< all ranks, in order */
    uint32_t group_count;                    /**< how many */
    const struct ronde_timeline_kind *kinds; /**< of bars */
    uint32_t kind_count;                     /**< how many */
    uint32_t bar_count;                      /**< bars */
    struct ronde_timeline_bar (*bar)(const void *context, uint32_t index); /**< one of them */
    const void *context;                                                   /**< passed to it */
    double end_ns;      /**< end of the picture; 0 = of the last bar */
    uint32_t most_bars; /**< more melt into their neighbours the sooner; 0 = as many as are well drawn */
};

/** What is written above the timeline of a replay. */
struct ronde_timeline_head {
    const char *title;    /**< first line */
    const char *subtitle; /**< second line */
    uint32_t most_bars;   /**< as in struct ronde_timeline */
};

/** Draws it. Of more than RONDE_TIMELINE_RANKS ranks the first are shown; *out_ranks says how many. Errors: DEVICE; NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status ronde_timeline_write(const struct ronde_timeline *timeline,
                                                        FILE *file, uint32_t *out_ranks,
                                                        struct ronde_error *error);

/** Draws a replay, a bar a step. Errors: BAD_ARGUMENT without times or origins; as ronde_timeline_write. */
RONDE_MUST_CHECK enum ronde_status
ronde_timeline_write_replay(const struct ronde_trace *trace, const struct ronde_timeline_head *head,
                            FILE *file, uint32_t *out_ranks, struct ronde_error *error);

/* The trees of a synthesised schedule as a picture: one root's, side by side, level below level. */

/**
 * Draws the trees by which the data of `root` comes down (the first few of them): ranks by the names of their hosts,
 * messages as wide as the slowest link on their way is fast. Errors: NO_MEMORY; UNSUPPORTED for what is no all_gather and
 * no broadcast, and for more than RONDE_FOREST_SVG_RANKS ranks; those of ronde_platform_route.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_forest_svg(const struct ronde_schedule *schedule, const struct ronde_platform *platform,
                 uint32_t root, FILE *file, struct ronde_error *error);

/** Ranks that a picture has room for. */
#define RONDE_FOREST_SVG_RANKS 256u

#endif
