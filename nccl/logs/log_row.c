/**
 * Lines of nccl-tests' tables. See log_run.h.
 *
 * A row is found by what it begins with: two whole numbers and an element type. Whatever a launcher puts before it
 * ("[1,0]<stdout>:", "3: ", "(head, rank=0, pid=7) ") is passed over. Behind the type come an operator and a root, both
 * of which some versions leave out or blank, then one half or two of equally many columns.
 */
#include "log_run.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A line cut at its blanks. */
struct words {
    char *word[LOG_MAX_WORDS];
    uint32_t count;
};

/** Columns of a half: time, algbw, busbw, #wrong. */
#define LEAST_HALF 4u

/** Published rates are rounded, and so are the times they were computed from. */
static const double rate_slack = .03;

/** Largest size, as in tables. */
static const uint64_t most_bytes = (uint64_t)1 << 50;

static const char *const types[] = {
    "int8",  "uint8",  "int32",    "uint32", "int64",  "uint64",   "half",
    "float", "double", "bfloat16", "f8e4m3", "f8e5m2", "char",     "int",
    "fp8",   "bf8",    "bool",     "uint",   "int16",  "fp8_e4m3", "fp8_e5m2",
};

/** Operators; those from `none` on do not reduce. */
static const char *const operators[] = {"sum", "prod",   "max",  "min",
                                        "avg", "mulsum", "none", "all"};
static const size_t reducing_operators = 6;

static size_t find(const char *word, const char *const *list, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(word, list[i]) != 0)
        i++;
    return i;
}

#define FIND(word, list) find(word, list, sizeof(list) / sizeof(list)[0])
#define IS_IN(word, list) (FIND(word, list) < sizeof(list) / sizeof(list)[0])

/** Cuts at blanks and control characters; what is beyond the last word is left out. */
static void cut(char *line, struct words *words)
{
    words->count = 0;
    while (words->count < LOG_MAX_WORDS) {
        while (*line != '\0' && (unsigned char)*line <= ' ')
            line++;
        if (*line == '\0')
            return;
        words->word[words->count++] = line;
        while ((unsigned char)*line > ' ')
            line++;
        if (*line != '\0')
            *line++ = '\0';
    }
}

static bool is_whole(const char *word)
{
    return *word != '\0' && strspn(word, "0123456789") == strlen(word);
}

/** A number that nccl-tests prints, an asterisk behind it allowed: RCCL marks errors beyond a bound so. */
static bool take_number(const char *word, double *out)
{
    char *end = NULL;
    if (strspn(word, "0123456789.eE+-*") != strlen(word))
        return false;
    *out = strtod(word, &end);
    return end != word && (*end == '\0' || strcmp(end, "*") == 0) && isfinite(*out);
}

static bool is_not_there(const char *word)
{
    return strcmp(word, "N/A") == 0;
}

/** What a division by a time of 0 gives. */
static bool is_no_number(const char *word)
{
    word += *word == '-';
    return strcmp(word, "inf") == 0 || strcmp(word, "nan") == 0;
}

/** Half a unit of the last digit that was printed. */
static double rounding(const char *word)
{
    const char *point = strchr(word, '.'), *power = strpbrk(word, "eE");
    const size_t whole = power ? (size_t)(power - word) : strlen(word);
    const double digits =
        point && (!power || point < power) ? (double)(word + whole - point - 1) : 0;
    const double last = pow(10, (power ? strtod(power + 1, NULL) : 0) - digits);
    return last / 2;
}

struct log_columns log_columns_default(void)
{
    return (struct log_columns){.half = LEAST_HALF, .counts_wrong = true, .unit_us = 1};
}

/** Where a word stands from `from` on; count where it does not. */
static uint32_t at_word(const struct words *words, uint32_t from, const char *one, const char *other)
{
    while (from < words->count && strcmp(words->word[from], one) != 0 &&
           strcmp(words->word[from], other) != 0)
        from++;
    return from;
}

/** The names of the columns: "time" begins a half. Before 2.0 the fourth was "res", and times were milliseconds. */
static bool read_names(const struct words *words, struct log_columns *columns)
{
    const uint32_t first = at_word(words, 0, "time", "cputime");
    const uint32_t second = at_word(words, first + 1, "time", "cputime");
    if (first + LEAST_HALF > words->count || strcmp(words->word[first + 1], "algbw") != 0)
        return false;
    const char *fourth = words->word[first + 3];
    *columns = log_columns_default();
    columns->is_known = true;
    columns->counts_wrong = strcmp(fourth, "error") != 0 && strcmp(fourth, "res") != 0;
    columns->unit_us = strcmp(fourth, "res") == 0 ? 1000 : 1;
    columns->halves = second < words->count ? 2 : 1;
    /* Of the last column on others may follow; output of others in the first half has no like in the second. */
    const uint32_t half = second - first, behind = words->count - second;
    if (half >= LEAST_HALF && behind >= LEAST_HALF)
        columns->half = half < behind ? half : behind;
    return true;
}

