/*
 * The grid of a sweep: how points are dealt to shards, which line belongs to which point, and who wins. The points of all
 * shards together are every point once, whatever the grid and the number of shards.
 */
#include "support/buffers.h"
#include "support/suite.h"
#include "unit/platform_text.h"

#include "ronde/field.h"
#include "ronde/record.h"
#include "ronde/sweep.h"

#include <stdio.h>
#include <string.h>

static const char *const all_reduces[] = {"ring", "tree", "double_tree", "direct"};
static const uint32_t rank_counts[] = {2, 3, 8, 64};

/* A grid of all_reduces of float32. */
static struct ronde_sweep_options options_of(uint32_t ranks, uint32_t algorithms, uint32_t sizes)
{
    struct ronde_sweep_options options = {.collective = RONDE_ALL_REDUCE,
                                          .dtype = RONDE_FLOAT32,
                                          .ranks = rank_counts,
                                          .rank_counts = ranks,
                                          .algorithms = all_reduces,
                                          .algorithm_count = algorithms,
                                          .size_count = sizes};
    for (uint32_t s = 0; s < sizes && s < RONDE_MAX_SIZES; s++)
        options.sizes[s] = UINT64_C(4) << s;
    return options;
}

static struct ronde_platform *platform;

/* False after a skip; the platform stays open for all tests. */
static bool has_platform(void)
{
    if (platform || !suite_can_read_platforms())
        return platform != NULL;
    platform = platform_text_open("topologies/crossbar-64.xml");
    return platform != NULL;
}

static bool open_sweep(const struct ronde_sweep_options *options, struct ronde_sweep *out)
{
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_sweep_open(options, platform, out, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s", error.message);
    return status == RONDE_OK;
}

static size_t points_of(const struct ronde_sweep_options *options)
{
    return (size_t)options->rank_counts * options->algorithm_count * options->size_count;
}

/* Shards that no point is missing from and none is in twice, and whose sizes differ by one at most. */
static void deal(struct ronde_sweep_options options, uint32_t shards)
{
    static unsigned char seen[4096];
    const size_t count = points_of(&options);
    size_t total = 0, least = SIZE_MAX, most = 0;
    memset(seen, 0, sizeof seen);
    options.shards = shards;
    for (options.shard = 0; options.shard < shards; options.shard++) {
        struct ronde_sweep sweep;
        size_t wanted = 0;
        if (!open_sweep(&options, &sweep))
            return;
        for (size_t k = 0; k < count; k++) {
            wanted += sweep.points[k].is_wanted;
            seen[k] = (unsigned char)(seen[k] + sweep.points[k].is_wanted);
        }
        CU_ASSERT_EQUAL(wanted, sweep.wanted);
        total += wanted;
        least = wanted < least ? wanted : least;
        most = wanted > most ? wanted : most;
        ronde_sweep_close(&sweep);
    }
    CU_ASSERT_EQUAL(total, count);
    CU_ASSERT(most - least <= 1);
    for (size_t k = 0; k < count; k++)
        CU_ASSERT_EQUAL(seen[k], 1);
}

static void shards_are_every_point_once(void)
{
    if (!has_platform())
        return;
    for (uint32_t shards = 1; shards <= 9; shards += 2) {
        deal(options_of(1, 1, 1), shards);
        deal(options_of(3, 2, 7), shards);
        deal(options_of(4, 4, 20), shards);
    }
}

/* Sizes below an element round to the same count: one of them is replayed. */
static void sizes_of_one_count_are_wanted_once(void)
{
    struct ronde_sweep sweep;
    struct ronde_sweep_options options = options_of(2, 1, 4);
    static const uint64_t sizes[] = {1, 2, 4, 8};
    if (!has_platform())
        return;
    memcpy(options.sizes, sizes, sizeof sizes);
    if (!open_sweep(&options, &sweep))
        return;
    CU_ASSERT_EQUAL(sweep.wanted, 4);
    for (uint32_t r = 0; r < 2; r++) {
        CU_ASSERT(ronde_sweep_at(&sweep, r, 0, 0)->is_wanted);
        CU_ASSERT_FALSE(ronde_sweep_at(&sweep, r, 0, 1)->is_wanted);
        CU_ASSERT_FALSE(ronde_sweep_at(&sweep, r, 0, 2)->is_wanted);
        CU_ASSERT(ronde_sweep_at(&sweep, r, 0, 3)->is_wanted);
    }
    ronde_sweep_close(&sweep);
}

static void a_grid_without_points_is_refused(void)
{
    static const struct {
        uint32_t ranks, algorithms, sizes, shard, shards;
        const char *text;
    } rows[] = {
        {0, 1, 1, 0, 0, "a sweep of 0 numbers of ranks, 1 algorithms and 1 sizes"},
        {1, 0, 1, 0, 0, "0 algorithms"},
        {1, 1, 0, 0, 0, "0 sizes"},
        {1, 1, RONDE_MAX_SIZES + 1, 0, 0, "sizes (at most"},
        {1, 1, 1, 1, 1, "shard 1 is not below 1"},
        {1, 1, 1, 7, 3, "shard 7 is not below 3"},
    };
    if (!has_platform())
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_sweep sweep;
        struct ronde_error error = {0};
        struct ronde_sweep_options options =
            options_of(rows[k].ranks, rows[k].algorithms, rows[k].sizes);
        options.shard = rows[k].shard;
        options.shards = rows[k].shards;
        CU_ASSERT_EQUAL(ronde_sweep_open(&options, platform, &sweep, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].text));
        ronde_sweep_close(&sweep);
    }
}

