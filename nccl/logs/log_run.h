/** One run of an nccl-tests program as its log tells it: who took part, in what, under which settings. */
#ifndef RONDE_NCCL_PUBLISHED_LOG_RUN_H
#define RONDE_NCCL_PUBLISHED_LOG_RUN_H

#include "log_row.h"

#include "ronde/nccl_log.h"
#include "ronde/published.h"

/** Hosts of a run at most. */
#define LOG_MAX_HOSTS 8192u

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
    const struct log_test *test;  /**< NULL = not said */
    bool is_test_sure;            /**< by the program, not by a word on some line */
    uint32_t ranks;               /**< highest rank that was listed, plus 1 */
    uint32_t told_ranks;          /**< "nranks N" of NCCL's log */
    uint32_t per_process;         /**< threads times GPUs of a process */
    uint32_t processes;           /**< that were listed by one device each (JSON); 0 = text */
    uint32_t version;             /**< of NCCL, as ronde_nccl_call; 0 = not said */
    uint32_t hosts;               /**< different ones */
    uint64_t host[LOG_MAX_HOSTS]; /**< hashes of their names */
    bool has_table;               /**< its header was read */
    struct log_forced shell, command, forced; /**< set for all; on the command line; for this run */
    struct log_row clearest;                  /**< the row that tells busbw over algbw best */
    double clearest_GBps;                     /**< its busbw; 0 = none yet */
};

/** Takes what a line that is no row says. `facts` collect what holds for the whole log. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status log_run_line(struct log_run *run, struct ronde_log_facts *facts,
                                                const char *path, uint32_t line, const char *text,
                                                struct ronde_error *error);

/** Whether a line is of the next run: names its versions, its program or its processes. */
bool log_run_begins(const char *text);

/** Forgets who took part, and takes the settings of the command line. */
void log_run_reset(struct log_run *run);

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

#endif
