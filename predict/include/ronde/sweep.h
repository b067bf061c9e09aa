/**
 * A sweep: one collective's algorithms replayed on a grid of ranks and sizes, as far as it has been done.
 *
 * The grid is a table: its points are replayed by the caller, in any order and in as many processes as it likes, and come
 * back as lines of JSON.
 */
#ifndef RONDE_SWEEP_H
#define RONDE_SWEEP_H

#include "ronde/record.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One replay: an algorithm on a number of ranks at a size. */
struct ronde_sweep_point {
    uint64_t count;    /**< elements of a block; a size can be too small for a count of its own */
    double time_ns;    /**< its result */
    double busbw_GBps; /**< its result */
    bool is_done;      /**< there is a result */
    bool is_wanted;    /**< of this shard, and not the same as a smaller size's */
};

/** What is swept. */
struct ronde_sweep_options {
    enum ronde_collective collective; /**< of all points */
    enum ronde_dtype dtype;           /**< element type */
    const uint32_t *ranks;            /**< rank counts; outlive the sweep */
    uint32_t rank_counts;             /**< how many, at least 1 */
    const char *const *algorithms;    /**< names, auto, or files of schedules; outlive the sweep */
    uint32_t algorithm_count;         /**< how many, at least 1 */
    uint64_t sizes[RONDE_MAX_SIZES];  /**< size column, bytes, ascending */
    uint32_t size_count;              /**< how many, at least 1 */
    uint32_t shard;  /**< which of so many shares of the points is wanted: 0 .. shards - 1 */
    uint32_t shards; /**< how many there are; 0 and 1 = all points are wanted */
};

/** The grid. Points are ordered by ranks, then algorithm, then size. */
struct ronde_sweep {
    struct ronde_sweep_options options; /**< what was asked for */
    const char *topology;               /**< path of the platform */
    const char *machine;                /**< name of the platform */
    struct ronde_sweep_point *points;   /**< options' rank counts * algorithms * size_count */
    size_t wanted;                      /**< points of this shard */
    size_t done;                        /**< of those with a result */
};

/** Whether a name's schedule is chosen size by size: auto, and what is made for the machine. */
RONDE_API bool ronde_sweep_chooses(const char *algorithm);

/**
 * Lays out the grid of the options on a platform, which outlives it. Owner: the caller closes *out_sweep in every case.
 * Errors: BAD_ARGUMENT (no ranks, algorithms or sizes, too many sizes, an unknown algorithm, a shard beyond the shards),
 * BAD_INPUT where all ranks are more than the hosts, NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sweep_open(const struct ronde_sweep_options *options, const struct ronde_platform *platform,
                 struct ronde_sweep *out_sweep, struct ronde_error *error);

/** Frees the grid; a zeroed sweep is allowed. */
RONDE_API void ronde_sweep_close(struct ronde_sweep *sweep);

/** A point by indices. */
RONDE_API struct ronde_sweep_point *ronde_sweep_at(const struct ronde_sweep *sweep,
                                                   uint32_t rank_index, uint32_t algorithm_index,
                                                   uint32_t size_index);

/** Whether any wanted point of an algorithm on a number of ranks has no result yet. */
RONDE_API bool ronde_sweep_is_open(const struct ronde_sweep *sweep, uint32_t rank_index,
                                   uint32_t algorithm_index);

/**
 * Takes a record's line for the point it belongs to. Errors: BAD_INPUT for a line that is no record, or one of another
 * sweep (collective, type, platform, ranks, algorithm or size that are not of this grid).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sweep_take(struct ronde_sweep *sweep, const char *line, struct ronde_error *error);

/** Index of the fastest algorithm of a point; RONDE_NONE where none has a result. *out_gain: second best / best, >= 1. */
RONDE_API uint32_t ronde_sweep_winner(const struct ronde_sweep *sweep, uint32_t rank_index,
                                      uint32_t size_index, double *out_gain);

#ifdef __cplusplus
}
#endif
#endif
