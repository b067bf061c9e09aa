/*
 * Units of platform files as SimGrid spells them: every prefix of every unit against its power, what is no unit, and numbers
 * that are read back to the last bit.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "topologies/platform.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char prefixes[] = "kMGTPEZY";

/* number * 1000^k or 1024^k bytes a second, as GB/s. */
static void every_prefix_is_its_power(void)
{
    for (int k = 0; k < 8; k++)
        for (int is_binary = 0; is_binary < 2; is_binary++)
            for (int is_bytes = 0; is_bytes < 2; is_bytes++) {
                char text[32];
                double rate = 0.0;
                const char letter = is_binary && k == 0 ? 'K' : prefixes[k];
                snprintf(text, sizeof text, "3%c%s%s", letter, is_binary ? "i" : "",
                         is_bytes ? "Bps" : "bps");
                const double expected =
                    3.0 * pow(is_binary ? 1024.0 : 1000.0, k + 1) / (is_bytes ? 1e9 : 8e9);
                const bool is_read = ronde_parse_bandwidth(text, &rate);
                CU_ASSERT(is_read);
                CU_ASSERT_DOUBLE_EQUAL(rate / expected, 1.0, 1e-14);
                if (!is_read)
                    suite_note("%s is not read", text);
            }
}

static void a_rate_without_a_unit_is_bytes_a_second(void)
{
    static const struct {
        const char *text;
        double rate_GBps;
    } rows[] = {{"1e9", 1.0},     {"125000000", 0.125}, {"8bps", 1e-9},  {"1Bps", 1e-9},
                {"50GBps", 50.0}, {"400Gbps", 50.0},    {".5GBps", 0.5}, {"1e3MBps", 1.0},
                {"0", 0.0},       {"+5GBps", 5.0}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        double rate = -1.0;
        CU_ASSERT(ronde_parse_bandwidth(rows[k].text, &rate));
        CU_ASSERT_DOUBLE_EQUAL(rate, rows[k].rate_GBps, 1e-15 * rows[k].rate_GBps);
    }
}

static void what_is_no_rate_is_refused(void)
{
    static const char *const texts[] = {"",      "GBps",    "5 GBps",  "5GB/s",   "5GB",
                                        "5gBps", "5KBps",   "5kiBps",  "5XBps",   "5GBPS",
                                        "5Gibs", "5Giibps", "0x10Bps", "infBps",  "nan",
                                        "1e999", "5GBps ",  "--5GBps", "5GBps/s", "1e308YBps",
                                        "5mBps", "5GiKBps", " 5GBps"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        double rate = 0.0;
        const bool is_read = ronde_parse_bandwidth(texts[k], &rate);
        CU_ASSERT_FALSE(is_read);
        if (is_read)
            suite_note("\"%s\" was read as %g GB/s", texts[k], rate);
    }
}

static void times_are_nanoseconds(void)
{
    static const struct {
        const char *text;
        double ns;
    } rows[] = {{"1", 1e9},        {"1s", 1e9},      {"1ms", 1e6},       {"1us", 1e3},
                {"1ns", 1.0},      {"1000ps", 1.0},  {"1m", 60e9},       {"1h", 3600e9},
                {"1d", 86400e9},   {"1w", 604800e9}, {"17.25ns", 17.25}, {"0", 0.0},
                {"350e-9s", 350.0}};
    static const char *const bad[] = {"",     "s",    "1 s",    "1S",   "1sec",
                                      "1min", "1µs",  "1e999s", "0x1s", "infs",
                                      "nans", "1nss", "1e300w", " 1s",  "1s "};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        double ns = -1.0;
        CU_ASSERT(ronde_parse_time(rows[k].text, &ns));
        CU_ASSERT_DOUBLE_EQUAL(ns, rows[k].ns, 1e-12 * rows[k].ns);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        double ns = 0.0;
        const bool is_read = ronde_parse_time(bad[k], &ns);
        CU_ASSERT(!is_read);
        if (is_read)
            suite_note("\"%s\" was read as %g ns", bad[k], ns);
    }
}

