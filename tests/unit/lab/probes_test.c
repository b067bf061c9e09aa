/* Probes of a calibration: what they refuse, and that what they find is what the replay charges. */
#include "support/suite.h"

#include "lab/calibrate/probes.h"
#include "ronde/sim.h"
#include "unit/platform_text.h"

#include <stdio.h>
#include <string.h>

#define FEW_HOPS 3u
#define MANY_HOPS 43u

/* One core: a step takes 20 ns, a poll of a lane that cannot go on 5, and there is nothing else but what 16 bytes take. */
#define CORE                                                                                       \
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"                                   \
    "<prop id=\"ronde.core_step_ns\" value=\"20\"/><prop id=\"ronde.poll_ns\" value=\"5\"/>"       \
    "<prop id=\"ronde.memory_GBps\" value=\"100\"/><prop id=\"ronde.cores\" value=\"1\"/>"         \
    "<prop id=\"ronde.combine_GBps\" value=\"100\"/>"                                              \
    "<prop id=\"ronde.core_bytes\" value=\"1e9\"/>"                                                \
    "<prop id=\"ronde.read_curve\" value=\"1:1000\"/>"                                             \
    "<prop id=\"ronde.write_curve\" value=\"1:1000\"/>"                                            \
    "<prop id=\"ronde.cross_copy_curve\" value=\"64:1\"/>"                                         \
    "<prop id=\"ronde.cross_combine_curve\" value=\"64:1\"/>"                                      \
    "<prop id=\"ronde.cross_write_curve\" value=\"64:1\"/>"                                        \
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" bw=\"100GBps\" "    \
    "lat=\"1us\" bb_bw=\"100GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"/></zone></platform>"

/* Time of a ping-pong beside ranks that wait; 0 of them: alone. */
static double time_ns(const struct ronde_platform *platform, uint32_t waiting, uint32_t length,
                      uint64_t bytes)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_sim_result result = {0};
    struct ronde_error error = {0};
    enum ronde_status status =
        ronde_probe_make(waiting > 0 ? RONDE_PROBE_WAITING : RONDE_PROBE_PING_PONG, 2 + waiting,
                         length, 1, &schedule, &error);
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    const struct ronde_load load = {bytes / 4, RONDE_FLOAT32, 0, 0};
    const struct ronde_time_params params = ronde_platform_time(platform, 2, 0);
    const struct ronde_sim_job job = {platform, schedule, &load, &params};
    status = ronde_sim_job_run(&job, "cores", NULL, ronde_mem_default(), &result, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    ronde_schedule_destroy(schedule);
    return result.time_ns;
}

static double hop_ns(const struct ronde_platform *platform, uint32_t waiting)
{
    return (time_ns(platform, waiting, MANY_HOPS, 16) - time_ns(platform, waiting, FEW_HOPS, 16)) /
           (MANY_HOPS - FEW_HOPS);
}

static double hop_of(const struct ronde_platform *platform, uint64_t bytes)
{
    return (time_ns(platform, 0, MANY_HOPS, bytes) - time_ns(platform, 0, FEW_HOPS, bytes)) /
           (MANY_HOPS - FEW_HOPS);
}

/* Both sides have a step while each rank that waits is polled once: half a poll of each a hop. */
static void ranks_that_wait_are_polled_once_in_two_hops(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_good(CORE);
    const double alone_ns = hop_ns(platform, 0);
    for (uint32_t waiting = 2; waiting <= 8; waiting += 2) {
        const double poll_ns = (hop_ns(platform, waiting) - alone_ns) / (waiting / 2.0);
        CU_ASSERT_DOUBLE_EQUAL(poll_ns, 5.0, 1e-6);
    }
    ronde_platform_destroy(platform);
}

