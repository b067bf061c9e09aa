/**
 * Pickles as JSON, without executing them. Python's own reader calls whatever a pickle names; this one knows how to make dicts,
 * lists, tuples, texts, numbers, booleans and None, and refuses everything else.
 */
#ifndef RONDE_FORMATS_TRACES_PICKLE_H
#define RONDE_FORMATS_TRACES_PICKLE_H

#include "source.h"

/* A text that grows. */
struct pickle_text {
    char *bytes;
    size_t used, capacity;
    bool is_refused; /* there was no memory for more */
};

/*
 * Reads a pickle of protocol 0 to 5 and writes its value as JSON: tuples as arrays, keys as texts, bytes as texts. Free
 * out_json with pickle_text_free, whatever is returned. False where it is refused.
 */
RONDE_MUST_CHECK bool pickle_to_json(struct source *source, struct pickle_text *out_json);

void pickle_text_free(const struct ronde_mem *mem, struct pickle_text *text);

/* Values of a pickle while it is read. A value can be part of several others, and of itself. */

enum pickle_kind {
    PICKLE_MARK, /* on the stack alone */
    PICKLE_NONE,
    PICKLE_FALSE,
    PICKLE_TRUE,
    PICKLE_INTEGER,
    PICKLE_REAL,
    PICKLE_TEXT,
    PICKLE_ARRAY, /* lists and tuples */
    PICKLE_DICT   /* its parts are keys and values in turns */
};

/* A value. */
struct pickle_value {
    enum pickle_kind kind;
    uint32_t first, last; /* parts, indices of struct pickle_part; RONDE_TRACE_NONE */
    int64_t integer;
    double real;
    size_t text, bytes; /* offset in `texts`, length */
};

/* A value as part of another. */
struct pickle_part {
    uint32_t value, next;
};

/* The machine. */
struct pickle {
    struct source *source;
    struct ronde_list values; /* of struct pickle_value */
    struct ronde_list parts;  /* of struct pickle_part */
    struct ronde_list stack;  /* of uint32_t: values */
    struct ronde_list memo;   /* of uint32_t: values, plus 1; 0 = nothing was put there */
    struct pickle_text texts;
    bool is_done;
};

/* Appends; false without memory or beyond the limit. */
bool pickle_append(const struct ronde_mem *mem, struct pickle_text *text, const char *bytes,
                   size_t count);

/* Writes value number `value` as JSON. Refuses one that contains itself or is too large. */
RONDE_MUST_CHECK bool pickle_print(const struct pickle *pickle, uint32_t value,
                                   struct pickle_text *out);

#endif
