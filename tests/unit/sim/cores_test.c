/* The replay on the cores of one machine: by hand, on a tree of two ranks, whose steps are one after another. */
#include "support/suite.h"

#include "ronde/sim.h"
#include "support/sweep.h"
#include "unit/leaves.h"
#include "unit/platform_text.h"

#include <math.h>
#include <string.h>

#define PROP(name, value) "<prop id=\"ronde." name "\" value=\"" value "\"/>"

/*
 * A changed counter takes 1 us to arrive: links of 500 ns, and a step of 84 ns, which is the core's
 * 20 and two lines of 64 bytes at 0.5 ns a byte. Near data are read and written at 0.1 ns a byte.
 */
#define BEGIN                                                                                      \
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">" PROP("step_ns", "84")             \
        PROP("core_step_ns", "20") PROP("memory_GBps", "100") PROP("combine_GBps", "100")          \
            PROP("cross_copy_curve", "64:2") PROP("cross_combine_curve", "64:1")                   \
                PROP("cross_write_curve", "64:4")
#define END                                                                                        \
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"100GBps\" "     \
    "lat=\"500ns\" bb_bw=\"100GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"/>"                 \
    "</zone></platform>"
#define NEAR PROP("core_bytes", "1e9") PROP("read_curve", "1:10") PROP("write_curve", "1:10")
/* What was touched 60,000 bytes ago is far, and takes twice as long. */
#define FAR                                                                                        \
    PROP("core_bytes", "55000")                                                                    \
    PROP("read_curve", "50000:10 60000:5") PROP("write_curve", "50000:10 60000:5")

