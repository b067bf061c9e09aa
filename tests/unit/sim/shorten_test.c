/* Schedules made shorter for a replay: which steps are phases, what is left of a program, and how long that takes. */
#include "support/schedule.h"
#include "support/suite.h"

#include "sim/shared/shorten.h"
#include "support/heap.h"

#include "ronde/price.h"
#include "ronde/schedules.h"

#include <math.h>
#include <string.h>

/* What a step costs, so that no two kinds of steps take as long by chance. */
static const struct ronde_network network = {
    .time = {.alpha_ns = 300, .step_ns = 70, .gamma_GBps = 3, .copy_GBps = 11},
    .latency_ns = 1000,
    .port_GBps = 10,
};

static double price(const struct ronde_schedule *schedule, uint64_t count)
{
    const struct ronde_load load = {.count = count, .dtype = RONDE_FLOAT32};
    double time_ns = 0;
    CU_ASSERT_EQUAL(ronde_dag_price(schedule, &load, &network, ronde_mem_default(), &time_ns, NULL),
                    RONDE_OK);
    return time_ns;
}

/* A ring of all_reduce adds in one phase and keeps in another; first, last and turning steps are in neither. */
static void a_ring_has_the_phases_of_its_halves(void)
{
    static const struct {
        enum ronde_collective collective;
        uint32_t phases;
    } rows[] = {{RONDE_ALL_REDUCE, 2}, {RONDE_REDUCE_SCATTER, 1}, {RONDE_ALL_GATHER, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t ranks = 8; ranks <= 64; ranks *= 2) {
            struct ronde_schedule *schedule = schedule_compile(rows[i].collective, "ring", ranks);
            struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
            const uint32_t count = ronde_sim_phases(schedule, 3, phases);
            const struct ronde_program *program = &schedule->programs[0];
            CU_ASSERT_EQUAL(count, rows[i].phases);
            uint32_t end = 0, kept = 0;
            for (uint32_t p = 0; p < count; p++) {
                CU_ASSERT(phases[p].first >= end && phases[p].length > 3);
                CU_ASSERT_EQUAL(phases[p].lane, 0);
                end = phases[p].first + phases[p].length;
                kept += phases[p].length;
                for (uint32_t s = phases[p].first; s < end; s++)
                    CU_ASSERT_EQUAL(program->steps[s].op, program->steps[phases[p].first].op);
            }
            CU_ASSERT(end <= program->step_count && program->step_count - kept <= 5);
            /* Nothing is a phase of more than there is. */
            CU_ASSERT_EQUAL(ronde_sim_phases(schedule, program->step_count, phases), 0);
            ronde_schedule_destroy(schedule);
        }
}

static void schedules_without_a_period_have_no_phases(void)
{
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    struct ronde_schedule *tree = schedule_compile(RONDE_ALL_REDUCE, "tree", 32);
    struct ronde_schedule *halving = schedule_compile(RONDE_ALL_REDUCE, "rabenseifner", 32);
    struct ronde_schedule *chain = schedule_compile(RONDE_BROADCAST, "chain", 32);
    CU_ASSERT_EQUAL(ronde_sim_phases(tree, 1, phases), 0);
    CU_ASSERT_EQUAL(ronde_sim_phases(halving, 1, phases), 0);
    CU_ASSERT_EQUAL(ronde_sim_phases(chain, 1, phases), 0);
    ronde_schedule_destroy(chain);
    ronde_schedule_destroy(halving);
    ronde_schedule_destroy(tree);
}

/* Cut by nothing it is the same; cut anywhere it has so many steps less, in their order, and lanes that end there. */
static void what_stays_is_in_its_place(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 16);
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    const uint32_t count = ronde_sim_phases(schedule, 3, phases);
    const struct ronde_program *from = &schedule->programs[0];
    CU_ASSERT_EQUAL_FATAL(count, 2);
    for (uint32_t first = 1; first <= phases[0].length; first++)
        for (uint32_t second = 1; second <= phases[1].length; second++) {
            const uint32_t lengths[] = {first, second};
            struct ronde_sim_short copy;
            struct ronde_store store = {.mem = ronde_mem_default()};
            uint32_t at = 0, wrong = 0;
            CU_ASSERT_TRUE_FATAL(ronde_sim_shorten(schedule, phases, lengths, 2, &store, &copy));
            const struct ronde_program *to = &copy.schedule.programs[0];
            CU_ASSERT_EQUAL(to->step_count, from->step_count - phases[0].length - phases[1].length +
                                                first + second);
            for (uint32_t s = 0; s < from->step_count; s++) {
                const bool is_left_out =
                    (s >= phases[0].first + first && s < phases[0].first + phases[0].length) ||
                    (s >= phases[1].first + second && s < phases[1].first + phases[1].length);
                if (is_left_out)
                    continue;
                wrong += at >= to->step_count ||
                         memcmp(&to->steps[at], &from->steps[s], sizeof to->steps[at]) != 0;
                at++;
            }
            CU_ASSERT_EQUAL(wrong, 0);
            CU_ASSERT_EQUAL(at, to->step_count);
            CU_ASSERT_EQUAL(to->lane_first[0], 0);
            CU_ASSERT_EQUAL(to->lane_first[to->lane_count], to->step_count);
            ronde_store_clear(&store);
        }
    ronde_schedule_destroy(schedule);
}

