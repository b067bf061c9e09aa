/**
 * The replay on the quotient gives what the replay of the whole graph gives: the same time to the
 * last bit, the same certificate, the same busiest link.
 */
#include "support/schedule.h"
#include "support/suite.h"
#include "swept.h"

#include "ronde/schedules.h"
#include "ronde/sim.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** Costs that differ from one another, so that none can stand in for another. */
static const struct ronde_time_params costs = {.alpha_ns = 730,
                                               .step_ns = 57,
                                               .launch_ns = 1100,
                                               .gamma_GBps = 31,
                                               .copy_GBps = 83,
                                               .lane_GBps = 41};

/** The same with times that depend on the bytes of a message, which no line goes through. */
static const struct ronde_time_params sized_costs = {
    .alpha_ns = 730,
    .gamma_GBps = 31,
    .send = {3, {4, 100, 1000}, {90, 310, 333}},
    .receive = {2, {16, 640}, {41, 1700}},
    .combine = {2, {8, 80}, {0, 77}},
};

/** What was compared. */
struct tally {
    unsigned compared;  /**< loads replayed both ways */
    unsigned certified; /**< of them without contention */
    unsigned refused;   /**< loads whose quotient has a cycle */
    unsigned busy;      /**< loads of unequal chunks whose lanes share a processor */
};

static struct ronde_platform *open_platform(const char *name)
{
    char path[4096];
    struct ronde_platform *platform = NULL;
    if (!suite_can_read_platforms())
        return NULL;
    CU_ASSERT_FATAL(suite_source(path, sizeof path, name));
    CU_ASSERT_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL) == RONDE_OK);
    return platform;
}

/** Both replays of a job; differences are failures. */
static void compare(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                    struct tally *tally)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_result flat = {0}, symmetric = {0};
    struct ronde_error error = {0};
    struct ronde_dag *dag = NULL;
    const enum ronde_status status = ronde_sim_symmetric(job, options, mem, &symmetric, &error);
    if (status == RONDE_UNSUPPORTED) {
        const bool is_busy = strstr(error.message, "lanes share a processor") != NULL;
        tally->refused += !is_busy;
        tally->busy += is_busy;
        return;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_dag_create(job->schedule, job->load, job->params, mem, &dag, NULL),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_sim_flat(job->platform, dag, options, mem, &flat, NULL), RONDE_OK);
    const bool is_same = symmetric.time_ns == flat.time_ns &&
                         symmetric.is_contention_free == flat.is_contention_free &&
                         fabs(symmetric.busiest_utilisation - flat.busiest_utilisation) <= 1e-12;
    CU_ASSERT(is_same && symmetric.is_symmetric && !flat.is_symmetric);
    if (!is_same)
        suite_note("%s on %u ranks, %llu elements: %.17g and %.17g ns, free %d and %d, busiest "
                   "%.17g and %.17g",
                   job->schedule->algorithm, job->schedule->ranks,
                   (unsigned long long)job->load->count, symmetric.time_ns, flat.time_ns,
                   symmetric.is_contention_free, flat.is_contention_free,
                   symmetric.busiest_utilisation, flat.busiest_utilisation);
    tally->compared++;
    tally->certified += flat.is_contention_free;
    ronde_dag_destroy(dag, mem);
}

/** Equal and unequal chunks, one piece and several. */
static void compare_loads(const struct ronde_platform *platform,
                          const struct ronde_schedule *schedule,
                          const struct ronde_sim_options *options, struct tally *tally)
{
    const uint64_t even = 4ull * 32 * schedule->chunks_per_block * schedule->channel_count;
    const uint64_t counts[] = {even, even + 37, 3};
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t has_slots = 0; has_slots < 2; has_slots++) {
            /* The fewest slots there may be, so that steps wait for them. */
            const struct ronde_load load = {.count = counts[i],
                                            .dtype = RONDE_FLOAT32,
                                            .slot_bytes =
                                                has_slots ? 192ull * schedule->max_chunk_count : 0,
                                            .depth = has_slots ? schedule->proof.min_depth : 0};
            const struct ronde_sim_job job = {platform, schedule, &load, &costs};
            struct ronde_time_params sized = sized_costs;
            sized.puts = i % 2 != 0;
            const struct ronde_sim_job sized_job = {platform, schedule, &load, &sized};
            compare(&job, options, tally);
            compare(&sized_job, options, tally);
        }
}

