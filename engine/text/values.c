/* Texts to numbers and back, and the name that a misspelt one may have meant. What is refused is named, as it was typed. */
#include "ronde/values.h"

#include "refuse.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sizes that a double still holds exactly: 8P. */
#define MOST_BYTES (UINT64_C(1) << 53)

enum ronde_status ronde_size_parse(const char *text, uint64_t *out_bytes, struct ronde_error *error)
{
    static const char letters[] = "KMGTP";
    const bool starts_well = text[0] >= '0' && text[0] <= '9';
    char *end = NULL;
    const double number = starts_well ? strtod(text, &end) : 0.0;
    /* strtod also reads 0x10 and 1e3; a size has neither. */
    if (!starts_well || strcspn(text, "xXeEnN") < (size_t)(end - text))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "size \"%s\" is not a number with K, M, G, T or P", text);
    double scale = 1.0;
    const char upper = (char)(*end >= 'a' && *end <= 'z' ? *end - 'a' + 'A' : *end);
    const char *letter = upper ? strchr(letters, upper) : NULL;
    for (const char *at = letters; letter && at <= letter; at++)
        scale *= 1024.0;
    end += letter != NULL;
    const bool is_binary = letter && *end == 'i';
    end += is_binary;
    /* Elsewhere 1 MB is 10^6 bytes: a size that two people read differently is refused. */
    if (letter && !is_binary && *end == 'B' && end[1] == '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "size \"%s\": %cB is read as a power of 1000 or of 1024; type %.*s or "
                          "%.*siB for a power of 1024, or all digits",
                          text, upper, (int)(end - text), text, (int)(end - text), text);
    if (*end == 'B')
        end++;
    const double bytes = number * scale;
    /* Beyond 2^53 a double is no longer every whole number: the digits themselves decide. */
    const bool is_beyond = strtoull(text, NULL, 10) > MOST_BYTES;
    if (*end != '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "size \"%s\" ends in \"%s\"", text, end);
    if (is_beyond || bytes > (double)MOST_BYTES || floor(bytes) != bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "size \"%s\" is not a whole number of bytes up to 8P", text);
    *out_bytes = (uint64_t)bytes;
    return RONDE_OK;
}

enum ronde_status ronde_number_parse(const char *what, const char *text, uint64_t low,
                                     uint64_t high, uint64_t *out, struct ronde_error *error)
{
    /* strtoll also reads blanks and plus signs in front. */
    const bool starts_well = (text[0] >= '0' && text[0] <= '9') || text[0] == '-';
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (!starts_well || end == text || *end != '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is not a whole number", what, text);
    if (errno == ERANGE || number < 0 || (uint64_t)number < low || (uint64_t)number > high)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s %s is outside %llu .. %llu", what, text,
                          (unsigned long long)low, (unsigned long long)high);
    *out = (uint64_t)number;
    return RONDE_OK;
}

enum ronde_status ronde_count_parse(const char *what, const char *text, uint32_t low, uint32_t *out,
                                    struct ronde_error *error)
{
    uint64_t number = 0;
    RONDE_TRY(ronde_number_parse(what, text, low, UINT32_MAX, &number, error));
    *out = (uint32_t)number;
    return RONDE_OK;
}

const char *ronde_size_text(uint64_t bytes, char out_text[RONDE_SIZE_TEXT_BYTES])
{
    static const char letters[] = " KMGTP";
    int power = 0;
    for (; bytes && bytes % 1024 == 0 && letters[power + 1]; power++)
        bytes /= 1024;
    if (power)
        snprintf(out_text, RONDE_SIZE_TEXT_BYTES, "%" PRIu64 "%c", bytes, letters[power]);
    else
        snprintf(out_text, RONDE_SIZE_TEXT_BYTES, "%" PRIu64, bytes);
    return out_text;
}

/* Longest name that is compared; longer texts are no misspelling of one of the names. */
#define NEAREST_MAX 48u

static uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Levenshtein's distance, two rows at a time. */
uint32_t ronde_name_distance(const char *a, const char *b)
{
    const size_t a_length = strlen(a), b_length = strlen(b);
    uint32_t row[NEAREST_MAX + 1];
    if (a_length > NEAREST_MAX || b_length > NEAREST_MAX)
        return UINT32_MAX;
    for (uint32_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (uint32_t i = 1; i <= a_length; i++) {
        uint32_t diagonal = row[0];
        row[0] = i;
        for (uint32_t j = 1; j <= b_length; j++) {
            const uint32_t above = row[j];
            const uint32_t change = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = least(least(above, row[j - 1]) + 1, change);
            diagonal = above;
        }
    }
    return row[b_length];
}

enum ronde_status ronde_refuse_line(struct ronde_error *error, const char *path, uint32_t line,
                                    const char *format, va_list arguments)
{
    char message[RONDE_ERROR_MESSAGE_BYTES];
    if (vsnprintf(message, sizeof message, format, arguments) < 0)
        message[0] = '\0';
    return ronde_fail_at(error, RONDE_BAD_INPUT, line, "%s:%" PRIu32 ": %s", path, line, message);
}

const char *ronde_nearest(const char *text, const char *const *names, uint32_t count)
{
    const char *best = NULL;
    /* Beyond a third of the letters a suggestion is a guess. */
    uint32_t limit = (uint32_t)(strlen(text) + 2) / 3;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t distance = ronde_name_distance(text, names[i]);
        if (distance > limit)
            continue;
        best = names[i];
        limit = distance ? distance - 1 : 0;
        if (distance == 0)
            break;
    }
    return best;
}
