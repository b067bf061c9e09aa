/**
 * A folded replay gives what the replay of the whole graph gives: every symmetric schedule on every kind of machine, with
 * scattered ranks, late ranks and links that are slower than the others; and it is refused where ranks differ. So does a
 * replay of turned programs, of all schedules that have one per position.
 */
#include "support/suite.h"

#include "swept.h"
#include "unit/platform_text.h"

#include "ronde/generate.h"
#include "ronde/schedules.h"
#include "ronde/sim.h"

#include <math.h>
#include <string.h>

/** Costs that differ from one another, so that none can stand in for another. */
static const struct ronde_time_params costs = {.alpha_ns = 730,
                                               .step_ns = 57,
                                               .launch_ns = 1100,
                                               .gamma_GBps = 31,
                                               .copy_GBps = 83,
                                               .lane_GBps = 0};

/** Two replays may differ by rounding only. */
#define TOLERANCE 1e-9

/** What rounding becomes where times are chaotic, over the few messages of these tests: 2e-7 were seen. */
#define CHAOTIC 1e-5

/** What was compared. */
struct tally {
    bool is_turned;    /**< schedules with a program per position, else symmetric ones */
    unsigned compared; /**< loads replayed both ways */
    unsigned shared;   /**< of them, where links were shared: longer than without */
    unsigned refused;  /**< loads that no two ranks have alike */
};

/**
 * Where one lane sends to all others in turn, times are chaotic: the last bit of a sum decides who waits for whom
 * (docs/guide/simulation.md). These are compared on one piece only.
 */
static bool is_chaotic(const struct ronde_schedule *schedule)
{
    return strstr(schedule->algorithm, "direct") || strstr(schedule->algorithm, "pairwise");
}

/** Both replays of a job; differences are failures. */
static void compare(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                    struct tally *tally)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_result whole = {0}, flat = {0}, folded = {0};
    struct ronde_error error = {0};
    struct ronde_dag *dag = NULL;
    const enum ronde_status status =
        (tally->is_turned ? ronde_sim_turned : ronde_sim_folded)(job, options, mem, &folded, &error);
    if (status == RONDE_UNSUPPORTED) {
        tally->refused++;
        return;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT_FATAL(ronde_dag_create(job->schedule, job->load, job->params, mem, &dag, NULL) ==
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_sim_maxmin(job->platform, dag, options, mem, &whole, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_sim_flat(job->platform, dag, options, mem, &flat, NULL), RONDE_OK);
    const double tolerance = is_chaotic(job->schedule) ? CHAOTIC : TOLERANCE;
    const bool is_same = fabs(folded.time_ns / whole.time_ns - 1) <= tolerance &&
                         fabs(folded.busiest_utilisation - whole.busiest_utilisation) <= tolerance;
    CU_ASSERT(is_same && folded.is_symmetric && !whole.is_symmetric);
    if (!is_same)
        suite_note("%s %s on %u ranks, %llu elements, slots of %llu: %.17g and %.17g ns, busiest "
                   "%.17g and %.17g",
                   ronde_collective_text(job->schedule->collective), job->schedule->algorithm,
                   job->schedule->ranks, (unsigned long long)job->load->count,
                   (unsigned long long)job->load->slot_bytes, folded.time_ns, whole.time_ns,
                   folded.busiest_utilisation, whole.busiest_utilisation);
    tally->compared++;
    tally->shared += whole.time_ns > flat.time_ns * (1 + TOLERANCE);
    ronde_dag_destroy(dag, mem);
}

/** One piece and several, with the fewest slots there may be, so that steps wait for them. */
static void compare_loads(const struct ronde_platform *platform,
                          const struct ronde_schedule *schedule,
                          const struct ronde_sim_options *options, struct tally *tally)
{
    const uint64_t unit = 4ull * schedule->chunks_per_block * schedule->channel_count;
    for (uint32_t has_slots = 0; has_slots < 2; has_slots++) {
        const struct ronde_load load = {.count = 600 * unit,
                                        .dtype = RONDE_FLOAT32,
                                        .slot_bytes =
                                            has_slots ? 3200ull * schedule->max_chunk_count : 0,
                                        .depth = has_slots ? schedule->proof.min_depth : 0};
        const struct ronde_sim_job job = {platform, schedule, &load, &costs};
        if (!has_slots || !is_chaotic(schedule))
            compare(&job, options, tally);
    }
}

/** A schedule of an algorithm, where there is one and it is symmetric or not, as is asked; else NULL. */
static struct ronde_schedule *compile(const struct ronde_algorithm *algorithm, uint32_t ranks,
                                      uint32_t inner, uint32_t channels, bool is_symmetric)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = channels,
                                                  .shape_count = inner > 0 ? 2 : 0,
                                                  .shape = {inner > 0 ? ranks / inner : 0, inner}};
    struct ronde_schedule *schedule = NULL;
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    if ((schedule->symmetry != RONDE_SYMMETRY_NONE) == is_symmetric)
        return schedule;
    ronde_schedule_destroy(schedule);
    return NULL;
}

