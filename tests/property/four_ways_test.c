/**
 * One schedule, four prices: closed form, longest path, `flat` and SimGrid say the same on a crossbar, to 1e-9, wherever
 * no port ever carries two messages at once.
 */
#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "support/suite.h"

#include <math.h>
#include <string.h>

/** The one tolerance, relative. */
#define TOLERANCE 1e-9
#define SLOT_BYTES 512u
/** Slots of a connection where a load leaves its depth 0 (ronde/dag.h). */
#define DEFAULT_DEPTH 8u
/** Graphs above this are not replayed by SimGrid: seconds each. */
#define MOST_OPS 140000u

/** The largest schedules of a sample. */
#define SAMPLE_RANKS 9u

/** Costs that differ from one another and from the crossbar's own, so that none can stand in for another. */
static const struct ronde_time_params costs = {.alpha_ns = 730,
                                               .step_ns = 57,
                                               .launch_ns = 1100,
                                               .gamma_GBps = 31,
                                               .copy_GBps = 83,
                                               .lane_GBps = 41};

/** What was compared. */
struct tally {
    unsigned compared; /**< loads without a shared port */
    unsigned exact;    /**< of them with an exact closed form */
    unsigned joined;   /**< of these of schedules with joined steps */
    unsigned shared;   /**< loads on which ports are shared: nothing to compare */
    double worst;      /**< relative difference */
    bool has_simgrid;
};

static void expect_equal(struct tally *tally, double a_ns, double b_ns)
{
    const double difference = fabs(a_ns - b_ns) / b_ns;
    tally->worst = fmax(tally->worst, difference);
    CU_ASSERT(difference <= TOLERANCE);
}

static bool joins_steps(const struct ronde_schedule *schedule)
{
    bool joins = false;
    for (uint32_t p = 0; p < schedule->program_count; p++)
        for (uint32_t s = 0; s < schedule->programs[p].step_count; s++)
            joins |= (schedule->programs[p].steps[s].flags & RONDE_FLAG_JOINED) != 0;
    return joins;
}

/** One load: all prices that apply. Returns whether ports were unshared. */
static bool compare(const struct ronde_platform *platform, const struct ronde_algorithm *algorithm,
                    const struct ronde_compile_request *request,
                    const struct ronde_schedule *schedule, uint64_t pieces, struct tally *tally)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_load load = {.count = pieces * (SLOT_BYTES / 4) *
                                             schedule->chunks_per_block * schedule->channel_count,
                                    .dtype = RONDE_FLOAT32,
                                    .slot_bytes = SLOT_BYTES * schedule->max_chunk_count};
    struct ronde_network network;
    bool is_uniform = false;
    CU_ASSERT_FATAL(ronde_platform_network(platform, request->ranks, 0, &network, &is_uniform,
                                           NULL) == RONDE_OK);
    network.time = costs;
    struct ronde_dag *dag = NULL;
    double dag_ns = 0;
    struct ronde_sim_result flat = {0}, simgrid = {0};
    const struct ronde_sim_options options = {0};
    CU_ASSERT_FATAL(ronde_dag_create(schedule, &load, &costs, mem, &dag, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_dag_price(schedule, &load, &network, mem, &dag_ns, NULL) == RONDE_OK);
    CU_ASSERT_FATAL(ronde_sim_flat(platform, dag, &options, mem, &flat, NULL) == RONDE_OK);
    const bool is_free = flat.is_contention_free;
    expect_equal(tally, flat.time_ns, dag_ns);
    if (is_free && tally->has_simgrid && dag->op_count <= MOST_OPS) {
        CU_ASSERT_EQUAL(ronde_sim_simgrid(platform, dag, &options, &simgrid, NULL), RONDE_OK);
        expect_equal(tally, simgrid.time_ns, dag_ns);
        tally->compared++;
    }
    const struct ronde_price price = algorithm->price(request, &load, &network);
    if (price.is_exact && is_free) {
        expect_equal(tally, price.time_ns, dag_ns);
        tally->exact++;
        tally->joined += joins_steps(schedule);
    }
    tally->shared += !is_free;
    ronde_dag_destroy(dag, mem);
    return is_free;
}

