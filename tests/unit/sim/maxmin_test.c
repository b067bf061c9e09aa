/* Links shared by max-min fairness: by hand, and what it refuses. tests/property/flat_simgrid_test.c holds it to SimGrid. */
#include "support/suite.h"

#include "messages.h"
#include "ronde/sim.h"
#include "swept.h"
#include "unit/leaves.h"

#include <math.h>
#include <string.h>

/* Two leaves of eight hosts with ports of 50 GB/s; an uplink carries four ports. */
static const struct leaves_shape two_leaves = {2, 8, 200, 100};

/* A graph by hand and where it is replayed. */
struct stage {
    struct leaves leaves;
    struct messages messages;
    struct ronde_sim_result result;
    struct ronde_error error;
    double finish_ns[64];
};

static bool stage_begin(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    return leaves_begin(&stage->leaves, &two_leaves);
}

static void stage_end(struct stage *stage)
{
    messages_free(&stage->messages);
    leaves_end(&stage->leaves);
}

/* Replays and keeps when each message was over. */
static void replay(struct stage *stage)
{
    const struct ronde_sim_options options = {.out_finish_ns = stage->finish_ns};
    CU_ASSERT_FATAL(stage->messages.dag.op_count <= 64);
    CU_ASSERT_EQUAL(ronde_sim_maxmin(stage->leaves.platform, &stage->messages.dag, &options,
                                     ronde_mem_default(), &stage->result, &stage->error),
                    RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage->result.engine, "maxmin");
    CU_ASSERT(stage->result.is_contention_free);
}

static void expect_finish(const struct stage *stage, uint32_t op, double expected_ns)
{
    const bool is_right = fabs(stage->finish_ns[op] - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("message %u ends at %.17g ns, expected %.17g", op, stage->finish_ns[op],
                   expected_ns);
}

/*
 * Three into one port of 50, 1 MB each, 5 us apart. 50 until 5 us, 25 each until 10, a third each until the first is
 * through its last 625 kB at 47.5 us, 25 each until the second is at 57.5, 50 for the last.
 */
static void a_port_is_shared_evenly(void)
{
    struct stage stage;
    if (!stage_begin(&stage))
        return;
    messages_add(&stage.messages, 3, 0, 1e6, 10000);
    messages_add(&stage.messages, 1, 0, 1e6, 0);
    messages_add(&stage.messages, 2, 0, 1e6, 5000);
    replay(&stage);
    expect_finish(&stage, 1, 47500);
    expect_finish(&stage, 2, 57500);
    expect_finish(&stage, 0, 60000);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "leaf0_link_0_DOWN");
    CU_ASSERT_DOUBLE_EQUAL(stage.result.busiest_utilisation, 1, 1e-12);
    stage_end(&stage);
}

/*
 * Three flows into 8 have a third of its port each; what the one from 0 leaves of 0's port is for the other flow from
 * there: 33.3, more than an even half. It is over at 30 us, which helps nobody.
 */
static void what_one_cannot_use_is_for_the_others(void)
{
    struct stage stage;
    if (!stage_begin(&stage))
        return;
    for (uint32_t src = 0; src < 3; src++)
        messages_add(&stage.messages, src, 8, 1e6, 0);
    messages_add(&stage.messages, 0, 9, 1e6, 0);
    replay(&stage);
    expect_finish(&stage, 3, 30000);
    for (uint32_t op = 0; op < 3; op++)
        expect_finish(&stage, op, 60000);
    stage_end(&stage);
}

/* 200 GB/s hold four flows of 50 at once; eight have 25 each. Of two lanes of 10 GB/s neither shares anything. */
static void a_wide_link_is_shared_once_it_is_full(void)
{
    for (uint32_t flows = 4; flows <= 8; flows += 4) {
        struct stage stage;
        if (!stage_begin(&stage))
            return;
        for (uint32_t i = 0; i < flows; i++)
            messages_add(&stage.messages, i, 8 + i, 1e6, 0);
        replay(&stage);
        for (uint32_t i = 0; i < flows; i++)
            expect_finish(&stage, i, flows == 4 ? 20000 : 40000);
        stage.messages.dag.lane_GBps = 10;
        replay(&stage);
        for (uint32_t i = 0; i < flows; i++)
            expect_finish(&stage, i, 100000);
        stage_end(&stage);
    }
}

