/* The grid of a sweep: which points there are, which are done, who is fastest. */
#include "sweep.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const struct ronde_sweep *sweep)
{
    return (size_t)sweep->options->rank_counts * sweep->options->algorithm_count * sweep->size_count;
}

struct ronde_sweep_point *ronde_sweep_at(const struct ronde_sweep *sweep, uint32_t rank_index,
                                         uint32_t algorithm_index, uint32_t size_index)
{
    const size_t unit = (size_t)rank_index * sweep->options->algorithm_count + algorithm_index;
    return &sweep->points[unit * sweep->size_count + size_index];
}

static enum ronde_status list_sizes(struct ronde_sweep *sweep, struct ronde_error *error)
{
    uint64_t bytes = sweep->options->min_bytes;
    do {
        if (sweep->size_count == RONDE_MAX_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_MAX_SIZES, (unsigned long long)sweep->options->factor);
        sweep->sizes[sweep->size_count++] = bytes;
        bytes = ronde_options_next_size(sweep->options, bytes);
    } while (bytes != 0);
    return RONDE_OK;
}

static enum ronde_status check_names(const struct ronde_sweep *sweep, struct ronde_error *error)
{
    const struct ronde_options *options = sweep->options;
    if (options->rank_counts == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "ranks: say how many with -N, e.g. 8:1024:x2");
    if (options->algorithm_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "algorithms: say which with -a, e.g. ring,double_tree");
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        if (!ronde_parse_algorithm(sweep->collective, options->algorithms[a], error))
            return RONDE_BAD_ARGUMENT;
    return RONDE_OK;
}

/* "2/8": the third of eight. */
static enum ronde_status parse_shard(const char *text, uint32_t *out_index, uint32_t *out_count,
                                     struct ronde_error *error)
{
    unsigned long index = 0, count = 1;
    char *end = NULL;
    if (text) {
        index = strtoul(text, &end, 10);
        count = *end == '/' && end != text ? strtoul(end + 1, &end, 10) : 0;
        if (*end != '\0' || count == 0 || count > 1000000 || index >= count || strchr(text, '-'))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "shard \"%s\" is not i/n with i from 0 to n - 1", text);
    }
    *out_index = (uint32_t)index;
    *out_count = (uint32_t)count;
    return RONDE_OK;
}

/* Points are dealt out in turn: neighbours cost alike, so every shard gets its share of the dear ones. */
static void deal(struct ronde_sweep *sweep, uint32_t shard, uint32_t shards)
{
    const struct ronde_options *options = sweep->options;
    size_t index = 0;
    for (uint32_t r = 0; r < options->rank_counts; r++)
        for (uint32_t a = 0; a < options->algorithm_count; a++)
            for (uint32_t s = 0; s < sweep->size_count; s++, index++) {
                struct ronde_sweep_point *point = &sweep->points[index];
                point->count = ronde_record_count(sweep->collective, options->ranks[r],
                                                  sweep->sizes[s], options->dtype);
                point->is_wanted =
                    index % shards == shard && (s == 0 || point[-1].count != point->count);
                sweep->wanted += point->is_wanted;
            }
}

enum ronde_status ronde_sweep_open(const struct ronde_options *options,
                                   const struct ronde_platform *platform,
                                   struct ronde_sweep *out_sweep, struct ronde_error *error)
{
    uint32_t shard = 0, shards = 1;
    *out_sweep = (struct ronde_sweep){.options = options,
                                      .topology = ronde_platform_path(platform),
                                      .machine = ronde_platform_facts(platform)->name};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "sweep: say which collective");
    enum ronde_status status =
        ronde_parse_collective(options->arguments[0], &out_sweep->collective, error);
    if (status == RONDE_OK)
        status = check_names(out_sweep, error);
    if (status == RONDE_OK)
        status = list_sizes(out_sweep, error);
    if (status == RONDE_OK)
        status = parse_shard(options->shard, &shard, &shards, error);
    if (status != RONDE_OK)
        return status;
    out_sweep->points = calloc(size_of(out_sweep), sizeof *out_sweep->points);
    if (!out_sweep->points)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu points", size_of(out_sweep));
    deal(out_sweep, shard, shards);
    return RONDE_OK;
}

void ronde_sweep_close(struct ronde_sweep *sweep)
{
    free(sweep->points);
    sweep->points = NULL;
}

bool ronde_sweep_is_open(const struct ronde_sweep *sweep, uint32_t rank_index,
                         uint32_t algorithm_index)
{
    for (uint32_t s = 0; s < sweep->size_count; s++) {
        const struct ronde_sweep_point *point =
            ronde_sweep_at(sweep, rank_index, algorithm_index, s);
        if (point->is_wanted && !point->is_done)
            return true;
    }
    return false;
}

