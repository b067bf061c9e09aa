/*
 * A comparison whose measurer is the test: what is loaded, checked and measured in which order, what becomes of the results,
 * and that whatever fails ends it with its own error, closed as often as it was opened.
 */
#include "support/suite.h"
#include "unit/platform_text.h"

#include "lab/validate/compare.h"
#include "ronde/sim.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"ring", "tree", "direct"};
static const uint32_t rank_counts[] = {2, 8};

enum { NAMES = 3, RANK_COUNTS = 2, SIZES = 3, POINTS = NAMES * RANK_COUNTS * SIZES };

/* Every point is replayed in a process of its own, so tests that need few have few. */
static uint32_t used_ranks = RANK_COUNTS, used_sizes = SIZES;

/* What was asked of the measurer, and where it fails. */
struct bench {
    uint32_t ranks; /* of the job that is open; 0 = none is */
    uint64_t most;
    uint32_t calls, fails_at;
    uint32_t opens, closes, checks, measures;
    uint32_t checked; /* schedules of the current size */
    uint64_t wrong;   /* elements that each check reports in place */
    bool is_out_of_order;
    uint32_t points, point_fails_at;
    double times_ns;
};

static enum ronde_status call(struct bench *bench, struct ronde_error *error)
{
    return bench->calls++ == bench->fails_at
               ? ronde_fail(error, RONDE_DEVICE, "call %u has failed", bench->fails_at)
               : RONDE_OK;
}

static enum ronde_status open_job(void *self, const struct ronde_measurer_job *job,
                                  struct ronde_error *error)
{
    struct bench *bench = self;
    bench->opens++;
    bench->is_out_of_order |=
        bench->ranks != 0 || job->count != NAMES || job->options.protocol != RONDE_PROTOCOL_STAGED;
    for (uint32_t k = 0; k < job->count; k++)
        bench->is_out_of_order |= strcmp(job->schedules[k]->algorithm, names[k]) != 0;
    bench->ranks = job->schedules[0]->ranks;
    bench->most = job->max_count;
    return call(bench, error);
}

static enum ronde_status check(void *self, uint32_t schedule, uint64_t count, uint64_t out_wrong[2],
                               struct ronde_error *error)
{
    struct bench *bench = self;
    bench->checks++;
    bench->is_out_of_order |= schedule != bench->checked++ || count > bench->most;
    out_wrong[0] = schedule == 1 ? 3 : 0;
    out_wrong[1] = bench->wrong;
    return call(bench, error);
}

/* Schedule k takes (k + 1) * ranks * count ns. */
static enum ronde_status measure(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error)
{
    struct bench *bench = self;
    bench->measures++;
    bench->is_out_of_order |= bench->ranks == 0 || window_ns <= 0.0;
    bench->checked = 0;
    for (uint32_t k = 0; k < NAMES; k++) {
        const double ns = (double)(k + 1) * bench->ranks * (double)count;
        out_stats[k] = (struct ronde_stats){
            .median = ns, .min = 0.5 * ns, .p95 = 2.0 * ns, .notch = 1.0, .count = 7};
    }
    return call(bench, error);
}

static void describe(const void *self, struct ronde_record *record)
{
    const struct bench *bench = self;
    record->engine = "bench";
    if (bench->ranks > 4)
        ronde_record_label(record, "oversubscribed");
}

static void close_job(void *self)
{
    struct bench *bench = self;
    bench->closes++;
    bench->ranks = 0;
    bench->checked = 0;
}

static enum ronde_status on_point(void *context, const struct ronde_validation *grid,
                                  const struct ronde_grid_point *point,
                                  const struct ronde_record *records, struct ronde_error *error)
{
    struct bench *bench = context;
    const uint32_t at = bench->points++;
    const struct ronde_record *measured = &records[RONDE_SOURCE_MEASURED];
    CU_ASSERT_PTR_EQUAL(point, &grid->points[at]);
    CU_ASSERT_STRING_EQUAL(measured->engine, "bench");
    CU_ASSERT_STRING_EQUAL(measured->algorithm, names[at % NAMES]);
    CU_ASSERT_EQUAL(measured->ranks, rank_counts[at / NAMES / used_sizes]);
    CU_ASSERT_EQUAL(measured->wrong, at % NAMES == 1 ? 3u : 0u);
    CU_ASSERT_EQUAL(measured->reps, 7);
    CU_ASSERT_EQUAL(measured->time_ns, point->time_ns[RONDE_SOURCE_MEASURED]);
    CU_ASSERT(records[RONDE_SOURCE_SIMGRID].time_ns > 0.0);
    CU_ASSERT(records[RONDE_SOURCE_CLOSED_FORM].time_ns > 0.0);
    return at == bench->point_fails_at ? ronde_fail(error, RONDE_IO, "the disk is full") : RONDE_OK;
}

