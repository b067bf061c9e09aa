/*
 * From a job to the engine that replays it: names and flags that are refused, graphs that are too large, what `auto`
 * takes and when, and hosts that nothing tells apart, of which one is replayed.
 */
#include "support/schedule.h"
#include "support/suite.h"

#include "replayed.h"
#include "sim/job.h"
#include "unit/leaves.h"

#include "ronde/schedules.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Two leaves of eight; an uplink has what one port has. */
static const struct leaves_shape narrow = {2, 8, 50, 100};

static const struct ronde_time_params costs = {.alpha_ns = 700, .step_ns = 40, .launch_ns = 900};

/* Visits of flows to links that are done in a fifth of a second. */
#define LITTLE_WORK 5000000u

/* A schedule on a machine; its load is set by the test. */
struct stage {
    struct leaves leaves;
    struct ronde_schedule *schedule;
    struct ronde_load load;
    struct ronde_sim_job job;
    struct ronde_sim_result result;
    struct ronde_error error;
};

static bool begin(struct stage *stage, const char *algorithm, uint32_t ranks)
{
    memset(stage, 0, sizeof *stage);
    if (!leaves_begin(&stage->leaves, &narrow))
        return false;
    stage->schedule = leaves_compile(RONDE_ALL_REDUCE, algorithm, ranks);
    CU_ASSERT_PTR_NOT_NULL_FATAL(stage->schedule);
    stage->load = leaves_load(stage->schedule, 4, 65536);
    stage->job =
        (struct ronde_sim_job){stage->leaves.platform, stage->schedule, &stage->load, &costs};
    return true;
}

/* All_reduce of 400 kB on four hosts of a crossbar, 100 ns to launch. */
static bool begin_on_crossbar(struct stage *stage)
{
    static const struct ronde_time_params launch = {.launch_ns = 100};
    memset(stage, 0, sizeof *stage);
    if (!platform_text_keep(replayed_crossbar, stage->leaves.path, &stage->leaves.platform))
        return false;
    stage->load = (struct ronde_load){.count = 100000, .dtype = RONDE_FLOAT32};
    stage->job = (struct ronde_sim_job){stage->leaves.platform, NULL, &stage->load, &launch};
    return true;
}

/* Goes on with another schedule. */
static void take(struct stage *stage, const char *algorithm)
{
    ronde_schedule_destroy(stage->schedule);
    stage->schedule = schedule_compile(RONDE_ALL_REDUCE, algorithm, 4);
    stage->job.schedule = stage->schedule;
}

static void end(struct stage *stage)
{
    ronde_schedule_destroy(stage->schedule);
    leaves_end(&stage->leaves);
}

static enum ronde_status run(struct stage *stage, const char *engine,
                             const struct ronde_sim_options *options)
{
    memset(&stage->error, 0, sizeof stage->error);
    return ronde_sim_job_run(&stage->job, engine, options, ronde_mem_default(), &stage->result,
                             &stage->error);
}

static void expect_refused(struct stage *stage, const char *engine,
                           const struct ronde_sim_options *options, enum ronde_status status,
                           const char *text)
{
    const enum ronde_status found = run(stage, engine, options);
    CU_ASSERT_EQUAL(found, status);
    CU_ASSERT_PTR_NOT_NULL(strstr(stage->error.message, text));
    if (found != status || !strstr(stage->error.message, text))
        suite_note("%s: %s: \"%s\" lacks \"%s\"", engine, ronde_status_text(found),
                   stage->error.message, text);
}

