/** What the readers of tables and logs have in common. */
#ifndef RONDE_NCCL_PUBLISHED_READER_H
#define RONDE_NCCL_PUBLISHED_READER_H

#include "ronde/nccl_model.h"
#include "ronde/published.h"

#include <stdio.h>

/** A table, from its first line on. Errors: BAD_INPUT with the line, IO, NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status
published_read_table(const struct ronde_published_request *request, FILE *file,
                     struct ronde_published *out, struct ronde_error *error);

/** The text that nccl-tests prints. Errors: BAD_INPUT with the line, IO, NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status published_read_log(const struct ronde_published_request *request,
                                                      FILE *file, struct ronde_published *out,
                                                      struct ronde_error *error);

/** The JSON that nccl-tests -J writes. Errors: as above; UNAVAILABLE without jansson. */
RONDE_MUST_CHECK enum ronde_status published_read_json(const struct ronde_published_request *request,
                                                       FILE *file, struct ronde_published *out,
                                                       struct ronde_error *error);

/**
 * Records of what NCCL ran, as libnccl-profiler-ronde.so writes them: a row for the calls of one collective, communicator
 * shape, size, algorithm and protocol. Errors: as published_read_json.
 */
RONDE_MUST_CHECK enum ronde_status published_read_runs(const struct ronde_published_request *request,
                                                       FILE *file, struct ronde_published *out,
                                                       struct ronde_error *error);

/** Keeps a remark on a line; lines ascend. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status published_note(struct ronde_published *to, uint32_t line,
                                                  bool is_refused, const char *text,
                                                  struct ronde_error *error);

/** The index of a system, which joins where it is new. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status published_system(struct ronde_published *to, const char *path,
                                                    uint32_t line, const char *name, uint32_t *out,
                                                    struct ronde_error *error);

/** What becomes of a row before any machine is looked at. */
void published_state(struct ronde_published_row *row, bool is_modelled, bool is_faulty);

/** Appends a row. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status published_add(struct ronde_published *to,
                                                 const struct ronde_published_row *row,
                                                 struct ronde_error *error);

/**
 * Appends what a row of a log, which is sound (log_row_is_sound), has measured: out of place, in place, or both. Call, wish
 * and state are settled at the end of its run (published_settle). Errors: NO_MEMORY.
 */
struct log_row;
RONDE_MUST_CHECK enum ronde_status published_add_halves(struct ronde_published *to, uint32_t line,
                                                        uint32_t system, const struct log_row *row,
                                                        struct ronde_error *error);

/** Settles rows from `first` on: they are of one run. Errors: as log_run_settle. */
struct log_run;
RONDE_MUST_CHECK enum ronde_status
published_settle(const struct ronde_published_request *request, const struct log_run *run,
                 struct ronde_published *to, size_t first, struct ronde_error *error);

/** The system of a log: the request's, or the file's name without folder and ending. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status
published_log_system(const struct ronde_published_request *request, struct ronde_published *to,
                     uint32_t *out, struct ronde_error *error);

/* Words of a table's cells as people write them. */

/**
 * Whether a column's heading is a name but for capitals, blanks and punctuation: "Time (us)" and "busbw (GB/s)" for time_us and
 * busbw_GBps. "size", "size (B)" and "ranks" stand for bytes and gpus.
 */
bool table_heading(const char *text, const char *name);

/** "AllReduce", "all-reduce", "all_reduce_perf"; false for a name that is none. */
bool table_collective(const char *text, enum ronde_collective *out);

/** "Ring", "ring", and "", "auto", "default" for no wish; false for one that NCCL does not have or that is not modelled. */
bool table_algorithm(const char *text, enum ronde_nccl_algorithm *out);

/** The same of protocols. */
bool table_protocol(const char *text, enum ronde_nccl_protocol *out);

/**
 * The version that a text has, as 100 major + minor: "2.29.2", "NCCL version 2.29.2+cuda13.1", "v2.29", "22902" (NCCL's
 * own number for it). False for a text without one.
 */
bool table_version(const char *text, uint32_t *out);

/** A whole number as tables have it: "8", and "8.0" and "1.6e1" of programs that know only such numbers. */
bool table_whole(const char *text, uint64_t *out);

/** What a printed number may be off by: half of its last digit. "0.01" 0.005; 0 for one with an exponent. */
double table_rounding(const char *text);

/* The order of measurements by what they are of, and how far those that the model cannot tell apart lie from each
 * other. */

/** What qsort asks for two rows whose keys are pairs, the first that differs deciding. */
int published_order(const uint64_t keys[][2], size_t count);

/** Orders rows by collective, place, forced setting, size, and out of place before in place: those of one series by size. */
int published_compare_calls(const struct ronde_published_row *a,
                            const struct ronde_published_row *b);

#endif
