/*
 * What switches copy and add: runs of steps become stores and loads, whose bytes pass every link once, on machines that say
 * so; and who cannot replay that says so.
 */
#include "support/suite.h"
#include "support/sweep.h"

#include "unit/platform_text.h"

#include "ronde/dag.h"
#include "ronde/generate.h"
#include "ronde/quotient.h"
#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "ronde/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPUS 8u
#define LINK_GBPS 450.0
#define BLOCK_BYTES ((uint64_t)64 << 20)

/* A DGX H100 whose NVSwitches copy and add, or several. NULL, said, where no platform file can be read. */
static struct ronde_platform *machine(uint32_t nodes, bool multicasts)
{
    const struct ronde_generate_request request = {.kind = "dgx-h100",
                                                   .nodes = nodes,
                                                   .fabric = RONDE_FABRIC_COUNT,
                                                   .multicasts = multicasts};
    return platform_text_generated(&request);
}

static struct ronde_schedule *compile(enum ronde_collective collective, const char *algorithm,
                                      uint32_t ranks, uint32_t nodes)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = algorithm,
                                                  .ranks = ranks,
                                                  .channels = 1,
                                                  .shape_count = nodes > 0 ? 2 : 0,
                                                  .shape = {nodes, nodes > 0 ? ranks / nodes : 0}};
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                          RONDE_OK);
    return schedule;
}

static struct ronde_dag *expand(const struct ronde_schedule *schedule, uint64_t count,
                                uint64_t slot_bytes)
{
    const struct ronde_load load = {.count = count, .dtype = RONDE_FLOAT32, .slot_bytes = slot_bytes};
    const struct ronde_time_params params = {.step_ns = 100, .multicasts = true};
    struct ronde_dag *dag = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create(schedule, &load, &params, ronde_mem_default(), &dag,
                                           &error),
                          RONDE_OK);
    return dag;
}

/* Each rank loads its chunk and stores the sum of it; nothing else moves bytes or takes time. */
static void a_run_is_one_operation(void)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "hierarchical_direct_tree", GPUS, 1);
    struct ronde_dag *dag = expand(schedule, BLOCK_BYTES / 4, 0);
    uint32_t loads = 0, stores = 0;
    CU_ASSERT_EQUAL(dag->group_count, 2 * GPUS);
    CU_ASSERT_EQUAL(dag->member_count, 2 * GPUS * (GPUS - 1));
    for (uint32_t g = 0; g < dag->group_count; g++) {
        const struct ronde_dag_group *group = &dag->groups[g];
        CU_ASSERT_EQUAL(group->member_count, GPUS - 1);
        for (uint32_t i = 0; i < group->member_count; i++)
            CU_ASSERT_NOT_EQUAL(dag->members[group->first_member + i], group->rank);
    }
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_op *op = &dag->ops[i];
        const uint32_t group = dag->group_of[i];
        CU_ASSERT_EQUAL(op->bytes, group == RONDE_NONE ? 0 : BLOCK_BYTES / GPUS);
        CU_ASSERT_EQUAL(op->delay_ns, group == RONDE_NONE ? 0 : 100);
        if (group == RONDE_NONE)
            continue;
        CU_ASSERT_EQUAL(op->src, dag->groups[group].rank);
        CU_ASSERT_EQUAL(dag->groups[group].is_load, op->src == op->dst);
        loads += dag->groups[group].is_load;
        stores += !dag->groups[group].is_load;
    }
    CU_ASSERT_EQUAL(loads, GPUS);
    CU_ASSERT_EQUAL(stores, GPUS);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

/* What every rank stores to all and every rank adds up is loaded, and not stored besides. */
static void what_is_loaded_is_not_stored(void)
{
    static const char text[] = "ronde 1\ncollective all_reduce\nranks 3\nplacement out_of_place\n"
                               "program 0 positions 0-2\n"
                               "send in[0] -> +1\nsend in[0] -> -1\n"
                               "lane 1\n"
                               "rrc in[0] out[0] <- +1\nrr out[0] <- -1\n";
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_schedule_read(text, sizeof text - 1, "three", ronde_mem_default(),
                                              NULL, &schedule, &error),
                          RONDE_OK);
    struct ronde_dag *dag = expand(schedule, BLOCK_BYTES / 4, 0);
    uint64_t bytes = 0;
    CU_ASSERT_EQUAL(dag->group_count, 6);
    for (uint32_t g = 0; g < dag->group_count; g++)
        CU_ASSERT_EQUAL(dag->groups[g].member_count, dag->groups[g].is_load ? 2 : 0);
    for (uint32_t i = 0; i < dag->op_count; i++)
        bytes += dag->ops[i].bytes;
    CU_ASSERT_EQUAL(bytes, 3 * BLOCK_BYTES);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
}

