/* JSON as it comes: what is in a span of text. See json_pull.h. */
#include "json_pull.h"

#include <string.h>

struct pull_walk pull_walk(struct pull_span span)
{
    const bool is_any = span.bytes >= 2 && (span.at[0] == '{' || span.at[0] == '[');
    return (struct pull_walk){.at = is_any ? span.at + 1 : NULL,
                              .end = is_any ? span.at + span.bytes - 1 : NULL,
                              .is_object = is_any && span.at[0] == '{'};
}

/* The end of a text that begins at `at`; NULL where it has none. */
static const char *text_end(const char *at, const char *end)
{
    for (at++; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '"')
            return at + 1;
    }
    return NULL;
}

/* The end of a value that begins at `at`; NULL where there is none. Brackets were matched when the whole was taken. */
static const char *value_end(const char *at, const char *end)
{
    uint32_t depth = 0;
    const char *from = at;
    if (at < end && *at != '{' && *at != '[' && *at != '"') {
        while (at < end && !pull_is_blank(*at) && *at != ',' && *at != ':' && *at != '"')
            at++;
        return at > from ? at : NULL;
    }
    while (at < end) {
        if (*at == '"') {
            at = text_end(at, end);
            if (!at)
                return NULL;
        } else {
            depth += *at == '{' || *at == '[';
            depth -= *at == '}' || *at == ']';
            at++;
        }
        if (depth == 0)
            return at;
    }
    return NULL;
}

static void skip_blanks(struct pull_walk *walk)
{
    while (walk->at < walk->end && pull_is_blank(*walk->at))
        walk->at++;
}

/* Takes one value; false where there is none. */
static bool take(struct pull_walk *walk, struct pull_span *out)
{
    skip_blanks(walk);
    const char *end = value_end(walk->at, walk->end);
    if (!end)
        return false;
    *out = (struct pull_span){walk->at, (size_t)(end - walk->at)};
    walk->at = end;
    skip_blanks(walk);
    return true;
}

static bool fail(struct pull_walk *walk)
{
    walk->is_bad = true;
    walk->at = walk->end;
    return false;
}

bool pull_step(struct pull_walk *walk, struct pull_span *out_key, struct pull_span *out_value)
{
    *out_key = *out_value = (struct pull_span){NULL, 0};
    if (!walk->at)
        return false;
    skip_blanks(walk);
    if (walk->at == walk->end)
        return false;
    if (walk->is_object) {
        if (*walk->at != '"' || !take(walk, out_key) || walk->at == walk->end || *walk->at != ':')
            return fail(walk);
        walk->at++;
        *out_key = (struct pull_span){out_key->at + 1, out_key->bytes - 2};
    }
    if (!take(walk, out_value))
        return fail(walk);
    if (walk->at < walk->end && *walk->at != ',')
        return fail(walk);
    walk->at += walk->at < walk->end;
    return true;
}

struct pull_span pull_member(struct pull_span object, const char *name)
{
    struct pull_walk walk = pull_walk(object);
    struct pull_span key, value;
    while (walk.is_object && pull_step(&walk, &key, &value))
        if (pull_key_is(key, name))
            return value;
    return (struct pull_span){NULL, 0};
}

struct pull_span pull_item(struct pull_span array, size_t index)
{
    struct pull_walk walk = pull_walk(array);
    struct pull_span key, value;
    while (!walk.is_object && pull_step(&walk, &key, &value))
        if (index-- == 0)
            return value;
    return (struct pull_span){NULL, 0};
}

/* The value of four hexadecimal digits; 0xfffd (no character) where there are none. */
static uint32_t hexadecimal(const char *at, const char *end)
{
    uint32_t value = 0;
    if (end - at < 4)
        return 0xfffd;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdefABCDEF";
        const char *found = at[i] ? strchr(digits, at[i]) : NULL;
        if (!found)
            return 0xfffd;
        const uint32_t digit = (uint32_t)(found - digits);
        value = value << 4 | (digit < 16 ? digit : digit - 6);
    }
    return value;
}

/* A character as UTF-8; names of groups and hosts have few beyond ASCII, surrogates become '?'. */
static size_t encode(uint32_t character, char *to)
{
    if (character < 0x80) {
        to[0] = (char)(character > 0 ? character : '?');
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xc0 | character >> 6);
        to[1] = (char)(0x80 | (character & 63));
        return 2;
    }
    if (character >= 0xd800 && character < 0xe000) {
        to[0] = '?';
        return 1;
    }
    to[0] = (char)(0xe0 | character >> 12);
    to[1] = (char)(0x80 | (character >> 6 & 63));
    to[2] = (char)(0x80 | (character & 63));
    return 3;
}

bool pull_text(struct pull_span span, char *to, size_t bytes)
{
    size_t used = 0;
    to[0] = '\0';
    if (span.bytes < 2 || span.at[0] != '"')
        return false;
    const char *end = span.at + span.bytes - 1;
    for (const char *at = span.at + 1; at < end && used + 4 < bytes; at++) {
        if (*at != '\\' || at + 1 == end) {
            to[used++] = *at;
            continue;
        }
        at++;
        if (*at == 'u') {
            used += encode(hexadecimal(at + 1, end), to + used);
            at += end - at > 4 ? 4 : 0;
            continue;
        }
        const char *from = "nrtbf", *is = "\n\r\t\b\f", *found = strchr(from, *at);
        to[used++] = *at && found ? is[found - from] : *at;
    }
    to[used] = '\0';
    return true;
}

bool pull_integer(struct pull_span span, int64_t *out)
{
    return pull_scaled(span, 0, out);
}

/* Adds a digit; false where the number grows beyond 62 bits. */
static bool add_digit(int64_t *value, char digit)
{
    if (*value > (INT64_MAX >> 1) / 10 - 1)
        return false;
    *value = *value * 10 + (digit - '0');
    return true;
}

/* "e+09": how many places the point moves; false for anything else. */
static bool read_exponent(const char *at, const char *end, int *out)
{
    int value = 0;
    if (at == end)
        return true;
    if (*at != 'e' && *at != 'E')
        return false;
    at++;
    const bool is_negative = at < end && *at == '-';
    at += at < end && (*at == '-' || *at == '+');
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || value > 99)
            return false;
        value = value * 10 + (*at - '0');
    }
    *out = is_negative ? -value : value;
    return true;
}

bool pull_scaled(struct pull_span span, unsigned digits, int64_t *out)
{
    const char *at = span.at, *end = span.at + span.bytes;
    int64_t value = 0;
    int places = (int)digits, exponent = 0;
    if (span.bytes >= 2 && *at == '"') {
        at++;
        end--;
    }
    const bool is_negative = at < end && *at == '-';
    at += is_negative;
    if (at == end || *at < '0' || *at > '9')
        return false;
    const char *point = at;
    while (point < end && (*point == '.' || (*point >= '0' && *point <= '9')))
        point++;
    if (!read_exponent(point, end, &exponent))
        return false;
    places += exponent;
    bool is_behind = false, is_rounded = false;
    for (; at < point; at++) {
        if (*at == '.') {
            if (is_behind)
                return false;
            is_behind = true;
            continue;
        }
        if (is_behind && places <= 0) {
            /* The first digit that is left out rounds. */
            value += !is_rounded && places == 0 && *at >= '5';
            is_rounded = true;
            continue;
        }
        if (!add_digit(&value, *at))
            return false;
        places -= is_behind;
    }
    for (; places > 0; places--)
        if (!add_digit(&value, '0'))
            return false;
    for (; places < 0; places++)
        value /= 10;
    *out = is_negative ? -value : value;
    return true;
}