/** Every symmetric schedule of an algorithm on so many ranks. */
static void compare_algorithm(const struct ronde_platform *platform,
                              const struct ronde_algorithm *algorithm, uint32_t ranks,
                              uint32_t channels, struct tally *tally)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks,
                                                  .channels = channels};
    const struct ronde_sim_options options = {0};
    struct ronde_schedule *schedule = NULL;
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    if (schedule->symmetry != RONDE_SYMMETRY_NONE)
        compare_loads(platform, schedule, &options, tally);
    ronde_schedule_destroy(schedule);
}

static void compare_all(const char *name)
{
    struct ronde_platform *platform = open_platform(name);
    struct tally tally = {0};
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; platform && i < count; i++)
        for (uint32_t ranks = 1; ranks <= 64; ranks += ranks < 33 ? 1 : 31) {
            compare_algorithm(platform, algorithms[i], ranks, 1, &tally);
            if (ranks % 5 == 3)
                compare_algorithm(platform, algorithms[i], ranks, 3, &tally);
        }
    if (!platform)
        return;
    suite_note("%u loads, %u certified, %u refused", tally.compared, tally.certified, tally.refused);
    CU_ASSERT(tally.compared > 1000 && tally.certified > 100 && tally.certified < tally.compared &&
              tally.refused == 0);
    ronde_platform_destroy(platform);
}

static void every_symmetric_schedule_is_as_its_graph_on_a_crossbar(void)
{
    compare_all("topologies/crossbar-64.xml");
}

static void every_symmetric_schedule_is_as_its_graph_on_a_fat_tree(void)
{
    compare_all("topologies/fat-tree-2to1-64.xml");
}

/** Digits: nodes and locals, the axes of a torus. */
static void shapes_are_as_their_graphs(void)
{
    struct ronde_platform *platform = open_platform("topologies/fat-tree-2to1-64.xml");
    static const uint32_t shapes[][3] = {{2, 2, 1}, {3, 4, 1}, {4, 8, 1},
                                         {5, 3, 1}, {2, 3, 4}, {4, 4, 4}};
    struct tally tally = {0};
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; platform && i < count * 6; i++) {
        const uint32_t *shape = shapes[i % 6];
        const struct ronde_compile_request request = {.collective = algorithms[i / 6]->collective,
                                                      .algorithm = algorithms[i / 6]->name,
                                                      .ranks = shape[0] * shape[1] * shape[2],
                                                      .channels = 1,
                                                      .shape_count = shape[2] > 1 ? 3 : 2,
                                                      .shape = {shape[0], shape[1], shape[2]}};
        const struct ronde_sim_options options = {0};
        struct ronde_schedule *schedule = NULL;
        if (algorithms[i / 6]->supports(&request, NULL) != RONDE_OK)
            continue;
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                        RONDE_OK);
        if (schedule->symmetry == RONDE_SYMMETRY_ROTATE && schedule->shape_count > 1)
            compare_loads(platform, schedule, &options, &tally);
        ronde_schedule_destroy(schedule);
    }
    if (!platform)
        return;
    suite_note("%u loads, %u certified", tally.compared, tally.certified);
    CU_ASSERT(tally.compared > 50 && tally.refused == 0);
    ronde_platform_destroy(platform);
}

/** splitmix64, as everywhere in the tests. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** A random order of so many ranks. */
static void shuffle(uint32_t *order, uint32_t ranks, uint64_t *state)
{
    for (uint32_t i = 0; i < ranks; i++)
        order[i] = i;
    for (uint32_t i = ranks; i-- > 1;) {
        const uint32_t other = (uint32_t)(draw(state) % (i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

/** Nothing is even: scattered ranks, late ranks, and an order per channel. */
static void placements_orders_and_releases_are_seen(void)
{
    struct ronde_platform *platform = open_platform("topologies/fat-tree-2to1-64.xml");
    static const char *const names[] = {"ring", "recursive_doubling", "direct"};
    struct tally tally = {0};
    uint64_t state = 4;
    for (uint32_t benchmark = 0; platform && benchmark < 120; benchmark++) {
        const uint32_t ranks = benchmark % 3 == 1 ? 16 : 2 + (uint32_t)(draw(&state) % 31);
        uint32_t hosts[64], orders[128];
        double releases_ns[64];
        for (uint32_t i = 0; i < 64; i++) {
            hosts[i] = (i * 37 + benchmark) % 64;
            releases_ns[i] = (double)(draw(&state) % 5) * 700.25;
        }
        shuffle(orders, ranks, &state);
        shuffle(orders + ranks, ranks, &state);
        const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                      .algorithm = names[benchmark % 3],
                                                      .ranks = ranks,
                                                      .channels = 2,
                                                      .channel_orders = orders};
        const struct ronde_sim_options options = {.host_of = hosts,
                                                  .release_ns = benchmark % 4 ? releases_ns : NULL};
        struct ronde_schedule *schedule = NULL;
        CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) ==
                        RONDE_OK);
        CU_ASSERT(schedule->symmetry != RONDE_SYMMETRY_NONE);
        compare_loads(platform, schedule, &options, &tally);
        ronde_schedule_destroy(schedule);
    }
    if (!platform)
        return;
    suite_note("%u loads, %u certified", tally.compared, tally.certified);
    CU_ASSERT(tally.compared + tally.busy == 1440);
    ronde_platform_destroy(platform);
}

/** Expects a refusal that contains `text`. */
static void refuse(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                   enum ronde_status status, const char *text)
{
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_sim_symmetric(job, options, ronde_mem_default(), &result, &error), status);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, text));
}

