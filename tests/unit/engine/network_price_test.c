/** The flat network: its three costs term by term, prices of small schedules worked out by hand, loads that are refused. */
#include "support/schedule.h"
#include "support/suite.h"

#include "ronde/price.h"
#include "ronde/schedules.h"

#include <math.h>
#include <string.h>

/* Numbers whose sums tell which terms they are made of. */
static const struct ronde_network network = {
    .time = {.alpha_ns = 3, .step_ns = 7, .launch_ns = 1000, .gamma_GBps = 4, .copy_GBps = 8},
    .latency_ns = 20,
    .port_GBps = 2};

static void flows_go_at_the_slower_of_lane_and_port(void)
{
    static const struct {
        double lane_GBps;
        double port_GBps;
        double flow_ns;
    } rows[] = {{0, 0, 0}, {2, 0, 50}, {0, 4, 25}, {2, 4, 50}, {4, 2, 50}, {5, 5, 20}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_network at = {.time = {.lane_GBps = rows[i].lane_GBps},
                                         .port_GBps = rows[i].port_GBps};
        CU_ASSERT_EQUAL(ronde_network_flow_ns(&at, 100), rows[i].flow_ns);
        CU_ASSERT_EQUAL(ronde_network_flow_ns(&at, 0), 0);
    }
}

static void alpha_is_of_the_route_and_of_the_message(void)
{
    CU_ASSERT_EQUAL(ronde_network_alpha_ns(&network), 23);
}

static void steps_stage_and_reduce_their_bytes(void)
{
    const struct ronde_network free = {.time = {.step_ns = 7}};
    CU_ASSERT_EQUAL(ronde_network_step_ns(&network, 0, true), 7);
    CU_ASSERT_EQUAL(ronde_network_step_ns(&network, 16, false), 7 + 2);
    CU_ASSERT_EQUAL(ronde_network_step_ns(&network, 16, true), 7 + 2 + 4);
    CU_ASSERT_EQUAL(ronde_network_step_ns(&free, 16, true), 7);
}

/*
 * With 64 float64 a block is 512 bytes. A send takes 7 of its own, 64 of staging, and flows for 256; 23 later a receive
 * takes 7 and 64. A ring's steps move half a block where there are two ranks.
 */
static void small_schedules_cost_what_they_cost_by_hand(void)
{
    static const struct {
        enum ronde_collective collective;
        const char *algorithm;
        uint32_t ranks;
        double time_ns;
    } rows[] = {
        {RONDE_BROADCAST, "chain", 2, 1000 + (7 + 64 + 256) + 23 + (7 + 64)},
        /* The middle rank stores and passes on in one step. */
        {RONDE_BROADCAST, "chain", 3, 1000 + (7 + 64 + 256) + 23 + (7 + 64 + 256) + 23 + (7 + 64)},
        {RONDE_REDUCE, "chain", 2, 1000 + (7 + 64 + 256) + 23 + (7 + 64 + 128)},
        /* send; reduce, store and send on; receive: each of 256 bytes. */
        {RONDE_ALL_REDUCE, "ring", 2,
         1000 + (7 + 32 + 128) + 23 + (7 + 32 + 64 + 128) + 23 + (7 + 32)},
        /* Signals carry nothing. */
        {RONDE_BARRIER, "dissemination", 2, 1000 + 7 + 23 + 7},
        {RONDE_BARRIER, "dissemination", 4, 1000 + 2 * (7 + 23 + 7)},
    };
    const struct ronde_load load = {.count = 64, .dtype = RONDE_FLOAT64};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_schedule *schedule =
            schedule_compile(rows[i].collective, rows[i].algorithm, rows[i].ranks);
        double time_ns = 0;
        CU_ASSERT_EQUAL(ronde_dag_price(schedule, &load, &network, ronde_mem_default(), &time_ns,
                                        NULL),
                        RONDE_OK);
        CU_ASSERT(fabs(time_ns - rows[i].time_ns) <= 1e-9 * rows[i].time_ns);
        if (fabs(time_ns - rows[i].time_ns) > 1e-9 * rows[i].time_ns)
            suite_note("%s %u: %.17g instead of %.17g", rows[i].algorithm, rows[i].ranks, time_ns,
                       rows[i].time_ns);
        ronde_schedule_destroy(schedule);
    }
}

