/* Texts to numbers. What is refused is named, with the value as it was typed. */
#include "values.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    if (letter && *end == 'i')
        end++;
    if (*end == 'B')
        end++;
    const double bytes = number * scale;
    if (*end != '\0')
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "size \"%s\" ends in \"%s\"", text, end);
    if (bytes > 9007199254740992.0 || floor(bytes) != bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "size \"%s\" is not a whole number of bytes up to 8P", text);
    *out_bytes = (uint64_t)bytes;
    return RONDE_OK;
}

enum ronde_status ronde_number_parse(const char *what, const char *text, uint64_t low,
                                     uint64_t high, uint64_t *out, struct ronde_error *error)
{
    char *end = NULL;
    errno = 0;
    const long long number = strtoll(text, &end, 10);
    if (end == text || *end != '\0')
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
    const enum ronde_status status = ronde_number_parse(what, text, low, UINT32_MAX, &number, error);
    if (status == RONDE_OK)
        *out = (uint32_t)number;
    return status;
}

/* One item of -N: a number or a range low..high; appends to the list. */
static enum ronde_status parse_rank_item(char *item, uint32_t *out_ranks, uint32_t *out_count,
                                         struct ronde_error *error)
{
    uint64_t low = 0, high = 0;
    char *dots = strstr(item, "..");
    if (dots)
        *dots = '\0';
    enum ronde_status status = ronde_number_parse("ranks", item, 1, RONDE_MAX_RANKS, &low, error);
    high = low;
    if (status == RONDE_OK && dots)
        status = ronde_number_parse("ranks", dots + 2, 1, RONDE_MAX_RANKS, &high, error);
    if (status != RONDE_OK)
        return status;
    if (high < low || high - low >= RONDE_MAX_RANK_COUNTS - *out_count)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "ranks %llu..%llu: a range ascends and all of -N has at most %u numbers",
                          (unsigned long long)low, (unsigned long long)high, RONDE_MAX_RANK_COUNTS);
    for (uint64_t n = low; n <= high; n++)
        out_ranks[(*out_count)++] = (uint32_t)n;
    return RONDE_OK;
}

enum ronde_status ronde_ranks_parse(const char *text, uint32_t *out_ranks, uint32_t *out_count,
                                    struct ronde_error *error)
{
    char copy[256];
    *out_count = 0;
    if (strlen(text) >= sizeof copy)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks: a list of more than %zu characters",
                          sizeof copy - 1);
    memcpy(copy, text, strlen(text) + 1);
    for (char *item = copy; item;) {
        char *comma = strchr(item, ',');
        if (comma)
            *comma = '\0';
        const enum ronde_status status = parse_rank_item(item, out_ranks, out_count, error);
        if (status != RONDE_OK)
            return status;
        item = comma ? comma + 1 : NULL;
    }
    return RONDE_OK;
}

/* Longest part of a list, a number with its sign of separation. */
#define PART_BYTES 24

/*
 * Cuts the next part off a list, up to one of `separators` or the end; *at moves behind the
 * separator, to NULL at the end. A part too long for any number is cut short, which keeps it wrong.
 */
static void next_part(const char **at, const char *separators, char out_part[PART_BYTES])
{
    const size_t length = strcspn(*at, separators);
    const size_t kept = length < PART_BYTES ? length : PART_BYTES - 1;
    memcpy(out_part, *at, kept);
    out_part[kept] = '\0';
    *at = (*at)[length] ? *at + length + 1 : NULL;
}

uint32_t ronde_shape_ranks(const struct ronde_grid *shape)
{
    uint32_t ranks = 1;
    for (uint32_t i = 0; i < shape->count; i++)
        ranks *= shape->radix[i];
    return ranks;
}

enum ronde_status ronde_shape_parse(const char *text, struct ronde_grid *out_shape,
                                    struct ronde_error *error)
{
    struct ronde_grid shape = {.count = 0};
    uint64_t ranks = 1;
    for (const char *at = text; at;) {
        char part[PART_BYTES];
        uint64_t digit = 0;
        if (shape.count == RONDE_MAX_SHAPE)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "shape %s has more than %u digits", text,
                              (unsigned)RONDE_MAX_SHAPE);
        next_part(&at, "x", part);
        const enum ronde_status status =
            ronde_number_parse("shape: digit", part, 1, RONDE_MAX_RANKS, &digit, error);
        if (status != RONDE_OK)
            return status;
        ranks *= digit;
        if (ranks > RONDE_MAX_RANKS)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "shape %s has more than %u ranks", text,
                              RONDE_MAX_RANKS);
        shape.radix[shape.count++] = (uint32_t)digit;
    }
    *out_shape = shape;
    return RONDE_OK;
}

/* One rank of a pair, which the table of sources must have an entry for. */
static enum ronde_status parse_paired(const char *text, struct ronde_pairs *pairs,
                                      uint32_t *out_rank, struct ronde_error *error)
{
    uint64_t rank = 0;
    const enum ronde_status status =
        ronde_number_parse("pairs: rank", text, 0, RONDE_MAX_PAIRED_RANKS - 1, &rank, error);
    if (status != RONDE_OK)
        return status;
    *out_rank = (uint32_t)rank;
    pairs->ranks = pairs->ranks > rank ? pairs->ranks : (uint32_t)rank + 1;
    return RONDE_OK;
}

/* "source>destination". A rank may send to several, and receives from one at most. */
static enum ronde_status parse_pair(const char *text, struct ronde_pairs *pairs,
                                    struct ronde_error *error)
{
    char part[PART_BYTES];
    const char *at = text;
    uint32_t source = 0, destination = 0;
    next_part(&at, ">", part);
    if (!at)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "pairs: \"%s\" is not source>destination, e.g. 0>1", text);
    enum ronde_status status = parse_paired(part, pairs, &source, error);
    if (status == RONDE_OK)
        status = parse_paired(at, pairs, &destination, error);
    if (status != RONDE_OK)
        return status;
    if (pairs->source_of[destination] != RONDE_NONE)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "pairs: rank %u receives from %u already",
                          destination, pairs->source_of[destination]);
    pairs->source_of[destination] = source;
    return RONDE_OK;
}

enum ronde_status ronde_pairs_parse(const char *text, struct ronde_pairs *out_pairs,
                                    struct ronde_error *error)
{
    out_pairs->ranks = 0;
    for (uint32_t rank = 0; rank < RONDE_MAX_PAIRED_RANKS; rank++)
        out_pairs->source_of[rank] = RONDE_NONE;
    for (const char *at = text; at;) {
        char pair[2 * PART_BYTES];
        const size_t length = strcspn(at, ",");
        if (length >= sizeof pair)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "pairs: \"%.*s\" is not two ranks",
                              (int)length, at);
        memcpy(pair, at, length);
        pair[length] = '\0';
        at = at[length] ? at + length + 1 : NULL;
        const enum ronde_status status = parse_pair(pair, out_pairs, error);
        if (status != RONDE_OK)
            return status;
    }
    return RONDE_OK;
}
