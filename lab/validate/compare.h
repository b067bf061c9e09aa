/**
 * A comparison: measures, replays and prices a grid of ranks, sizes and algorithms, point by point.
 *
 *     ronde_comparison_open(&options, &comparison, &error);
 *     ronde_comparison_run(&comparison, &sink, &error);              each point as it is done
 *     ... comparison.grid: ronde/validate.h, ronde/score.h
 *     ronde_comparison_close(&comparison);
 */
#ifndef RONDE_LAB_COMPARE_H
#define RONDE_LAB_COMPARE_H

#include "ronde/measurer.h"
#include "ronde/predicted.h"
#include "ronde/reporter.h"
#include "ronde/validate.h"

/** What is compared. Arrays and what is pointed to outlive the comparison. */
struct ronde_compare_options {
    struct ronde_compile_request
        request; /**< collective, root, channels, shape, pairs; ranks and algorithm are set */
    const char *const *algorithms;            /**< names */
    uint32_t algorithm_count;                 /**< how many, 1 .. RONDE_MEASURED_SCHEDULES */
    const uint32_t *ranks;                    /**< rank counts */
    uint32_t rank_counts;                     /**< how many, at least 1 */
    uint64_t sizes[RONDE_MAX_SIZES];          /**< size column, bytes, ascending */
    uint32_t size_count;                      /**< how many, at least 1 */
    const char *backend;                      /**< of this machine, where there is no measurer */
    const struct ronde_measurer *measurer;    /**< who measures instead; NULL = the backend */
    struct ronde_benchmark_options benchmark; /**< how runs are launched; slot and protocol are set */
    struct ronde_forecast forecast; /**< how points are predicted: platform, load but for its count, replay */
    double window_ns;               /**< a point is measured for so long; 0 = 0.2 s */
    struct ronde_reporter reporter; /**< told what is going on */
};

/** What has come of it. Released by ronde_comparison_close. */
struct ronde_comparison {
    struct ronde_compare_options options; /**< what was asked for */
    struct ronde_validation grid;         /**< filled in as points are done */
    char machine[160];                    /**< processor and cores */
    size_t wrong;                         /**< elements that differed from host, all points */
};

/** Who is told of points. */
struct ronde_point_sink {
    /**
     * A point is done: its place in the grid, and a record per source, of which those that the grid has are filled in. Both
     * are the comparison's. Errors end the comparison.
     */
    enum ronde_status (*on_point)(void *context, const struct ronde_validation *grid,
                                  const struct ronde_grid_point *point,
                                  const struct ronde_record *records, struct ronde_error *error);
    void *context; /**< passed on */
};

/**
 * Lays out the grid. Errors: BAD_ARGUMENT (no ranks, algorithms or sizes, or too many; unknown names), UNSUPPORTED,
 * NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comparison_open(const struct ronde_compare_options *options,
                      struct ronde_comparison *out_comparison, struct ronde_error *error);

/** Frees the grid; a zeroed comparison is allowed. */
RONDE_API void ronde_comparison_close(struct ronde_comparison *comparison);

/** Fills the grid in, and passes on each point as it is done. Errors: those of the parts, and of on_point. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_comparison_run(struct ronde_comparison *comparison, const struct ronde_point_sink *sink,
                     struct ronde_error *error);

#endif