static void what_it_cannot_do_is_refused(void)
{
    struct ronde_platform *platform = open_platform("topologies/crossbar-64.xml");
    if (!platform)
        return;
    struct ronde_schedule *tree = schedule_compile(RONDE_ALL_REDUCE, "tree", 6);
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 6);
    struct ronde_schedule *large = schedule_compile(RONDE_ALL_REDUCE, "ring", 65);
    const struct ronde_load load = {.count = 6000, .dtype = RONDE_FLOAT32};
    const struct ronde_load shallow = {.count = 6000, .dtype = RONDE_FLOAT32, .depth = 1};
    const uint32_t hosts[] = {0, 1, 2, 3, 4, 64};
    double finish_ns[1];
    const struct ronde_sim_options kept = {.out_finish_ns = finish_ns},
                                   misplaced = {.host_of = hosts};
    refuse(&(struct ronde_sim_job){platform, tree, &load, &costs}, NULL, RONDE_UNSUPPORTED,
           "tree on 6 ranks has a program per position");
    refuse(&(struct ronde_sim_job){platform, ring, &load, &costs}, &kept, RONDE_UNSUPPORTED,
           "keeps no times of single operations");
    refuse(&(struct ronde_sim_job){platform, ring, &load, &costs}, &misplaced, RONDE_BAD_INPUT,
           "rank 5 on host 64, but it has 64 hosts");
    refuse(&(struct ronde_sim_job){platform, large, &load, &costs}, NULL, RONDE_BAD_INPUT,
           "65 ranks, but it has 64 hosts");
    refuse(&(struct ronde_sim_job){platform, ring, &shallow, &costs}, NULL, RONDE_BAD_ARGUMENT,
           "depth 1 is below 2");
    ronde_schedule_destroy(large);
    ronde_schedule_destroy(ring);
    ronde_schedule_destroy(tree);
    ronde_platform_destroy(platform);
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void)
{
    struct ronde_platform *platform = open_platform("topologies/fat-tree-2to1-64.xml");
    if (!platform)
        return;
    const struct ronde_load load = {.count = 1237, .dtype = RONDE_FLOAT32};
    /* Unequal chunks on a ring, and links that only a sweep can decide. */
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 24),
                          *direct = schedule_compile(RONDE_ALL_REDUCE, "direct", 12);
    swept_job(ronde_sim_symmetric, &(struct ronde_sim_job){platform, ring, &load, &costs}, 20);
    swept_job(ronde_sim_symmetric, &(struct ronde_sim_job){platform, direct, &load, &costs}, 20);
    ronde_schedule_destroy(direct);
    ronde_schedule_destroy(ring);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_symmetric_schedule_is_as_its_graph_on_a_crossbar",
         every_symmetric_schedule_is_as_its_graph_on_a_crossbar},
        {"every_symmetric_schedule_is_as_its_graph_on_a_fat_tree",
         every_symmetric_schedule_is_as_its_graph_on_a_fat_tree},
        {"shapes_are_as_their_graphs", shapes_are_as_their_graphs},
        {"placements_orders_and_releases_are_seen", placements_orders_and_releases_are_seen},
        {"what_it_cannot_do_is_refused", what_it_cannot_do_is_refused},
        {"every_failing_allocation_is_reported_and_leaks_nothing",
         every_failing_allocation_is_reported_and_leaks_nothing},
    };
    return suite_run("symmetric", cases, sizeof cases / sizeof cases[0]);
}
