/** One line of an nccl-tests table. See nccl_log.h for the format. */
#ifndef RONDE_NCCL_PUBLISHED_LOG_ROW_H
#define RONDE_NCCL_PUBLISHED_LOG_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Words of a line that are looked at; a launcher's prefix and 23 columns fit. */
#define LOG_MAX_WORDS 64u

/** What the header lines of a table say of its columns. */
struct log_columns {
    uint32_t half; /**< columns out of place, as many in place: time, algbw, busbw, #wrong, and what -T and -z add */
    bool counts_wrong; /**< the fourth is a number of wrong elements; else a largest difference */
    bool is_known;     /**< a header was read */
    double unit_us;    /**< of the time columns: 1, or 1000 before nccl-tests 2.0 */
};

/** The columns of a table without header lines. */
struct log_columns log_columns_default(void);

/** Takes a header line, or the line of units below it; false where the line is neither. */
bool log_columns_read(const char *line, struct log_columns *columns);

/** One half of a row. */
struct log_half {
    bool is_there;    /**< has a time */
    bool has_wrong;   /**< the check was made: not N/A */
    double time_us;   /**< > 0 */
    double rate_GBps; /**< algbw */
    double bus_GBps;  /**< busbw */
    double slack; /**< how far bytes / time may be off, a share: rates are rounded, and so is the time */
    double slack_GBps; /**< how far algbw may be off: half a unit of its last digit */
    double wrong;      /**< elements; 0 where that is not counted */
};

/** A row. */
struct log_row {
    uint64_t bytes;          /**< nccl-tests' size */
    bool is_reduction;       /**< names an operator that reduces */
    bool has_root;           /**< has a root that is a rank */
    struct log_half half[2]; /**< out of place, in place */
};

/** What a line is. */
enum log_kind {
    LOG_OTHER,     /**< not of a table */
    LOG_ROW,       /**< a whole row */
    LOG_BEGIN,     /**< what a row begins with; other output came between that and its times */
    LOG_END,       /**< times alone: the rest of such a row */
    LOG_MALFORMED, /**< begins as a row and does not go on as one */
};

/**
 * Reads a line, which is cut at its blanks. With `begun` an END line fills in what a BEGIN line has left open in *row.
 * Whatever stands before a row on its line is a launcher's. MALFORMED: `why` says so.
 */
enum log_kind log_row_read(char *line, const struct log_columns *columns, bool begun,
                           struct log_row *row, char *why, size_t why_bytes);

#endif