/* What ronde writes with 17 digits it reads as the same bits: scales are whole numbers, so nothing is rounded twice. */
static void numbers_are_read_to_the_last_bit(void)
{
    uint64_t state = 51;
    for (uint32_t round = 0; round < 2000; round++) {
        char text[64];
        double read = 0.0;
        const double value = (double)(1 + buffers_draw(&state) % 1000000007) /
                             (double)(1 + buffers_draw(&state) % 65537);
        snprintf(text, sizeof text, "%.17gGBps", value);
        CU_ASSERT(ronde_parse_bandwidth(text, &read) && read == value);
        snprintf(text, sizeof text, "%.17gns", value);
        CU_ASSERT(ronde_parse_time(text, &read) && read == value);
        snprintf(text, sizeof text, "%.17g", value);
        CU_ASSERT(ronde_parse_number(text, &read) && read == value);
    }
}

static void a_number_is_the_whole_text(void)
{
    static const char *const bad[] = {"",    "1us", "1 ", " 1",    "1.2.3", "0x1", "inf",
                                      "nan", "1e",  "e5", "1e999", "--1",   "1-1"};
    double value = 0.0;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++)
        CU_ASSERT_FALSE(ronde_parse_number(bad[k], &value));
    CU_ASSERT(ronde_parse_number("-1.5e3", &value) && value == -1500.0);
}

static void integers_stop_at_their_limit(void)
{
    static const struct {
        const char *text;
        uint64_t limit, value;
        char next;
        bool is_read;
    } rows[] = {
        {"0", 0, 0, '\0', true},
        {"1", 0, 0, '\0', false},
        {"12-15", 99, 12, '-', true},
        {"99,", 99, 99, ',', true},
        {"100", 99, 0, '\0', false},
        {"-1", 99, 0, '\0', false},
        {"+1", 99, 0, '\0', false},
        {" 1", 99, 0, '\0', false},
        {"", 99, 0, '\0', false},
        {"007x", 99, 7, 'x', true},
        {"18446744073709551615", UINT64_MAX, UINT64_MAX, '\0', true},
        {"18446744073709551616", UINT64_MAX, 0, '\0', false},
        {"99999999999999999999", UINT64_MAX, 0, '\0', false},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const char *cursor = rows[k].text;
        uint64_t value = 0;
        CU_ASSERT_EQUAL(ronde_parse_integer(&cursor, rows[k].limit, &value), rows[k].is_read);
        if (rows[k].is_read) {
            CU_ASSERT_EQUAL(value, rows[k].value);
            CU_ASSERT_EQUAL(*cursor, rows[k].next);
        } else {
            CU_ASSERT_PTR_EQUAL(cursor, rows[k].text);
        }
    }
}

static void speeds_are_lists_of_rates_of_flops(void)
{
    static const char *const good[] = {"1",          "1f",      "1Gf",        "1e9",
                                       "98.095Mf",   "1Gf,2Gf", "1Gf, 500Mf", "1gigaflops",
                                       "2kiloflops", "1flops"};
    static const char *const bad[] = {"",        ",",    "1Gf,",      ",1Gf",    "fast",    "-1Gf",
                                      "1Gf;2Gf", "1 Gf", "1gigaflop", "1xflops", "1Gf,,2Gf"};
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        CU_ASSERT(ronde_parse_speeds(good[k]));
        if (!ronde_parse_speeds(good[k]))
            suite_note("\"%s\" is not read", good[k]);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        CU_ASSERT_FALSE(ronde_parse_speeds(bad[k]));
        if (ronde_parse_speeds(bad[k]))
            suite_note("\"%s\" was read", bad[k]);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_prefix_is_its_power", every_prefix_is_its_power},
        {"a_rate_without_a_unit_is_bytes_a_second", a_rate_without_a_unit_is_bytes_a_second},
        {"what_is_no_rate_is_refused", what_is_no_rate_is_refused},
        {"times_are_nanoseconds", times_are_nanoseconds},
        {"numbers_are_read_to_the_last_bit", numbers_are_read_to_the_last_bit},
        {"a_number_is_the_whole_text", a_number_is_the_whole_text},
        {"integers_stop_at_their_limit", integers_stop_at_their_limit},
        {"speeds_are_lists_of_rates_of_flops", speeds_are_lists_of_rates_of_flops},
    };
    return suite_run("units", cases, sizeof cases / sizeof cases[0]);
}
