/**
 * Tables as nccl-tests prints them: comment header with a units line, right-aligned cells, one
 * row per result.
 */
#ifndef RONDE_CLI_TABLE_H
#define RONDE_CLI_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** A column. */
struct ronde_column {
    const char *name; /**< first header line */
    const char *unit; /**< second header line, "" if none */
    int width;        /**< characters, at least those of name and unit */
};

/** The columns of a table. */
struct ronde_table {
    const struct ronde_column *columns; /**< left to right */
    size_t count;                       /**< how many */
    int gap;                            /**< blanks between two */
};

/** Bytes of a formatted cell. */
#define RONDE_CELL_BYTES 64

/** A cell's text, returned by value so that it can be used in an expression. */
struct ronde_cell {
    char text[RONDE_CELL_BYTES]; /**< zero-terminated */
};

/** Whether its rows fit so many characters; 0 = no limit. */
bool ronde_table_fits(const struct ronde_table *table, uint32_t characters);

/** Prints the two header lines, behind '#'. */
void ronde_table_head(FILE *file, const struct ronde_table *table);

/** Prints a row; "-" stands for an empty cell. */
void ronde_table_row(FILE *file, const struct ronde_table *table, const struct ronde_cell *cells);

/** A text. */
struct ronde_cell ronde_cell_text(const char *text);
/** An integer. */
struct ronde_cell ronde_cell_integer(uint64_t integer);
/** Nanoseconds as microseconds, with as many decimals as fit seven characters. */
struct ronde_cell ronde_cell_us(double ns);
/** A rate in GB/s, two decimals. */
struct ronde_cell ronde_cell_rate(double rate_GBps);
/** A signed relative error as a percentage, e.g. "+12.3%". */
struct ronde_cell ronde_cell_error(double relative);
/** Bytes in the shortest exact form: 8, 4K, 128M. */
struct ronde_cell ronde_cell_size(uint64_t bytes);
/** About so many bytes, three digits: 421, 9.38K, 128K, 1.19M. */
struct ronde_cell ronde_cell_about(double bytes);

#endif