/** All algorithms on so many ranks, `inner` of them to a node or 0. */
static void compare_all(const struct ronde_platform *platform, uint32_t ranks, uint32_t inner,
                        struct tally *tally)
{
    const struct ronde_sim_options options = {0};
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t channels = 1; channels < 4; channels += 2) {
            struct ronde_schedule *schedule =
                compile(algorithms[i], ranks, inner, channels, !tally->is_turned);
            if (schedule)
                compare_loads(platform, schedule, &options, tally);
            ronde_schedule_destroy(schedule);
        }
}

static void report(const struct tally *tally)
{
    suite_note("%u loads, %u of them share links, %u refused", tally->compared, tally->shared,
               tally->refused);
}

/** A machine, and how many loads are compared on it at least, and how many of them share links. */
struct row {
    const char *file;
    uint32_t ranks, inner;
    unsigned compared, shared;
};

static void compare_rows(const struct row *rows, size_t count, size_t stride, bool is_turned)
{
    for (size_t i = 0; i < count && suite_can_read_platforms(); i += stride) {
        struct ronde_platform *platform = platform_text_open(rows[i].file);
        struct tally tally = {.is_turned = is_turned};
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        compare_all(platform, rows[i].ranks, rows[i].inner, &tally);
        suite_note("%s, %u ranks:", rows[i].file, rows[i].ranks);
        report(&tally);
        CU_ASSERT(tally.compared >= rows[i].compared && tally.shared >= rows[i].shared);
        ronde_platform_destroy(platform);
    }
}

static void schedules_are_as_their_graphs_on_the_machines_of_the_library(void)
{
    static const struct row rows[] = {
        {"topologies/crossbar-64.xml", 64, 0, 20, 0},
        {"topologies/crossbar-64.xml", 24, 4, 10, 5},
        {"topologies/fat-tree-2to1-64.xml", 64, 8, 20, 10},
        {"topologies/fat-tree-2to1-64.xml", 32, 0, 20, 10},
        {"topologies/torus-8x8.xml", 64, 8, 10, 5},
        {"topologies/dragonfly-72.xml", 72, 4, 5, 2},
        {"topologies/mi300x.xml", 8, 0, 5, 0},
        {"topologies/dgx-h100.xml", 8, 0, 10, 0},
        {"topologies/dgx-h100-pod.xml", 64, 8, 10, 5},
    };
    compare_rows(rows, sizeof rows / sizeof rows[0], suite_is_sample() ? 3 : 1, false);
}

/** Trees on rails and in chains, whose programs are alike from rail to rail and whose channels are, if chunks are. */
static void turned_schedules_are_as_their_graphs(void)
{
    static const struct row rows[] = {
        {"topologies/dgx-h100-pod.xml", 64, 8, 8, 4},
        {"topologies/fat-tree-2to1-64.xml", 64, 8, 8, 4},
        {"topologies/crossbar-64.xml", 24, 4, 8, 4},
    };
    compare_rows(rows, sizeof rows / sizeof rows[0], 1, true);
}