static void expect_time(struct stage *stage, const char *engine,
                        const struct ronde_sim_options *options, double expected_ns,
                        const char *taken)
{
    CU_ASSERT_EQUAL(run(stage, engine, options), RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(stage->result.time_ns, expected_ns, 1e-9 * expected_ns);
    CU_ASSERT_STRING_EQUAL(stage->result.engine, taken);
}

/* Six messages of 100 kB at 10 GB/s and 1 us on a ring; a tree of four, whose root has two children, shares a port. */
static void jobs_go_to_the_cheapest_engine_that_is_right(void)
{
    static const char *const flags[] = {"network/crosstraffic:0", NULL};
    const struct ronde_sim_options flagged = {.cfg = flags};
    const double ring_ns = 100 + 6 * (1e4 + 1000);
    struct stage stage;
    if (!suite_has_simgrid() || !begin_on_crossbar(&stage))
        return;
    take(&stage, "ring");
    expect_time(&stage, "auto", NULL, ring_ns, "flat");
    CU_ASSERT(stage.result.is_symmetric && stage.result.is_contention_free);
    expect_time(&stage, "simgrid", NULL, ring_ns, "simgrid");
    expect_time(&stage, "flat_fifo", NULL, ring_ns, "flat_fifo");
    expect_time(&stage, "auto", &flagged, ring_ns, "simgrid");
    CU_ASSERT_EQUAL(run(&stage, "extrapolate", NULL), RONDE_UNSUPPORTED);
    take(&stage, "tree");
    CU_ASSERT_EQUAL(run(&stage, "flat", NULL), RONDE_OK);
    CU_ASSERT(!stage.result.is_symmetric && !stage.result.is_contention_free);
    const double alone_ns = stage.result.time_ns;
    CU_ASSERT_EQUAL(run(&stage, "auto", NULL), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "simgrid");
    CU_ASSERT(stage.result.time_ns > alone_ns);
    end(&stage);
}

static void jobs_that_no_engine_can_do_are_refused(void)
{
    struct stage stage;
    if (!begin_on_crossbar(&stage))
        return;
    take(&stage, "tree");
    expect_refused(&stage, "fast", NULL, RONDE_BAD_ARGUMENT, "unknown engine \"fast\"");
    expect_refused(&stage, "flat", &(struct ronde_sim_options){.native_latency = true},
                   RONDE_BAD_ARGUMENT, "are SimGrid's, not for --engine flat");
    stage.load.count = 200000000;
    stage.load.slot_bytes = 16;
    expect_refused(&stage, "flat_fifo", NULL, RONDE_UNSUPPORTED,
                   "larger pieces (--slot) make fewer");
    end(&stage);
}

static void names_of_no_engine_are_refused(void)
{
    /* One that is nearly right is corrected; else all are listed. */
    static const struct {
        const char *name, *advice;
    } rows[] = {{"", "extrapolate"},
                {"Flat", "did you mean flat?"},
                {"flat ", "did you mean flat?"},
                {"fifo", "extrapolate"},
                {"auto,flat", "extrapolate"},
                {"max-min", "did you mean maxmin?"}};
    struct stage stage;
    if (!begin(&stage, "ring", 8))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {0};
        const struct ronde_sim_options options = {0};
        expect_refused(&stage, rows[i].name, NULL, RONDE_BAD_ARGUMENT, "unknown engine");
        expect_refused(&stage, rows[i].name, NULL, RONDE_BAD_ARGUMENT, rows[i].advice);
        CU_ASSERT_EQUAL(ronde_sim_check_engine(stage.leaves.platform, rows[i].name, &options, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_STRING_EQUAL(error.message, stage.error.message);
    }
    end(&stage);
}

/* Flags are SimGrid's; whoever would not look at them says so, and what is no flag never gets there. */
static void flags_are_for_who_takes_them(void)
{
    static const struct {
        const char *engine;
        bool takes_flags;
    } rows[] = {{"auto", true},    {"simgrid", true},    {"extrapolate", true}, {"flat", false},
                {"maxmin", false}, {"flat_fifo", false}, {"ports", false},      {"cores", false}};
    static const char *const good[] = {"network/model:LV08", NULL};
    static const char *const bad[][3] = {{"", NULL},
                                         {"network/model", NULL},
                                         {":LV08", NULL},
                                         {"network/model:LV08", "oops", NULL}};
    struct stage stage;
    if (!begin(&stage, "ring", 8))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_platform *platform = stage.leaves.platform;
        const struct ronde_sim_options with_cfg = {.cfg = good};
        const struct ronde_sim_options native = {.native_latency = true};
        struct ronde_error error = {0};
        const enum ronde_status expected = rows[i].takes_flags ? RONDE_OK : RONDE_BAD_ARGUMENT;
        CU_ASSERT_EQUAL(ronde_sim_check_engine(platform, rows[i].engine, &with_cfg, &error),
                        expected);
        CU_ASSERT_EQUAL(ronde_sim_check_engine(platform, rows[i].engine, &native, &error), expected);
        if (!rows[i].takes_flags)
            expect_refused(&stage, rows[i].engine, &with_cfg, RONDE_BAD_ARGUMENT,
                           "use --engine simgrid");
        for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
            const struct ronde_sim_options malformed = {.cfg = bad[b]};
            expect_refused(&stage, rows[i].engine, &malformed, RONDE_BAD_ARGUMENT,
                           "is not KEY:VALUE");
        }
    }
    end(&stage);
}

