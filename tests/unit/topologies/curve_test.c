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
    const char *reason = NULL;
    if (!ronde_topologies_available(&reason)) {
        suite_skip("%s", reason);
        return NULL;
    }
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

int main(void)
{
    static const struct suite_case cases[] = {
#define CASE(name) {#name, name}
        CASE(a_curve_is_clamped_at_its_ends),
        CASE(costs_are_interpolated_over_the_logarithm),
        CASE(without_points_the_constant_holds),
        CASE(a_calibration_keeps_its_curves_and_uses_them),
        CASE(a_curve_that_does_not_ascend_is_not_written),
    };
    return suite_run("curve", cases, sizeof cases / sizeof cases[0]);
}