static struct ronde_platform *platform;

/* A comparison of all names, ranks and sizes. */
static struct ronde_compare_options options_of(const struct ronde_measurer *measurer)
{
    struct ronde_compare_options options = {
        .request = {.collective = RONDE_ALL_REDUCE},
        .algorithms = names,
        .algorithm_count = NAMES,
        .ranks = rank_counts,
        .rank_counts = used_ranks,
        .sizes = {8, 64, 512},
        .size_count = used_sizes,
        .backend = "cpu",
        .measurer = measurer,
        .benchmark = {.dtype = RONDE_FLOAT32},
        .forecast = {.platform = platform, .load = {.dtype = RONDE_FLOAT32}},
    };
    return options;
}

static struct ronde_measurer measurer_of(struct bench *bench)
{
    return (struct ronde_measurer){.self = bench,
                                   .open = open_job,
                                   .check = check,
                                   .measure = measure,
                                   .describe = describe,
                                   .close = close_job};
}

static enum ronde_status run(struct bench *bench, struct ronde_comparison *comparison,
                             struct ronde_error *error)
{
    const struct ronde_measurer measurer = measurer_of(bench);
    const struct ronde_compare_options options = options_of(&measurer);
    const struct ronde_point_sink sink = {on_point, bench};
    memset(error, 0, sizeof *error);
    memset(comparison, 0, sizeof *comparison);
    enum ronde_status status = ronde_comparison_open(&options, comparison, error);
    if (status == RONDE_OK)
        status = ronde_comparison_run(comparison, &sink, error);
    CU_ASSERT_EQUAL(bench->opens, bench->closes - (status != RONDE_OK && bench->opens == 0));
    CU_ASSERT_FALSE(bench->is_out_of_order);
    return status;
}

/* False after a skip: points are replayed by SimGrid. What follows compares so many numbers of ranks and sizes. */
static bool can_run(uint32_t ranks, uint32_t sizes)
{
    const char *why;
    used_ranks = ranks;
    used_sizes = sizes;
    if (!platform && suite_can_read_platforms())
        platform = platform_text_open("topologies/crossbar-64.xml");
    if (platform && !ronde_sim_simgrid_available(&why)) {
        suite_skip("%s", why);
        return false;
    }
    return platform != NULL;
}

static void every_point_is_measured_once_in_order(void)
{
    struct bench bench = {.fails_at = UINT32_MAX, .point_fails_at = UINT32_MAX, .wrong = 2};
    struct ronde_comparison comparison;
    struct ronde_error error;
    if (!can_run(RANK_COUNTS, SIZES))
        return;
    CU_ASSERT_EQUAL(run(&bench, &comparison, &error), RONDE_OK);
    CU_ASSERT_EQUAL(bench.points, POINTS);
    CU_ASSERT_EQUAL(bench.opens, RANK_COUNTS);
    CU_ASSERT_EQUAL(bench.measures, RANK_COUNTS * SIZES);
    CU_ASSERT_EQUAL(bench.checks, POINTS);
    /* Three elements of every second algorithm out of place, two of each in place. */
    CU_ASSERT_EQUAL(comparison.wrong, 3 * POINTS / NAMES + 2 * POINTS);
    for (uint32_t k = 0; k < POINTS; k++) {
        const struct ronde_grid_point *point = &comparison.grid.points[k];
        const uint32_t ranks = rank_counts[k / NAMES / SIZES];
        const uint64_t bytes = UINT64_C(8) << (3 * (k / NAMES % SIZES));
        const double expected = (double)(k % NAMES + 1) * ranks * (double)(bytes / 4);
        CU_ASSERT_EQUAL(point->bytes, bytes);
        CU_ASSERT_EQUAL(point->measured.median, expected);
        CU_ASSERT_EQUAL(point->measured.p95, 2.0 * expected);
        CU_ASSERT_EQUAL(point->is_oversubscribed, ranks > 4);
        CU_ASSERT_EQUAL(point->time_ns[RONDE_SOURCE_PORTS], 0.0);
    }
    ronde_comparison_close(&comparison);
    ronde_comparison_close(&comparison);
}

