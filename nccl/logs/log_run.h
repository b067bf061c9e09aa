/** One run of an nccl-tests program as its log tells it: who took part, in what, under which settings. */
#ifndef RONDE_NCCL_PUBLISHED_LOG_RUN_H
#define RONDE_NCCL_PUBLISHED_LOG_RUN_H

#include "ronde/nccl_log.h"
#include "ronde/published.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of an nccl-tests table. See nccl_log.h for the format. */

/** Words of a line that are looked at; a launcher's prefix and 23 columns fit. */
#define LOG_MAX_WORDS 64u

/** Room for a line; one that is longer is no row, and its rest is passed over. */
#define LOG_LINE_BYTES 8192u

/** What the header lines of a table say of its columns. */
struct log_columns {
    uint32_t half; /**< columns out of place, as many in place: time, algbw, busbw, #wrong, and what -T and -z add */
    uint32_t halves;   /**< that the header names; 0 = none was read */
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
    double least_share; /**< of the size that algbw may count */
    double slack_GBps;  /**< how far algbw may be off: half a unit of its last digit */
    double wrong;       /**< elements; 0 where that is not counted */
};

/** A row. */
struct log_row {
    uint64_t bytes;          /**< nccl-tests' size */
    uint64_t elements;       /**< of a rank or of a block, no more than the bytes */
    bool is_reduction;       /**< names an operator that reduces */
    bool has_root;           /**< has a root that is a rank */
    uint32_t halves;         /**< that were written, be it as N/A */
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

/** Where the next line begins on this one, to which another writer has left no end: a row, or a comment; NULL: nowhere. */
char *log_row_split(char *line);

/** Whether sizes, times and rates agree; else `why` says what does not. */
bool log_row_is_sound(const struct log_row *row, char *why, size_t why_bytes);

/**
 * Reads a line, which is cut at its blanks. With `begun` an END line fills in what a BEGIN line has left open in *row.
 * Whatever stands before a row on its line is a launcher's. MALFORMED: `why` says so, also of times
 * and rates that contradict each other.
 */
enum log_kind log_row_read(char *line, const struct log_columns *columns, bool begun,
                           struct log_row *row, char *why, size_t why_bytes);

/** Hosts of a run at most. */
#define LOG_MAX_HOSTS 8192u

/** Devices of a node at most. */
#define LOG_MAX_DEVICES 32u

/** Ranks that are told apart from one that is listed again. */
#define LOG_MOST_PLACED 65536u

/** Those whose lines are compared: ranks of other jobs come again elsewhere. */
#define LOG_KEPT_PLACES 64u

/** Room for the value of NCCL_ALGO or NCCL_PROTO. */
#define LOG_VALUE_BYTES 64u

/** What was forced. */
struct log_forced {
    char algorithm[LOG_VALUE_BYTES]; /**< NCCL_ALGO; "" = not set */
    char protocol[LOG_VALUE_BYTES];  /**< NCCL_PROTO */
};

/** A collective as nccl-tests calls it. */
struct log_test {
    const char *name; /**< of the program, without _perf */
    enum ronde_collective collective;
};

/** What is known of the current run. */
struct log_run {
    const struct log_test *test; /**< NULL = not said */
    bool is_test_sure;           /**< by the program, not by a word on some line */
    bool is_test_new;            /**< no row has come since it was named */
    uint32_t ranks;              /**< highest rank that was listed, plus 1 */
    uint32_t placed;             /**< ranks whose place was listed, each once */
    uint32_t torn[2];            /**< lines on ranks that end early, and ends of such */
    uint64_t is_placed[LOG_MOST_PLACED / 64]; /**< bit by rank */
    uint64_t place[LOG_KEPT_PLACES];          /**< hash of each one's line */
    uint32_t told_ranks;                      /**< "nranks N" of NCCL's log */
    uint32_t per_process;                     /**< threads times GPUs of a process */
    uint32_t processes;           /**< that were listed by one device each (JSON); 0 = text */
    uint32_t version;             /**< of NCCL, as ronde_nccl_call; 0 = not said */
    uint32_t hosts;               /**< different ones */
    uint64_t host[LOG_MAX_HOSTS]; /**< hashes of their names */
    uint32_t group_ranks[2]; /**< listed ranks: of the first group, of others (NCCL_TESTS_SPLIT) */
    bool has_groups;         /**< lines on ranks name them */
    uint32_t device_ranks[LOG_MAX_DEVICES]; /**< placed ranks by the number of their device */
    uint64_t device_slot[LOG_MAX_DEVICES];  /**< hash of the PCI address of the first of them */
    bool is_renumbered; /**< one number is of several addresses: processes see a part of the devices each */
    bool has_table;                           /**< its header was read */
    bool has_rows;                            /**< and rows */
    struct log_forced shell, command, forced; /**< set for all; on the command line; for this run */
    struct log_row clearest;                  /**< the row that tells busbw over algbw best */
    double clearest_GBps;                     /**< its busbw; 0 = none yet */
};

/** What cannot be read costs itself; where no row can, the first of it is the reason. */
void log_leave_out(struct ronde_log_facts *facts, uint32_t line, const char *why);

/** "#  Rank  0 Group  0 Pid   7 on  host device  0 [0x07] GPU": group and process came later. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status log_run_rank(struct log_run *run, struct ronde_log_facts *facts,
                                                const char *path, uint32_t line, const char *text,
                                                struct ronde_error *error);

/** Counts a host. Returns false beyond LOG_MAX_HOSTS. */
bool log_run_host(struct log_run *run, const char *name, size_t length);

/** A variable that is set, NCCL_ALGO and NCCL_PROTO among them, also into `forced` (NULL: nowhere). */
void log_run_setting(struct ronde_log_facts *facts, struct log_forced *forced, const char *name,
                     size_t name_length, const char *value, size_t value_length);

/** NCCL's version from NCCL_VERSION_CODE: 22907 is 2.29.7, 2804 is 2.8.4. */
uint32_t log_run_version(uint32_t code);

/** The test of a program: ".../all_reduce_perf_mpi"; NULL where the text holds none. The last one counts. */
const struct log_test *log_test_of_program(const char *text);

/** Looks at a row for what tells collective and ranks. */
void log_run_row(struct log_run *run, const struct log_row *row);

/**
 * Decides, for the rows of a run, on collective, ranks, nodes (0 = not said), version and what was forced. `is_modelled`
 * is false for tests and algorithms that the model lacks. Errors: BAD_INPUT at `line`, with what would tell.
 */
RONDE_MUST_CHECK enum ronde_status
log_run_settle(const struct log_run *run, const struct ronde_published_request *request,
               struct ronde_log_facts *facts, uint32_t line, struct ronde_published_row *out,
               bool *out_is_modelled, struct ronde_error *error);

/** Why the model has nothing of a run that was settled as such. */
void log_run_why(const struct log_run *run, uint32_t ranks, char *out, size_t bytes);

#endif
