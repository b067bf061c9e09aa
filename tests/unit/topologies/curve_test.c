/** Rates over working sets: looking them up, writing and reading them. */
#include "ronde/topologies.h"
#include "support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void a_curve_is_clamped_at_its_ends(void)
{
    const struct ronde_curve curve = {2, {1024, 4096}, {20, 10}};
    CU_ASSERT(ronde_curve_GBps(&curve, 1, 5) == 20);
    CU_ASSERT(ronde_curve_GBps(&curve, 1e12, 5) == 10);
    CU_ASSERT(ronde_curve_GBps(&curve, 4096, 5) == 10);
}

static void costs_are_interpolated_over_the_logarithm(void)
{
    const struct ronde_curve curve = {2, {1024, 4096}, {20, 10}};
    /* half way in the logarithm: 2048; costs 0.05 and 0.1 ns a byte, their mean 0.075 */
    CU_ASSERT(fabs(ronde_curve_GBps(&curve, 2048, 5) - 1 / 0.075) < 1e-9);
}

static void without_points_the_constant_holds(void)
{
    const struct ronde_curve empty = {0};
    CU_ASSERT(ronde_curve_GBps(&empty, 1 << 20, 7.5) == 7.5);
}

/** Writes a calibration to a file and reads it back; NULL after a visible skip without libxml2. */
static struct ronde_platform *round_trip(const struct ronde_calibration *calibration)
{
    if (!suite_can_read_platforms())
        return NULL;
    char path[] = "/tmp/ronde-curve-XXXXXX";
    const int descriptor = mkstemp(path);
    FILE *file = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(ronde_platform_write(calibration, file, NULL), RONDE_OK);
    fclose(file);
    struct ronde_platform *platform = NULL;
    CU_ASSERT_EQUAL(ronde_platform_read(path, ronde_mem_default(), &platform, NULL), RONDE_OK);
    remove(path);
    CU_ASSERT_FATAL(platform != NULL);
    return platform;
}

static void a_calibration_keeps_its_curves_and_uses_them(void)
{
    const struct ronde_calibration calibration = {
        .time = {.copy_GBps = 12, .gamma_GBps = 30},
        .shared = {.memory_GBps = 80, .cores = 2},
        .copy_curve = {2, {65536, 1.0 / 3 * 1e7}, {17.1, 4.2}},
        .latency_ns = 100,
        .max_ranks = 8,
        .machine = "test",
        .measured_by = "test",
        .measured_on = "2026-01-01",
    };
    struct ronde_platform *platform = round_trip(&calibration);
    if (!platform)
        return;
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    CU_ASSERT(memcmp(&facts->copy_curve, &calibration.copy_curve, sizeof facts->copy_curve) == 0);
    CU_ASSERT_EQUAL(facts->gamma_curve.count, 0);
    CU_ASSERT(ronde_platform_time(platform, 2, 0).copy_GBps == 12);
    CU_ASSERT(ronde_platform_time(platform, 2, 1024).copy_GBps == 17.1);
    CU_ASSERT(ronde_platform_time(platform, 2, (uint64_t)1 << 30).copy_GBps == 4.2);
    CU_ASSERT(ronde_platform_time(platform, 2, 1024).gamma_GBps == 30);
    /* eight ranks on two cores: a core works on four times as much */
    CU_ASSERT(ronde_platform_time(platform, 8, 65536).copy_GBps <
              ronde_platform_time(platform, 2, 65536).copy_GBps);
    ronde_platform_destroy(platform);
}

static void a_curve_that_does_not_ascend_is_not_written(void)
{
    const struct ronde_calibration calibration = {
        .shared = {.memory_GBps = 80, .cores = 2},
        .copy_curve = {2, {65536, 65536}, {17.1, 4.2}},
        .max_ranks = 8,
        .machine = "test",
        .measured_by = "test",
        .measured_on = "2026-01-01",
    };
    struct ronde_error error = {0};
    FILE *file = tmpfile();
    CU_ASSERT_FATAL(file != NULL);
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "ascending") != NULL);
    fclose(file);
}

static struct ronde_calibration of_a_table(uint32_t ranks)
{
    return (struct ronde_calibration){
        .time = {.lane_GBps = 6.25,
                 .send = {2, {4, 1.0 / 3 * 1e7}, {910.5, 1e6 / 7}},
                 .receive = {1, {4}, {0}},
                 .combine = {1, {64}, {5}}},
        .channels = 1,
        .latency_ns = 100,
        .max_ranks = ranks,
        .machine = "test",
        .measured_by = "test",
        .measured_on = "2026-01-01",
    };
}

static double latency_between(const struct ronde_platform *platform, uint32_t from, uint32_t to)
{
    uint32_t links[64], count = 0;
    double latency_ns = 0;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_route(platform, from, to, 64, links, &count, NULL),
                          RONDE_OK);
    for (uint32_t i = 0; i < count; i++)
        latency_ns += ronde_platform_link(platform, links[i])->latency_ns;
    return latency_ns;
}