/* Whichever call of the measurer fails: its error is the comparison's, nothing is called after it but close. */
static void a_failure_at_any_call_ends_it(void)
{
    struct bench whole = {.fails_at = UINT32_MAX, .point_fails_at = UINT32_MAX};
    struct ronde_comparison comparison;
    struct ronde_error error;
    if (!can_run(1, 1))
        return;
    CU_ASSERT_EQUAL(run(&whole, &comparison, &error), RONDE_OK);
    ronde_comparison_close(&comparison);
    CU_ASSERT_EQUAL(whole.calls, 2 + NAMES);
    for (uint32_t fails_at = 0; fails_at < whole.calls; fails_at++) {
        struct bench bench = {.fails_at = fails_at, .point_fails_at = UINT32_MAX};
        char text[64];
        snprintf(text, sizeof text, "call %u has failed", fails_at);
        CU_ASSERT_EQUAL(run(&bench, &comparison, &error), RONDE_DEVICE);
        CU_ASSERT_STRING_EQUAL(error.message, text);
        CU_ASSERT_EQUAL(bench.calls, fails_at + 1);
        ronde_comparison_close(&comparison);
    }
}

static void a_sink_that_fails_ends_it(void)
{
    static const uint32_t at[] = {0, 1, NAMES};
    for (size_t k = 0; k < sizeof at / sizeof at[0]; k++) {
        struct bench bench = {.fails_at = UINT32_MAX, .point_fails_at = at[k]};
        struct ronde_comparison comparison;
        struct ronde_error error;
        if (!can_run(1, 2))
            return;
        CU_ASSERT_EQUAL(run(&bench, &comparison, &error), RONDE_IO);
        CU_ASSERT_STRING_EQUAL(error.message, "the disk is full");
        CU_ASSERT_EQUAL(bench.points, at[k] + 1);
        ronde_comparison_close(&comparison);
    }
}

static void comparisons_of_nothing_are_refused(void)
{
    static const char *const unknown[] = {"ring", "spiral"};
    static const struct {
        uint32_t names, ranks, sizes;
    } rows[] = {{0, 1, 1},
                {1, 0, 1},
                {1, 1, 0},
                {RONDE_MEASURED_SCHEDULES + 1, 1, 1},
                {1, 1, RONDE_MAX_SIZES + 1}};
    struct bench bench = {.fails_at = UINT32_MAX, .point_fails_at = UINT32_MAX};
    const struct ronde_measurer measurer = measurer_of(&bench);
    struct ronde_comparison comparison;
    if (!can_run(1, 1))
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_compare_options options = options_of(&measurer);
        struct ronde_error error = {0};
        options.algorithm_count = rows[k].names;
        options.rank_counts = rows[k].ranks;
        options.size_count = rows[k].sizes;
        CU_ASSERT_EQUAL(ronde_comparison_open(&options, &comparison, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT_EQUAL(strncmp(error.message, "a comparison of ", 16), 0);
    }
    struct ronde_compare_options options = options_of(&measurer);
    struct ronde_error error = {0};
    options.algorithms = unknown;
    options.algorithm_count = 2;
    CU_ASSERT_EQUAL(ronde_comparison_open(&options, &comparison, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "spiral"));
    CU_ASSERT_EQUAL(bench.calls, 0);
}

/* More ranks than the platform has hosts: said before anything is loaded. */
static void more_ranks_than_hosts_are_refused_before_anything_is_loaded(void)
{
    static const uint32_t many[] = {65};
    struct bench bench = {.fails_at = UINT32_MAX, .point_fails_at = UINT32_MAX};
    const struct ronde_measurer measurer = measurer_of(&bench);
    const struct ronde_point_sink sink = {on_point, &bench};
    struct ronde_comparison comparison = {.wrong = 0};
    struct ronde_error error = {0};
    if (!can_run(1, 1))
        return;
    struct ronde_compare_options options = options_of(&measurer);
    options.ranks = many;
    options.rank_counts = 1;
    CU_ASSERT_EQUAL(ronde_comparison_open(&options, &comparison, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_comparison_run(&comparison, &sink, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "has 64 hosts, fewer than 65 ranks"));
    CU_ASSERT_EQUAL(bench.opens, 0);
    CU_ASSERT_EQUAL(bench.closes, 1);
    ronde_comparison_close(&comparison);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_point_is_measured_once_in_order", every_point_is_measured_once_in_order},
        {"a_failure_at_any_call_ends_it", a_failure_at_any_call_ends_it},
        {"a_sink_that_fails_ends_it", a_sink_that_fails_ends_it},
        {"comparisons_of_nothing_are_refused", comparisons_of_nothing_are_refused},
        {"more_ranks_than_hosts_are_refused_before_anything_is_loaded",
         more_ranks_than_hosts_are_refused_before_anything_is_loaded},
    };
    const int code = suite_run("compare", cases, sizeof cases / sizeof cases[0]);
    ronde_platform_destroy(platform);
    return code;
}