/* Delay, flow, latency of the route and alpha, release; launch once. Empty messages and those to oneself do not flow. */
static void the_rest_is_the_time_model(void)
{
    static const double release_ns[] = {1000, 0, 0};
    struct stage stage;
    double start_ns[4];
    const struct ronde_sim_options options = {.release_ns = release_ns,
                                              .out_start_ns = start_ns,
                                              .out_finish_ns = stage.finish_ns};
    if (!stage_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 300);
    messages_add(&stage.messages, 1, 2, 0, 40);
    messages_after_arrival(&stage.messages, 0);
    messages_add(&stage.messages, 2, 2, 1e9, 7);
    messages_after_arrival(&stage.messages, 1);
    stage.messages.dag.alpha_ns = 250;
    stage.messages.dag.launch_ns = 5000;
    CU_ASSERT_EQUAL(ronde_sim_maxmin(stage.leaves.platform, &stage.messages.dag, &options,
                                     ronde_mem_default(), &stage.result, &stage.error),
                    RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(start_ns[0], 1000, 1e-9);
    expect_finish(&stage, 0, 21300);
    CU_ASSERT_DOUBLE_EQUAL(start_ns[1], 21300 + 1250, 1e-9);
    expect_finish(&stage, 2, 21300 + 1250 + 40 + 1250 + 7);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns, 5000 + stage.finish_ns[2], 1e-9);
    stage_end(&stage);
}

/* Larger than what the property test draws, pipelined, over uplinks that everything crosses. */
static void pipelines_take_what_simgrid_says(void)
{
    static const uint32_t scattered[16] = {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15};
    static const char *const algorithms[] = {"double_tree", "hierarchical", "direct"};
    const struct ronde_sim_options options = {.host_of = scattered};
    struct leaves leaves;
    if (!leaves_have_simgrid() || !leaves_begin(&leaves, &two_leaves))
        return;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, algorithms[i], 16);
        const struct ronde_load load = leaves_load(schedule, 12, 65536);
        struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
        struct ronde_sim_result simgrid = {0}, maxmin = {0};
        CU_ASSERT_EQUAL(ronde_sim_simgrid(leaves.platform, dag, &options, &simgrid, NULL), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, ronde_mem_default(),
                                         &maxmin, NULL),
                        RONDE_OK);
        const double difference = maxmin.time_ns / simgrid.time_ns - 1;
        suite_note("%s: %.1e", algorithms[i], difference);
        CU_ASSERT(fabs(difference) <= 1e-9);
        ronde_dag_destroy(dag, ronde_mem_default());
        ronde_schedule_destroy(schedule);
    }
    leaves_end(&leaves);
}

static void bad_graphs_are_refused(void)
{
    struct stage stage;
    if (!stage_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 16, 1e6, 0);
    CU_ASSERT_EQUAL(ronde_sim_maxmin(stage.leaves.platform, &stage.messages.dag, NULL,
                                     ronde_mem_default(), &stage.result, &stage.error),
                    RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(stage.error.message, "17 ranks, but it has 16 hosts"));
    const struct ronde_dag vast = {.ranks = 2, .op_count = UINT32_MAX};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_sim_maxmin(stage.leaves.platform, &vast, NULL, ronde_mem_default(),
                                     &stage.result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "maxmin replays up to"));
    stage_end(&stage);
}

/* A graph of nothing takes no time. */
static void nothing_takes_no_time(void)
{
    struct stage stage;
    if (!stage_begin(&stage))
        return;
    stage.messages.dag.ranks = 4;
    replay(&stage);
    CU_ASSERT_EQUAL(stage.result.time_ns, 0);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "");
    stage_end(&stage);
}

static void a_replay_ends_at_its_limit(void)
{
    struct leaves leaves;
    const struct ronde_sim_options options = {.time_limit_s = 1e-9};
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    if (!leaves_begin(&leaves, &two_leaves))
        return;
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "double_tree", 16);
    const struct ronde_load load = leaves_load(schedule, 64, 65536);
    struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
    CU_ASSERT_EQUAL(ronde_sim_maxmin(leaves.platform, dag, &options, ronde_mem_default(), &result,
                                     &error),
                    RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "longer than its limit"));
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    leaves_end(&leaves);
}

static void allocation_failures_are_clean(void)
{
    struct leaves leaves;
    if (!leaves_begin(&leaves, &two_leaves))
        return;
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "double_tree", 16);
    const struct ronde_load load = leaves_load(schedule, 4, 65536);
    struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
    swept_graph(ronde_sim_maxmin, leaves.platform, dag, 10);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    leaves_end(&leaves);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_port_is_shared_evenly", a_port_is_shared_evenly},
        {"what_one_cannot_use_is_for_the_others", what_one_cannot_use_is_for_the_others},
        {"a_wide_link_is_shared_once_it_is_full", a_wide_link_is_shared_once_it_is_full},
        {"the_rest_is_the_time_model", the_rest_is_the_time_model},
        {"pipelines_take_what_simgrid_says", pipelines_take_what_simgrid_says},
        {"bad_graphs_are_refused", bad_graphs_are_refused},
        {"nothing_takes_no_time", nothing_takes_no_time},
        {"a_replay_ends_at_its_limit", a_replay_ends_at_its_limit},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("maxmin", cases, sizeof cases / sizeof *cases);
}
