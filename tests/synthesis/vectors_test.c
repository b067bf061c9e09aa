/**
 * The machines of ../shared/vectors/synthesis, whose optimum was found in three other ways: bounds, what schedules load,
 * and how long they take. docs/guide/synthesis.md has the table.
 */
#include "support/files.h"
#include "support/suite.h"
#include "synthesis/loads.h"

#include "ronde/pieces.h"
#include "ronde/predict.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB 1073741824.0
#define MOST_COLUMNS 16u
#define MOST_SHARED_STEPS 600000u

/* Collectives, and their columns in expected.tsv. */
static const struct {
    enum ronde_collective collective;
    const char *column;
} cases_of[] = {{RONDE_ALL_GATHER, "all_gather"},
                {RONDE_REDUCE_SCATTER, "reduce_scatter"},
                {RONDE_ALL_REDUCE, "all_reduce"}};

/* A row of expected.tsv, cut at its tabs. */
struct row {
    char *cells[MOST_COLUMNS];
    uint32_t count;
};

static struct row cut(char *line)
{
    struct row row = {.count = 0};
    for (char *at = line; at && row.count < MOST_COLUMNS;) {
        row.cells[row.count++] = at;
        at = strchr(at, '\t');
        if (at)
            *at++ = '\0';
    }
    return row;
}

static double expected_GBps(const struct row *head, const struct row *row, const char *column)
{
    for (uint32_t c = 0; c < head->count; c++)
        if (strcmp(head->cells[c], column) == 0)
            return strtod(row->cells[c], NULL);
    return 0;
}

static struct ronde_platform *open_vector(const char *name)
{
    char relative[128], path[1024];
    struct ronde_platform *platform = NULL;
    snprintf(relative, sizeof relative, "vectors/synthesis/%s", name);
    if (!suite_shared(path, sizeof path, relative))
        return NULL;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL), RONDE_OK);
    return platform;
}

/*
 * GB/s of 1 GiB replayed, in pieces as `ronde sim` cuts them. Links are shared exactly up to so many steps; beyond, a coarse
 * model shows less than there is. Which of the two must not depend on how busy the machine is.
 */
static double replayed_GBps(const struct ronde_platform *platform,
                            const struct ronde_schedule *schedule, bool *out_is_coarse)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32};
    const struct ronde_compile_request request = {.collective = schedule->collective,
                                                  .ranks = schedule->ranks};
    struct ronde_prediction prediction = {.time_ns = INFINITY};
    struct ronde_error error = {0};
    struct ronde_forecast forecast = ronde_forecast_of(platform, schedule, &request, &options);
    forecast.load.count =
        ronde_collective_count(schedule->collective, schedule->ranks, (uint64_t)GIB, RONDE_FLOAT32);
    forecast.load.slot_bytes = ronde_pipeline_slot(schedule, forecast.load.count * 4);
    *out_is_coarse = ronde_forecast_steps(&forecast) > MOST_SHARED_STEPS;
    CU_ASSERT_EQUAL(ronde_forecast_replay(&forecast, *out_is_coarse ? "flat_fifo" : "maxmin",
                                          &prediction, &error),
                    RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    return GIB / prediction.time_ns;
}

/* One machine, one collective. */
static void check(const char *name, const struct ronde_platform *platform,
                  enum ronde_collective collective, double optimum_GBps, double joint_GBps)
{
    const uint32_t ranks = ronde_platform_facts(platform)->hosts;
    const struct ronde_synthesis_request request = {.collective = collective, .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    struct ronde_synthesis made;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_synthesize(platform, &request, ronde_mem_default(), &schedule, &made,
                                     &error),
                    RONDE_OK);
    if (!schedule) {
        suite_note("%s: %s", name, error.message);
        return;
    }
    const double load = loads_GBps(schedule, platform) / optimum_GBps;
    bool is_coarse = false;
    const double replayed = replayed_GBps(platform, schedule, &is_coarse) / optimum_GBps;
    suite_note("%-22s %-14s %8.3f GB/s, %2u trees, load %6.2f %%, replayed %6.2f %%, height %2u, "
               "%3u connections%s",
               name, ronde_collective_text(collective), made.bound.GBps, made.trees, 100 * load,
               100 * replayed, made.height, made.connections, is_coarse ? " (coarse)" : "");
    if (made.is_joint)
        suite_note("%-22s up and down at once: %.3f GB/s replayed, %.2f %% of the best trees", name,
                   replayed * optimum_GBps, 100 * replayed * optimum_GBps / joint_GBps);
    CU_ASSERT(fabs(made.bound.GBps / optimum_GBps - 1) < 1e-6);
    CU_ASSERT(load >= 0.99);
    CU_ASSERT(replayed >= (is_coarse ? 0.85 : 0.95));
    ronde_schedule_destroy(schedule);
}

/* Every row, of samples every fourth, or those whose name contains RONDE_TEST_VECTOR. */
static void schedules_reach_the_optimum(void)
{
    char path[1024], *text, *line, *rest = NULL;
    const char *only = getenv("RONDE_TEST_VECTOR");
    const unsigned stride = suite_is_sample() ? 4 : 1;
    if (!suite_shared(path, sizeof path, "vectors/synthesis/expected.tsv"))
        return;
    text = files_read(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    const struct row head = cut(strtok_r(text, "\n", &rest));
    for (unsigned r = 0; (line = strtok_r(NULL, "\n", &rest)); r++) {
        const struct row row = cut(line);
        if (only ? !strstr(row.cells[0], only) : r % stride != 0)
            continue;
        struct ronde_platform *platform = open_vector(row.cells[0]);
        for (size_t c = 0; platform && c < sizeof cases_of / sizeof *cases_of; c++)
            check(row.cells[0], platform, cases_of[c].collective,
                  expected_GBps(&head, &row, cases_of[c].column),
                  expected_GBps(&head, &row, "all_reduce_trees"));
        ronde_platform_destroy(platform);
    }
    free(text);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"schedules_reach_the_optimum", schedules_reach_the_optimum}};
    return suite_run_with_components("vectors", cases, sizeof cases / sizeof *cases);
}