static void an_algorithm_of_another_collective_is_refused(void)
{
    static const char *const names[] = {"ring", "dissemination"};
    struct ronde_sweep_options options = options_of(1, 2, 1);
    struct ronde_sweep sweep;
    struct ronde_error error = {0};
    if (!has_platform())
        return;
    options.algorithms = names;
    CU_ASSERT_EQUAL(ronde_sweep_open(&options, platform, &sweep, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "dissemination"));
    ronde_sweep_close(&sweep);
}

/* The line of a point, with a field replaced where `key` names one. */
static void write_line(const struct ronde_sweep *sweep, uint32_t r, uint32_t a, uint32_t s,
                       double time_ns, const char *key, const char *value, char line[1024])
{
    char fields[9][256];
    static const char *const keys[] = {"collective", "dtype",   "topology",   "algorithm", "ranks",
                                       "count",      "time_ns", "busbw_GBps", "machine"};
    size_t used = 1;
    snprintf(fields[0], sizeof fields[0], "\"all_reduce\"");
    snprintf(fields[1], sizeof fields[1], "\"float32\"");
    snprintf(fields[2], sizeof fields[2], "\"%s\"", sweep->topology);
    snprintf(fields[3], sizeof fields[3], "\"%s\"", all_reduces[a]);
    snprintf(fields[4], sizeof fields[4], "%u", rank_counts[r]);
    snprintf(fields[5], sizeof fields[5], "%llu",
             (unsigned long long)ronde_sweep_at(sweep, r, a, s)->count);
    snprintf(fields[6], sizeof fields[6], "%.17g", time_ns);
    snprintf(fields[7], sizeof fields[7], "%.17g", 2.0 * time_ns);
    snprintf(fields[8], sizeof fields[8], "\"%s\"", sweep->machine);
    snprintf(line, 1024, "{");
    for (size_t k = 0; k < 9; k++)
        used += (size_t)snprintf(line + used, 1024 - used, "%s\"%s\": %s", k ? ", " : "", keys[k],
                                 key && strcmp(key, keys[k]) == 0 ? value : fields[k]);
    snprintf(line + used, 1024 - used, "}");
}

