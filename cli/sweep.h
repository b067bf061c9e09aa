/**
 * A sweep: one collective's algorithms replayed on a grid of ranks and sizes, as far as it has been done.
 *
 * The grid is a pure table; who does the points (cmd_sweep.c) and who draws them (sweep_plot.c) is not its business.
 */
#ifndef RONDE_CLI_SWEEP_H
#define RONDE_CLI_SWEEP_H

#include "common.h"
#include "validate.h"

/** One replay: an algorithm on a number of ranks at a size. */
struct ronde_sweep_point {
    uint64_t count;    /**< elements of a block; a size can be too small for a count of its own */
    double time_ns;    /**< its result */
    double busbw_GBps; /**< its result */
    bool is_done;      /**< there is a result */
    bool is_wanted;    /**< of this shard, and not the same as a smaller size's */
};

/** The grid. Points are ordered by ranks, then algorithm, then size. */
struct ronde_sweep {
    const struct ronde_options *options; /**< what was asked for; outlives it */
    enum ronde_collective collective;    /**< of all points */
    const char *topology;                /**< path of the platform */
    const char *machine;                 /**< name of the platform */
    uint64_t sizes[RONDE_MAX_SIZES];     /**< size column as asked for */
    uint32_t size_count;                 /**< how many */
    struct ronde_sweep_point *points;    /**< options' rank counts * algorithms * size_count */
    size_t wanted;                       /**< points of this shard */
    size_t done;                         /**< of those with a result */
};

/**
 * Lays out the grid of the options on a platform. Errors: BAD_ARGUMENT (no ranks, no algorithms, an unknown one, too many
 * sizes, a bad shard), NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_sweep_open(const struct ronde_options *options, const struct ronde_platform *platform,
                 struct ronde_sweep *out_sweep, struct ronde_error *error);

/** Frees the grid; a zeroed sweep is allowed. */
void ronde_sweep_close(struct ronde_sweep *sweep);

/** A point by indices. */
struct ronde_sweep_point *ronde_sweep_at(const struct ronde_sweep *sweep, uint32_t rank_index,
                                         uint32_t algorithm_index, uint32_t size_index);

/** Whether any wanted point of an algorithm on a number of ranks has no result yet. */
bool ronde_sweep_is_open(const struct ronde_sweep *sweep, uint32_t rank_index,
                         uint32_t algorithm_index);

/**
 * Takes a record's line for the point it belongs to. Errors: BAD_INPUT for a line that is no record, or one of another
 * sweep (collective, type, platform, ranks, algorithm or size that are not of this grid).
 */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_take(struct ronde_sweep *sweep, const char *line,
                                                    struct ronde_error *error);

/** Index of the fastest algorithm of a point; RONDE_NONE where none has a result. *out_gain: second best / best, >= 1. */
uint32_t ronde_sweep_winner(const struct ronde_sweep *sweep, uint32_t rank_index,
                            uint32_t size_index, double *out_gain);

/** Draws time (above) and busbw (below) over size, a column of panels per number of ranks. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_plot(const struct ronde_sweep *sweep,
                                                    const char *path, struct ronde_error *error);

/** Draws the fastest algorithm of each (ranks, size) as a coloured field. Errors: UNAVAILABLE, IO. */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_map(const struct ronde_sweep *sweep,
                                                   const char *path, struct ronde_error *error);

#endif
