/**
 * Rows of a table of collectives that others have measured: CSV with the columns collective, algorithm (or algorithm_meaning: ronde's
 * algorithm that sends the same messages, empty where none does), ranks, bytes (as nccl-tests counts them) and
 * time_us_median (or time_us); time_us_p10, time_us_p90, notes, ppn, memory, system, run and library where there are some.
 */
#ifndef RONDE_LAB_MEASURE_COLLECTIVE_ROWS_H
#define RONDE_LAB_MEASURE_COLLECTIVE_ROWS_H

#include "ronde/calibrate_table.h"
#include "ronde/collective.h"

#include <stdbool.h>
#include <stddef.h>

/** A row. */
struct collective_row {
    bool is_known; /**< collective and algorithm are; else both are nothing */
    enum ronde_collective collective;
    char algorithm[32];
    uint32_t ranks;
    uint32_t node_ranks; /**< of a node; 1 where it is not said */
    double bytes;
    double ns;
    double spread;    /**< (p90 - median) / median; 0 = not said */
    double quiet_ns;  /**< the 10th percentile; the median where it is not said */
    bool is_left_out; /**< faulty or in segments by its notes, or not in host memory */
    uint64_t source; /**< of what system, run and library; equal for rows that can be set beside one another */
    uint32_t line;
};

/** What others call an algorithm. */
struct collective_meaning {
    enum ronde_collective collective;
    char algorithm[64]; /**< as a table has it */
    char meaning[32];   /**< ronde's that sends the same messages */
};

/** Meanings for rows whose algorithm_meaning is empty. */
struct collective_meanings {
    struct collective_meaning *items;
    size_t count;
};

/**
 * Reads a CSV with the columns collective, algorithm, ronde_algorithm. Owner: the caller, of items, in every case. Errors: IO;
 * BAD_INPUT ("path:line: ..."), also for an algorithm that ronde does not have; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status collective_meanings_read(const char *path,
                                                            struct collective_meanings *out,
                                                            struct ronde_error *error);

/** Takes a row, or ends the reading with an error. */
typedef enum ronde_status (*collective_row_taker)(const struct collective_row *row, void *context,
                                                  struct ronde_error *error);

/** Reads all rows; `meanings` may be NULL. Errors: IO; BAD_INPUT ("path:line: ..."); those of `take`. */
RONDE_MUST_CHECK enum ronde_status
collective_rows_read(const char *path, const struct collective_meanings *meanings,
                     collective_row_taker take, void *context, struct ronde_error *error);

/** A finite number of at least `least` and nothing behind it. */
bool collective_number(const char *text, double least, double *out);

/** Whether a file is such a table by its heading, which has ranks, and time_us_median or algorithm_meaning. */
bool collective_rows_are(const char *path);

/* Rows of a table from which messages can be priced: read from CSV or from what osu_latency prints, and how ranks
 * were allocated. */

/** What a row's collective is made of. */
enum message_row_kind {
    MESSAGE_HOPS,      /**< messages one after another, each over when the next begins */
    MESSAGE_EXCHANGES, /**< both ways at once, with a sum */
    MESSAGE_PARTIALS /**< sums of blocks, passed on, none of which has its place in the output; bytes of all blocks */
};

/** A row. */
struct message_row {
    enum message_row_kind kind;
    double bytes; /**< of a message */
    double hops;  /**< messages one after another */
    double copies; /**< of them, those that bring a result and sum nothing: of ranks beyond a power of two */
    double ns;     /**< of all */
    double spread; /**< (p90 - median) / median; 0 = not said */
    uint32_t ranks;
};

/** Rows of a file. */
struct message_rows {
    struct message_row *rows;
    uint32_t count;
    size_t room;
    uint32_t skipped; /**< of other algorithms */
};

/** Reads those of one rank a node. Owner: the caller frees `rows` by message_rows_free. Errors: as ronde_calibrate_from_table. */
RONDE_MUST_CHECK enum ronde_status message_rows_read(const char *path, struct message_rows *out,
                                                     struct ronde_error *error);

void message_rows_free(struct message_rows *rows);

/**
 * The groups that a table's ranks were in. out_found: whether the file has the run. Errors: IO; BAD_INPUT; BAD_ARGUMENT where
 * several runs have so many ranks and none was named.
 */
RONDE_MUST_CHECK enum ronde_status message_groups_read(const struct ronde_calibrate_table *table,
                                                       struct ronde_calibrated_network *network,
                                                       bool *out_found, struct ronde_error *error);

#endif