static enum ronde_status take(struct ronde_sweep *sweep, const char *line, struct ronde_error *error)
{
    memset(error, 0, sizeof *error);
    return ronde_sweep_take(sweep, line, error);
}

static bool can_take(void)
{
    const char *why;
    if (!has_platform())
        return false;
    if (!ronde_json_available(&why)) {
        suite_skip("%s", why);
        return false;
    }
    return true;
}

static void every_line_finds_its_point(void)
{
    struct ronde_sweep sweep;
    struct ronde_error error;
    char line[1024];
    if (!can_take())
        return;
    const struct ronde_sweep_options options = options_of(3, 4, 6);
    if (!open_sweep(&options, &sweep))
        return;
    for (size_t k = 0; k < points_of(&options); k++) {
        const size_t at = 35 * k % points_of(&options);
        const uint32_t s = (uint32_t)(at % 6), a = (uint32_t)(at / 6 % 4), r = (uint32_t)(at / 24);
        struct ronde_sweep_point *point = ronde_sweep_at(&sweep, r, a, s);
        CU_ASSERT_FALSE(point->is_done);
        CU_ASSERT_EQUAL(sweep.done, k);
        CU_ASSERT(ronde_sweep_is_open(&sweep, r, a));
        write_line(&sweep, r, a, s, 10.0 + (double)at, NULL, NULL, line);
        CU_ASSERT_EQUAL(take(&sweep, line, &error), RONDE_OK);
        CU_ASSERT(point->is_done && point->time_ns == 10.0 + (double)at);
        CU_ASSERT(point->busbw_GBps == 2.0 * point->time_ns);
    }
    CU_ASSERT_EQUAL(sweep.done, sweep.wanted);
    for (uint32_t r = 0; r < 3; r++)
        for (uint32_t a = 0; a < 4; a++)
            CU_ASSERT_FALSE(ronde_sweep_is_open(&sweep, r, a));
    /* A line that comes again replaces its time and is not counted. */
    write_line(&sweep, 1, 1, 1, 3.5, NULL, NULL, line);
    CU_ASSERT_EQUAL(take(&sweep, line, &error), RONDE_OK);
    CU_ASSERT_EQUAL(sweep.done, sweep.wanted);
    CU_ASSERT(ronde_sweep_at(&sweep, 1, 1, 1)->time_ns == 3.5);
    ronde_sweep_close(&sweep);
}

static void a_line_of_another_sweep_changes_nothing(void)
{
    static const struct {
        const char *key, *value, *text;
    } rows[] = {
        {"collective", "\"broadcast\"", "a record of another sweep"},
        {"collective", "null", "a record of another sweep"},
        {"dtype", "\"float64\"", "a record of another sweep"},
        {"topology", "\"/elsewhere.xml\"", "a record of another sweep"},
        {"machine", "\"crossbar-64-without-x\"", "a record of another sweep"},
        {"algorithm", "\"rabenseifner\"", "a record of another sweep"},
        {"algorithm", "3", "a record of another sweep"},
        {"ranks", "5", "a record of another sweep"},
        {"ranks", "-2", "a record of another sweep"},
        {"ranks", "2.0", "a record of another sweep"},
        {"ranks", "4294967298", "a record of another sweep"},
        {"count", "3", "a record of another sweep"},
        {"count", "-1", "a record of another sweep"},
        {"count", "\"1\"", "a record of another sweep"},
        {"time_ns", "null", "without time_ns or busbw_GBps"},
        {"time_ns", "\"5\"", "without time_ns or busbw_GBps"},
        {"time_ns", "-5", "with a negative one"},
        {"busbw_GBps", "true", "without time_ns or busbw_GBps"},
        {"busbw_GBps", "-0.5", "with a negative one"},
    };
    struct ronde_sweep sweep;
    struct ronde_error error;
    char line[1024];
    if (!can_take())
        return;
    const struct ronde_sweep_options options = options_of(2, 2, 2);
    if (!open_sweep(&options, &sweep))
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        write_line(&sweep, 0, 0, 0, 5.0, rows[k].key, rows[k].value, line);
        const enum ronde_status status = take(&sweep, line, &error);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].text));
        if (status == RONDE_OK || !strstr(error.message, rows[k].text))
            suite_note("%s: %s: %s", rows[k].key, rows[k].value, error.message);
    }
    CU_ASSERT_EQUAL(sweep.done, 0);
    for (size_t k = 0; k < points_of(&options); k++)
        CU_ASSERT_FALSE(sweep.points[k].is_done);
    ronde_sweep_close(&sweep);
}

