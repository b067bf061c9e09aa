/* The grid of a sweep: which points there are, which are done, who is fastest. */
#include "ronde/sweep.h"

#include "ronde/field.h"
#include "ronde/mem.h"
#include "ronde/schedule_file.h"
#include "ronde/schedules.h"
#include "ronde/synthesize.h"

#include <string.h>

/* Room for the texts of a record: names, and the path of a platform. */
#define TEXT_BYTES 4352

bool ronde_sweep_chooses(const char *algorithm)
{
    return strcmp(algorithm, "auto") == 0 || ronde_is_synthesized(algorithm);
}

static size_t size_of(const struct ronde_sweep *sweep)
{
    return (size_t)sweep->options.rank_counts * sweep->options.algorithm_count *
           sweep->options.size_count;
}

struct ronde_sweep_point *ronde_sweep_at(const struct ronde_sweep *sweep, uint32_t rank_index,
                                         uint32_t algorithm_index, uint32_t size_index)
{
    const size_t unit = (size_t)rank_index * sweep->options.algorithm_count + algorithm_index;
    return &sweep->points[unit * sweep->options.size_count + size_index];
}

/* A grid of which the machine has a part is swept; one of which it has none is refused before anything is replayed. */
static enum ronde_status check_ranks(const struct ronde_sweep_options *options,
                                     const struct ronde_platform *platform,
                                     struct ronde_error *error)
{
    const uint32_t hosts = ronde_platform_facts(platform)->hosts;
    uint32_t fewest = options->ranks[0];
    for (uint32_t r = 1; r < options->rank_counts; r++)
        fewest = options->ranks[r] < fewest ? options->ranks[r] : fewest;
    return fewest <= hosts ? RONDE_OK
                           : ronde_fail(error, RONDE_BAD_INPUT, "%s: %u ranks, but it has %u hosts",
                                        ronde_platform_path(platform), fewest, hosts);
}

static enum ronde_status check(const struct ronde_sweep_options *options, struct ronde_error *error)
{
    if (options->rank_counts == 0 || options->algorithm_count == 0 || options->size_count == 0 ||
        options->size_count > RONDE_MAX_SIZES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a sweep of %u numbers of ranks, %u algorithms and %u sizes (at most %u)",
                          options->rank_counts, options->algorithm_count, options->size_count,
                          RONDE_MAX_SIZES);
    if (options->shards > 0 && options->shard >= options->shards)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "shard %u is not below %u", options->shard,
                          options->shards);
    for (uint32_t a = 0; a < options->algorithm_count; a++)
        if (!ronde_is_file(options->algorithms[a]) && !ronde_sweep_chooses(options->algorithms[a]) &&
            !ronde_parse_carried(options->collective, options->algorithms[a], error))
            return RONDE_BAD_ARGUMENT;
    return RONDE_OK;
}

/* Points are dealt out in turn: neighbours cost alike, so every shard gets its share of the dear ones. */
static void deal(struct ronde_sweep *sweep)
{
    const struct ronde_sweep_options *options = &sweep->options;
    const uint32_t shards = options->shards > 0 ? options->shards : 1;
    size_t index = 0;
    for (uint32_t r = 0; r < options->rank_counts; r++)
        for (uint32_t a = 0; a < options->algorithm_count; a++)
            for (uint32_t s = 0; s < options->size_count; s++, index++) {
                struct ronde_sweep_point *point = &sweep->points[index];
                point->count = ronde_record_count(options->collective, options->ranks[r],
                                                  options->sizes[s], options->dtype);
                point->is_wanted =
                    index % shards == options->shard && (s == 0 || point[-1].count != point->count);
                sweep->wanted += point->is_wanted;
            }
}

enum ronde_status ronde_sweep_open(const struct ronde_sweep_options *options,
                                   const struct ronde_platform *platform,
                                   struct ronde_sweep *out_sweep, struct ronde_error *error)
{
    *out_sweep = (struct ronde_sweep){.options = *options,
                                      .topology = ronde_platform_path(platform),
                                      .machine = ronde_platform_facts(platform)->name};
    RONDE_TRY(check(options, error));
    RONDE_TRY(check_ranks(options, platform, error));
    out_sweep->points =
        ronde_mem_new(ronde_mem_default(), size_of(out_sweep), sizeof *out_sweep->points);
    if (!out_sweep->points)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %zu points", size_of(out_sweep));
    deal(out_sweep);
    return RONDE_OK;
}

void ronde_sweep_close(struct ronde_sweep *sweep)
{
    ronde_mem_free(ronde_mem_default(), sweep->points, size_of(sweep), sizeof *sweep->points);
    sweep->points = NULL;
}

bool ronde_sweep_is_open(const struct ronde_sweep *sweep, uint32_t rank_index,
                         uint32_t algorithm_index)
{
    for (uint32_t s = 0; s < sweep->options.size_count; s++) {
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
    KEY_MACHINE,
    KEY_ALGORITHM,
    KEY_RANKS,
    KEY_COUNT,
    KEY_TIME,
    KEY_BUSBW,
    KEYS
};

static const char *const names[KEYS] = {
    "collective", "dtype", "topology", "machine",    "algorithm",
    "ranks",      "count", "time_ns",  "busbw_GBps",
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

static uint32_t find_ranks(const struct ronde_sweep_options *options,
                           const struct ronde_field *field)
{
    for (uint32_t r = 0; field->kind == RONDE_FIELD_INTEGER && r < options->rank_counts; r++)
        if (field->integer == options->ranks[r])
            return r;
    return RONDE_NONE;
}

static uint32_t find_algorithm(const struct ronde_sweep_options *options,
                               const struct ronde_field *field)
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
    const uint32_t r = find_ranks(&sweep->options, &fields[KEY_RANKS]);
    const uint32_t a = find_algorithm(&sweep->options, &fields[KEY_ALGORITHM]);
    if (r == RONDE_NONE || a == RONDE_NONE || fields[KEY_COUNT].kind != RONDE_FIELD_INTEGER)
        return NULL;
    for (uint32_t s = 0; s < sweep->options.size_count; s++) {
        struct ronde_sweep_point *point = ronde_sweep_at(sweep, r, a, s);
        if (point->count == (uint64_t)fields[KEY_COUNT].integer)
            return point;
    }
    return NULL;
}

enum ronde_status ronde_sweep_take(struct ronde_sweep *sweep, const char *line,
                                   struct ronde_error *error)
{
    char texts[TEXT_BYTES];
    struct ronde_field fields[KEYS];
    double time_ns = 0.0, busbw_GBps = 0.0;
    for (size_t i = 0; i < KEYS; i++)
        fields[i] = ronde_field_null(names[i]);
    RONDE_TRY(ronde_json_read(line, fields, KEYS, texts, sizeof texts, error));
    if (!number_of(&fields[KEY_TIME], &time_ns) || !number_of(&fields[KEY_BUSBW], &busbw_GBps) ||
        time_ns < 0.0 || busbw_GBps < 0.0)
        return ronde_fail(error, RONDE_BAD_INPUT,
                          "a record without time_ns or busbw_GBps, or with a negative one");
    struct ronde_sweep_point *point = find_point(sweep, fields);
    if (!point ||
        !is_text(&fields[KEY_COLLECTIVE], ronde_collective_text(sweep->options.collective)) ||
        !is_text(&fields[KEY_DTYPE], ronde_dtype_text(sweep->options.dtype)) ||
        !is_text(&fields[KEY_TOPOLOGY], sweep->topology) ||
        !is_text(&fields[KEY_MACHINE], sweep->machine))
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
    for (uint32_t a = 0; a < sweep->options.algorithm_count; a++) {
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
