/**
 * Running out of memory, at every single allocation of the public functions: reported, nothing leaked, outputs NULL.
 *
 * How many allocations each function makes at most, over all algorithms, is recorded here as a bound: code that begins
 * to allocate in a loop shows as a failure and not as a slow program years later.
 */
#include "oom/operations.h"
#include "support/sweep.h"

#include "support/suite.h"

#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"
#include "ronde/select.h"
#include "ronde/sim.h"

#include <stdio.h>
#include <string.h>

/* An odd number of ranks and a power of two: folds, uneven trees and symmetric proofs. */
static const uint32_t rank_counts[] = {5, 8};

/* A request that the algorithm accepts, with the most that has to be copied: channels and an order. */
static bool make_request(const struct ronde_algorithm *algorithm, uint32_t ranks,
                         struct ronde_compile_request *out_request)
{
    static const uint32_t order[8] = {0, 4, 3, 2, 1, 5, 6, 7};
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = 2,
                                                  .order = order};
    const struct ronde_compile_request plain = {.collective = algorithm->collective,
                                                .algorithm = algorithm->name,
                                                .ranks = ranks};
    struct ronde_compile_request shaped = plain;
    shaped.shape_count = 2;
    shaped.shape[0] = ranks == 8 ? 2 : 1;
    shaped.shape[1] = ranks / shaped.shape[0];
    const struct ronde_compile_request *const candidates[] = {&request, &plain, &shaped};
    for (size_t i = 0; i < sizeof candidates / sizeof candidates[0]; i++) {
        *out_request = *candidates[i];
        if (algorithm->supports(out_request, NULL) == RONDE_OK)
            return true;
    }
    return false;
}

/* The most allocations met so far, and where. */
struct most {
    size_t allocations;
    char where[96];
};

static void sweep_one(struct most *most, sweep_operation operation, const void *context,
                      const struct ronde_compile_request *request)
{
    char what[96];
    snprintf(what, sizeof what, "%s %s N=%u", ronde_collective_text(request->collective),
             request->algorithm, request->ranks);
    const struct sweep sweep = {.what = what, .operation = operation, .context = context};
    const size_t allocations = sweep_run(&sweep);
    if (allocations > most->allocations) {
        most->allocations = allocations;
        memcpy(most->where, what, sizeof what);
    }
}

static void check_most(const struct most *most, size_t bound)
{
    suite_note("at most %zu allocations (%s), bound %zu", most->allocations, most->where, bound);
    CU_ASSERT(most->allocations > 0);
    CU_ASSERT(most->allocations <= bound);
}

/* What is done with the schedule of each algorithm, in one test. */
typedef void (*visitor)(const struct ronde_schedule *schedule,
                        const struct ronde_compile_request *request, void *context);

static void visit_schedules(visitor visit, void *context)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof rank_counts / sizeof rank_counts[0]; k++) {
            struct ronde_compile_request request;
            if (suite_is_sample() && k != i % (sizeof rank_counts / sizeof rank_counts[0]))
                continue;
            struct ronde_schedule *schedule = NULL;
            if (!make_request(algorithms[i], rank_counts[k], &request))
                continue;
            struct ronde_error error = {0};
            CU_ASSERT_EQUAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                            RONDE_OK);
            if (schedule)
                visit(schedule, &request, context);
            else
                suite_note("%s: %s", request.algorithm, error.message);
            ronde_schedule_destroy(schedule);
        }
    }
}

static void sweep_compile(const struct ronde_schedule *schedule,
                          const struct ronde_compile_request *request, void *context)
{
    (void)schedule;
    sweep_one(context, oom_compile, request, request);
}

static void compile_survives_every_failure(void)
{
    struct most most = {0};
    visit_schedules(sweep_compile, &most);
    check_most(&most, 240);
}

static void builder_survives_every_failure(void)
{
    static const uint32_t order[5] = {0, 4, 3, 2, 1};
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "all_pairs",
                                                  .ranks = 5,
                                                  .order = order};
    struct most created = {0};
    struct most finished = {0};
    sweep_one(&created, oom_give_up, &request, &request);
    check_most(&created, 8);
    sweep_one(&finished, oom_build_by_hand, &request, &request);
    check_most(&finished, 240);
}