static void a_line_of_another_shard_is_kept_and_not_counted(void)
{
    struct ronde_sweep sweep;
    struct ronde_error error;
    struct ronde_sweep_options options = options_of(1, 1, 4);
    char line[1024];
    options.shards = 2;
    options.shard = 1;
    if (!can_take() || !open_sweep(&options, &sweep))
        return;
    write_line(&sweep, 0, 0, 0, 5.0, NULL, NULL, line);
    CU_ASSERT_EQUAL(take(&sweep, line, &error), RONDE_OK);
    CU_ASSERT_EQUAL(sweep.done, 0);
    CU_ASSERT(ronde_sweep_at(&sweep, 0, 0, 0)->is_done);
    write_line(&sweep, 0, 0, 1, 5.0, NULL, NULL, line);
    CU_ASSERT_EQUAL(take(&sweep, line, &error), RONDE_OK);
    CU_ASSERT_EQUAL(sweep.done, 1);
    ronde_sweep_close(&sweep);
}

/* Against a sort of the times. */
static void the_winner_is_the_least_of_those_that_are_done(void)
{
    uint64_t state = 3;
    struct ronde_sweep sweep;
    if (!has_platform())
        return;
    const struct ronde_sweep_options options = options_of(1, 4, 1);
    if (!open_sweep(&options, &sweep))
        return;
    for (uint32_t round = 0; round < 500; round++) {
        double least = 1e30, second = 1e30, gain = 0.0;
        uint32_t expected = RONDE_NONE, done = 0;
        for (uint32_t a = 0; a < 4; a++) {
            struct ronde_sweep_point *point = ronde_sweep_at(&sweep, 0, a, 0);
            point->is_done = buffers_draw(&state) % 3 != 0;
            point->time_ns = (double)(1 + buffers_draw(&state) % 6);
            if (!point->is_done)
                continue;
            done++;
            if (point->time_ns < least) {
                second = least;
                least = point->time_ns;
                expected = a;
            } else if (point->time_ns < second) {
                second = point->time_ns;
            }
        }
        CU_ASSERT_EQUAL(ronde_sweep_winner(&sweep, 0, 0, &gain), expected);
        CU_ASSERT_DOUBLE_EQUAL(gain, done > 1 ? second / least : 1.0, 1e-12);
    }
    ronde_sweep_close(&sweep);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"shards_are_every_point_once", shards_are_every_point_once},
        {"sizes_of_one_count_are_wanted_once", sizes_of_one_count_are_wanted_once},
        {"a_grid_without_points_is_refused", a_grid_without_points_is_refused},
        {"an_algorithm_of_another_collective_is_refused",
         an_algorithm_of_another_collective_is_refused},
        {"every_line_finds_its_point", every_line_finds_its_point},
        {"a_line_of_another_sweep_changes_nothing", a_line_of_another_sweep_changes_nothing},
        {"a_line_of_another_shard_is_kept_and_not_counted",
         a_line_of_another_shard_is_kept_and_not_counted},
        {"the_winner_is_the_least_of_those_that_are_done",
         the_winner_is_the_least_of_those_that_are_done},
    };
    const int code = suite_run("sweep_grid", cases, sizeof cases / sizeof cases[0]);
    ronde_platform_destroy(platform);
    return code;
}
