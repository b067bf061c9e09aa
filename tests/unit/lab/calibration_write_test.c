/** Writing a calibration: what is refused, with what words, before the first byte; and what an attribute may hold. */
#include "support/suite.h"

#include "ronde/ir.h"
#include "unit/platform_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct ronde_calibration good(void)
{
    return (struct ronde_calibration){.time = {.lane_GBps = 10},
                                      .shared = {.memory_GBps = 20, .cores = 2},
                                      .max_ranks = 4,
                                      .machine = "a machine",
                                      .measured_by = "a test",
                                      .measured_on = "2026-11-22"};
}

/* What is written; NULL if it is refused. The caller frees it. */
static char *write_text(const struct ronde_calibration *calibration, struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const enum ronde_status status = ronde_platform_write(calibration, file, error);
    CU_ASSERT_EQUAL(fclose(file), 0);
    CU_ASSERT_EQUAL(status == RONDE_OK, bytes > 0);
    if (status == RONDE_OK)
        return text;
    free(text);
    return NULL;
}

static void expect_refusal(const struct ronde_calibration *calibration, const char *message)
{
    struct ronde_error error = {0};
    char *text = write_text(calibration, &error);
    CU_ASSERT_PTR_NULL(text);
    CU_ASSERT_EQUAL(error.status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_STRING_EQUAL(error.message, message);
    if (strcmp(error.message, message) != 0)
        suite_note("\"%s\" instead of \"%s\"", error.message, message);
    free(text);
}

static void numbers_are_named_when_they_are_none(void)
{
    struct ronde_calibration calibration;
    const struct {
        double *number;
        const char *name;
    } rows[] = {
        {&calibration.time.alpha_ns, "alpha_ns"},
        {&calibration.time.step_ns, "step_ns"},
        {&calibration.time.launch_ns, "launch_ns"},
        {&calibration.time.gamma_GBps, "gamma_GBps"},
        {&calibration.time.copy_GBps, "copy_GBps"},
        {&calibration.time.lane_GBps, "lane_GBps"},
        {&calibration.shared.memory_GBps, "memory_GBps"},
        {&calibration.shared.core_step_ns, "core_step_ns"},
        {&calibration.latency_ns, "latency_ns"},
        {&calibration.worst_spread, "spread"},
        {&calibration.packets.segment_bytes, "segment_bytes"},
        {&calibration.packets.header_bytes, "header_bytes"},
        {&calibration.packets.burst_bytes, "burst_bytes"},
        {&calibration.packets.switch_ns, "switch_ns"},
        {&calibration.packets.jitter_ns, "jitter_ns"},
        {&calibration.packets.jitter_GBps, "jitter_GBps"},
        {&calibration.packets.reverse_share, "reverse_share"},
        {&calibration.caches.poll_ns, "poll_ns"},
        {&calibration.caches.start_ns, "start_ns"},
        {&calibration.caches.wake_ns, "wake_ns"},
        {&calibration.caches.line_ns, "line_ns"},
        {&calibration.caches.core_bytes, "core_bytes"},
        {&calibration.caches.combine_GBps, "combine_GBps"},
    };
    static const struct {
        double value;
        const char *text;
    } values[] = {{-1, "-1"}, {INFINITY, "inf"}};
    char message[160];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            calibration = good();
            *rows[i].number = values[v].value;
            snprintf(message, sizeof message, "calibration: %s is %s, expected a finite number >= 0",
                     rows[i].name, values[v].text);
            expect_refusal(&calibration, message);
        }
}