/* Counted before a byte of it is made. */
static void graphs_beyond_the_limit_are_never_made(void)
{
    static const char *const engines[] = {"maxmin", "flat_fifo"};
    struct stage stage;
    if (!begin(&stage, "double_tree", 16))
        return;
    stage.load.count = (uint64_t)1 << 40;
    stage.load.slot_bytes = 4096;
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        expect_refused(&stage, engines[i], NULL, RONDE_UNSUPPORTED, "double_tree on 16 ranks has ");
        expect_refused(&stage, engines[i], NULL, RONDE_UNSUPPORTED,
                       "a graph is made of up to 40000000");
    }
    stage.load.dtype = (enum ronde_dtype)RONDE_DTYPE_COUNT;
    CU_ASSERT_NOT_EQUAL(run(&stage, "maxmin", NULL), RONDE_OK);
    CU_ASSERT_PTR_NULL(strstr(stage.error.message, "a graph is made of"));
    end(&stage);
}

/* Whether a message names an engine to take instead. */
static const char *engine_named(const char *message)
{
    static const char *const names[] = {"simgrid", "maxmin", "flat_fifo", "extrapolate", "auto"};
    const char *found = strstr(message, "--engine ");
    for (size_t i = 0; found && i < sizeof names / sizeof names[0]; i++)
        if (strncmp(found + strlen("--engine "), names[i], strlen(names[i])) == 0)
            return names[i];
    return NULL;
}

/*
 * Beyond all graphs no refusal sends to an engine, for every one of them refuses; one that could replay it all the same is
 * named only where it can.
 */
static void no_engine_is_named_that_refuses_too(void)
{
    static const char *const engines[] = {"auto", "maxmin", "flat_fifo", "simgrid", "extrapolate"};
    static const char *const algorithms[] = {"double_tree", "direct", "hierarchical"};
    const struct ronde_sim_options limited = {.work_limit = LITTLE_WORK};
    for (size_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        struct stage stage;
        unsigned refused = 0;
        if (!begin(&stage, algorithms[a], 16))
            return;
        stage.load.count = (uint64_t)1 << 36;
        stage.load.slot_bytes = 4096;
        CU_ASSERT(ronde_sim_job_steps(&stage.job) > RONDE_SIM_MOST_GRAPH_OPS);
        for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
            if (run(&stage, engines[i], &limited) == RONDE_OK)
                continue;
            refused++;
            CU_ASSERT_PTR_NULL(engine_named(stage.error.message));
            if (engine_named(stage.error.message))
                suite_note("%s: \"%s\"", engines[i], stage.error.message);
        }
        CU_ASSERT(refused >= 3);
        end(&stage);
    }
}