static void times_by_size_are_kept(void)
{
    const struct ronde_calibration calibration = of_a_table(4);
    struct ronde_platform *platform = round_trip(&calibration);
    if (!platform)
        return;
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const struct ronde_time_params *is = &facts->time, *was = &calibration.time;
    CU_ASSERT(memcmp(&is->send, &was->send, sizeof is->send) == 0);
    CU_ASSERT(memcmp(&is->receive, &was->receive, sizeof is->receive) == 0);
    CU_ASSERT(memcmp(&is->combine, &was->combine, sizeof is->combine) == 0);
    CU_ASSERT(facts->channels == 1 && facts->hosts == 4);
    ronde_platform_destroy(platform);
}

static void groups_are_further_apart(void)
{
    struct ronde_calibration calibration = of_a_table(9);
    calibration.network =
        (struct ronde_calibrated_network){.group_count = 3, .group_hosts = {4, 1, 4}, .far_ns = 700};
    struct ronde_platform *platform = round_trip(&calibration);
    if (!platform)
        return;
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 3), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 3, 4), 800, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 8), 800, 1e-9);
    ronde_platform_destroy(platform);
}

/* Two nodes of two ranks and one, in two groups: a shorter way inside a node, and a port that its ranks share. */
static void nodes_share_a_port(void)
{
    struct ronde_calibration calibration = of_a_table(6);
    uint32_t links[8], count = 0;
    calibration.network = (struct ronde_calibrated_network){.group_count = 2,
                                                            .group_hosts = {4, 2},
                                                            .far_ns = 700,
                                                            .node_hosts = 2,
                                                            .node_ns = 20,
                                                            .node_GBps = 3};
    struct ronde_platform *platform = round_trip(&calibration);
    if (!platform)
        return;
    CU_ASSERT_EQUAL(ronde_platform_facts(platform)->node_hosts, 2);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 1), 20, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 2), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 1, 5), 800, 1e-9);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_route(platform, 1, 5, 8, links, &count, NULL), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(count, 6);
    CU_ASSERT_STRING_EQUAL(ronde_platform_link(platform, links[1])->name, "nic0_UP");
    CU_ASSERT_EQUAL(ronde_platform_link(platform, links[1])->rate_GBps, calibration.time.lane_GBps);
    ronde_platform_destroy(platform);
    /* Without groups, all nodes hang on one switch. */
    calibration.network = (struct ronde_calibrated_network){.node_hosts = 3, .node_GBps = 3};
    platform = round_trip(&calibration);
    if (platform)
        CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 2, 3), 100, 1e-9);
    ronde_platform_destroy(platform);
}

/* Neighbours of the shape are one hop apart; the ends of an axis of 8, which a fold joins, too. */
static void a_shape_is_folded_into_rows(void)
{
    struct ronde_calibration calibration = of_a_table(8 * 3);
    calibration.network = (struct ronde_calibrated_network){.axis_count = 2, .shape = {3, 8}};
    struct ronde_platform *platform = round_trip(&calibration);
    if (!platform)
        return;
    for (uint32_t rank = 0; rank < 24; rank++)
        CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, rank, rank % 8 == 7 ? rank - 7 : rank + 1),
                               100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 8), 100, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 4), 400, 1e-9); /* along the row, and over */
    CU_ASSERT_DOUBLE_EQUAL(latency_between(platform, 0, 16), 200,
                           1e-9); /* a row of 3 does not close */
    ronde_platform_destroy(platform);
}

static void networks_of_other_sizes_are_not_written(void)
{
    struct ronde_calibration calibration = of_a_table(9);
    struct ronde_error error = {0};
    FILE *file = tmpfile();
    CU_ASSERT_FATAL(file != NULL);
    calibration.network = (struct ronde_calibrated_network){.group_count = 2, .group_hosts = {4, 4}};
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "8 hosts for 9 ranks") != NULL);
    calibration.network = (struct ronde_calibrated_network){.axis_count = 2, .shape = {4, 2}};
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "8 hosts for 9 ranks") != NULL);
    calibration.network =
        (struct ronde_calibrated_network){.group_count = 2, .group_hosts = {4, 5}, .node_hosts = 3};
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_BAD_ARGUMENT);
    calibration = of_a_table(9);
    error = (struct ronde_error){0};
    calibration.time.send.ns[1] = -1;
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT(strstr(error.message, "times by size") != NULL);
    CU_ASSERT_EQUAL(ftell(file), 0);
    fclose(file);
}

int main(void)
{
    static const struct suite_case cases[] = {
#define CASE(name) {#name, name}
        CASE(a_curve_is_clamped_at_its_ends),
        CASE(costs_are_interpolated_over_the_logarithm),
        CASE(without_points_the_constant_holds),
        CASE(a_calibration_keeps_its_curves_and_uses_them),
        CASE(a_curve_that_does_not_ascend_is_not_written),
        CASE(times_by_size_are_kept),
        CASE(groups_are_further_apart),
        CASE(nodes_share_a_port),
        CASE(a_shape_is_folded_into_rows),
        CASE(networks_of_other_sizes_are_not_written),
    };
    return suite_run("curve", cases, sizeof cases / sizeof cases[0]);
}
