/* Graphs by hand on two leaves. See two_leaves.h. */
#include "two_leaves.h"

#include "support/suite.h"

#include <math.h>
#include <string.h>

const struct leaves_shape two_leaves_shape = {2, 8, 200, 100};

struct two_leaves_engine two_leaves_engine;

bool two_leaves_begin(struct two_leaves *stage)
{
    memset(stage, 0, sizeof *stage);
    return leaves_begin(&stage->leaves, &two_leaves_shape);
}

void two_leaves_end(struct two_leaves *stage)
{
    messages_free(&stage->messages);
    leaves_end(&stage->leaves);
}

enum ronde_status two_leaves_run(struct two_leaves *stage, const struct ronde_sim_options *options)
{
    stage->error = (struct ronde_error){.status = RONDE_OK};
    return two_leaves_engine.run(stage->leaves.platform, &stage->messages.dag, options,
                                 ronde_mem_default(), &stage->result, &stage->error);
}

void two_leaves_replay(struct two_leaves *stage)
{
    const struct ronde_sim_options options = {.out_finish_ns = stage->finish_ns};
    CU_ASSERT_FATAL(stage->messages.dag.op_count <= TWO_LEAVES_OPS);
    CU_ASSERT_EQUAL(two_leaves_run(stage, &options), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(stage->result.engine, two_leaves_engine.name);
    CU_ASSERT(stage->result.is_contention_free || !two_leaves_engine.is_exact);
}

void two_leaves_expect(const struct two_leaves *stage, uint32_t op, double expected_ns)
{
    const bool is_right = fabs(stage->finish_ns[op] - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("message %u ends at %.17g ns, expected %.17g", op, stage->finish_ns[op],
                   expected_ns);
}

void two_leaves_time_model(void)
{
    static const double release_ns[] = {1000, 0, 0};
    struct two_leaves stage;
    double start_ns[4];
    const struct ronde_sim_options options = {.release_ns = release_ns,
                                              .out_start_ns = start_ns,
                                              .out_finish_ns = stage.finish_ns};
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 1, 1e6, 300);
    messages_add(&stage.messages, 1, 2, 0, 40);
    messages_after_arrival(&stage.messages, 0);
    messages_add(&stage.messages, 2, 2, 1e9, 7);
    messages_after_arrival(&stage.messages, 1);
    stage.messages.dag.alpha_ns = 250;
    stage.messages.dag.launch_ns = 5000;
    CU_ASSERT_EQUAL(two_leaves_run(&stage, &options), RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(start_ns[0], 1000, 1e-9);
    two_leaves_expect(&stage, 0, 21300);
    CU_ASSERT_DOUBLE_EQUAL(start_ns[1], 21300 + 1250, 1e-9);
    two_leaves_expect(&stage, 2, 21300 + 1250 + 40 + 1250 + 7);
    CU_ASSERT_DOUBLE_EQUAL(stage.result.time_ns, 5000 + stage.finish_ns[2], 1e-9);
    two_leaves_end(&stage);
}

void two_leaves_bad_graphs(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    messages_add(&stage.messages, 0, 16, 1e6, 0);
    CU_ASSERT_EQUAL(two_leaves_run(&stage, NULL), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(stage.error.message, "17 ranks, but it has 16 hosts"));
    messages_free(&stage.messages);
    messages_add(&stage.messages, 0, 1, 1e6, 0);
    messages_after(&stage.messages, 0);
    CU_ASSERT_EQUAL(two_leaves_run(&stage, NULL), RONDE_BAD_ARGUMENT);
    /* More than the numbers of its events have bits for; refused before the graph is looked at. */
    const struct ronde_dag vast = {.ranks = 2, .op_count = UINT32_MAX};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(two_leaves_engine.run(stage.leaves.platform, &vast, NULL, ronde_mem_default(),
                                          &stage.result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, two_leaves_engine.most_said));
    two_leaves_end(&stage);
}

void two_leaves_nothing(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    stage.messages.dag.ranks = 4;
    two_leaves_replay(&stage);
    CU_ASSERT_EQUAL(stage.result.time_ns, 0);
    CU_ASSERT_STRING_EQUAL(stage.result.busiest_link, "");
    two_leaves_end(&stage);
}

void two_leaves_allocations(void)
{
    struct two_leaves stage;
    if (!two_leaves_begin(&stage))
        return;
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "double_tree", 16);
    const struct ronde_load load = leaves_load(schedule, 4, 65536);
    struct ronde_dag *dag = leaves_graph(schedule, &load, &(struct ronde_time_params){0});
    swept_graph(two_leaves_engine.run, stage.leaves.platform, dag, 10);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    two_leaves_end(&stage);
}