/* The operations on a finished schedule, each with the most allocations it was met with. */
struct on_schedule {
    struct most most;
    sweep_operation operation;
    const struct ronde_backend *backend;
};

static void sweep_schedule(const struct ronde_schedule *schedule,
                           const struct ronde_compile_request *request, void *context)
{
    struct on_schedule *on = context;
    const struct oom_use use = {.schedule = schedule, .backend = on->backend};
    sweep_one(&on->most, on->operation, &use, request);
}

static void sweep_text(const struct ronde_schedule *schedule,
                       const struct ronde_compile_request *request, void *context)
{
    char *text;
    size_t bytes;
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_print(schedule, ronde_mem_default(), &text, &bytes, NULL),
                          RONDE_OK);
    const struct oom_use use = {.text = text, .text_bytes = bytes};
    sweep_one(context, oom_read_back, &use, request);
    ronde_mem_free(ronde_mem_default(), text, bytes + 1, 1);
}

static void text_survives_every_failure(void)
{
    struct on_schedule printing = {.operation = oom_print};
    struct most reading = {0};
    visit_schedules(sweep_schedule, &printing);
    check_most(&printing.most, 20);
    visit_schedules(sweep_text, &reading);
    check_most(&reading, 240);
}

static void expansion_survives_every_failure(void)
{
    struct on_schedule on = {.operation = oom_prove_expansion};
    visit_schedules(sweep_schedule, &on);
    check_most(&on.most, 240);
}

/* send_recv names ranks, and takes no order. */
static void sweep_reorder(const struct ronde_schedule *schedule,
                          const struct ronde_compile_request *request, void *context)
{
    if (schedule->collective != RONDE_SEND_RECV)
        sweep_schedule(schedule, request, context);
}

static void reordering_survives_every_failure(void)
{
    struct on_schedule on = {.operation = oom_reorder};
    visit_schedules(sweep_reorder, &on);
    check_most(&on.most, 240);
}

static void graph_and_price_survive_every_failure(void)
{
    struct on_schedule making = {.operation = oom_make_dag};
    struct on_schedule pricing = {.operation = oom_price};
    visit_schedules(sweep_schedule, &making);
    check_most(&making.most, 16);
    visit_schedules(sweep_schedule, &pricing);
    check_most(&pricing.most, 16);
}

/* All algorithms of a collective at once: some are priced by formula, others by their graphs. */
static void choice_survives_every_failure(void)
{
    struct most most = {0};
    for (int c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const struct ronde_compile_request request = {.collective = (enum ronde_collective)c,
                                                      .algorithm = "auto",
                                                      .ranks = 5};
        sweep_one(&most, oom_choose, &request, &request);
    }
    check_most(&most, 900);
}

static void backends_survive_every_failure(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        struct on_schedule on = {.operation = oom_run, .backend = executors[e].backend};
        struct ronde_machine machine;
        struct ronde_error why_not = {0};
        /* tests/net sweeps communicators: their failures take several processes. */
        if (executors[e].ranks == RONDE_RANKS_PROCESSES)
            continue;
        if (ronde_executor_probe(&executors[e], &machine, &why_not) != RONDE_OK) {
            suite_note("%s is not swept: %s", executors[e].name, why_not.message);
            continue;
        }
        suite_note("%s", executors[e].name);
        visit_schedules(sweep_schedule, &on);
        check_most(&on.most, 40);
    }
}

static void sweep_replay(const struct ronde_schedule *schedule,
                         const struct ronde_compile_request *request, void *context)
{
    struct on_schedule *on = context;
    struct ronde_platform *platform = NULL;
    struct ronde_dag *dag = NULL;
    char path[512];
    if (!suite_source(path, sizeof path, "topologies/crossbar-64.xml"))
        return;
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_dag_create(schedule, &oom_load, &oom_network.time, ronde_mem_default(),
                                     &dag, NULL),
                    RONDE_OK);
    const struct oom_use use = {.platform = platform, .dag = dag};
    if (platform && dag)
        sweep_one(&on->most, oom_replay, &use, request);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_platform_destroy(platform);
}