/* Two cores, whose curves bend, but for what the fit has found for one size. */
#define CORES                                                                                      \
    "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"                                   \
    "<prop id=\"ronde.step_ns\" value=\"300\"/><prop id=\"ronde.core_step_ns\" value=\"20\"/>"     \
    "<prop id=\"ronde.memory_GBps\" value=\"100\"/><prop id=\"ronde.cores\" value=\"2\"/>"         \
    "<prop id=\"ronde.combine_GBps\" value=\"100\"/>"                                              \
    "<prop id=\"ronde.core_bytes\" value=\"1e6\"/>"                                                \
    "<prop id=\"ronde.read_curve\" value=\"1e4:100 1e6:50 1e7:20\"/>"                              \
    "<prop id=\"ronde.write_curve\" value=\"1e4:80 1e6:40 1e7:10\"/>"                              \
    "<prop id=\"ronde.cross_copy_curve\" value=\"64:1 4096:5 65536:8\"/>"                          \
    "<prop id=\"ronde.cross_combine_curve\" value=\"64:1\"/>"                                      \
    "<prop id=\"ronde.remote_read_curve\" value=\"131072:8 1e7:4\"/>"                              \
    "<prop id=\"ronde.remote_write_curve\" value=\"131072:2 1e6:5 1e7:3\"/>"                       \
    "<prop id=\"ronde.cross_write_curve\" value=\"%.17g:%.17g\"/>"                                 \
    "<cluster id=\"c\" prefix=\"h\" suffix=\"\" radical=\"0-15\" speed=\"1Gf\" bw=\"100GBps\" "    \
    "lat=\"1us\" bb_bw=\"100GBps\" bb_lat=\"0s\" bb_sharing_policy=\"SHARED\"/></zone></platform>"

static struct ronde_platform *two_cores(double bytes, double write_ns)
{
    char text[4096];
    snprintf(text, sizeof text, CORES, bytes, bytes / write_ns);
    return platform_text_good(text);
}

/* The hop takes, replayed, what it took measured: the fit takes off what the replay adds up. */
static void a_fitted_hop_is_replayed_as_measured(void)
{
    static const double sizes[] = {64, 512, 2048, 16384, 65536};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *any = two_cores(64, 1);
    const double shortest_ns = hop_of(any, 16);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const double beyond_ns = 1000 + sizes[i];
        const struct ronde_cache_facts *facts = &ronde_platform_facts(any)->caches;
        const double write_ns = ronde_crossing_write_ns(facts, sizes[i], beyond_ns);
        struct ronde_platform *fitted = two_cores(sizes[i], write_ns);
        const double hop_ns = hop_of(fitted, (uint64_t)sizes[i]) - shortest_ns;
        CU_ASSERT_DOUBLE_EQUAL(hop_ns, beyond_ns, 0.01 * beyond_ns);
        ronde_platform_destroy(fitted);
    }
    ronde_platform_destroy(any);
}

/* A hop that takes no longer than the rest of it: what was measured of that was noise. */
static void writing_takes_some_time(void)
{
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *any = two_cores(64, 1);
    const struct ronde_cache_facts *facts = &ronde_platform_facts(any)->caches;
    CU_ASSERT_DOUBLE_EQUAL(ronde_crossing_write_ns(facts, 65536, 10), 65.536, 1e-9);
    ronde_platform_destroy(any);
}

static void waiting_takes_ranks_that_wait_and_an_odd_length(void)
{
    const struct {
        uint32_t ranks, length;
    } bad[] = {{0, 3}, {2, 3}, {RONDE_PROBE_RANKS + 1, 3}, {4, 0}, {4, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_probe_make(RONDE_PROBE_WAITING, bad[i].ranks, bad[i].length, 1,
                                         &schedule, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(schedule);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "an odd number of hops"));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"ranks_that_wait_are_polled_once_in_two_hops", ranks_that_wait_are_polled_once_in_two_hops},
        {"a_fitted_hop_is_replayed_as_measured", a_fitted_hop_is_replayed_as_measured},
        {"writing_takes_some_time", writing_takes_some_time},
        {"waiting_takes_ranks_that_wait_and_an_odd_length",
         waiting_takes_ranks_that_wait_and_an_odd_length},
    };
    return suite_run("probes", cases, sizeof cases / sizeof *cases);
}
