/**
 * The one printer: a result is a row of named fields (ronde/field.h), and comes out as a line of a table, a JSON object or a
 * line of CSV.
 *
 * JSON and CSV have all fields of a row. A table has columns, each of which shows one field by its key, in a form for people:
 * it can't show anything that programs are not told. Its lines are as nccl-tests prints them: a head of two lines behind '#',
 * names and units, and cells to the right. Without --wide it is at most 100 characters wide.
 */
#ifndef RONDE_CLI_PRINTER_H
#define RONDE_CLI_PRINTER_H

#include "ronde/output_file.h"
#include "ronde/record.h"

#include <stdio.h>

struct ronde_options;
struct ronde_html;

/** How a column shows its field. */
enum ronde_cell_form {
    RONDE_CELL_PLAIN,   /**< texts joined by commas, integers, yes or no */
    RONDE_CELL_SIZE,    /**< bytes, see ronde_cell_size */
    RONDE_CELL_NS,      /**< nanoseconds as microseconds, see ronde_cell_us */
    RONDE_CELL_US,      /**< microseconds, the same */
    RONDE_CELL_GBPS,    /**< a rate, see ronde_cell_rate */
    RONDE_CELL_PERCENT, /**< a share, in percent: 86.7 */
    RONDE_CELL_ERROR,   /**< a signed relative error as a percentage: +12.3% */
    RONDE_CELL_RATIO,   /**< how many times: 1.57 */
    RONDE_CELL_SAVING   /**< nanoseconds as signed microseconds: +3.81 */
};

/** A column of a table. */
struct ronde_column {
    const char *key;  /**< of the field it shows; a row without it, or with null, has "-" there */
    const char *name; /**< first line of the head */
    const char *unit; /**< second line, "" if none */
    enum ronde_cell_form form; /**< how */
    int width; /**< characters, at least those of name and unit; negative: cells to the left; 0: of the last, any */
    bool is_wide; /**< shown with --wide and in Markdown only */
};

/** What a size took by an algorithm: the columns that tables of plans and of replays begin with. */
#define RONDE_COLUMNS_OF_A_SIZE                                                                    \
    {"bytes", "size", "(B)", RONDE_CELL_PLAIN, 10, false},                                         \
        {"count", "count", "(elements)", RONDE_CELL_PLAIN, 11, true},                              \
        {"dtype", "type", "", RONDE_CELL_PLAIN, 8, true},                                          \
        {"algorithm", "algorithm", "", RONDE_CELL_PLAIN, 24, false},                               \
        {"time_ns", "time", "(us)", RONDE_CELL_NS, 8, false},                                      \
        {"algbw_GBps", "algbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},                              \
        {"busbw_GBps", "busbw", "(GB/s)", RONDE_CELL_GBPS, 6, false},                              \
    {                                                                                              \
        "bound_share", "bound", "(%)", RONDE_CELL_PERCENT, 5, false                                \
    }

/** Which call of NCCL a row is of (struct ronde_nccl_call): the fields that such rows begin with, sizes apart. */
#define RONDE_FIELDS_OF_A_CALL(call)                                                               \
    ronde_field_text("collective", ronde_collective_text((call)->collective)),                     \
        ronde_field_integer("ranks", (call)->ranks), ronde_field_integer("nodes", (call)->nodes)

/** The columns of a table. */
struct ronde_table {
    const struct ronde_column *columns; /**< left to right */
    size_t count;                       /**< how many */
};

/** The table of an array of columns, as an initializer. */
#define RONDE_TABLE(columns)                                                                       \
    {                                                                                              \
        columns, sizeof(columns) / sizeof(columns)[0]                                              \
    }

/** The row of an array of fields. */
#define RONDE_ROW(fields) ((struct ronde_row){fields, sizeof(fields) / sizeof(fields)[0]})

/** Where results go and how they look. */
struct ronde_sink {
    FILE *file;                      /**< stdout or the file of --output */
    struct ronde_output_file output; /**< that file, where it is not written as it is */
    bool json;                       /**< JSON Lines */
    bool csv;                        /**< CSV */
    bool is_markdown;                /**< tables are those of Markdown */
    bool is_wide;                    /**< --wide: tables have all their columns */
    uint64_t rows;                   /**< so far */
    bool is_headed;                  /**< the CSV header was printed */
    uint32_t width; /**< characters that text should keep to: those of a terminal; 0 = any */
    struct ronde_html *html; /**< the page of --html, which gets all that is printed; NULL = none */
};

/** Opens the sink the options ask for. Errors: IO; UNAVAILABLE for --json without jansson. */
RONDE_MUST_CHECK enum ronde_status ronde_sink_open(const struct ronde_options *options,
                                                   struct ronde_sink *out_sink,
                                                   struct ronde_error *error);

/** Whether people read it: neither JSON nor CSV. */
bool ronde_sink_is_table(const struct ronde_sink *sink);

/**
 * Prints a comment above or below a table, broken at blanks into lines of at most 100 characters, which begin two characters
 * further right than the first; nothing for JSON and CSV.
 */
void ronde_sink_say(const struct ronde_sink *sink, const char *format, ...) RONDE_FORMAT(2, 3);

/** Prints the head of a table; nothing for JSON and CSV. */
void ronde_sink_head(const struct ronde_sink *sink, const struct ronde_table *table);

/** Prints a row: a table shows its columns of it. Errors: as ronde_json_print. */
RONDE_MUST_CHECK enum ronde_status
ronde_sink_print(struct ronde_sink *sink, const struct ronde_table *table,
                 const struct ronde_row *row, struct ronde_error *error);

/** Prints a row as JSON or CSV; nothing for a table. Errors: as ronde_json_print. */
RONDE_MUST_CHECK enum ronde_status
ronde_sink_row(struct ronde_sink *sink, const struct ronde_row *row, struct ronde_error *error);

/** The same for a record. */
RONDE_MUST_CHECK enum ronde_status ronde_sink_record(struct ronde_sink *sink,
                                                     const struct ronde_record *record,
                                                     struct ronde_error *error);

/**
 * Closes the sink after a command that came to `status`, which is returned; a file of --output is dropped where it is none of
 * OK. A sink that is not open closes well. Errors: DEVICE, after OK, when what was printed did not all arrive.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_sink_close(struct ronde_sink *sink, enum ronde_status status, struct ronde_error *error);

/** Bytes of a formatted cell. */
#define RONDE_CELL_BYTES 96

/** A cell's text, returned by value so that it can be used in an expression. */
struct ronde_cell {
    char text[RONDE_CELL_BYTES]; /**< zero-terminated */
};

/** What a column shows of a row. */
struct ronde_cell ronde_cell_of(const struct ronde_column *column, const struct ronde_row *row);
/** Nanoseconds as microseconds, with as many decimals as fit seven characters. */
struct ronde_cell ronde_cell_us(double ns);
/** A rate in GB/s, two decimals below 1000. */
struct ronde_cell ronde_cell_rate(double rate_GBps);
/** Bytes in the shortest exact form: 8, 4K, 128M. */
struct ronde_cell ronde_cell_size(uint64_t bytes);
/** Bytes as an axis has them: 64 KiB, 1.5 MiB, 1000 B. */
struct ronde_cell ronde_cell_tick(uint64_t bytes);
/** About so many bytes, three digits: 421, 9.38K, 128K, 1.19M. */
struct ronde_cell ronde_cell_about(double bytes);

#endif