/* Each step left out saves what one of its phase takes: the price of the whole follows from three short ones. */
static void the_whole_follows_from_short_ones(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_REDUCE_SCATTER,
                                                        RONDE_ALL_GATHER};
    for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; i++) {
        struct ronde_schedule *schedule = schedule_compile(collectives[i], "ring", 32);
        struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
        const uint32_t count = ronde_sim_phases(schedule, 3, phases);
        const uint64_t elements = 32 * 1000;
        double expected_ns = 0;
        CU_ASSERT_FATAL(count >= 1 && count <= 2);
        /* Phase 2 is all phases at their least. */
        for (uint32_t longer = 0; longer <= count; longer++) {
            uint32_t lengths[2] = {4, 4};
            struct ronde_sim_short copy;
            struct ronde_store store = {.mem = ronde_mem_default()};
            if (longer < count)
                lengths[longer] += 1;
            CU_ASSERT_TRUE_FATAL(ronde_sim_shorten(schedule, phases, lengths, count, &store, &copy));
            const double time_ns = price(&copy.schedule, elements);
            uint32_t left_out = 0;
            for (uint32_t p = 0; p < count; p++)
                left_out += phases[p].length - 4;
            if (longer < count)
                expected_ns += time_ns * (phases[longer].length - 4);
            else
                expected_ns += time_ns * (1.0 - left_out);
            ronde_store_clear(&store);
        }
        CU_ASSERT_DOUBLE_EQUAL(price(schedule, elements), expected_ns, 1e-9 * expected_ns);
        ronde_schedule_destroy(schedule);
    }
}

/* The original is left alone, whatever is done to the copy. */
static void the_original_stays(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 32);
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    const uint32_t count = ronde_sim_phases(schedule, 3, phases);
    const uint32_t lengths[] = {1, 1};
    const double before_ns = price(schedule, 6400);
    const uint32_t steps = schedule->programs[0].step_count;
    struct ronde_sim_short copy;
    struct ronde_store store = {.mem = ronde_mem_default()};
    CU_ASSERT_EQUAL_FATAL(count, 2);
    CU_ASSERT_TRUE_FATAL(ronde_sim_shorten(schedule, phases, lengths, count, &store, &copy));
    CU_ASSERT(price(&copy.schedule, 6400) < before_ns / 4);
    memset(copy.program.steps, 0, copy.program.step_count * sizeof *copy.program.steps);
    ronde_store_clear(&store);
    CU_ASSERT_EQUAL(schedule->programs[0].step_count, steps);
    CU_ASSERT_EQUAL(price(schedule, 6400), before_ns);
    ronde_schedule_destroy(schedule);
}

static void a_copy_without_memory_is_freed(void)
{
    struct ronde_schedule *schedule = schedule_compile(RONDE_ALL_REDUCE, "ring", 16);
    struct ronde_sim_phase phases[RONDE_SIM_MAX_PHASES];
    const uint32_t lengths[] = {2, 2};
    const uint32_t count = ronde_sim_phases(schedule, 3, phases);
    uint32_t refusals = 0;
    for (size_t refused = 0; refused < 8; refused++) {
        struct heap heap = heap_start(refused, true);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_sim_short copy;
        struct ronde_store store = {.mem = &mem};
        const bool is_made = ronde_sim_shorten(schedule, phases, lengths, count, &store, &copy);
        refusals += !is_made;
        ronde_store_clear(&store);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
    CU_ASSERT(refusals >= 2 && refusals < 8);
    ronde_schedule_destroy(schedule);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_ring_has_the_phases_of_its_halves", a_ring_has_the_phases_of_its_halves},
        {"schedules_without_a_period_have_no_phases", schedules_without_a_period_have_no_phases},
        {"what_stays_is_in_its_place", what_stays_is_in_its_place},
        {"the_whole_follows_from_short_ones", the_whole_follows_from_short_ones},
        {"the_original_stays", the_original_stays},
        {"a_copy_without_memory_is_freed", a_copy_without_memory_is_freed},
    };
    return suite_run("shorten", cases, sizeof cases / sizeof cases[0]);
}