/* What a line is matched by, in the order of `names`. */
enum key {
    KEY_COLLECTIVE,
    KEY_DTYPE,
    KEY_TOPOLOGY,
    KEY_ALGORITHM,
    KEY_RANKS,
    KEY_COUNT,
    KEY_TIME,
    KEY_BUSBW,
    KEYS
};

static const char *const names[KEYS] = {
    "collective", "dtype", "topology", "algorithm", "ranks", "count", "time_ns", "busbw_GBps",
};

static bool is_text(const struct ronde_field *field, const char *text)
{
    return field->kind == RONDE_FIELD_TEXT && strcmp(field->text, text) == 0;
}

/* A whole number of ns is printed like an integer. */
static bool number_of(const struct ronde_field *field, double *out)
{
    *out = field->kind == RONDE_FIELD_INTEGER ? (double)field->integer : field->real;
    return field->kind == RONDE_FIELD_INTEGER || field->kind == RONDE_FIELD_REAL;
}

static uint32_t find_ranks(const struct ronde_options *options, const struct ronde_field *field)
{
    for (uint32_t r = 0; field->kind == RONDE_FIELD_INTEGER && r < options->rank_counts; r++)
        if (field->integer == options->ranks[r])
            return r;
    return RONDE_NONE;
}

static uint32_t find_algorithm(const struct ronde_options *options, const struct ronde_field *field)
{
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        if (is_text(field, options->algorithms[a]))
            return a;
    return RONDE_NONE;
}

/* The point of a record; NULL when the grid has none. */
static struct ronde_sweep_point *find_point(const struct ronde_sweep *sweep,
                                            const struct ronde_field *fields)
{
    const uint32_t r = find_ranks(sweep->options, &fields[KEY_RANKS]);
    const uint32_t a = find_algorithm(sweep->options, &fields[KEY_ALGORITHM]);
    if (r == RONDE_NONE || a == RONDE_NONE || fields[KEY_COUNT].kind != RONDE_FIELD_INTEGER)
        return NULL;
    for (uint32_t s = 0; s < sweep->size_count; s++) {
        struct ronde_sweep_point *point = ronde_sweep_at(sweep, r, a, s);
        if (point->count == (uint64_t)fields[KEY_COUNT].integer)
            return point;
    }
    return NULL;
}

enum ronde_status ronde_sweep_take(struct ronde_sweep *sweep, const char *line,
                                   struct ronde_error *error)
{
    char texts[RONDE_PATH_BYTES + 256];
    struct ronde_field fields[KEYS];
    double time_ns = 0.0, busbw_GBps = 0.0;
    for (size_t i = 0; i < KEYS; i++)
        fields[i] = ronde_field_null(names[i]);
    const enum ronde_status status = ronde_json_read(line, fields, KEYS, texts, sizeof texts, error);
    if (status != RONDE_OK)
        return status;
    if (!number_of(&fields[KEY_TIME], &time_ns) || !number_of(&fields[KEY_BUSBW], &busbw_GBps))
        return ronde_fail(error, RONDE_BAD_INPUT, "a record without time_ns or busbw_GBps");
    struct ronde_sweep_point *point = find_point(sweep, fields);
    if (!point || !is_text(&fields[KEY_COLLECTIVE], ronde_collective_text(sweep->collective)) ||
        !is_text(&fields[KEY_DTYPE], ronde_dtype_text(sweep->options->dtype)) ||
        !is_text(&fields[KEY_TOPOLOGY], sweep->topology))
        return ronde_fail(error, RONDE_BAD_INPUT, "a record of another sweep");
    sweep->done += point->is_wanted && !point->is_done;
    point->time_ns = time_ns;
    point->busbw_GBps = busbw_GBps;
    point->is_done = true;
    return RONDE_OK;
}

uint32_t ronde_sweep_winner(const struct ronde_sweep *sweep, uint32_t rank_index,
                            uint32_t size_index, double *out_gain)
{
    double best = 0.0, second = 0.0;
    uint32_t winner = RONDE_NONE;
    for (uint32_t a = 0; a < sweep->options->algorithm_count; a++) {
        const struct ronde_sweep_point *point = ronde_sweep_at(sweep, rank_index, a, size_index);
        if (!point->is_done)
            continue;
        if (winner == RONDE_NONE || point->time_ns < best) {
            second = winner == RONDE_NONE ? 0.0 : best;
            best = point->time_ns;
            winner = a;
        } else if (second == 0.0 || point->time_ns < second) {
            second = point->time_ns;
        }
    }
    *out_gain = second > 0.0 && best > 0.0 ? second / best : 1.0;
    return winner;
}