/** Every second chunk is a grain longer: ranks two apart are alike. */
static void chunks_that_differ_fold_by_where_they_do_not(void)
{
    static const char *const names[] = {"ring", "rabenseifner", "direct", "hierarchical"};
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/fat-tree-2to1-64.xml") : NULL;
    const struct ronde_sim_options options = {0};
    struct tally tally = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0] && platform; i++) {
        const struct ronde_algorithm *algorithm =
            ronde_algorithm_find(RONDE_ALL_REDUCE, names[i], NULL);
        struct ronde_schedule *schedule = compile(algorithm, 64, 8, 1, true);
        CU_ASSERT_PTR_NOT_NULL_FATAL(schedule);
        const struct ronde_load load = {.count = 606ull * schedule->chunks_per_block,
                                        .dtype = RONDE_FLOAT32};
        const struct ronde_sim_job job = {platform, schedule, &load, &costs};
        compare(&job, &options, &tally);
        ronde_schedule_destroy(schedule);
    }
    CU_ASSERT(!platform || (tally.compared == 4 && tally.refused == 0));
    ronde_platform_destroy(platform);
}

static struct ronde_schedule *compile_named(enum ronde_collective collective, const char *name,
                                            uint32_t ranks)
{
    const struct ronde_compile_request request = {.collective = collective,
                                                  .algorithm = name,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    return schedule;
}

/** Two pods of 32 nodes: routes pass through zones inside zones, and only whole pods can change places. */
static void pods_are_as_their_graphs(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *name;
    } rows[] = {{RONDE_ALL_REDUCE, "ring"},
                {RONDE_ALL_REDUCE, "rabenseifner"},
                {RONDE_ALL_REDUCE, "hierarchical"},
                {RONDE_ALL_TO_ALL, "pairwise"}};
    struct ronde_platform *platform = platform_text_generated(
        &(struct ronde_generate_request){.kind = "rail", .nodes = 64, .fabric = RONDE_FABRIC_COUNT});
    const struct ronde_sim_options options = {0};
    struct tally tally = {0};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && platform; i++) {
        struct ronde_schedule *schedule = compile_named(rows[i].collective, rows[i].name, 512);
        compare_loads(platform, schedule, &options, &tally);
        ronde_schedule_destroy(schedule);
    }
    if (!platform)
        return;
    report(&tally);
    CU_ASSERT(tally.compared == 7 && tally.shared >= 1);
    ronde_platform_destroy(platform);
}

/** One link that all share has for the one rank that is replayed what is left of it: an eighth. */
static void a_link_of_all_is_shared_by_all(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms()
            ? platform_text_good(
                  "<?xml version='1.0'?><!DOCTYPE platform SYSTEM "
                  "\"https://simgrid.org/simgrid.dtd\"><platform version=\"4.1\">"
                  "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" "
                  "bw=\"50GBps\" lat=\"500ns\" bb_bw=\"60GBps\" bb_lat=\"100ns\"/></platform>")
            : NULL;
    struct tally tally = {0};
    if (!platform)
        return;
    compare_all(platform, 8, 0, &tally);
    report(&tally);
    CU_ASSERT(tally.refused == 0 && tally.shared > tally.compared / 2);
    struct ronde_schedule *ring = compile_named(RONDE_ALL_REDUCE, "ring", 8);
    const struct ronde_load load = {.count = 8 * 15000, .dtype = RONDE_FLOAT32};
    const struct ronde_time_params free_of_cost = {0};
    const struct ronde_sim_job job = {platform, ring, &load, &free_of_cost};
    struct ronde_sim_result result;
    CU_ASSERT_EQUAL(ronde_sim_folded(&job, NULL, ronde_mem_default(), &result, NULL), RONDE_OK);
    /* 14 messages of 60,000 bytes at 60 / 8 GB/s, 1,100 ns on the way. */
    CU_ASSERT_DOUBLE_EQUAL(result.time_ns, 14 * (60000 / 7.5 + 1100), 1e-3);
    CU_ASSERT_STRING_EQUAL(result.busiest_link, "c_backbone");
    ronde_schedule_destroy(ring);
    ronde_platform_destroy(platform);
}

