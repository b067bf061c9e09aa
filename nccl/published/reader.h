/** What the readers of tables and logs have in common. */
#ifndef RONDE_NCCL_PUBLISHED_READER_H
#define RONDE_NCCL_PUBLISHED_READER_H

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
 * Appends what a row of a log has measured: out of place, in place, or both. Call, wish and state are settled at the end
 * of its run (published_settle). Errors: BAD_INPUT where time and rate contradict each other; NO_MEMORY.
 */
struct log_row;
RONDE_MUST_CHECK enum ronde_status
published_add_halves(struct ronde_published *to, const char *path, uint32_t line, uint32_t system,
                     const struct log_row *row, struct ronde_error *error);

/** Settles rows from `first` on: they are of one run. Errors: as log_run_settle. */
struct log_run;
RONDE_MUST_CHECK enum ronde_status
published_settle(const struct ronde_published_request *request, const struct log_run *run,
                 struct ronde_published *to, size_t first, struct ronde_error *error);

/** The system of a log: the request's, or the file's name without folder and ending. Errors: BAD_INPUT. */
RONDE_MUST_CHECK enum ronde_status
published_log_system(const struct ronde_published_request *request, struct ronde_published *to,
                     uint32_t *out, struct ronde_error *error);

#endif