/* Graphs that are made on request only: what `auto` says leads to an engine that makes them. */
static void what_is_too_large_unasked_is_possible_on_request(void)
{
    /* Ranks 0 and 8 are on the wrong leaves, so that no rank is like another. */
    static const uint32_t crossed[16] = {8, 1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11, 12, 13, 14, 15};
    const struct ronde_sim_options limited = {.host_of = crossed, .work_limit = LITTLE_WORK};
    struct stage stage;
    if (!begin(&stage, "direct", 16))
        return;
    const uint64_t steps = ronde_sim_job_steps(&stage.job) / 4;
    stage.load = leaves_load(stage.schedule, 20000000 / steps, 4096);
    CU_ASSERT(ronde_sim_job_steps(&stage.job) > RONDE_SIM_MOST_AUTO_OPS &&
              ronde_sim_job_steps(&stage.job) < RONDE_SIM_MOST_GRAPH_OPS);
    CU_ASSERT_EQUAL(run(&stage, "auto", &limited), RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL_FATAL(engine_named(stage.error.message));
    CU_ASSERT_STRING_EQUAL(engine_named(stage.error.message), "flat_fifo");
    end(&stage);
}

/* Work is the same in every run, and what is beyond a limit of it is refused. */
static void work_is_counted_and_limited(void)
{
    struct ronde_sim_options options = {.work_limit = 0};
    struct stage stage;
    if (!begin(&stage, "double_tree", 16))
        return;
    stage.load = leaves_load(stage.schedule, 256, 65536);
    CU_ASSERT_EQUAL(run(&stage, "maxmin", &options), RONDE_OK);
    const uint64_t work = stage.result.work;
    const double time_ns = stage.result.time_ns;
    CU_ASSERT(work > 10000);
    CU_ASSERT_EQUAL(run(&stage, "maxmin", &options), RONDE_OK);
    CU_ASSERT_EQUAL(stage.result.work, work);
    options.work_limit = work;
    CU_ASSERT_EQUAL(run(&stage, "maxmin", &options), RONDE_OK);
    CU_ASSERT_EQUAL(stage.result.time_ns, time_ns);
    options.work_limit = work / 2;
    expect_refused(&stage, "maxmin", &options, RONDE_UNSUPPORTED,
                   "visits of flows to links or more");
    end(&stage);
}

/* With less work than sharing takes auto goes on to another engine; out of time it ends, whatever engine it would take. */
static void work_chooses_the_engine_and_time_ends_the_run(void)
{
    struct ronde_sim_options options = {.work_limit = 1000};
    struct stage stage;
    if (!begin(&stage, "double_tree", 16))
        return;
    stage.load = leaves_load(stage.schedule, 4096, 65536);
    const char *version = NULL;
    const uint64_t steps = ronde_sim_job_steps(&stage.job);
    CU_ASSERT(!ronde_sim_simgrid_available(&version) || (double)steps * (1 + 16 / 3.0) > 500000);
    CU_ASSERT_EQUAL(run(&stage, "auto", NULL), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "maxmin");
    CU_ASSERT_NOT_EQUAL(run(&stage, "auto", &options), RONDE_OK);
    CU_ASSERT_EQUAL(stage.error.status, RONDE_UNSUPPORTED);
    options = (struct ronde_sim_options){.time_limit_s = 1e-6};
    expect_refused(&stage, "auto", &options, RONDE_TIMEOUT, "longer than its limit");
    end(&stage);
}

/* Within a leaf nobody shares a link: every engine has the same time, and auto the cheapest of them. */
static void where_nothing_is_shared_all_engines_agree(void)
{
    static const char *const engines[] = {"flat", "maxmin", "flat_fifo", "simgrid"};
    const char *version = NULL;
    struct stage stage;
    if (!begin(&stage, "ring", 8))
        return;
    CU_ASSERT_EQUAL(run(&stage, "auto", NULL), RONDE_OK);
    const double auto_ns = stage.result.time_ns;
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "flat");
    CU_ASSERT_TRUE(stage.result.is_contention_free && stage.result.is_symmetric);
    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (strcmp(engines[i], "simgrid") == 0 && !ronde_sim_simgrid_available(&version))
            continue;
        CU_ASSERT_EQUAL(run(&stage, engines[i], NULL), RONDE_OK);
        CU_ASSERT_STRING_EQUAL(stage.result.engine, engines[i]);
        CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns / auto_ns, 1, 1e-9);
    }
    end(&stage);
}

/* Over the narrow uplinks flat is too fast, and knows it: auto takes fair shares. */
static void where_links_are_full_auto_shares_them(void)
{
    static const uint32_t scattered[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
    const struct ronde_sim_options options = {.host_of = scattered};
    struct stage stage;
    if (!begin(&stage, "ring", 16))
        return;
    CU_ASSERT_EQUAL(run(&stage, "flat", &options), RONDE_OK);
    CU_ASSERT_FALSE(stage.result.is_contention_free);
    const double flat_ns = stage.result.time_ns;
    CU_ASSERT_EQUAL(run(&stage, "maxmin", &options), RONDE_OK);
    const double shared_ns = stage.result.time_ns;
    CU_ASSERT(shared_ns > 2 * flat_ns);
    CU_ASSERT_EQUAL(run(&stage, "auto", &options), RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns / shared_ns, 1, 1e-9);
    CU_ASSERT(strcmp(stage.result.engine, "simgrid") == 0 ||
              strcmp(stage.result.engine, "maxmin") == 0);
    end(&stage);
}

/* SimGrid has the file's routes, so what goes around a part that is out is maxmin's, at once: no work is too little for it. */
static void what_goes_around_a_part_is_shared_by_maxmin(void)
{
    const struct ronde_sim_options options = {.work_limit = LITTLE_WORK};
    const char *const out[] = {"h15"};
    struct stage stage;
    if (!begin(&stage, "direct", 14))
        return;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_without(stage.leaves.platform, out, 1, &stage.error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(run(&stage, "maxmin", NULL), RONDE_OK);
    const double shared_ns = stage.result.time_ns;
    CU_ASSERT_EQUAL(run(&stage, "auto", &options), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage.result.engine, "maxmin");
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns / shared_ns, 1, 1e-9);
    end(&stage);
}

static bool is_alike(const struct stage *stage, const uint32_t *host_of)
{
    struct ronde_alike alike;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_alike(stage->leaves.platform, host_of,
                                               stage->schedule->ranks, ronde_mem_default(), &alike,
                                               NULL),
                          RONDE_OK);
    return alike.is_alike;
}

