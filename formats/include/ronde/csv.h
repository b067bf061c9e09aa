/**
 * Lines of comma-separated cells (RFC 4180, without cells of several lines), one at a time: a line that cannot be cut leaves the
 * next ones readable. Where the first line has no comma, semicolons or tabs separate.
 */
#ifndef RONDE_CSV_H
#define RONDE_CSV_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Longest line, its newline and NUL included; cells of a line. */
#define RONDE_CSV_LINE_BYTES 4096
#define RONDE_CSV_MAX_CELLS 64u

/** A file that is read. */
struct ronde_csv {
    const char *path;
    FILE *file;
    uint32_t line; /**< of the cells, from 1 */
    char text[RONDE_CSV_LINE_BYTES];
    char separator;                   /**< of the file, once its first line was read */
    char *cells[RONDE_CSV_MAX_CELLS]; /**< of the line, unquoted, blanks around unquoted ones cut off */
    uint32_t cell_count;
};

/** Refuses the line: "path:line: what". */
RONDE_FORMAT(3, 4)
RONDE_API enum ronde_status ronde_csv_refuse(const struct ronde_csv *csv, struct ronde_error *error,
                                             const char *format, ...);

/**
 * Cuts the next line that is not blank. `out_is_end`: there was none. Errors: BAD_INPUT where a quote is not closed or the line
 * is too long, after which the next line can be asked for; IO.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_csv_next(struct ronde_csv *csv, bool *out_is_end,
                                                            struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