/* What is added is received in memory that is kept and known; to the output every hop is told the way, 50 and 20 more. */
static void a_library_that_puts_keeps_its_memory_and_tells_where_outputs_are(void)
{
    static const struct {
        enum ronde_collective collective;
        double plain_ns, puts_ns;
    } rows[] = {{RONDE_BROADCAST, 3 * 50 + 3 * 20, 3 * 50 + 3 * 20 + 3 * 70},
                {RONDE_REDUCE, 3 * 50 + 3 * 20 + 2 * 512, 3 * 50 + 3 * 20}};
    const struct ronde_load load = {.count = 64, .dtype = RONDE_FLOAT64};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
        const struct ronde_network at = {.time = {.send = {1, {4}, {50}},
                                                  .receive = {1, {4}, {20}},
                                                  .fresh = {2, {1, 2}, {1, 2}},
                                                  .puts = i % 2 != 0}};
        struct ronde_schedule *schedule = schedule_compile(rows[i / 2].collective, "chain", 4);
        double time_ns = 0;
        CU_ASSERT_EQUAL(ronde_dag_price(schedule, &load, &at, ronde_mem_default(), &time_ns, NULL),
                        RONDE_OK);
        CU_ASSERT_EQUAL(time_ns, i % 2 != 0 ? rows[i / 2].puts_ns : rows[i / 2].plain_ns);
        ronde_schedule_destroy(schedule);
    }
}

static void nothing_costs_nothing_but_a_barrier(void)
{
    const struct ronde_load none = {.dtype = RONDE_FLOAT64};
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 4);
    double time_ns = -1;
    CU_ASSERT_EQUAL(ronde_dag_price(ring, &none, &network, ronde_mem_default(), &time_ns, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL(time_ns, 0);
    ronde_schedule_destroy(ring);
}

static void loads_are_refused_by_whole_sentences(void)
{
    static const struct {
        struct ronde_load load;
        const char *message;
    } rows[] = {
        {{.count = 1, .dtype = RONDE_DTYPE_COUNT}, "data type 15 does not exist"},
        {{.count = 1, .depth = 1}, "depth 1 is below 2, the least of ring"},
        {{.count = 1, .slot_bytes = 15}, "slot of 15 bytes is below 16"},
    };
    struct ronde_schedule *ring = schedule_compile(RONDE_ALL_REDUCE, "ring", 4);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {0};
        double time_ns;
        CU_ASSERT_EQUAL(ronde_dag_price(ring, &rows[i].load, &network, ronde_mem_default(),
                                        &time_ns, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_STRING_EQUAL(error.message, rows[i].message);
        if (strcmp(error.message, rows[i].message) != 0)
            suite_note("\"%s\"", error.message);
    }
    ronde_schedule_destroy(ring);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"flows_go_at_the_slower_of_lane_and_port", flows_go_at_the_slower_of_lane_and_port},
        {"alpha_is_of_the_route_and_of_the_message", alpha_is_of_the_route_and_of_the_message},
        {"steps_stage_and_reduce_their_bytes", steps_stage_and_reduce_their_bytes},
        {"small_schedules_cost_what_they_cost_by_hand", small_schedules_cost_what_they_cost_by_hand},
        {"a_library_that_puts_keeps_its_memory_and_tells_where_outputs_are",
         a_library_that_puts_keeps_its_memory_and_tells_where_outputs_are},
        {"nothing_costs_nothing_but_a_barrier", nothing_costs_nothing_but_a_barrier},
        {"loads_are_refused_by_whole_sentences", loads_are_refused_by_whole_sentences},
    };
    return suite_run("network_price", cases, sizeof cases / sizeof cases[0]);
}
