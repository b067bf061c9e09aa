/*
 * Forecasts: a schedule and a load on a platform, replayed, by closed form and by the longest path; what a kept replay
 * holds, and what each label stands for.
 */
#include "support/suite.h"
#include "unit/platform_text.h"

#include "ronde/dag.h"
#include "ronde/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A platform, what runs on it, and the forecast. */
struct fixture {
    struct ronde_platform *platform;
    struct ronde_schedule *schedule;
    struct ronde_forecast forecast;
};

static bool begin(struct fixture *fixture, const char *file,
                  const struct ronde_algorithm *algorithm, uint32_t ranks)
{
    struct ronde_error error = {0};
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .op = RONDE_SUM};
    char path[64];
    memset(fixture, 0, sizeof *fixture);
    if (ronde_compile(&request, ronde_mem_default(), NULL, &fixture->schedule, &error) != RONDE_OK)
        return false;
    snprintf(path, sizeof path, "topologies/%s.xml", file);
    fixture->platform = platform_text_open(path);
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture->platform);
    fixture->forecast = ronde_forecast_of(fixture->platform, fixture->schedule, &request, &options);
    fixture->forecast.load.count = 10000;
    return true;
}

static void end(struct fixture *fixture)
{
    ronde_schedule_destroy(fixture->schedule);
    ronde_platform_destroy(fixture->platform);
}

static const struct ronde_algorithm *find(enum ronde_collective collective, const char *name)
{
    struct ronde_error error = {0};
    const struct ronde_algorithm *found = ronde_algorithm_find(collective, name, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(found);
    return found;
}

static void for_algorithms(void (*judge)(struct fixture *fixture), const char *file)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t ranks = 3; ranks <= 8; ranks += 5) {
            struct fixture fixture;
            if (begin(&fixture, file, algorithms[a], ranks)) {
                judge(&fixture);
                end(&fixture);
            }
        }
}

/* The number that decides whether a graph can be kept is the number of its operations. */
static void count_steps(struct fixture *fixture)
{
    struct ronde_forecast *forecast = &fixture->forecast;
    static const uint64_t slots[] = {0, 64, 4096};
    for (size_t k = 0; k < sizeof slots / sizeof slots[0]; k++) {
        struct ronde_dag *dag = NULL;
        struct ronde_error error = {0};
        forecast->load.slot_bytes = slots[k];
        forecast->load.count = 300;
        CU_ASSERT_EQUAL(ronde_forecast_graph(forecast, &dag, &error), RONDE_OK);
        if (dag)
            CU_ASSERT_EQUAL(ronde_forecast_steps(forecast), dag->op_count);
        ronde_dag_destroy(dag, ronde_mem_default());
    }
}

static void steps_are_those_of_the_graph(void)
{
    if (suite_can_read_platforms())
        for_algorithms(count_steps, "crossbar-64");
}