/** Ranks that sit elsewhere, come later or have a slower port are told apart, all or in part. */
static void what_tells_ranks_apart_is_seen(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/fat-tree-2to1-64.xml") : NULL;
    uint32_t strided[64], swapped[64];
    double halves_ns[64] = {0}, last_ns[64] = {0};
    struct tally even = {0}, odd = {0}, slow = {0};
    if (!platform)
        return;
    for (uint32_t i = 0; i < 64; i++) {
        strided[i] = i % 8 * 8 + i / 8;
        swapped[i] = i == 0 ? 8 : i == 8 ? 0 : i;
        halves_ns[i] = i % 2 * 5000.0;
    }
    last_ns[63] = 5000;
    const struct ronde_sim_options evens[] = {{.host_of = strided}, {.release_ns = halves_ns}};
    const struct ronde_sim_options odds[] = {{.host_of = swapped}, {.release_ns = last_ns}};
    struct ronde_schedule *ring = compile_named(RONDE_ALL_REDUCE, "ring", 64);
    struct ronde_schedule *halving = compile_named(RONDE_ALL_REDUCE, "rabenseifner", 64);
    for (size_t i = 0; i < 2; i++) {
        compare_loads(platform, ring, &evens[i], &even);
        compare_loads(platform, halving, &evens[i], &even);
        compare_loads(platform, ring, &odds[i], &odd);
    }
    compare_loads(platform, halving, &odds[1], &odd);
    report(&even);
    CU_ASSERT(even.compared == 8 && even.refused == 0);
    CU_ASSERT(odd.compared == 0 && odd.refused == 6);
    CU_ASSERT_EQUAL(ronde_platform_degrade(platform, "up5_DOWN", 0.5, NULL), RONDE_OK);
    compare_loads(platform, ring, &(struct ronde_sim_options){0}, &slow);
    CU_ASSERT(slow.compared == 0 && slow.refused == 2);
    ronde_schedule_destroy(halving);
    ronde_schedule_destroy(ring);
    ronde_platform_destroy(platform);
}

/** Two channels: the second half a leaf on moves along with the first, one in any other order does not. */
static void channels_move_alike_or_are_refused(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/fat-tree-2to1-64.xml") : NULL;
    if (!platform)
        return;
    for (uint32_t is_even = 0; is_even < 2; is_even++) {
        uint32_t orders[128];
        for (uint32_t i = 0; i < 64; i++) {
            orders[i] = i;
            orders[64 + i] = is_even ? (i + 4) % 64 : i * 37 % 64 / 2 + i % 2 * 32;
        }
        const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                      .algorithm = "ring",
                                                      .ranks = 64,
                                                      .channels = 2,
                                                      .channel_orders = orders};
        const struct ronde_sim_options options = {0};
        struct ronde_schedule *schedule = NULL;
        struct tally tally = {0};
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                        RONDE_OK);
        compare_loads(platform, schedule, &options, &tally);
        CU_ASSERT_EQUAL(tally.compared, is_even ? 2 : 0);
        CU_ASSERT_EQUAL(tally.refused, is_even ? 0 : 2);
        ronde_schedule_destroy(schedule);
    }
    ronde_platform_destroy(platform);
}

/** Expects a refusal that contains `text`. */
static void refuse(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                   enum ronde_status status, const char *text)
{
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_sim_folded(job, options, ronde_mem_default(), &result, &error), status);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, text));
    if (!strstr(error.message, text))
        suite_note("\"%s\" lacks \"%s\"", error.message, text);
}

