/* JSON as it comes: what moves through the file. See json_pull.h. */
#include "json_pull.h"

#include <string.h>

char pull_peek(struct source *source)
{
    do {
        while (source->at < source->end && pull_is_blank(source->bytes[source->at]))
            source->at++;
        if (source->at < source->end)
            return source->bytes[source->at];
    } while (!source->is_at_end && source_more(source));
    return '\0';
}

static bool refuse_character(struct source *source, const char *expected)
{
    if (source->status != RONDE_OK)
        return false;
    if (source->at == source->end)
        return source_refuse(source, "the file ends where %s is expected; it was cut off", expected);
    const unsigned char c = (unsigned char)source->bytes[source->at];
    return c > ' ' && c < 127
               ? source_refuse(source, "'%c' where %s is expected", c, expected)
               : source_refuse(source, "byte 0x%02x where %s is expected", c, expected);
}

bool pull_end(struct source *source)
{
    (void)pull_peek(source);
    return source->at < source->end ? refuse_character(source, "the end of the file")
                                    : source->status == RONDE_OK;
}

bool pull_expect(struct source *source, char wanted)
{
    const char name[] = {'\'', wanted, '\'', '\0'};
    if (pull_peek(source) != wanted)
        return refuse_character(source, name);
    source->at++;
    return true;
}

/* The comma before what follows; false where the closing bracket comes instead. */
static bool next(struct source *source, char closing, bool *is_first)
{
    const bool is_start = *is_first;
    *is_first = false;
    if (pull_peek(source) != closing)
        return is_start || pull_expect(source, ',');
    source->at++;
    return false;
}

bool pull_next_item(struct source *source, bool *is_first, struct pull_span *out)
{
    return next(source, ']', is_first) && pull_take(source, out);
}

bool pull_items(struct source *source, pull_taker take, void *self)
{
    bool is_first = true;
    struct pull_span item;
    if (!pull_expect(source, '['))
        return false;
    while (pull_next_item(source, &is_first, &item))
        if (!take(self, item))
            return false;
    return source->status == RONDE_OK;
}

bool pull_next_key(struct source *source, bool *is_first, char *key, size_t bytes)
{
    struct pull_span span;
    if (!next(source, '}', is_first) || !pull_take(source, &span))
        return false;
    return pull_text(span, key, bytes) ? pull_expect(source, ':')
                                       : source_refuse(source, "a key that is no text");
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
static bool take_word(struct source *source, struct pull_span *out)
{
    size_t length = 0;
    for (;;) {
        const char *value = source->bytes + source->at;
        const size_t there = source->end - source->at;
        while (length < there && !pull_is_blank(value[length]) && !strchr(",]}:\"{[", value[length]))
            length++;
        if (length < there || source->is_at_end)
            break;
        if (!source_more(source))
            return false;
    }
    const char first = length > 0 ? source->bytes[source->at] : '\0';
    if (first == '\0' || !strchr("-0123456789tfnNI", first))
        return refuse_character(source, "a value");
    *out = (struct pull_span){source->bytes + source->at, length};
    source->at += length;
    return true;
}

bool pull_take(struct source *source, struct pull_span *out)
{
    struct scan scan;
    enum found found;
    const char first = pull_peek(source);
    if (first != '{' && first != '[' && first != '"')
        return take_word(source, out);
    scan.offset = 0;
    scan.depth = 0;
    scan.is_in_text = scan.is_escaped = false;
    while ((found = scan_value(&scan, source->bytes + source->at, source->end - source->at)) !=
           FOUND_END) {
        if (found == FOUND_BAD || source->is_at_end) {
            source->at += scan.offset;
            return found == FOUND_MORE ? refuse_character(source, "the end of a value")
                   : scan.depth == JSON_MOST_DEPTH
                       ? source_refuse(source, "nested deeper than %u", JSON_MOST_DEPTH)
                       : source_refuse(source, "a bracket that closes none");
        }
        if (!source_more(source))
            return false;
    }
    *out = (struct pull_span){source->bytes + source->at, scan.offset};
    source->at += scan.offset;
    return true;
}

bool pull_line(struct source *source, struct pull_span *out, bool *out_is_whole)
{
    for (size_t seen = 0;;) {
        const char *from = source->bytes + source->at;
        const size_t there = source->end - source->at;
        const char *found = there > seen ? memchr(from + seen, '\n', there - seen) : NULL;
        if (found || (source->is_at_end && there > 0)) {
            const size_t bytes = found ? (size_t)(found - from) : there;
            *out = (struct pull_span){from, bytes};
            *out_is_whole = found != NULL;
            source->at += bytes + (found != NULL);
            return true;
        }
        if (source->is_at_end || !source_more(source))
            return false;
        seen = there;
    }
}