/* all_reduce by a tree of two ranks: one sends, the other adds, keeps and sends back, the first keeps. */
static enum ronde_status replay(const char *text, uint64_t bytes, const struct ronde_mem *mem,
                                struct ronde_sim_result *out_result, struct ronde_error *error)
{
    struct ronde_platform *platform = platform_text_good(text);
    struct ronde_schedule *schedule = leaves_compile(RONDE_ALL_REDUCE, "tree", 2);
    const struct ronde_load load = {bytes / 4, RONDE_FLOAT32, 0, 0};
    const struct ronde_time_params params = ronde_platform_time(platform, 2, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    const enum ronde_status status = ronde_sim_job_run(&job, "cores", NULL, mem, out_result, error);
    ronde_schedule_destroy(schedule);
    ronde_platform_destroy(platform);
    return status;
}

static void expect(const char *text, uint64_t bytes, double expected_ns)
{
    struct ronde_sim_result result = {0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL(replay(text, bytes, ronde_mem_default(), &result, NULL), RONDE_OK);
    const bool is_right = fabs(result.time_ns - expected_ns) <= 1e-9 * expected_ns;
    CU_ASSERT(is_right);
    if (!is_right)
        suite_note("%llu bytes: %.17g ns, expected %.17g", (unsigned long long)bytes,
                   result.time_ns, expected_ns);
}

/* 20 of the step and 32 for the counter where a message is received; 1000 of flight twice. */
static void crossing_has_rates_of_its_own(void)
{
    const double send = 20 + 6400 * (0.1 + 0.25);
    const double add = 52 + 6400 * (1.0 + 0.1 + 0.1 + 0.1 + 0.25);
    const double take = 52 + 6400 * (0.5 + 0.1);
    expect(BEGIN NEAR PROP("cores", "2") END, 6400, send + 1000 + add + 1000 + take);
}

/* On one core nothing crosses and there is no latency; the two polls of lanes that cannot go on are paid for. */
static void within_a_core_nothing_crosses(void)
{
    const double steps = 3 * 20 + 6400 * (0.2 + 0.5 + 0.2);
    expect(BEGIN NEAR PROP("cores", "1") END, 6400, steps);
    expect(BEGIN NEAR PROP("cores", "1") PROP("poll_ns", "5") END, 6400, steps + 2 * 5);
}

/* The input, the output and a slot that has been waiting for its turn are far; a message just written is near. */
static void what_was_touched_long_ago_is_far(void)
{
    const double steps =
        3 * 20 + 640000 * ((0.2 + 0.2) + (0.1 + 0.2 + 0.2 + 0.1 + 0.2) + (0.1 + 0.2));
    expect(BEGIN FAR PROP("cores", "1") END, 640000, steps);
}

/* The other core has lost the slot by the time it is written again, but not the message that it has just written. */
static void what_another_core_has_lost_does_not_cross(void)
{
    const double bytes = 640000 * ((0.2 + 0.2) + (1.0 + 0.2 + 0.2 + 0.1 + 0.2) + (0.5 + 0.2));
    expect(BEGIN FAR PROP("cores", "2") END, 640000, bytes + 20 + 52 + 52 + 2000);
}

/*
 * The same where a machine says what it is that the other core has lost: here two caches that nothing is shared between,
 * so that it is as far as ever; and one further away. The slot was read 8 of its messages ago where crossing was measured.
 */
static void what_another_core_has_lost_costs_what_was_measured(void)
{
    const double both = 640000 * ((0.2 + 0.25) + (1.0 + 0.2 + 0.2 + 0.1 + 0.25) + (0.5 + 0.2));
    expect(BEGIN FAR PROP("cores", "2") PROP("remote_read_curve", "1:2")
               PROP("remote_write_curve", "1:4") END,
           640000, both + 20 + 52 + 52 + 2000);
    /* Nothing was read as long ago as 8 messages: slots and buffers are 10 of them. */
    const double lost = 640000 * ((0.2 + 0.05) + (1.0 + 0.2 + 0.2 + 0.1 + 0.05) + (0.5 + 0.2));
    expect(BEGIN FAR PROP("cores", "2") PROP("remote_read_curve", "1:2")
               PROP("remote_write_curve", "5200000:4 5200001:20") END,
           640000, lost + 20 + 52 + 52 + 2000);
}

/* A line is the least that crosses: 16 bytes are read for the price of 64, and written likewise. */
static void a_line_is_the_least_that_crosses(void)
{
    const double send = 20 + 16 * 0.1 + 64 * 0.25;
    const double add = 52 + 64 * 1.0 + 16 * 0.3 + 64 * 0.25;
    const double take = 52 + 64 * 0.5 + 16 * 0.1;
    expect(BEGIN NEAR PROP("cores", "2") END, 16, send + 1000 + add + 1000 + take);
}

/* The launch was measured with a rank that another core begins, so that is in it already; the second begins late. */
static void another_core_begins_late(void)
{
    const double alone = 20 + 6400 * 0.35 + 52 + 6400 * 1.55 + 52 + 6400 * 0.6 + 2000;
    expect(BEGIN NEAR PROP("cores", "2") PROP("launch_ns", "500") END, 6400, alone + 500);
    expect(BEGIN NEAR PROP("cores", "2") PROP("launch_ns", "500") PROP("start_ns", "300") END, 6400,
           alone + 500);
    expect(BEGIN NEAR PROP("cores", "2") PROP("start_ns", "300") END, 6400, alone + 300);
}

/* The second core begins this schedule. Where waking it was measured, what is left of a ping-pong that the first begins is no part of it. */
static void another_core_has_to_wake(void)
{
    const double alone = 20 + 6400 * 0.35 + 52 + 6400 * 1.55 + 52 + 6400 * 0.6 + 2000;
    expect(BEGIN NEAR PROP("cores", "2") PROP("launch_ns", "500") PROP("start_ns", "300")
               PROP("wake_ns", "700") END,
           6400, alone + 700 + 300);
    expect(BEGIN NEAR PROP("cores", "1") PROP("launch_ns", "500") PROP("wake_ns", "700") END, 6400,
           3 * 20 + 6400 * (0.2 + 0.5 + 0.2) + 500);
}

/* Where sums take longer than reaching their operands, they are what counts. */
static void sums_may_take_longer_than_their_data(void)
{
    const double steps = 3 * 20 + 6400 * (0.2 + 2.0 + 0.2 + 0.2);
    expect("<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">" PROP("core_step_ns", "20")
               PROP("memory_GBps", "100") PROP("combine_GBps", "0.5")
                   PROP("cross_copy_curve", "64:2") PROP("cross_combine_curve", "64:1")
                       PROP("cross_write_curve", "64:4") NEAR PROP("cores", "1") END,
           6400, steps);
}

/* The time of reduce_scatter, direct, of three ranks on one core. */
static double direct_ns(struct ronde_schedule *schedule, uint64_t bytes)
{
    struct ronde_platform *platform = platform_text_good(BEGIN NEAR PROP("cores", "1") END);
    const struct ronde_load load = {bytes / 4, RONDE_FLOAT32, 0, 0};
    const struct ronde_time_params params = ronde_platform_time(platform, 3, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    struct ronde_sim_result result = {0};
    CU_ASSERT_EQUAL(ronde_sim_job_run(&job, "cores", NULL, ronde_mem_default(), &result, NULL),
                    RONDE_OK);
    ronde_platform_destroy(platform);
    return result.time_ns;
}

/*
 * Two of three ranks find both messages when they are polled, and neither write nor read the sum so far; the one between them
 * has combined the first by then. Short messages are combined one by one.
 */
static void joined_steps_neither_write_nor_read_what_they_hand_on(void)
{
    static const uint64_t sizes[] = {32768, 1024};
    if (!suite_can_read_platforms())
        return;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        struct ronde_schedule *schedule = leaves_compile(RONDE_REDUCE_SCATTER, "direct", 3);
        const double joined_ns = direct_ns(schedule, sizes[k]);
        for (uint32_t s = 0; s < schedule->programs[0].step_count; s++)
            schedule->programs[0].steps[s].flags &= (uint8_t)~RONDE_FLAG_JOINED;
        const double apart_ns = direct_ns(schedule, sizes[k]);
        const double spared_ns = k == 0 ? 2 * 32768 * (0.1 + 0.1) : 0;
        CU_ASSERT_DOUBLE_EQUAL(apart_ns - joined_ns, spared_ns, 1e-6 * apart_ns);
        if (fabs(apart_ns - joined_ns - spared_ns) > 1e-6 * apart_ns)
            suite_note("%.17g apart, %.17g joined", apart_ns, joined_ns);
        ronde_schedule_destroy(schedule);
    }
}

static void a_machine_without_caches_is_refused(void)
{
    struct ronde_sim_result result;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    CU_ASSERT_EQUAL(replay(BEGIN PROP("cores", "2") END, 64, ronde_mem_default(), &result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "read_curve"));
    error = (struct ronde_error){0};
    CU_ASSERT_EQUAL(replay(BEGIN NEAR END, 64, ronde_mem_default(), &result, &error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "ronde.cores"));
}

static enum ronde_status replay_with(const void *text, const struct ronde_mem *mem,
                                     struct ronde_error *error)
{
    struct ronde_sim_result result;
    return replay(text, 6400, mem, &result, error);
}

static void allocation_failures_are_clean(void)
{
    const struct sweep sweep = {.what = "cores",
                                .operation = replay_with,
                                .context = BEGIN NEAR PROP("cores", "2") END};
    if (suite_can_read_platforms())
        CU_ASSERT(sweep_run(&sweep) > 10);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"crossing_has_rates_of_its_own", crossing_has_rates_of_its_own},
        {"within_a_core_nothing_crosses", within_a_core_nothing_crosses},
        {"what_was_touched_long_ago_is_far", what_was_touched_long_ago_is_far},
        {"what_another_core_has_lost_does_not_cross", what_another_core_has_lost_does_not_cross},
        {"what_another_core_has_lost_costs_what_was_measured",
         what_another_core_has_lost_costs_what_was_measured},
        {"a_line_is_the_least_that_crosses", a_line_is_the_least_that_crosses},
        {"another_core_begins_late", another_core_begins_late},
        {"another_core_has_to_wake", another_core_has_to_wake},
        {"joined_steps_neither_write_nor_read_what_they_hand_on",
         joined_steps_neither_write_nor_read_what_they_hand_on},
        {"sums_may_take_longer_than_their_data", sums_may_take_longer_than_their_data},
        {"a_machine_without_caches_is_refused", a_machine_without_caches_is_refused},
        {"allocation_failures_are_clean", allocation_failures_are_clean},
    };
    return suite_run("cores", cases, sizeof cases / sizeof *cases);
}
