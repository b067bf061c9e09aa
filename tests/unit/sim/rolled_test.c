/** Graphs of one piece that stands for all: replays of them against those of the whole graph, and what is refused. */
#include "support/suite.h"

#include "sim/shared/forward.h"
#include "sim/shared/maxmin_share.h"
#include "sim/shared/shorten.h"

#include "ronde/backend.h"
#include "ronde/schedules.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

static const struct ronde_time_params costs = {
    .alpha_ns = 300, .step_ns = 57, .launch_ns = 1100, .gamma_GBps = 31, .copy_GBps = 83};

/** Bytes of a piece, and elements of it. */
#define PIECE_BYTES 3200u
#define PIECE_ELEMENTS (PIECE_BYTES / 4)

/** Two replays may differ by rounding only. */
#define TOLERANCE 1e-9

/** What is replayed both ways. */
struct stage {
    const struct ronde_platform *platform;
    const struct ronde_schedule *schedule;
    const struct ronde_sim_options *options;
    unsigned compared;
};

/** Replays the first pieces, rolled up. */
static enum ronde_status replay_rolled(const struct stage *stage, struct ronde_dag *dag,
                                       uint32_t pieces, struct ronde_sim_result *out_result)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_sim_scene scene = {stage->platform, dag, stage->options, mem, NULL};
    struct ronde_sim_forward walk;
    enum ronde_status status = ronde_sim_forward_open(&walk, &scene, "maxmin");
    if (status == RONDE_OK)
        status = ronde_sim_forward_graph_roll(&scene, pieces, &walk.graph);
    if (status == RONDE_OK) {
        CU_ASSERT_EQUAL(ronde_sim_forward_steps(&walk.graph) *
                            (dag->origins[dag->op_count - 1].piece + 1),
                        dag->op_count);
        status = ronde_sim_maxmin_walk(&walk, out_result);
    }
    ronde_sim_forward_close(&walk);
    return status;
}

static void compare(struct stage *stage, const struct ronde_load *load)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t depth =
        ronde_launch_depth(stage->schedule, &(struct ronde_launch){.depth = load->depth});
    const uint32_t least = RONDE_SIM_ROLLED_PIECES(depth);
    const uint32_t pieces = (uint32_t)ronde_sim_pieces(stage->schedule, load);
    struct ronde_dag *whole = NULL, *first = NULL;
    struct ronde_sim_result expected = {0}, found = {0};
    if (pieces <= least)
        return;
    const struct ronde_load shorter = ronde_sim_fewer_pieces(stage->schedule, load, pieces - least);
    CU_ASSERT_EQUAL(ronde_sim_pieces(stage->schedule, &shorter), least);
    CU_ASSERT_FATAL(ronde_dag_create(stage->schedule, load, &costs, mem, &whole, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_dag_create_named(stage->schedule, &shorter, &costs, mem, &first, NULL) ==
                    RONDE_OK);
    first->least_ns = whole->least_ns;
    CU_ASSERT_EQUAL(ronde_sim_maxmin(stage->platform, whole, stage->options, mem, &expected, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL(replay_rolled(stage, first, pieces, &found), RONDE_OK);
    const bool is_same = fabs(found.time_ns / expected.time_ns - 1) <= TOLERANCE &&
                         fabs(found.busiest_utilisation - expected.busiest_utilisation) <= TOLERANCE;
    CU_ASSERT(is_same);
    if (!is_same)
        suite_note("%s %s on %u ranks, %u pieces, depth %u: %.17g and %.17g ns",
                   ronde_collective_text(stage->schedule->collective), stage->schedule->algorithm,
                   stage->schedule->ranks, pieces, depth, found.time_ns, expected.time_ns);
    stage->compared++;
    ronde_dag_destroy(first, mem);
    ronde_dag_destroy(whole, mem);
}

/** With few slots and with many; the last piece shorter, or chunks a grain apart. */
static void compare_loads(struct stage *stage)
{
    const struct ronde_schedule *schedule = stage->schedule;
    const uint64_t chunks = (uint64_t)schedule->chunks_per_block * schedule->channel_count;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t pieces = i < 2 ? 2 * schedule->proof.min_depth + 5 : 21;
        const struct ronde_load load = {.count = chunks * (pieces * PIECE_ELEMENTS + 300) +
                                                 (i == 1 ? 4 * (chunks / 2) + 1 : 0),
                                        .dtype = RONDE_FLOAT32,
                                        .slot_bytes =
                                            (uint64_t)PIECE_BYTES * schedule->max_chunk_count,
                                        .depth = i < 2 ? schedule->proof.min_depth : 0};
        compare(stage, &load);
    }
}

/** Where one lane sends to all others in turn, times are chaotic: the last bit decides who waits for whom. */
static bool is_chaotic(const struct ronde_algorithm *algorithm)
{
    return strstr(algorithm->name, "direct") || strstr(algorithm->name, "pairwise");
}

/** All algorithms on so many ranks, `inner` of them to a node. */
static void compare_all(struct stage *stage, uint32_t ranks, uint32_t inner)
{
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_compile_request request = {.collective = algorithms[i]->collective,
                                                      .algorithm = algorithms[i]->name,
                                                      .ranks = ranks,
                                                      .shape_count = 2,
                                                      .shape = {ranks / inner, inner}};
        struct ronde_schedule *schedule = NULL;
        if (is_chaotic(algorithms[i]) || algorithms[i]->supports(&request, NULL) != RONDE_OK)
            continue;
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                        RONDE_OK);
        stage->schedule = schedule;
        compare_loads(stage);
        ronde_schedule_destroy(schedule);
    }
}

