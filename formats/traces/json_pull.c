/* JSON as it comes: what moves through the file. See json_pull.h. */
#include "json_pull.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

enum ronde_status pull_peek(struct source *source, char *out, struct ronde_error *error)
{
    for (;;) {
        while (source->at < source->end && is_blank(source->bytes[source->at]))
            source->at++;
        *out = source->at < source->end ? source->bytes[source->at] : '\0';
        if (source->at < source->end || source->is_at_end)
            return RONDE_OK;
        const enum ronde_status status = source_more(source, error);
        if (status != RONDE_OK)
            return status;
    }
}

static enum ronde_status refuse_character(const struct source *source, const char *expected,
                                          struct ronde_error *error)
{
    if (source->at == source->end)
        return source_refuse(source, error, "the file ends where %s is expected; it was cut off",
                             expected);
    const unsigned char c = (unsigned char)source->bytes[source->at];
    return c > ' ' && c < 127
               ? source_refuse(source, error, "'%c' where %s is expected", c, expected)
               : source_refuse(source, error, "byte 0x%02x where %s is expected", c, expected);
}

enum ronde_status pull_end(struct source *source, struct ronde_error *error)
{
    char c = '\0';
    const enum ronde_status status = pull_peek(source, &c, error);
    return status == RONDE_OK && source->at < source->end
               ? refuse_character(source, "the end of the file", error)
               : status;
}

/* Reads one character. */
static enum ronde_status expect(struct source *source, char wanted, struct ronde_error *error)
{
    const char name[] = {'\'', wanted, '\'', '\0'};
    char c = '\0';
    const enum ronde_status status = pull_peek(source, &c, error);
    if (status != RONDE_OK)
        return status;
    if (c != wanted || source->at == source->end)
        return refuse_character(source, name, error);
    source->at++;
    return RONDE_OK;
}

enum ronde_status pull_open(struct source *source, char bracket, struct ronde_error *error)
{
    return expect(source, bracket, error);
}

/* The comma before what follows, or the closing bracket. */
static enum ronde_status next(struct source *source, char closing, bool *is_first, bool *out_is_end,
                              struct ronde_error *error)
{
    char c = '\0';
    enum ronde_status status = pull_peek(source, &c, error);
    if (status != RONDE_OK)
        return status;
    *out_is_end = c == closing && source->at < source->end;
    if (*out_is_end) {
        source->at++;
        return RONDE_OK;
    }
    if (!*is_first)
        status = expect(source, ',', error);
    *is_first = false;
    return status;
}

enum ronde_status pull_next_item(struct source *source, bool *is_first, bool *out_is_end,
                                 struct ronde_error *error)
{
    return next(source, ']', is_first, out_is_end, error);
}

enum ronde_status pull_items(struct source *source, pull_taker take, void *self,
                             struct ronde_error *error)
{
    bool is_first = true, is_end = false;
    enum ronde_status status = pull_open(source, '[', error);
    while (status == RONDE_OK) {
        struct pull_span item;
        status = pull_next_item(source, &is_first, &is_end, error);
        if (status != RONDE_OK || is_end)
            break;
        status = pull_take(source, &item, error);
        if (status == RONDE_OK)
            status = take(self, item, error);
    }
    return status;
}

enum ronde_status pull_next_key(struct source *source, bool *is_first, char *key, size_t bytes,
                                bool *out_is_end, struct ronde_error *error)
{
    struct pull_span span;
    enum ronde_status status = next(source, '}', is_first, out_is_end, error);
    if (status != RONDE_OK || *out_is_end)
        return status;
    status = pull_take(source, &span, error);
    if (status != RONDE_OK)
        return status;
    if (!pull_text(span, key, bytes))
        return source_refuse(source, error, "a key that is no text");
    return expect(source, ':', error);
}

/* How far the end of a value was looked for, and what is open there. */
struct scan {
    size_t offset; /* from the value's first character */
    uint32_t depth;
    bool is_in_text, is_escaped;
    char open[JSON_MOST_DEPTH];
};

