/* What is not written: constants that say nothing, of this machine as of a rig. */
#include "support/suite.h"

#include "ronde/calibrate.h"

#include <string.h>

/* Constants as a rig's are, one of which varies this much. */
static struct ronde_calibration_report report_with(uint32_t index, double spread)
{
    struct ronde_calibration_report report = {
        .constants = {{"launch_ns", "ns", 40000.0, 0.1, "ping-pong"},
                      {"latency_ns", "ns", 550000.0, 0.01, "ping-pong"},
                      {"switch_ns", "ns", 0.0, 0.2, "pairs"}},
        .constant_count = 3,
    };
    report.constants[index].spread = spread;
    return report;
}

static void a_spread_beyond_the_value_is_refused(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        const struct ronde_calibration_report wide = report_with(i, 1.01);
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_calibration_check(&wide, &error), RONDE_REJECTED);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, wide.constants[i].name));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "101%"));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "not written"));
    }
}

static void a_spread_up_to_the_value_is_written(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        const struct ronde_calibration_report narrow = report_with(i, 0.99);
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_calibration_check(&narrow, &error), RONDE_OK);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_spread_beyond_the_value_is_refused", a_spread_beyond_the_value_is_refused},
        {"a_spread_up_to_the_value_is_written", a_spread_up_to_the_value_is_written},
    };
    return suite_run("calibration", cases, sizeof cases / sizeof cases[0]);
}