static void pieces_are_as_the_whole_on_the_machines_of_the_library(void)
{
    static const struct {
        const char *file;
        uint32_t ranks, inner;
    } rows[] = {
        {"topologies/crossbar-64.xml", 33, 3},  {"topologies/fat-tree-2to1-64.xml", 32, 8},
        {"topologies/torus-8x8.xml", 16, 4},    {"topologies/dragonfly-72.xml", 24, 4},
        {"topologies/dgx-h100-pod.xml", 32, 8},
    };
    const struct ronde_sim_options options = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && suite_can_read_platforms(); i++) {
        struct ronde_platform *platform = platform_text_open(rows[i].file);
        struct stage stage = {.platform = platform, .options = &options};
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        compare_all(&stage, rows[i].ranks, rows[i].inner);
        suite_note("%s: %u loads", rows[i].file, stage.compared);
        CU_ASSERT(stage.compared >= 40);
        ronde_platform_destroy(platform);
    }
}

/** A late rank and a slow port: others run ahead of it, by more pieces than a ring of nodes has at first. */
static void what_runs_ahead_has_nodes(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/crossbar-64.xml") : NULL;
    double late_ns[24] = {0};
    if (!platform)
        return;
    late_ns[5] = 40000;
    const struct ronde_sim_options options = {.release_ns = late_ns};
    struct stage stage = {.platform = platform, .options = &options};
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "hosts_link_7_UP", 0.02, NULL), RONDE_OK);
    compare_all(&stage, 24, 4);
    CU_ASSERT(stage.compared >= 40);
    ronde_platform_destroy(platform);
}

/** One piece shows nothing of those that follow. */
static void one_piece_is_refused(void)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/crossbar-64.xml") : NULL;
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "tree",
                                                  .ranks = 8};
    const struct ronde_sim_options options = {0};
    const struct ronde_load load = {.count = 1000, .dtype = RONDE_FLOAT32};
    struct ronde_schedule *schedule = NULL;
    struct ronde_dag *dag = NULL;
    struct ronde_sim_result result;
    if (!platform)
        return;
    CU_ASSERT_FATAL(ronde_compile(&request, mem, NULL, &schedule, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_dag_create_named(schedule, &load, &costs, mem, &dag, NULL) == RONDE_OK);
    const struct stage stage = {platform, schedule, &options, 0};
    CU_ASSERT_EQUAL(replay_rolled(&stage, dag, 40, &result), RONDE_UNSUPPORTED);
    ronde_dag_destroy(dag, mem);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"pieces_are_as_the_whole_on_the_machines_of_the_library",
         pieces_are_as_the_whole_on_the_machines_of_the_library},
        {"what_runs_ahead_has_nodes", what_runs_ahead_has_nodes},
        {"one_piece_is_refused", one_piece_is_refused},
    };
    return suite_run("rolled", cases, sizeof cases / sizeof cases[0]);
}