/** Compiles and compares; where `must_be_free`, the certificate has to hold and the closed form to be exact. */
static void compare_ranks(const struct ronde_platform *platform,
                          const struct ronde_algorithm *algorithm, uint32_t ranks, uint64_t pieces,
                          bool must_be_free, struct tally *tally)
{
    const struct ronde_compile_request request = {.collective = algorithm->collective,
                                                  .algorithm = algorithm->name,
                                                  .ranks = ranks};
    struct ronde_schedule *schedule = NULL;
    if (algorithm->supports(&request, NULL) != RONDE_OK)
        return;
    CU_ASSERT_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK);
    const unsigned exact = tally->exact;
    const bool is_free = compare(platform, algorithm, &request, schedule, pieces, tally);
    const bool is_as_it_must = !must_be_free || (is_free && tally->exact == exact + 1);
    CU_ASSERT(is_as_it_must);
    if (!is_as_it_must)
        suite_note("%s %s on %u ranks, %u pieces: %s", ronde_collective_text(algorithm->collective),
                   algorithm->name, ranks, (unsigned)pieces,
                   is_free ? "not exact" : "a port is shared");
    ronde_schedule_destroy(schedule);
}

static struct ronde_platform *open_crossbar(void)
{
    char path[4096];
    struct ronde_platform *platform = NULL;
    if (!suite_can_read_platforms())
        return NULL;
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "topologies/crossbar-64.xml"));
    CU_ASSERT_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL) == RONDE_OK);
    return platform;
}

static void report(const struct tally *tally)
{
    suite_note("%u loads compared with SimGrid, %u closed forms exact, %u of them with joined "
               "steps, %u loads share a "
               "port; worst difference %.1e",
               tally->compared, tally->exact, tally->joined, tally->shared, tally->worst);
}

static const struct ronde_algorithm *find(enum ronde_collective collective, const char *name)
{
    const struct ronde_algorithm *algorithm = ronde_algorithm_find(collective, name, NULL);
    CU_ASSERT_FATAL(algorithm != NULL);
    return algorithm;
}

/** The algorithms whose ports never carry two messages at once: every number of ranks and pieces. */
static void rings_and_doubling_cost_the_same_four_ways(void)
{
    struct ronde_platform *platform = open_crossbar();
    const char *text = NULL;
    if (!platform)
        return;
    struct tally tally = {.has_simgrid = ronde_sim_simgrid_available(&text)};
    const uint32_t most = suite_is_sample() ? SAMPLE_RANKS : 64;
    for (uint32_t ranks = 2; ranks <= most; ranks += ranks < 17 ? 1 : ranks == 17 ? 15 : 32) {
        const bool is_power = (ranks & (ranks - 1)) == 0;
        for (uint64_t pieces = 1; pieces <= 16; pieces += suite_is_sample() ? 5 : 1) {
            compare_ranks(platform, find(RONDE_ALL_REDUCE, "ring"), ranks, pieces, true, &tally);
            compare_ranks(platform, find(RONDE_REDUCE_SCATTER, "ring"), ranks, pieces, true, &tally);
            compare_ranks(platform, find(RONDE_ALL_GATHER, "ring"), ranks, pieces, true, &tally);
            if (is_power)
                compare_ranks(platform, find(RONDE_ALL_REDUCE, "recursive_doubling"), ranks, pieces,
                              true, &tally);
        }
        compare_ranks(platform, find(RONDE_BROADCAST, "binomial"), ranks, 1, true, &tally);
    }
    report(&tally);
    ronde_platform_destroy(platform);
}

/** Whether an algorithm claims that no port carries two messages, and an exact price, where one flow fills a port. */
static bool claims_lockstep(const struct ronde_algorithm *algorithm, uint32_t ranks, uint64_t pieces)
{
    const struct ronde_price_case load = {
        .ranks = ranks, .channels = 1, .pieces = pieces, .depth = DEFAULT_DEPTH, .port_flows = 1};
    return (!algorithm->is_exact || algorithm->is_exact(&load)) &&
           (!algorithm->shares_ports || !algorithm->shares_ports(&load));
}

