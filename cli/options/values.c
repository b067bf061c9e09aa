/* Texts to numbers. What is refused is named, with the value as it was typed. */
#include "values.h"

#include <stdio.h>
#include <string.h>

const char *ronde_names_list(const char *const *names, uint32_t count,
                             char out_list[RONDE_NAMES_BYTES])
{
    out_list[0] = '\0';
    for (uint32_t i = 0; i < count; i++)
        if (strlen(out_list) + strlen(names[i]) + 3 < RONDE_NAMES_BYTES) {
            strcat(out_list, i ? ", " : "");
            strcat(out_list, names[i]);
        }
    return out_list;
}

enum ronde_status ronde_name_refuse(const char *lead, const char *text, const char *const *names,
                                    uint32_t count, struct ronde_error *error)
{
    char list[RONDE_NAMES_BYTES];
    const char *nearest = ronde_nearest(text, names, count);
    return nearest ? ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\"; did you mean %s?", lead,
                                text, nearest)
                   : ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\"; there are %s", lead, text,
                                ronde_names_list(names, count, list));
}

enum ronde_status ronde_name_parse(const char *lead, const char *text, const char *const *names,
                                   uint32_t count, uint32_t *out, struct ronde_error *error)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], text) == 0) {
            *out = i;
            return RONDE_OK;
        }
    return ronde_name_refuse(lead, text, names, count, error);
}

enum ronde_status ronde_range_parse(const char *what, const char *text, uint32_t *out_first,
                                    uint32_t *out_count, struct ronde_error *error)
{
    char low[16];
    uint64_t last = 0;
    const char *dots = strstr(text, "..");
    const size_t length = dots ? (size_t)(dots - text) : strlen(text);
    if (length >= sizeof low)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s \"%s\" is not a whole number", what, text);
    memcpy(low, text, length);
    low[length] = '\0';
    RONDE_TRY(ronde_count_parse(what, low, 0, out_first, error));
    RONDE_TRY(
        ronde_number_parse(what, dots ? dots + 2 : low, *out_first, RONDE_MAX_RANKS, &last, error));
    *out_count = (uint32_t)last - *out_first + 1;
    return RONDE_OK;
}

/* Parts of "A:B:xF" or "A:B:+S", zero-terminated in place. */
struct progression {
    char *low;
    char *high;
    char *step; /* behind its sign */
    bool multiplies;
};

/* False for anything of another form; what the parts say is for others to judge. */
static bool cut_progression(char *text, struct progression *out)
{
    char *const first = strchr(text, ':');
    char *const second = first ? strchr(first + 1, ':') : NULL;
    if (!second || (second[1] != 'x' && second[1] != '+'))
        return false;
    *first = '\0';
    *second = '\0';
    *out = (struct progression){text, first + 1, second + 2, second[1] == 'x'};
    return true;
}

enum ronde_status ronde_sizes_parse(const char *text, uint64_t *out_min, uint64_t *out_max,
                                    uint64_t *out_step, uint64_t *out_factor,
                                    struct ronde_error *error)
{
    char copy[96];
    struct progression parts;
    if (text[0] && !strchr(text, ':')) {
        const enum ronde_status one = ronde_size_parse(text, out_min, error);
        *out_max = *out_min;
        return one;
    }
    snprintf(copy, sizeof copy, "%s", text);
    if (strlen(text) >= sizeof copy || !cut_progression(copy, &parts))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "bytes \"%.64s\" are not of the form 8:1G:x2 or 1M:8M:+1M", text);
    *out_step = 0;
    RONDE_TRY(ronde_size_parse(parts.low, out_min, error));
    RONDE_TRY(ronde_size_parse(parts.high, out_max, error));
    if (parts.multiplies)
        return ronde_number_parse("factor", parts.step, 2, 1u << 20, out_factor, error);
    RONDE_TRY(ronde_size_parse(parts.step, out_step, error));
    return *out_step > 0 ? RONDE_OK
                         : ronde_fail(error, RONDE_BAD_ARGUMENT,
                                      "bytes \"%.64s\": a step of 0 comes to no other size", text);
}

/* What an item of -N counts through. */
struct span {
    uint64_t low;
    uint64_t high;
    uint64_t step;
    bool multiplies;
};

/* One of 8, 2..33, 8:1024:x2, 8:32:+8. */
static enum ronde_status parse_span(char *item, struct span *out, struct ronde_error *error)
{
    struct progression parts = {item, item, NULL, false};
    char *const dots = strstr(item, "..");
    out->step = 1;
    if (dots) {
        *dots = '\0';
        parts.high = dots + 2;
    } else if (strchr(item, ':') && !cut_progression(item, &parts)) {
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks \"%s\" are not of the form 8:1024:x2",
                          item);
    }
    out->multiplies = parts.multiplies;
    RONDE_TRY(ronde_number_parse("ranks", parts.low, 1, RONDE_MAX_RANKS, &out->low, error));
    RONDE_TRY(ronde_number_parse("ranks", parts.high, 1, RONDE_MAX_RANKS, &out->high, error));
    if (parts.step)
        RONDE_TRY(ronde_number_parse("step", parts.step, parts.multiplies ? 2 : 1, RONDE_MAX_RANKS,
                                     &out->step, error));
    return RONDE_OK;
}

/* One item of -N; appends to the list. */
static enum ronde_status parse_rank_item(char *item, uint32_t *out_ranks, uint32_t *out_count,
                                         struct ronde_error *error)
{
    struct span span = {0};
    RONDE_TRY(parse_span(item, &span, error));
    uint64_t n = span.low;
    for (; n <= span.high && *out_count < RONDE_MAX_RANK_COUNTS;
         n = span.multiplies ? n * span.step : n + span.step)
        out_ranks[(*out_count)++] = (uint32_t)n;
    if (span.high < span.low || n <= span.high)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "ranks %llu..%llu: a range ascends and all of -N has at most %u numbers",
                          (unsigned long long)span.low, (unsigned long long)span.high,
                          RONDE_MAX_RANK_COUNTS);
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
        RONDE_TRY(parse_rank_item(item, out_ranks, out_count, error));
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
        RONDE_TRY(ronde_number_parse("shape: digit", part, 1, RONDE_MAX_RANKS, &digit, error));
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
    RONDE_TRY(ronde_number_parse("pairs: rank", text, 0, RONDE_MAX_PAIRED_RANKS - 1, &rank, error));
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
    RONDE_TRY(parse_paired(part, pairs, &source, error));
    RONDE_TRY(parse_paired(at, pairs, &destination, error));
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
        RONDE_TRY(parse_pair(pair, out_pairs, error));
    }
    return RONDE_OK;
}