bool log_columns_read(const char *line, struct log_columns *columns)
{
    char copy[1024];
    struct words words;
    if (!strstr(line, "algbw") && !strstr(line, "(GB/s)"))
        return false;
    snprintf(copy, sizeof copy, "%s", line);
    cut(copy, &words);
    if (read_names(&words, columns))
        return true;
    const uint32_t micro = at_word(&words, 0, "(us)", "(us)"),
                   rate = at_word(&words, 0, "(GB/s)", "");
    const uint32_t milli = at_word(&words, 0, "(ms)", "(ms)");
    if (rate == words.count || (micro == words.count && milli == words.count))
        return false;
    columns->unit_us = micro < words.count ? 1 : 1000;
    return true;
}

/** "2026-01-31 12:34:56" at the end, which -S adds. */
static void drop_timestamp(struct words *words)
{
    const uint32_t n = words->count;
    if (n >= 2 && strlen(words->word[n - 1]) == 8 && words->word[n - 1][2] == ':' &&
        strlen(words->word[n - 2]) == 10 && words->word[n - 2][4] == '-')
        words->count -= 2;
}

static bool take_half(char *const *word, const struct log_columns *columns, struct log_half *out)
{
    *out = (struct log_half){.is_there = false};
    if (is_not_there(word[0]))
        return true;
    if (!take_number(word[0], &out->time_us) || !take_number(word[1], &out->rate_GBps) ||
        !take_number(word[2], &out->bus_GBps))
        return false;
    out->is_there = true;
    out->slack = rate_slack + (out->time_us > 0 ? rounding(word[0]) / out->time_us : 0);
    out->slack_GBps = rounding(word[1]);
    /* The first versions counted what a rank receives from others: (n-1)/n of the size, half of it at least. */
    out->least_share = columns->counts_wrong ? 1 : .5;
    out->time_us *= columns->unit_us;
    if (is_not_there(word[3]))
        return true;
    out->has_wrong = take_number(word[3], &out->wrong);
    if (!columns->counts_wrong)
        out->wrong = 0;
    return out->has_wrong && out->time_us >= 0 && out->rate_GBps >= 0 && out->bus_GBps >= 0;
}

/** One half or two from word `at` on. */
static bool take_halves(const struct words *words, uint32_t at, const struct log_columns *columns,
                        struct log_row *row)
{
    const uint32_t left = words->count - at;
    row->half[0].is_there = row->half[1].is_there = false;
    if (left != columns->half && left != 2 * columns->half)
        return false;
    row->halves = left / columns->half;
    for (uint32_t h = 0; h < row->halves; h++)
        if (!take_half(words->word + at + h * columns->half, columns, &row->half[h]))
            return false;
    return true;
}

/** Whether other output stands on the line before the first time: NCCL's log goes to the same stream. */
static bool is_interrupted(const struct words *words, uint32_t at)
{
    for (; at < words->count; at++)
        if (strcmp(words->word[at], "NCCL") == 0 || strstr(words->word[at], "RCCL"))
            return true;
        else if (words->word[at][strspn(words->word[at], "0123456789")] == '.')
            return false;
    return false;
}

/** Leaves out what stands behind the columns of numbers: RCCL's algo, proto and nchannels, Ray's "[repeated 7x across cluster]". */
static void drop_words_behind(struct words *words, uint32_t from)
{
    for (uint32_t i = from; i < words->count; i++)
        if ((isalpha((unsigned char)words->word[i][0]) || words->word[i][0] == '[') &&
            !is_not_there(words->word[i]) && !is_no_number(words->word[i]))
            words->count = i;
}

/** Whether a row begins here: two whole numbers and a type. */
static bool is_row_at(const struct words *words, uint32_t i)
{
    return i + 2 < words->count && is_whole(words->word[i]) && is_whole(words->word[i + 1]) &&
           IS_IN(words->word[i + 2], types);
}

/** Where a row begins; count where none does. */
static uint32_t find_row(const struct words *words)
{
    uint32_t i = 0;
    while (i < words->count && !is_row_at(words, i))
        i++;
    return i;
}

