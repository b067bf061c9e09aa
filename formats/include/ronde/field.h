/**
 * Named values: what a result is before it becomes JSON, CSV or a table.
 *
 * A row is an array of fields. One row printer per format, so that a command only fills in rows.
 */
#ifndef RONDE_FIELD_H
#define RONDE_FIELD_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ronde_row;

/** Kind of a field's value. */
enum ronde_field_kind {
    RONDE_FIELD_NULL,    /**< not known, not checked, does not apply */
    RONDE_FIELD_TEXT,    /**< text */
    RONDE_FIELD_INTEGER, /**< integer */
    RONDE_FIELD_REAL,    /**< real, printed with 17 digits; not finite prints as null */
    RONDE_FIELD_BOOLEAN, /**< boolean */
    RONDE_FIELD_TEXTS,   /**< array of texts */
    RONDE_FIELD_NUMBERS, /**< array of integers */
    RONDE_FIELD_ROWS     /**< array of objects */
};

/** A named value. */
struct ronde_field {
    const char *name;             /**< key */
    enum ronde_field_kind kind;   /**< which of the following holds */
    const char *text;             /**< TEXT */
    int64_t integer;              /**< INTEGER; BOOLEAN: 0 or 1 */
    double real;                  /**< REAL */
    const char *const *texts;     /**< TEXTS: count of them */
    const uint32_t *numbers;      /**< NUMBERS: count of them */
    const struct ronde_row *rows; /**< ROWS: count of them */
    size_t count;                 /**< TEXTS, NUMBERS, ROWS */
};

/** An object. */
struct ronde_row {
    const struct ronde_field *fields; /**< its fields, in printed order */
    size_t count;                     /**< how many */
};

/** The field of a name that has a value; NULL where there is none. Owned by the row. */
RONDE_API const struct ronde_field *ronde_row_field(const struct ronde_row *row, const char *name);
/** The number of a name, NAN where there is none. */
RONDE_API double ronde_row_number(const struct ronde_row *row, const char *name);
/** The text of a name, "" where there is none. */
RONDE_API const char *ronde_row_text(const struct ronde_row *row, const char *name);

/** No value. */
RONDE_API struct ronde_field ronde_field_null(const char *name);
/** A text; NULL gives no value. */
RONDE_API struct ronde_field ronde_field_text(const char *name, const char *text);
/** An integer. */
RONDE_API struct ronde_field ronde_field_integer(const char *name, uint64_t integer);
/** An integer where it is known, else no value. */
RONDE_API struct ronde_field ronde_field_integer_if(const char *name, bool is_known,
                                                    uint64_t integer);
/** A real. */
RONDE_API struct ronde_field ronde_field_real(const char *name, double real);
/** A boolean. */
RONDE_API struct ronde_field ronde_field_boolean(const char *name, bool boolean);

/** Prints a row as one JSON object on one line. Errors: UNAVAILABLE (built without jansson; names the package); DEVICE. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_json_print(const struct ronde_row *row, FILE *file, struct ronde_error *error);

/**
 * Reads one JSON object: fills in the fields that are asked for by name. A field the object lacks becomes NULL kind; so
 * does an object or an array, but for an array of texts, which becomes one text with semicolons. Texts are copied into `texts`.
 * Errors: BAD_INPUT (not one JSON object; texts longer than there is room for), UNAVAILABLE (built without jansson).
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_json_read(const char *line, struct ronde_field *fields, size_t count, char *texts,
                size_t text_bytes, struct ronde_error *error);

/** Whether jansson was built in; *out_text is its version, or what is missing and the package that brings it. */
RONDE_API bool ronde_json_available(const char **out_text);

/** Prints the names of a row's fields as a CSV header. Arrays of objects have no column. */
RONDE_API void ronde_csv_print_header(const struct ronde_row *row, FILE *file);

/** Prints a row as CSV (RFC 4180 quoting, full precision, nothing for null, arrays of texts and integers joined by ';'). */
RONDE_API void ronde_csv_print(const struct ronde_row *row, FILE *file);

#ifdef __cplusplus
}
#endif
#endif