static void what_it_cannot_do_is_refused(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/crossbar-64.xml") : NULL;
    if (!platform)
        return;
    struct ronde_schedule *tree = compile_named(RONDE_ALL_REDUCE, "tree", 6);
    struct ronde_schedule *ring = compile_named(RONDE_ALL_REDUCE, "ring", 6);
    struct ronde_schedule *large = compile_named(RONDE_ALL_REDUCE, "ring", 65);
    const struct ronde_load load = {.count = 6000, .dtype = RONDE_FLOAT32};
    const struct ronde_load uneven = {.count = 6001, .dtype = RONDE_FLOAT32};
    const struct ronde_load cut = {.count = 6ull << 30, .dtype = RONDE_FLOAT32, .slot_bytes = 64};
    double finish_ns[1];
    const struct ronde_sim_options kept = {.out_finish_ns = finish_ns};
    refuse(&(struct ronde_sim_job){platform, tree, &load, &costs}, NULL, RONDE_UNSUPPORTED,
           "a program per position");
    refuse(&(struct ronde_sim_job){platform, ring, &uneven, &costs}, NULL, RONDE_UNSUPPORTED,
           "no two of 6 ranks have the same place");
    refuse(&(struct ronde_sim_job){platform, ring, &load, &costs}, &kept, RONDE_UNSUPPORTED,
           "keeps no times of single operations");
    refuse(&(struct ronde_sim_job){platform, large, &load, &costs}, NULL, RONDE_BAD_INPUT,
           "65 ranks, but it has 64 hosts");
    refuse(&(struct ronde_sim_job){platform, ring, &cut, &costs}, NULL, RONDE_UNSUPPORTED,
           "more than the 24000000 that are replayed");
    ronde_schedule_destroy(large);
    ronde_schedule_destroy(ring);
    ronde_schedule_destroy(tree);
    ronde_platform_destroy(platform);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void)
{
    struct ronde_platform *platform =
        suite_can_read_platforms() ? platform_text_open("topologies/fat-tree-2to1-64.xml") : NULL;
    if (!platform)
        return;
    const struct ronde_load load = {.count = 16 * 32, .dtype = RONDE_FLOAT32};
    struct ronde_schedule *direct = compile_named(RONDE_ALL_REDUCE, "direct", 16);
    swept_job(ronde_sim_folded, &(struct ronde_sim_job){platform, direct, &load, &costs}, 30);
    ronde_schedule_destroy(direct);
    struct ronde_schedule *trees = compile_named(RONDE_ALL_REDUCE, "hierarchical_direct_tree", 16);
    swept_job(ronde_sim_turned, &(struct ronde_sim_job){platform, trees, &load, &costs}, 20);
    const struct ronde_load pieces = {.count = 16 * 32 * 64,
                                      .dtype = RONDE_FLOAT32,
                                      .slot_bytes = 64ull * trees->max_chunk_count,
                                      .depth = trees->proof.min_depth};
    swept_job(ronde_sim_turned, &(struct ronde_sim_job){platform, trees, &pieces, &costs}, 20);
    ronde_schedule_destroy(trees);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"schedules_are_as_their_graphs_on_the_machines_of_the_library",
         schedules_are_as_their_graphs_on_the_machines_of_the_library},
        {"turned_schedules_are_as_their_graphs", turned_schedules_are_as_their_graphs},
        {"chunks_that_differ_fold_by_where_they_do_not",
         chunks_that_differ_fold_by_where_they_do_not},
        {"pods_are_as_their_graphs", pods_are_as_their_graphs},
        {"a_link_of_all_is_shared_by_all", a_link_of_all_is_shared_by_all},
        {"what_tells_ranks_apart_is_seen", what_tells_ranks_apart_is_seen},
        {"channels_move_alike_or_are_refused", channels_move_alike_or_are_refused},
        {"what_it_cannot_do_is_refused", what_it_cannot_do_is_refused},
        {"every_failing_allocation_is_reported_and_leaks_nothing",
         every_failing_allocation_is_reported_and_leaks_nothing},
    };
    return suite_run("folded", cases, sizeof cases / sizeof cases[0]);
}