/* On a network without shared links the replay, the graph's longest path and kept times are one number. */
static void compare_times(struct fixture *fixture)
{
    struct ronde_forecast *forecast = &fixture->forecast;
    struct ronde_prediction replayed, dag, closed;
    struct ronde_kept kept = {.dag = NULL};
    struct ronde_error error = {0};
    double last_ns = 0.0;
    CU_ASSERT_EQUAL(ronde_forecast_replay(forecast, "flat", &replayed, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_forecast_dag(forecast, &dag, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_forecast_closed_form(forecast, &closed, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_forecast_keep(forecast, "flat", &kept, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s: %s", fixture->schedule->algorithm, error.message);
    CU_ASSERT(replayed.is_replayed && !dag.is_replayed && !closed.is_replayed);
    CU_ASSERT_STRING_EQUAL(closed.engine, "closed_form");
    CU_ASSERT_STRING_EQUAL(dag.engine, "dag");
    CU_ASSERT(closed.time_ns > 0.0 && dag.time_ns > 0.0);
    CU_ASSERT_DOUBLE_EQUAL(kept.result.time_ns, replayed.time_ns, 1e-9 * replayed.time_ns);
    bool has_path = false;
    for (uint32_t op = 0; kept.dag && op < kept.dag->op_count; op++) {
        CU_ASSERT(kept.sim.out_start_ns[op] >= 0.0);
        CU_ASSERT(kept.sim.out_finish_ns[op] >= kept.sim.out_start_ns[op]);
        last_ns = fmax(last_ns, kept.sim.out_finish_ns[op]);
        has_path = has_path || kept.on_path[op];
    }
    CU_ASSERT(has_path);
    CU_ASSERT(last_ns <= kept.result.time_ns * (1.0 + 1e-9));
    CU_ASSERT(last_ns > 0.5 * kept.result.time_ns);
    ronde_kept_release(&kept);
    CU_ASSERT_PTR_NULL(kept.dag);
    ronde_kept_release(&kept);
}

static void kept_replays_are_the_replay(void)
{
    if (suite_can_read_platforms())
        for_algorithms(compare_times, "crossbar-64");
}

static void more_ranks_than_hosts_are_refused(void)
{
    struct fixture fixture;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    if (begin(&fixture, "ethernet-16", find(RONDE_ALL_REDUCE, "ring"), 16)) {
        CU_ASSERT_EQUAL(ronde_forecast_check(&fixture.forecast, &error), RONDE_OK);
        end(&fixture);
    }
    if (begin(&fixture, "ethernet-16", find(RONDE_ALL_REDUCE, "ring"), 17)) {
        CU_ASSERT_EQUAL(ronde_forecast_check(&fixture.forecast, &error), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(
            strstr(error.message, "ethernet-16.xml has 16 hosts, fewer than 17"));
        end(&fixture);
    }
}

static void more_steps_than_can_be_kept_are_refused_before_they_are_made(void)
{
    struct fixture fixture;
    struct ronde_kept kept = {.dag = NULL};
    struct ronde_error error = {0};
    if (!suite_can_read_platforms() ||
        !begin(&fixture, "crossbar-64", find(RONDE_ALL_REDUCE, "ring"), 64))
        return;
    fixture.forecast.load.slot_bytes = 16;
    fixture.forecast.load.count = 1u << 24;
    CU_ASSERT(ronde_forecast_steps(&fixture.forecast) > RONDE_KEPT_STEPS);
    CU_ASSERT_EQUAL(ronde_forecast_keep(&fixture.forecast, "flat", &kept, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "steps are too many to keep the times of"));
    CU_ASSERT_PTR_NULL(kept.dag);
    ronde_kept_release(&kept);
    end(&fixture);
}

static void an_engine_that_does_not_exist_is_refused(void)
{
    struct fixture fixture;
    struct ronde_prediction prediction;
    struct ronde_kept kept = {.dag = NULL};
    struct ronde_error error = {0};
    if (!suite_can_read_platforms() ||
        !begin(&fixture, "crossbar-64", find(RONDE_BROADCAST, "chain"), 4))
        return;
    CU_ASSERT_EQUAL(ronde_forecast_replay(&fixture.forecast, "steam", &prediction, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "steam"));
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_forecast_keep(&fixture.forecast, "steam", &kept, &error),
                    RONDE_BAD_ARGUMENT);
    ronde_kept_release(&kept);
    end(&fixture);
}

/* What a rank has in its hands, by the definition of the collective: blocks in and blocks out. */
static void a_footprint_is_input_and_output(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint64_t blocks; /* of 8 ranks */
    } rows[] = {
        {RONDE_ALL_REDUCE, "ring", 2},     {RONDE_ALL_GATHER, "ring", 9},
        {RONDE_REDUCE_SCATTER, "ring", 9}, {RONDE_ALL_TO_ALL, "direct", 16},
        {RONDE_BROADCAST, "binomial", 2},  {RONDE_SCATTER, "direct", 9},
        {RONDE_GATHER, "direct", 9},       {RONDE_REDUCE, "binomial", 2},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture, "crossbar-64", find(rows[k].collective, rows[k].algorithm), 8))
            continue;
        fixture.forecast.load.count = 1000;
        CU_ASSERT_EQUAL(ronde_forecast_footprint(&fixture.forecast), rows[k].blocks * 4000);
        fixture.forecast.load.count = 0;
        CU_ASSERT_EQUAL(ronde_forecast_footprint(&fixture.forecast), 0);
        end(&fixture);
    }
}

/* A result of an engine, and the labels it must and must not bring. */
static void labels_follow_from_the_result(void)
{
    static const char *const tcp[] = {"network/TCP-gamma:1", "network/model:LV08", NULL};
    static const char *const plain[] = {"network/model:CM02", NULL};
    struct fixture fixture;
    if (!suite_can_read_platforms() ||
        !begin(&fixture, "crossbar-64", find(RONDE_ALL_REDUCE, "ring"), 8))
        return;
    const struct {
        struct ronde_sim_result result;
        const char *const *cfg;
        const char *label; /* NULL: none */
    } rows[] = {
        {{.time_ns = 1, .engine = "simgrid", .is_contention_free = true}, NULL, NULL},
        {{.time_ns = 1, .engine = "simgrid", .is_contention_free = true}, plain, NULL},
        {{.time_ns = 1, .engine = "simgrid", .is_contention_free = true}, tcp, "tcp_model"},
        {{.time_ns = 1, .engine = "flat", .is_contention_free = true}, NULL, NULL},
        {{.time_ns = 1, .engine = "flat"}, NULL, "contention_ignored"},
        {{.time_ns = 1, .engine = "flat_fifo"}, NULL, "approximate"},
        {{.time_ns = 1, .engine = "flat", .is_contention_free = true, .is_symmetric = true},
         NULL,
         "symmetric"},
        {{.time_ns = 1, .engine = "flat", .is_contention_free = true, .window = 3},
         NULL,
         "extrapolated"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        fixture.forecast.sim.cfg = rows[k].cfg;
        const struct ronde_prediction prediction =
            ronde_forecast_replayed(&fixture.forecast, &rows[k].result);
        CU_ASSERT_EQUAL(prediction.label_count, rows[k].label ? 1u : 0u);
        CU_ASSERT(!rows[k].label || ronde_prediction_has(&prediction, rows[k].label));
        CU_ASSERT_FALSE(ronde_prediction_has(&prediction, "oversubscribed"));
        CU_ASSERT(prediction.time_ns == 1.0 && prediction.is_replayed);
        if (prediction.label_count != (rows[k].label ? 1u : 0u))
            suite_note("row %zu has %u labels", k, prediction.label_count);
    }
    end(&fixture);
}

/* Where pairs see different networks, one network stands for all of them, and the formulas say which. */
static void formulas_say_what_stands_for_unequal_pairs(void)
{
    struct fixture fixture;
    struct ronde_prediction closed, dag;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    if (begin(&fixture, "dragonfly-72", find(RONDE_ALL_REDUCE, "ring"), 16)) {
        CU_ASSERT_EQUAL(ronde_forecast_closed_form(&fixture.forecast, &closed, &error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_forecast_dag(&fixture.forecast, &dag, &error), RONDE_OK);
        CU_ASSERT(ronde_prediction_has(&closed, "worst_pair"));
        CU_ASSERT(ronde_prediction_has(&dag, "worst_pair"));
        end(&fixture);
    }
    if (begin(&fixture, "crossbar-64", find(RONDE_ALL_REDUCE, "ring"), 16)) {
        CU_ASSERT_EQUAL(ronde_forecast_closed_form(&fixture.forecast, &closed, &error), RONDE_OK);
        CU_ASSERT_FALSE(ronde_prediction_has(&closed, "worst_pair"));
        CU_ASSERT_FALSE(ronde_prediction_has(&closed, "fair_share"));
        end(&fixture);
    }
}

/* More bytes never take less time, on any platform, by any way of predicting. */
static void time_grows_with_bytes(void)
{
    static const char *const files[] = {"crossbar-64", "ethernet-16", "torus-8x8", "dgx-h100"};
    for (size_t f = 0; suite_can_read_platforms() && f < sizeof files / sizeof files[0]; f++) {
        struct fixture fixture;
        double before[3] = {0, 0, 0};
        if (!begin(&fixture, files[f], find(RONDE_ALL_REDUCE, "ring"), 8))
            continue;
        for (uint64_t count = 1; count <= 1u << 22; count *= 8) {
            struct ronde_prediction now[3];
            struct ronde_error error = {0};
            fixture.forecast.load.count = count;
            CU_ASSERT_EQUAL(ronde_forecast_replay(&fixture.forecast, "flat", &now[0], &error),
                            RONDE_OK);
            CU_ASSERT_EQUAL(ronde_forecast_closed_form(&fixture.forecast, &now[1], &error),
                            RONDE_OK);
            CU_ASSERT_EQUAL(ronde_forecast_dag(&fixture.forecast, &now[2], &error), RONDE_OK);
            for (uint32_t k = 0; k < 3; k++) {
                CU_ASSERT(now[k].time_ns >= before[k]);
                before[k] = now[k].time_ns;
            }
        }
        end(&fixture);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"steps_are_those_of_the_graph", steps_are_those_of_the_graph},
        {"kept_replays_are_the_replay", kept_replays_are_the_replay},
        {"more_ranks_than_hosts_are_refused", more_ranks_than_hosts_are_refused},
        {"more_steps_than_can_be_kept_are_refused_before_they_are_made",
         more_steps_than_can_be_kept_are_refused_before_they_are_made},
        {"an_engine_that_does_not_exist_is_refused", an_engine_that_does_not_exist_is_refused},
        {"a_footprint_is_input_and_output", a_footprint_is_input_and_output},
        {"labels_follow_from_the_result", labels_follow_from_the_result},
        {"formulas_say_what_stands_for_unequal_pairs", formulas_say_what_stands_for_unequal_pairs},
        {"time_grows_with_bytes", time_grows_with_bytes},
    };
    return suite_run("forecast", cases, sizeof cases / sizeof cases[0]);
}