char *log_row_split(char *line)
{
    char copy[LOG_LINE_BYTES];
    struct words words;
    snprintf(copy, sizeof copy, "%s", line);
    cut(copy, &words);
    for (uint32_t i = 0; i < words.count; i++) {
        const char *comment = strchr(words.word[i], '#');
        if (comment && comment[1] == '\0' && comment > words.word[0])
            return line + (comment - copy);
        if (i > 0 && is_row_at(&words, i))
            return line + (words.word[i] - copy);
    }
    return NULL;
}

bool log_row_is_sound(const struct log_row *row, char *why, size_t why_bytes)
{
    if (row->bytes < row->elements) {
        snprintf(why, why_bytes, "%llu bytes are fewer than the %llu elements",
                 (unsigned long long)row->bytes, (unsigned long long)row->elements);
        return false;
    }
    for (unsigned h = 0; h < 2; h++) {
        const struct log_half *half = &row->half[h];
        const double expected_GBps = (double)row->bytes / half->time_us / 1e3;
        /* Nothing was moved: nccl-tests prints such rows where the size is below an element a rank. */
        if (!half->is_there || row->bytes == 0)
            continue;
        if (row->bytes > most_bytes)
            snprintf(why, why_bytes, "%llu bytes are too many", (unsigned long long)row->bytes);
        else if (!(half->time_us > 0))
            snprintf(why, why_bytes, "a time of 0");
        else if (half->rate_GBps - half->slack_GBps > expected_GBps * (1 + half->slack) ||
                 half->rate_GBps + half->slack_GBps <
                     expected_GBps * (half->least_share - half->slack))
            snprintf(why, why_bytes,
                     "algbw %g contradicts time %g us of %llu bytes, which are %.4g GB/s",
                     half->rate_GBps, half->time_us, (unsigned long long)row->bytes, expected_GBps);
        else
            continue;
        return false;
    }
    return true;
}

/** Operator and root, where they are there. */
static uint32_t take_operator(const struct words *words, uint32_t at,
                              const struct log_columns *columns, struct log_row *row)
{
    if (at < words->count && IS_IN(words->word[at], operators))
        row->is_reduction = FIND(words->word[at++], operators) < reducing_operators;
    const uint32_t left = words->count - at;
    if (left != 1 && left != columns->half + 1 && left != 2 * columns->half + 1)
        return at;
    const char *root = words->word[at];
    if (root[0] != '-' && !is_whole(root))
        return at;
    row->has_root = root[0] != '-';
    return at + 1;
}

/** Whether a type or an operator, and numbers behind it, are what is left of a row. */
static bool lacks_begin(const struct words *words, const struct log_columns *columns)
{
    uint32_t numbers = 0;
    double unused;
    for (uint32_t i = words->count; i-- > 0 && numbers < columns->half;)
        if (IS_IN(words->word[i], operators) || IS_IN(words->word[i], types))
            return false;
        else
            numbers = take_number(words->word[i], &unused) || is_not_there(words->word[i])
                          ? numbers + 1
                          : 0;
    for (uint32_t i = 0; numbers >= columns->half && i < words->count; i++)
        if (IS_IN(words->word[i], operators) || IS_IN(words->word[i], types))
            return true;
    return false;
}

enum log_kind log_row_read(char *line, const struct log_columns *columns, bool begun,
                           struct log_row *row, char *why, size_t why_bytes)
{
    struct words words;
    cut(line, &words);
    drop_timestamp(&words);
    uint32_t at = find_row(&words);
    if (at == words.count) {
        struct log_row end = *row;
        double unused;
        if (lacks_begin(&words, columns)) {
            snprintf(why, why_bytes, "a row whose size cannot be read");
            return LOG_MALFORMED;
        }
        for (at = 0; begun && at < words.count; at++)
            if ((at == 0 || !take_number(words.word[at - 1], &unused)) &&
                take_halves(&words, at, columns, &end)) {
                *row = end;
                return log_row_is_sound(row, why, why_bytes) ? LOG_END : LOG_MALFORMED;
            }
        return LOG_OTHER;
    }
    *row = (struct log_row){.bytes = strtoull(words.word[at], NULL, 10),
                            .elements = strtoull(words.word[at + 1], NULL, 10)};
    const bool is_begin = is_interrupted(&words, at + 3);
    if (!is_begin)
        drop_words_behind(&words, at + 3 + columns->half);
    at = take_operator(&words, at + 3, columns, row);
    if (at == words.count || is_begin)
        return LOG_BEGIN;
    if (take_halves(&words, at, columns, row))
        return log_row_is_sound(row, why, why_bytes) ? LOG_ROW : LOG_MALFORMED;
    snprintf(why, why_bytes,
             "%u cells behind type and operator, \"%.20s\" the first: %u or %u numbers are "
             "expected",
             words.count - at, words.word[at], columns->half, 2 * columns->half);
    return LOG_MALFORMED;
}