static struct ronde_sim_result replay_on(const struct ronde_platform *platform, const char *engine,
                                         enum ronde_collective collective, const char *algorithm,
                                         uint32_t ranks, uint64_t block_bytes, uint64_t slot_bytes,
                                         struct ronde_error *error)
{
    struct ronde_schedule *schedule = compile(collective, algorithm, ranks, 0);
    const struct ronde_load load = {.count = block_bytes / 4,
                                    .dtype = RONDE_FLOAT32,
                                    .slot_bytes = slot_bytes};
    const struct ronde_time_params params = ronde_platform_time(platform, ranks, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    struct ronde_sim_result result = {0};
    error->status = ronde_sim_job_run(&job, engine, NULL, ronde_mem_default(), &result, error);
    ronde_schedule_destroy(schedule);
    return result;
}

static double replay_ns(const struct ronde_platform *platform, const char *engine,
                        enum ronde_collective collective, const char *algorithm,
                        uint64_t block_bytes, uint64_t slot_bytes, struct ronde_error *error)
{
    const struct ronde_sim_result result =
        replay_on(platform, engine, collective, algorithm, GPUS, block_bytes, slot_bytes, error);
    CU_ASSERT_FALSE(result.is_multicast_ignored);
    return error->status == RONDE_OK ? result.time_ns : NAN;
}

static void expect_GBps(const struct ronde_platform *platform, enum ronde_collective collective,
                        const char *algorithm, uint64_t block_bytes, uint64_t slot_bytes,
                        double bytes)
{
    struct ronde_error error = {0};
    const double ns =
        replay_ns(platform, "auto", collective, algorithm, block_bytes, slot_bytes, &error);
    const double wanted_ns = bytes / LINK_GBPS;
    CU_ASSERT(fabs(ns / wanted_ns - 1) < 0.03);
    if (!(fabs(ns / wanted_ns - 1) < 0.03))
        suite_note("%s: %.0f ns, expected %.0f; %s", algorithm, ns, wanted_ns, error.message);
}

/* Bytes that pass the busiest link of a rank, its own copy or operand included. */
static void links_carry_what_is_copied_once(void)
{
    struct ronde_platform *platform = machine(1, true);
    const double block = (double)BLOCK_BYTES;
    if (!platform)
        return;
    expect_GBps(platform, RONDE_BROADCAST, "direct", BLOCK_BYTES, 0, block);
    expect_GBps(platform, RONDE_ALL_GATHER, "direct", BLOCK_BYTES, 0, GPUS * block);
    expect_GBps(platform, RONDE_REDUCE_SCATTER, "direct", BLOCK_BYTES, 0, GPUS * block);
    expect_GBps(platform, RONDE_ALL_REDUCE, "hierarchical_direct_tree", 16 * BLOCK_BYTES,
                (uint64_t)1 << 20, 16 * block * (GPUS + 1) / GPUS);
    /* A ring has no runs. */
    expect_GBps(platform, RONDE_ALL_REDUCE, "ring", 16 * BLOCK_BYTES, 0,
                16 * block * 2 * (GPUS - 1) / GPUS);
    ronde_platform_destroy(platform);
}

/* Schedules without runs take what they take on any machine, to the last bit. */
static void what_has_no_runs_takes_as_long(void)
{
    static const char *const algorithms[] = {"ring", "double_tree", "recursive_doubling"};
    struct ronde_platform *with = machine(1, true), *without = machine(1, false);
    struct ronde_error error = {0};
    for (size_t i = 0; with && without && i < 3; i++)
        CU_ASSERT_EQUAL(replay_ns(with, "maxmin", RONDE_ALL_REDUCE, algorithms[i], BLOCK_BYTES,
                                  (uint64_t)1 << 20, &error),
                        replay_ns(without, "maxmin", RONDE_ALL_REDUCE, algorithms[i], BLOCK_BYTES,
                                  (uint64_t)1 << 20, &error));
    ronde_platform_destroy(with);
    ronde_platform_destroy(without);
}

static void expect_refusal(const struct ronde_platform *platform, const char *engine,
                           const char *part)
{
    struct ronde_error error = {0};
    (void)replay_ns(platform, engine, RONDE_ALL_GATHER, "direct", BLOCK_BYTES, 0, &error);
    CU_ASSERT_EQUAL(error.status, RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
}

/* Engines that know no groups, a graph whose groups leave their switch, one whose groups are none. */
static void what_no_switch_copies_is_refused(void)
{
    const char *reason = NULL;
    struct ronde_platform *platform = machine(1, true);
    if (!platform)
        return;
    expect_refusal(platform, "ports", "which ports does not model");
    if (ronde_sim_simgrid_available(&reason))
        expect_refusal(platform, "simgrid", "which simgrid does not model");
    ronde_platform_destroy(platform);

    struct ronde_schedule *schedule = compile(RONDE_ALL_GATHER, "direct", 2 * GPUS, 0);
    struct ronde_sim_result result = {0};
    struct ronde_error error = {0};
    struct ronde_dag *dag = expand(schedule, 1 << 20, 0);
    platform = machine(2, true);
    CU_ASSERT_EQUAL(ronde_sim_auto(platform, dag, NULL, ronde_mem_default(), &result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "links apart"));
    dag->groups[0].first_member = dag->member_count;
    CU_ASSERT_EQUAL(ronde_sim_maxmin(platform, dag, NULL, ronde_mem_default(), &result, &error),
                    RONDE_BAD_ARGUMENT);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_platform_destroy(platform);
    ronde_schedule_destroy(schedule);
}

/* Whether the graph that explains a replay has no groups, which is said. */
static bool graph_is_plain(const struct ronde_platform *platform, const char *algorithm)
{
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, algorithm, 2 * GPUS, 0);
    const struct ronde_load load = {.count = 1 << 16, .dtype = RONDE_FLOAT32};
    const struct ronde_time_params params = ronde_platform_time(platform, 2 * GPUS, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    struct ronde_error error = {0};
    struct ronde_dag *dag = NULL;
    bool is_ignored = false;
    CU_ASSERT_EQUAL_FATAL(ronde_sim_graph(&job, NULL, true, ronde_mem_default(), &dag, &is_ignored,
                                          &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(is_ignored, dag->group_of == NULL);
    CU_ASSERT_PTR_NOT_NULL(dag->origins);
    ronde_dag_destroy(dag, ronde_mem_default());
    ronde_schedule_destroy(schedule);
    return is_ignored;
}

/* Pairs of two nodes are no group: what each sends to all 15 others is messages, as on any machine, and it is said. */
static void what_leaves_its_switch_is_messages(void)
{
    struct ronde_platform *with = machine(2, true), *without = machine(2, false);
    struct ronde_error error = {0};
    if (with && without) {
        const struct ronde_sim_result apart =
            replay_on(with, "maxmin", RONDE_ALL_GATHER, "direct", 2 * GPUS, 1 << 20, 0, &error);
        const struct ronde_sim_result plain =
            replay_on(without, "maxmin", RONDE_ALL_GATHER, "direct", 2 * GPUS, 1 << 20, 0, &error);
        CU_ASSERT_EQUAL(error.status, RONDE_OK);
        CU_ASSERT(apart.is_multicast_ignored);
        CU_ASSERT_FALSE(plain.is_multicast_ignored);
        CU_ASSERT_EQUAL(apart.time_ns, plain.time_ns);
        CU_ASSERT(graph_is_plain(with, "direct"));
        CU_ASSERT_FALSE(graph_is_plain(with, "hierarchical_direct_tree"));
        /* Without runs there is nothing to ignore, nor anything in the way of the quotient. */
        const struct ronde_sim_result ring =
            replay_on(with, "auto", RONDE_ALL_REDUCE, "ring", 2 * GPUS, 1 << 20, 0, &error);
        CU_ASSERT_FALSE(ring.is_multicast_ignored);
        CU_ASSERT(ring.is_symmetric);
    }
    ronde_platform_destroy(with);
    ronde_platform_destroy(without);
}

static void expect_no_file(const struct ronde_generate_request *request, const char *part)
{
    struct ronde_error error = {0};
    FILE *file = tmpfile();
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(ronde_generate(request, file, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, part));
    CU_ASSERT_EQUAL(ftell(file), 0);
    (void)fclose(file);
}

static void only_switches_copy(void)
{
    struct ronde_generate_request request = {.kind = "mi300x",
                                             .fabric = RONDE_FABRIC_COUNT,
                                             .multicasts = true};
    expect_no_file(&request, "no switch copies or adds there");
    request.kind = "crossbar";
    expect_no_file(&request, "has no switch that copies and adds");
}

static enum ronde_status sweep_replay(const void *context, const struct ronde_mem *mem,
                                      struct ronde_error *error)
{
    const struct ronde_platform *platform = context;
    const struct ronde_load load = {.count = 1 << 16, .dtype = RONDE_FLOAT32};
    const struct ronde_time_params params = {.multicasts = true};
    struct ronde_schedule *schedule = compile(RONDE_ALL_REDUCE, "direct", GPUS, 0);
    struct ronde_sim_result result = {0};
    struct ronde_dag *dag = NULL;
    enum ronde_status status = ronde_dag_create(schedule, &load, &params, mem, &dag, error);
    if (status == RONDE_OK)
        status = ronde_sim_maxmin(platform, dag, NULL, mem, &result, error);
    ronde_dag_destroy(dag, mem);
    ronde_schedule_destroy(schedule);
    return status;
}

static void memory_may_end_anywhere(void)
{
    struct ronde_platform *platform = machine(1, true);
    const struct sweep sweep = {.what = "a replay of groups",
                                .operation = sweep_replay,
                                .context = platform};
    if (platform)
        CU_ASSERT(sweep_run(&sweep) > 10);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_run_is_one_operation", a_run_is_one_operation},
        {"what_is_loaded_is_not_stored", what_is_loaded_is_not_stored},
        {"links_carry_what_is_copied_once", links_carry_what_is_copied_once},
        {"what_has_no_runs_takes_as_long", what_has_no_runs_takes_as_long},
        {"what_no_switch_copies_is_refused", what_no_switch_copies_is_refused},
        {"what_leaves_its_switch_is_messages", what_leaves_its_switch_is_messages},
        {"only_switches_copy", only_switches_copy},
        {"memory_may_end_anywhere", memory_may_end_anywhere},
    };
    return suite_run("multicast", cases, sizeof cases / sizeof cases[0]);
}