static void curves_ascend_and_have_rates(void)
{
    struct ronde_calibration calibration;
    const struct {
        struct ronde_curve *curve;
        const char *name;
    } rows[] = {
        {&calibration.copy_curve, "copy_curve"},
        {&calibration.gamma_curve, "gamma_curve"},
        {&calibration.caches.read, "read_curve"},
        {&calibration.caches.write, "write_curve"},
        {&calibration.caches.cross_copy, "cross_copy_curve"},
        {&calibration.caches.cross_combine, "cross_combine_curve"},
        {&calibration.caches.cross_write, "cross_write_curve"},
        {&calibration.caches.remote_read, "remote_read_curve"},
        {&calibration.caches.remote_write, "remote_write_curve"},
    };
    const struct ronde_curve bad[] = {
        {.count = 1, .bytes = {0}, .GBps = {1}},
        {.count = 1, .bytes = {1}, .GBps = {0}},
        {.count = 1, .bytes = {1}, .GBps = {-1}},
        {.count = 1, .bytes = {1}, .GBps = {NAN}},
        {.count = 1, .bytes = {INFINITY}, .GBps = {1}},
        {.count = 2, .bytes = {2, 2}, .GBps = {1, 1}},
        {.count = 3, .bytes = {1, 3, 2}, .GBps = {1, 1, 1}},
        {.count = RONDE_MAX_CURVE + 1,
         .bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
         .GBps = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
    };
    char message[160];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
            calibration = good();
            *rows[i].curve = bad[b];
            snprintf(message, sizeof message,
                     "calibration: a curve needs at most 16 ascending points and rates > 0, %s has "
                     "others",
                     rows[i].name);
            expect_refusal(&calibration, message);
        }
}

static void ranks_are_bounded(void)
{
    struct ronde_calibration calibration = good();
    char message[160];
    const uint32_t wrong[] = {0, RONDE_MAX_RANKS + 1, UINT32_MAX};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        calibration.max_ranks = wrong[i];
        snprintf(message, sizeof message, "calibration: %u ranks, expected 1 to %u", wrong[i],
                 RONDE_MAX_RANKS);
        expect_refusal(&calibration, message);
    }
}

static void a_remark_has_its_room_to_the_byte(void)
{
    struct ronde_calibration calibration = good();
    struct ronde_error error = {0};
    char remark[RONDE_FACT_TEXT_BYTES + 1];
    memset(remark, 'm', sizeof remark - 1);
    remark[RONDE_FACT_TEXT_BYTES] = '\0';
    calibration.measured_by = remark;
    expect_refusal(&calibration, "calibration: measured_by has 128 bytes");
    remark[RONDE_FACT_TEXT_BYTES - 1] = '\0';
    char *text = write_text(&calibration, &error);
    CU_ASSERT_PTR_NOT_NULL(text);
    free(text);
}

static void some_bandwidth_must_be_known(void)
{
    struct ronde_error error = {0};
    struct ronde_calibration calibration = good();
    calibration.time.lane_GBps = 0;
    char *text = write_text(&calibration, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    /* Ports are as fast as the memory then. */
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "bw=\"20GBps\""));
    free(text);
    calibration.shared.memory_GBps = 0;
    expect_refusal(&calibration,
                   "calibration: neither lane_GBps nor memory_GBps is known, so links "
                   "would have no bandwidth");
}

static void texts_become_attributes_that_read_back(void)
{
    struct ronde_calibration calibration = good();
    struct ronde_error error = {0};
    calibration.measured_by = "a <b> & \"c\" d\te\xc3\xbc";
    char *text = write_text(&calibration, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "\"ronde.measured_by\" value=\"a &lt;b> &amp; &quot;c&quot; d?e??\""));
    if (suite_can_read_platforms()) {
        struct ronde_platform *platform = platform_text_good(text);
        CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
        CU_ASSERT_STRING_EQUAL(ronde_platform_facts(platform)->measured_by, "a <b> & \"c\" d?e??");
        ronde_platform_destroy(platform);
    }
    free(text);
}

static void a_file_that_cannot_be_written_is_io(void)
{
    struct ronde_calibration calibration = good();
    struct ronde_error error = {0};
    FILE *file = fopen("/dev/full", "w");
    if (!file) {
        suite_skip("no /dev/full on this system");
        return;
    }
    CU_ASSERT_EQUAL(ronde_platform_write(&calibration, file, &error), RONDE_DEVICE);
    CU_ASSERT_STRING_EQUAL(error.message, "writing the platform file failed");
    (void)fclose(file);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_are_named_when_they_are_none", numbers_are_named_when_they_are_none},
        {"curves_ascend_and_have_rates", curves_ascend_and_have_rates},
        {"ranks_are_bounded", ranks_are_bounded},
        {"a_remark_has_its_room_to_the_byte", a_remark_has_its_room_to_the_byte},
        {"some_bandwidth_must_be_known", some_bandwidth_must_be_known},
        {"texts_become_attributes_that_read_back", texts_become_attributes_that_read_back},
        {"a_file_that_cannot_be_written_is_io", a_file_that_cannot_be_written_is_io},
    };
    return suite_run("calibration_write", cases, sizeof cases / sizeof cases[0]);
}
