/**
 * Collectives that others have measured with known algorithms, beside their replay on a platform file: how far off, and how
 * often the fastest algorithm is named.
 */
#ifndef RONDE_COLLECTIVE_TABLE_H
#define RONDE_COLLECTIVE_TABLE_H

#include "ronde/predict.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a row. */
enum ronde_table_state {
    RONDE_TABLE_PREDICTED, /**< replayed; counts */
    RONDE_TABLE_FITTED, /**< replayed, but of an algorithm that the platform's constants come from */
    RONDE_TABLE_OTHER, /**< of other numbers of ranks, all or of a node, than the platform has hosts */
    RONDE_TABLE_UNKNOWN, /**< of an algorithm that is not ronde's; faulty, in segments, or not in host memory */
    RONDE_TABLE_REFUSED, /**< the replay ended with an error */
    RONDE_TABLE_STATE_COUNT
};

/** A row. */
struct ronde_table_row {
    enum ronde_collective collective;
    char algorithm[32]; /**< "" where it is none of ronde's */
    uint32_t ranks;
    uint32_t node_ranks; /**< of a node */
    uint64_t bytes;      /**< as nccl-tests counts them */
    uint64_t source;     /**< equal where system, run and library are the same */
    double measured_ns;  /**< median */
    double spread;       /**< (90th percentile - median) / median; 0 = not said */
    double predicted_ns; /**< where replayed; else 0 */
    const char *engine;  /**< that said so, or NULL */
    enum ronde_table_state state;
};

/** A table. */
struct ronde_collective_table {
    struct ronde_table_row *rows; /**< by collective, algorithm, ranks, those of a node, bytes */
    size_t count, room;
};

/** How far off the rows of a group are. */
struct ronde_table_score {
    size_t rows;
    double median; /**< of |predicted / measured - 1| */
    double p90;
    double lean; /**< median of predicted / measured - 1 */
};

/** How often the algorithm predicted to be fastest is within 5 % of the fastest measured; of points with two algorithms of one library at least. */
struct ronde_table_winners {
    size_t points;
    size_t right;
    double lost; /**< mean of what the named algorithm takes longer */
};

/** Whether a file is such a table, by its heading: ranks, and time_us_median or algorithm_meaning. */
RONDE_API bool ronde_collective_table_is(const char *path);

/**
 * Reads. `meanings`: a CSV with the columns collective, algorithm, ronde_algorithm for rows whose algorithm_meaning is empty, or
 * NULL. Owner: the caller closes in every case. Errors: IO; BAD_INPUT ("path:line: ..."); NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_collective_table_read(const char *path, const char *meanings,
                            struct ronde_collective_table *out_table, struct ronde_error *error);

/** Told how many rows are done. */
typedef void (*ronde_table_progress)(size_t done, size_t count);

/** Replays each row on the platform by `engine`; NULL = auto. Errors: NO_MEMORY, CANCELLED; others are states of rows. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_collective_table_predict(struct ronde_collective_table *table,
                               const struct ronde_platform *platform,
                               const struct ronde_tune_options *options, const char *engine,
                               ronde_table_progress progress, struct ronde_error *error);

/** Scores rows first .. end - 1 that are predicted. Errors: NO_MEMORY. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_collective_table_score(const struct ronde_collective_table *table, size_t first, size_t end,
                             struct ronde_table_score *out_score, struct ronde_error *error);

/** Compares the algorithms of each collective at each number of ranks and size. */
RONDE_API struct ronde_table_winners
ronde_collective_table_winners(const struct ronde_collective_table *table);

/** Frees the rows; zeroes are allowed. */
RONDE_API void ronde_collective_table_close(struct ronde_collective_table *table);

#ifdef __cplusplus
}
#endif
#endif