enum found { FOUND_END, FOUND_MORE, FOUND_BAD };

/* Looks through a text for its end. */
static bool scan_text(struct scan *scan, const char *value, size_t there)
{
    size_t i = scan->offset;
    for (; i < there; i++) {
        if (scan->is_escaped) {
            scan->is_escaped = false;
            continue;
        }
        while (i < there && value[i] != '"' && value[i] != '\\')
            i++;
        if (i == there)
            break;
        if (value[i] == '"') {
            scan->is_in_text = false;
            scan->offset = i + 1;
            return true;
        }
        scan->is_escaped = true;
    }
    scan->offset = i;
    return false;
}

/* Characters outside texts at which something begins or ends. */
static bool is_sign(char c)
{
    static const bool signs[256] = {
        ['"'] = true, ['['] = true, [']'] = true, ['{'] = true, ['}'] = true};
    return signs[(unsigned char)c];
}

/* Looks for the end of an object, an array or a text among `there` bytes. */
static enum found scan_value(struct scan *scan, const char *value, size_t there)
{
    for (;;) {
        if (scan->is_in_text && !scan_text(scan, value, there))
            return FOUND_MORE;
        if (scan->depth == 0 && scan->offset > 0)
            return FOUND_END;
        size_t at = scan->offset;
        while (at < there && !is_sign(value[at]))
            at++;
        scan->offset = at;
        if (at == there)
            return FOUND_MORE;
        const char c = value[at];
        if (c == '"') {
            scan->is_in_text = true;
        } else if (c == '{' || c == '[') {
            if (scan->depth == JSON_MOST_DEPTH)
                return FOUND_BAD;
            scan->open[scan->depth++] = c == '{' ? '}' : ']';
        } else if (scan->open[--scan->depth] != c) {
            return FOUND_BAD;
        }
        scan->offset++;
    }
}

/* A number, true, false or null, to the character behind it. */
static enum ronde_status take_word(struct source *source, struct pull_span *out,
                                   struct ronde_error *error)
{
    size_t length = 0;
    for (;;) {
        const char *value = source->bytes + source->at;
        const size_t there = source->end - source->at;
        while (length < there && !is_blank(value[length]) && !strchr(",]}:\"{[", value[length]))
            length++;
        if (length < there || source->is_at_end)
            break;
        const enum ronde_status status = source_more(source, error);
        if (status != RONDE_OK)
            return status;
    }
    const char first = length > 0 ? source->bytes[source->at] : '\0';
    if (first == '\0' || !strchr("-0123456789tfnNI", first))
        return refuse_character(source, "a value", error);
    *out = (struct pull_span){source->bytes + source->at, length};
    source->at += length;
    return RONDE_OK;
}

enum ronde_status pull_take(struct source *source, struct pull_span *out, struct ronde_error *error)
{
    struct scan scan;
    char first = '\0';
    enum ronde_status status = pull_peek(source, &first, error);
    if (status != RONDE_OK)
        return status;
    if (first != '{' && first != '[' && first != '"')
        return take_word(source, out, error);
    scan.offset = 0;
    scan.depth = 0;
    scan.is_in_text = scan.is_escaped = false;
    for (;;) {
        const enum found found =
            scan_value(&scan, source->bytes + source->at, source->end - source->at);
        if (found == FOUND_END)
            break;
        if (found == FOUND_BAD || source->is_at_end) {
            source->at += scan.offset;
            return found == FOUND_BAD && scan.depth == JSON_MOST_DEPTH
                       ? source_refuse(source, error, "nested deeper than %u", JSON_MOST_DEPTH)
                   : found == FOUND_BAD ? source_refuse(source, error, "a bracket that closes none")
                                        : refuse_character(source, "the end of a value", error);
        }
        status = source_more(source, error);
        if (status != RONDE_OK)
            return status;
    }
    *out = (struct pull_span){source->bytes + source->at, scan.offset};
    source->at += scan.offset;
    return RONDE_OK;
}
