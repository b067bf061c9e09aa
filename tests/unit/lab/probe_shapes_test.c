/**
 * The schedules that calibration measures: how many messages each has, how many of them in a row, how much a rank sends and
 * what that takes on a network of round numbers, that they do what their collective says, and what cannot be made.
 */
#include "unit/checked.h"

#include "support/suite.h"

#include "lab/calibrate/probes.h"
#include "ronde/calibrate.h"
#include "ronde/price.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** A probe that must be made; its proof is looked at. */
static struct ronde_schedule *make(enum ronde_probe probe, uint32_t length, uint32_t channels)
{
    struct ronde_schedule *schedule = NULL;
    struct ronde_error error = {.status = RONDE_OK};
    const uint32_t ranks = probe == RONDE_PROBE_LAUNCH ? 1 : probe == RONDE_PROBE_WAITING ? 3 : 2;
    CU_ASSERT_EQUAL_FATAL(ronde_probe_make(probe, ranks, length, channels, &schedule, &error),
                          RONDE_OK);
    CU_ASSERT(schedule->proof.ok && schedule->proof.dead_chunks == 0);
    return schedule;
}

static void probes_have_the_messages_they_are_of(void)
{
    static const struct {
        enum ronde_probe probe;
        uint32_t length, ranks;
        uint64_t messages;
        uint32_t path;
        double sent, received;
    } rows[] = {
        {RONDE_PROBE_LAUNCH, 0, 1, 0, 0, 0, 0},
        {RONDE_PROBE_PING_PONG, 3, 2, 3, 3, 2, 2},
        {RONDE_PROBE_PING_PONG, 43, 2, 43, 43, 22, 22},
        {RONDE_PROBE_PING_PONG, 403, 2, 403, 403, 202, 202},
        {RONDE_PROBE_MESSAGES, 1, 2, 1, 1, 1, 1},
        {RONDE_PROBE_MESSAGES, 32, 2, 32, 1, 1, 1},
        {RONDE_PROBE_MESSAGES, 1056, 2, 1056, 1, 1, 1},
        {RONDE_PROBE_STREAM, 0, 2, 1, 1, 1, 1},
        {RONDE_PROBE_REDUCE, 0, 2, 1, 1, 1, 1},
        {RONDE_PROBE_EXCHANGE, 0, 2, 2, 1, 1, 1},
        {RONDE_PROBE_PAIRS, 1, 2, 2, 1, 1, 1},
        {RONDE_PROBE_PAIRS, 43, 2, 86, 43, 43, 43},
        {RONDE_PROBE_WAITING, 3, 3, 4, 4, 2, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (uint32_t channels = 1; channels <= 3; channels++) {
            struct ronde_schedule *schedule = make(rows[i].probe, rows[i].length, channels);
            const struct ronde_volume volume = ronde_schedule_volume(schedule);
            CU_ASSERT_EQUAL(schedule->ranks, rows[i].ranks);
            CU_ASSERT_EQUAL(schedule->proof.messages, rows[i].messages);
            CU_ASSERT_EQUAL(schedule->proof.critical_path, rows[i].path);
            CU_ASSERT_DOUBLE_EQUAL(volume.sent, rows[i].sent, 1e-9);
            CU_ASSERT_DOUBLE_EQUAL(volume.received, rows[i].received, 1e-9);
            if (schedule->proof.messages != rows[i].messages ||
                schedule->proof.critical_path != rows[i].path)
                suite_note("%s: %llu messages, %u in a row", schedule->algorithm,
                           (unsigned long long)schedule->proof.messages,
                           schedule->proof.critical_path);
            ronde_schedule_destroy(schedule);
        }
}

static void pairs_and_waiting_take_more_ranks(void)
{
    for (uint32_t ranks = 2; ranks <= RONDE_PROBE_RANKS; ranks += 2) {
        struct ronde_schedule *pairs = NULL, *waiting = NULL;
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL_FATAL(ronde_probe_make(RONDE_PROBE_PAIRS, ranks, 5, 1, &pairs, &error),
                              RONDE_OK);
        CU_ASSERT_EQUAL(pairs->proof.messages, 5 * ranks);
        CU_ASSERT_EQUAL(pairs->proof.critical_path, 5);
        CU_ASSERT_EQUAL_FATAL(ronde_probe_make(RONDE_PROBE_WAITING,
                                               ranks + 1 > RONDE_PROBE_RANKS ? 16 : ranks + 1, 5, 1,
                                               &waiting, &error),
                              RONDE_OK);
        CU_ASSERT_EQUAL(waiting->proof.messages, 5 + waiting->ranks - 2);
        CU_ASSERT_EQUAL(waiting->proof.critical_path, 6);
        ronde_schedule_destroy(pairs);
        ronde_schedule_destroy(waiting);
    }
}

static void what_makes_no_pairs_is_refused(void)
{
    static const uint32_t ranks[] = {0, 1, 3, 15, RONDE_PROBE_RANKS + 2, UINT32_MAX - 1};
    for (size_t i = 0; i < sizeof ranks / sizeof ranks[0]; i++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL(ronde_probe_make(RONDE_PROBE_PAIRS, ranks[i], 3, 1, &schedule, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NULL(schedule);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "an even number up to 16"));
    }
}

/* On host, against what a broadcast, a reduce, an all_gather and a send_recv are. */
static void probes_do_what_their_collective_says(void)
{
    for (unsigned probe = RONDE_PROBE_LAUNCH; probe <= RONDE_PROBE_WAITING; probe++)
        for (uint32_t channels = 1; channels <= 2; channels++) {
            struct ronde_schedule *schedule = make((enum ronde_probe)probe, 5, channels);
            checked_run("host", schedule, RONDE_SUM);
            ronde_schedule_destroy(schedule);
        }
}

/** us-like round numbers: 100 ns of latency, 10 ns of step and 1 GB/s. */
static double price_ns(const struct ronde_schedule *schedule, uint64_t bytes)
{
    static const struct ronde_network network = {.time = {.alpha_ns = 100, .step_ns = 10},
                                                 .port_GBps = 1};
    const struct ronde_load load = {.count = bytes / 4, .dtype = RONDE_FLOAT32};
    double time_ns = 0;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_dag_price(schedule, &load, &network, ronde_mem_default(), &time_ns, &error),
                    RONDE_OK);
    return time_ns;
}

/* The slopes that a fit rests on: what one hop more takes, what one message more, and both ways at once. */
static void slopes_are_those_of_the_model(void)
{
    struct ronde_schedule *few = make(RONDE_PROBE_PING_PONG, 3, 1);
    struct ronde_schedule *many = make(RONDE_PROBE_PING_PONG, 43, 1);
    for (uint64_t bytes = 16; bytes <= 1 << 16; bytes *= 16) {
        const double slope = (price_ns(many, bytes) - price_ns(few, bytes)) / 40;
        /* A hop: step, flow and latency; the receiver's step passes it on. */
        CU_ASSERT_DOUBLE_EQUAL(slope, 100 + 10 + (double)bytes, 1e-6);
        if (slope != 110 + (double)bytes)
            suite_note("%llu bytes: %g ns a hop", (unsigned long long)bytes, slope);
    }
    ronde_schedule_destroy(few);
    ronde_schedule_destroy(many);
    struct ronde_schedule *stream = make(RONDE_PROBE_STREAM, 0, 1);
    struct ronde_schedule *exchange = make(RONDE_PROBE_EXCHANGE, 0, 1);
    CU_ASSERT_DOUBLE_EQUAL(price_ns(stream, 1 << 20), price_ns(exchange, 1 << 20), 1e-6);
    ronde_schedule_destroy(stream);
    ronde_schedule_destroy(exchange);
}

/* Constants that vary by more than their value are counted, and named by what refuses them. */
static void unsure_constants_are_counted(void)
{
    static struct ronde_calibration_report report;
    static const double spreads[] = {.1, 1, 1.0001, 50, 0};
    memset(&report, 0, sizeof report);
    CU_ASSERT_EQUAL(ronde_calibration_unsure(&report), 0);
    for (uint32_t i = 0; i < sizeof spreads / sizeof spreads[0]; i++) {
        report.constants[i] = (struct ronde_constant){"step_ns", "ns", 3, spreads[i], "made up"};
        report.constant_count = i + 1;
        CU_ASSERT_EQUAL(ronde_calibration_unsure(&report), i < 2 ? 0 : i == 2 ? 1 : 2);
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL(ronde_calibration_check(&report, &error), i < 2 ? RONDE_OK : RONDE_REJECTED);
    }
}

/* A file that cannot be written is an error of the file, not of what was measured. */
static void a_calibration_needs_a_file_to_be_stored(void)
{
    static struct ronde_calibration_report report;
    struct ronde_error error = {.status = RONDE_OK};
    memset(&report, 0, sizeof report);
    CU_ASSERT_EQUAL(ronde_calibration_store(&report, "no-such-folder/x.xml", &error), RONDE_IO);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no-such-folder/x.xml"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"probes_have_the_messages_they_are_of", probes_have_the_messages_they_are_of},
        {"pairs_and_waiting_take_more_ranks", pairs_and_waiting_take_more_ranks},
        {"what_makes_no_pairs_is_refused", what_makes_no_pairs_is_refused},
        {"probes_do_what_their_collective_says", probes_do_what_their_collective_says},
        {"slopes_are_those_of_the_model", slopes_are_those_of_the_model},
        {"unsure_constants_are_counted", unsure_constants_are_counted},
        {"a_calibration_needs_a_file_to_be_stored", a_calibration_needs_a_file_to_be_stored},
    };
    return suite_run("probe_shapes", cases, sizeof cases / sizeof cases[0]);
}
