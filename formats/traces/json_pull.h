/**
 * JSON, read as it comes: members and items one after the other, each value either skipped or taken as a span of text, in which
 * members are looked up only when they are wanted. A trace is a gigabyte of events of which one in a hundred matters: no tree is
 * built. Texts may hold control characters, as traces do.
 */
#ifndef RONDE_FORMATS_TRACES_JSON_PULL_H
#define RONDE_FORMATS_TRACES_JSON_PULL_H

#include "source.h"

#include <string.h>

/* Arrays and objects within each other at most. */
#define JSON_MOST_DEPTH 256u

/* The text of a value, within the window: it is gone with the next value that is taken or skipped. NULL: there is none. */
struct pull_span {
    const char *at;
    size_t bytes;
};

/* Whether a key is this one: asked of each member of each event, so the length of a literal should be the compiler's business. */
static inline bool pull_key_is(struct pull_span key, const char *what)
{
    const size_t bytes = strlen(what);
    return key.bytes == bytes && memcmp(key.at, what, bytes) == 0;
}

/* Whether a text is this one. */
static inline bool pull_is(struct pull_span text, const char *what)
{
    return text.bytes >= 2 && text.at[0] == '"' &&
           pull_key_is((struct pull_span){text.at + 1, text.bytes - 2}, what);
}

/* What moves through a file returns false where that was refused (source.h). */

/* The next character that is no blank, unread; '\0' at the end of the file, and where that cannot be read. */
char pull_peek(struct source *source);

/* Refuses what stands behind the last value; reads the file to its end, check sums included. */
RONDE_MUST_CHECK bool pull_end(struct source *source);

/* Reads one character, such as the bracket that opens an object or an array. */
RONDE_MUST_CHECK bool pull_expect(struct source *source, char wanted);

/* The next member's key, cut to `bytes`; false at the object's end, too. `is_first` is the caller's, true before the first. */
RONDE_MUST_CHECK bool pull_next_key(struct source *source, bool *is_first, char *key, size_t bytes);

/* The next value, whole. Refuses what is none, or is longer than SOURCE_MOST_BYTES. */
RONDE_MUST_CHECK bool pull_take(struct source *source, struct pull_span *out);

/* The next line without its end, within the window; false at the end of the file. `out_is_whole`: an end came behind it. */
RONDE_MUST_CHECK bool pull_line(struct source *source, struct pull_span *out, bool *out_is_whole);

/* The next item of an array; false at the array's end, too. */
RONDE_MUST_CHECK bool pull_next_item(struct source *source, bool *is_first, struct pull_span *out);

/* What is done with an item, which lies in the source's window until the next is read. */
typedef bool (*pull_taker)(void *self, struct pull_span item);

/* An array, item by item, as far as `take` takes them. */
RONDE_MUST_CHECK bool pull_items(struct source *source, pull_taker take, void *self);

static inline bool pull_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* A walk over the members of an object or the items of an array. */
struct pull_walk {
    const char *at, *end;
    bool is_object;
    bool is_bad; /* what is there is no JSON */
};

/* Starts a walk; over anything but an object or an array it has nothing. */
struct pull_walk pull_walk(struct pull_span span);
/* The next value; the key too in an object (its text without quotes, escapes left). False at the end, or where is_bad. */
bool pull_step(struct pull_walk *walk, struct pull_span *out_key, struct pull_span *out_value);

/* The member of such a name; at == NULL where there is none. */
struct pull_span pull_member(struct pull_span object, const char *name);
/* Item number `index` of an array. */
struct pull_span pull_item(struct pull_span array, size_t index);

/* A text without quotes and escapes, cut to `bytes`; false (and "") for anything else. */
bool pull_text(struct pull_span span, char *to, size_t bytes);
/* An integer, written as one or as a text of one; false for anything else. */
bool pull_integer(struct pull_span span, int64_t *out);
/* A decimal number times 10^digits, rounded to an integer: microseconds as nanoseconds without loss by `digits` 3. */
bool pull_scaled(struct pull_span span, unsigned digits, int64_t *out);

#endif