/** One lane in lockstep, or lanes that take turns: the certificate must hold, and the closed form be exact. */
static void algorithms_in_lockstep_cost_the_same_four_ways(void)
{
    struct ronde_platform *platform = open_crossbar();
    const char *text = NULL;
    if (!platform)
        return;
    struct tally tally = {.has_simgrid = ronde_sim_simgrid_available(&text)};
    uint32_t count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 2; ranks <= (suite_is_sample() ? SAMPLE_RANKS : 24);
             ranks += ranks < 9 ? 1 : 3)
            for (uint64_t pieces = 1; pieces <= 16; pieces += 5)
                if (claims_lockstep(all[i], ranks, pieces))
                    compare_ranks(platform, all[i], ranks, pieces, true, &tally);
    report(&tally);
    CU_ASSERT_EQUAL(tally.shared, 0);
    ronde_platform_destroy(platform);
}

/** What is in lockstep is so whatever decides: chunks so large that latencies are nothing, steps that cost nothing. */
static void lockstep_is_kept_by_large_chunks(void)
{
    const struct ronde_time_params nothing = {.step_ns = 0};
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_platform *platform = open_crossbar();
    uint32_t count = 0, checked = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t i = 0; platform && i < count; i++)
        for (uint32_t ranks = 2; ranks <= 9; ranks++) {
            const struct ronde_compile_request request = {.collective = all[i]->collective,
                                                          .algorithm = all[i]->name,
                                                          .ranks = ranks};
            struct ronde_schedule *schedule = NULL;
            struct ronde_sim_result flat = {0};
            if (!claims_lockstep(all[i], ranks, 1) || all[i]->supports(&request, NULL) != RONDE_OK)
                continue;
            CU_ASSERT_FATAL(ronde_compile(&request, mem, NULL, &schedule, NULL) == RONDE_OK);
            const struct ronde_load load = {.count = (1u << 20) * schedule->chunks_per_block,
                                            .dtype = RONDE_FLOAT32};
            const struct ronde_sim_job job = {platform, schedule, &load, &nothing};
            CU_ASSERT_EQUAL(ronde_sim_job_run(&job, "flat", NULL, mem, &flat, NULL), RONDE_OK);
            CU_ASSERT(flat.is_contention_free);
            if (!flat.is_contention_free)
                suite_note("%s %s on %u ranks: a port is shared",
                           ronde_collective_text(all[i]->collective), all[i]->name, ranks);
            checked++;
            ronde_schedule_destroy(schedule);
        }
    CU_ASSERT(!platform || checked > 50);
    ronde_platform_destroy(platform);
}

/** Everything else, wherever the certificate holds. */
static void every_algorithm_costs_the_same_where_ports_are_unshared(void)
{
    struct ronde_platform *platform = open_crossbar();
    const char *text = NULL;
    if (!platform)
        return;
    struct tally tally = {.has_simgrid = ronde_sim_simgrid_available(&text)};
    uint32_t count = 0;
    const struct ronde_algorithm *const *algorithms = ronde_algorithms(&count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t ranks = 2; ranks <= 9; ranks++)
            for (uint64_t pieces = 1; pieces <= 3; pieces += 2)
                compare_ranks(platform, algorithms[i], ranks, pieces, false, &tally);
    report(&tally);
    CU_ASSERT(tally.exact > 100);
    CU_ASSERT(tally.joined > 10);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rings_and_doubling_cost_the_same_four_ways", rings_and_doubling_cost_the_same_four_ways},
        {"algorithms_in_lockstep_cost_the_same_four_ways",
         algorithms_in_lockstep_cost_the_same_four_ways},
        {"lockstep_is_kept_by_large_chunks", lockstep_is_kept_by_large_chunks},
        {"every_algorithm_costs_the_same_where_ports_are_unshared",
         every_algorithm_costs_the_same_where_ports_are_unshared},
    };
    return suite_run("four_ways", cases, sizeof cases / sizeof cases[0]);
}
