/* Changes to texts made of lines, words and numbers. See target.h. */
#include "fuzz/target.h"

#include "support/buffers.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A text in a buffer with room, and the generator that decides. */
struct text {
    char *data;
    size_t bytes;
    size_t capacity;
    uint64_t random;
};

/* A part of a text. */
struct span {
    size_t first;
    size_t bytes;
};

static size_t draw_below(struct text *text, size_t bound)
{
    return bound == 0 ? 0 : (size_t)(buffers_draw(&text->random) % bound);
}

/* Replaces a part; false where the result would not fit. */
static bool replace(struct text *text, struct span span, const char *by, size_t by_bytes)
{
    const size_t rest = text->bytes - span.first - span.bytes;
    if (span.first + by_bytes + rest > text->capacity)
        return false;
    memmove(text->data + span.first + by_bytes, text->data + span.first + span.bytes, rest);
    memcpy(text->data + span.first, by, by_bytes);
    text->bytes = span.first + by_bytes + rest;
    return true;
}

/* The line around a random byte, its end included. */
static struct span draw_line(struct text *text)
{
    struct span line = {draw_below(text, text->bytes), 0};
    while (line.first > 0 && text->data[line.first - 1] != '\n')
        line.first--;
    while (line.first + line.bytes < text->bytes) {
        line.bytes++;
        if (text->data[line.first + line.bytes - 1] == '\n')
            break;
    }
    return line;
}

/* The first run of such characters at or behind a random byte; empty if there is none. */
static struct span draw_run(struct text *text, int (*is_part)(int))
{
    struct span run = {draw_below(text, text->bytes), 0};
    while (run.first < text->bytes && !is_part((unsigned char)text->data[run.first]))
        run.first++;
    while (run.first + run.bytes < text->bytes &&
           is_part((unsigned char)text->data[run.first + run.bytes]))
        run.bytes++;
    return run;
}

/* A copy of a part, cut to what the caller has room for. */
static size_t take(const struct text *text, struct span span, char *copy, size_t copy_bytes)
{
    const size_t bytes = span.bytes < copy_bytes ? span.bytes : copy_bytes;
    memcpy(copy, text->data + span.first, bytes);
    return bytes;
}

static void drop_line(struct text *text)
{
    (void)replace(text, draw_line(text), "", 0);
}

/* Copies a line to another place, or, where that place is itself, doubles it. */
static void copy_line(struct text *text)
{
    char copy[256];
    const size_t bytes = take(text, draw_line(text), copy, sizeof copy);
    const struct span here = {draw_line(text).first, 0};
    (void)replace(text, here, copy, bytes);
}

/* Exchanges two neighbouring lines. */
static void swap_lines(struct text *text)
{
    char copy[256];
    const struct span line = draw_line(text);
    if (line.bytes > sizeof copy || line.first + line.bytes >= text->bytes)
        return;
    const size_t bytes = take(text, line, copy, sizeof copy);
    if (!replace(text, line, "", 0))
        return;
    const char *end = memchr(text->data + line.first, '\n', text->bytes - line.first);
    const struct span here = {end ? (size_t)(end - text->data) + 1 : text->bytes, 0};
    (void)replace(text, here, copy, bytes);
}

/* Moves a number by a little, or makes it one of those that tend to be wrong. */
static void change_number(struct text *text)
{
    static const char *const edges[] = {"0",     "1",        "2",          "4",         "16",
                                        "65536", "16777216", "4294967295", "4294967296"};
    const struct span number = draw_run(text, isdigit);
    char digits[32] = "";
    if (number.bytes == 0 || number.bytes >= sizeof digits)
        return;
    take(text, number, digits, sizeof digits - 1);
    const size_t kind = draw_below(text, 24);
    if (kind < sizeof edges / sizeof edges[0]) {
        (void)replace(text, number, edges[kind], strlen(edges[kind]));
        return;
    }
    unsigned long long value = 0;
    (void)sscanf(digits, "%llu", &value);
    value = value + draw_below(text, 5) - (value >= 2 ? 2 : 0);
    const int length = snprintf(digits, sizeof digits, "%llu", value);
    (void)replace(text, number, digits, (size_t)length);
}

static int is_word(int c)
{
    return isalpha(c) || c == '_' || c == '.';
}

/* Puts a word of the text where another one stands. */
static void copy_word(struct text *text)
{
    char copy[64];
    const size_t bytes = take(text, draw_run(text, is_word), copy, sizeof copy);
    const struct span there = draw_run(text, is_word);
    if (there.bytes > 0)
        (void)replace(text, there, copy, bytes);
}

static void change_byte(struct text *text)
{
    if (text->bytes > 0)
        text->data[draw_below(text, text->bytes)] = (char)buffers_draw(&text->random);
}

size_t fuzz_mutate_text(unsigned char *data, size_t bytes, size_t capacity, uint64_t seed)
{
    /* Bytes are changed seldom: most such texts are refused on their first line. */
    static void (*const changes[])(struct text *) = {drop_line,     copy_line,     swap_lines,
                                                     change_number, change_number, change_number,
                                                     change_number, copy_word,     copy_word,
                                                     swap_lines,    copy_line,     change_byte};
    struct text text = {(char *)data, bytes, capacity, seed};
    const size_t count = 1 + draw_below(&text, 3);
    for (size_t i = 0; i < count; i++)
        changes[draw_below(&text, sizeof changes / sizeof changes[0])](&text);
    return text.bytes;
}