static void flat_replay_survives_every_failure(void)
{
    struct on_schedule on = {0};
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("no platform can be read: %s", reason);
        return;
    }
    visit_schedules(sweep_replay, &on);
    check_most(&on.most, 40);
}

static void topologies_survive_every_failure(void)
{
    static const char *const files[] = {"topologies/crossbar-64.xml",
                                        "topologies/fat-tree-2to1-64.xml"};
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("no platform can be read: %s", reason);
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[512];
        if (!suite_source(path, sizeof path, files[i]))
            return;
        const struct sweep sweep = {.what = files[i],
                                    .operation = oom_read_platform,
                                    .context = path};
        const size_t allocations = sweep_run(&sweep);
        suite_note("%s: %zu allocations", files[i], allocations);
        CU_ASSERT(allocations > 0 && allocations <= 1000);
    }
}

/* A machine that looks alike from all ranks, and one that does not. */
static void synthesis_survives_every_failure(void)
{
    static const char *const files[] = {"topologies/crossbar-64.xml",
                                        "docs/examples/pod-dead-nic.xml"};
    const char *reason;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("no platform can be read: %s", reason);
        return;
    }
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[512];
        struct ronde_platform *platform = NULL;
        if (!suite_source(path, sizeof path, files[i]))
            return;
        CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL),
                              RONDE_OK);
        const struct oom_use use = {.platform = platform};
        const struct sweep sweep = {.what = files[i], .operation = oom_synthesize, .context = &use};
        const size_t allocations = sweep_run(&sweep);
        suite_note("%s: %zu allocations", files[i], allocations);
        CU_ASSERT(allocations > 50 && allocations <= 1000);
        ronde_platform_destroy(platform);
    }
}

static void calls_survive_every_failure(void)
{
    const struct sweep sweep = {.what = "calls", .operation = oom_call, .context = "oom"};
    const size_t allocations = sweep_run(&sweep);
    suite_note("%zu allocations", allocations);
    CU_ASSERT(allocations > 50 && allocations <= 2000);
}

static void measured_tables_survive_every_failure(void)
{
    char path[512];
    if (!suite_source(path, sizeof path, "predict/tables/cpu.txt"))
        return;
    const struct sweep sweep = {.what = "a measured table",
                                .operation = oom_read_measured,
                                .context = path};
    const size_t allocations = sweep_run(&sweep);
    /* The table, and rows that double. */
    CU_ASSERT(allocations > 1 && allocations <= 12);
}

/** By a table, which is read, and by default. */
static void selection_survives_every_failure(void)
{
    const struct ronde_select_query queries[] = {
        {.request = {.collective = RONDE_BROADCAST, .ranks = 2}, .backend = "cpu", .cores = 2},
        {.request = {.collective = RONDE_BROADCAST, .ranks = 2}, .backend = "none", .cores = 2},
    };
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        const struct sweep sweep = {.what = queries[i].backend,
                                    .operation = oom_select,
                                    .context = &queries[i]};
        const size_t allocations = sweep_run(&sweep);
        CU_ASSERT(allocations > 10 && allocations <= 1000);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"compile_survives_every_failure", compile_survives_every_failure},
        {"builder_survives_every_failure", builder_survives_every_failure},
        {"text_survives_every_failure", text_survives_every_failure},
        {"expansion_survives_every_failure", expansion_survives_every_failure},
        {"reordering_survives_every_failure", reordering_survives_every_failure},
        {"graph_and_price_survive_every_failure", graph_and_price_survive_every_failure},
        {"choice_survives_every_failure", choice_survives_every_failure},
        {"backends_survive_every_failure", backends_survive_every_failure},
        {"calls_survive_every_failure", calls_survive_every_failure},
        {"synthesis_survives_every_failure", synthesis_survives_every_failure},
        {"flat_replay_survives_every_failure", flat_replay_survives_every_failure},
        {"topologies_survive_every_failure", topologies_survive_every_failure},
        {"selection_survives_every_failure", selection_survives_every_failure},
        {"measured_tables_survive_every_failure", measured_tables_survive_every_failure},
    };
    return suite_run("oom", cases, sizeof cases / sizeof cases[0]);
}