/* The quotient's time against the whole graph's, for one placement. */
static void compare_with_graph(struct stage *stage, const uint32_t *host_of, bool expected_alike)
{
    const struct ronde_sim_options options = {.host_of = host_of};
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_result graph = {0};
    struct ronde_dag *dag = leaves_graph(stage->schedule, &stage->load, &costs);
    CU_ASSERT_EQUAL(is_alike(stage, host_of), expected_alike);
    CU_ASSERT_EQUAL(ronde_sim_flat(stage->leaves.platform, dag, &options, mem, &graph, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL(run(stage, "flat", &options), RONDE_OK);
    CU_ASSERT_EQUAL(stage->result.time_ns, graph.time_ns);
    CU_ASSERT_EQUAL(stage->result.is_contention_free, graph.is_contention_free);
    CU_ASSERT_TRUE(stage->result.is_symmetric && !graph.is_symmetric);
    CU_ASSERT_DOUBLE_EQUAL(stage->result.busiest_utilisation, graph.busiest_utilisation, 1e-12);
    ronde_dag_destroy(dag, mem);
}

/* Hosts of one leaf, in any order, are alike; hosts of two are not. The time is that of all of them in every case. */
static void hosts_that_nothing_tells_apart_are_replayed_as_one(void)
{
    static const uint32_t straight[4] = {0, 1, 2, 3}, mixed[4] = {6, 0, 7, 3};
    static const uint32_t other_leaf[4] = {15, 14, 8, 11}, apart[4] = {0, 1, 8, 9};
    static const char *const algorithms[] = {"ring", "recursive_doubling", "direct"};
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        struct stage stage;
        if (!begin(&stage, algorithms[i], 4))
            return;
        for (uint64_t count = 1; count < 1 << 22; count = count * 37 + 5) {
            stage.load.count = count;
            compare_with_graph(&stage, straight, true);
            const double time_ns = stage.result.time_ns;
            compare_with_graph(&stage, mixed, true);
            CU_ASSERT_EQUAL(stage.result.time_ns, time_ns);
            compare_with_graph(&stage, other_leaf, true);
            CU_ASSERT_EQUAL(stage.result.time_ns, time_ns);
            compare_with_graph(&stage, apart, false);
        }
        end(&stage);
    }
}

/* Whoever is late is not like the others: the graph or the longer quotient knows when he comes. */
static void late_ranks_are_told_apart(void)
{
    double release_ns[4] = {0, 0, 0, 0};
    const struct ronde_sim_options options = {.release_ns = release_ns};
    struct stage stage;
    if (!begin(&stage, "ring", 4))
        return;
    CU_ASSERT_EQUAL(run(&stage, "flat", &options), RONDE_OK);
    const double together_ns = stage.result.time_ns;
    for (uint32_t late = 0; late < 4; late++) {
        release_ns[late] = 5e6;
        CU_ASSERT_EQUAL(run(&stage, "flat", &options), RONDE_OK);
        CU_ASSERT(stage.result.time_ns > 5e6 && stage.result.time_ns <= 5e6 + together_ns);
        release_ns[late] = 0;
    }
    for (uint32_t rank = 0; rank < 4; rank++)
        release_ns[rank] = 5e6;
    CU_ASSERT_EQUAL(run(&stage, "flat", &options), RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns, 5e6 + together_ns, 1e-3);
    end(&stage);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(jobs_go_to_the_cheapest_engine_that_is_right),
        SUITE_CASE(jobs_that_no_engine_can_do_are_refused),
        SUITE_CASE(names_of_no_engine_are_refused),
        SUITE_CASE(flags_are_for_who_takes_them),
        SUITE_CASE(graphs_beyond_the_limit_are_never_made),
        SUITE_CASE(no_engine_is_named_that_refuses_too),
        SUITE_CASE(work_is_counted_and_limited),
        SUITE_CASE(work_chooses_the_engine_and_time_ends_the_run),
        SUITE_CASE(what_is_too_large_unasked_is_possible_on_request),
        SUITE_CASE(where_nothing_is_shared_all_engines_agree),
        SUITE_CASE(where_links_are_full_auto_shares_them),
        SUITE_CASE(what_goes_around_a_part_is_shared_by_maxmin),
        SUITE_CASE(hosts_that_nothing_tells_apart_are_replayed_as_one),
        SUITE_CASE(late_ranks_are_told_apart),
    };
    return suite_run("sim_job", cases, sizeof cases / sizeof cases[0]);
}
