/*
 * Statements of a scenario: what each means, what is refused and in which words, and that no text of any bytes is taken for
 * something it does not say.
 */
#include "support/buffers.h"
#include "support/files.h"
#include "support/suite.h"

#include "ronde/scenario.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ronde_scenario scenario;

static enum ronde_status add(const char *keyword, const char *value, struct ronde_error *error)
{
    memset(error, 0, sizeof *error);
    return ronde_scenario_add(&scenario, keyword, value, error);
}

static void expect_added(const char *keyword, const char *value)
{
    struct ronde_error error;
    CU_ASSERT_EQUAL(add(keyword, value, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s %s: %s", keyword, value, error.message);
}

/* A statement, and a part of the message it gets. */
struct refusal {
    const char *keyword, *value, *text;
};

static void expect_refused(const struct refusal *rows, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        struct ronde_error error;
        ronde_scenario_free(&scenario);
        const enum ronde_status status = add(rows[k].keyword, rows[k].value, &error);
        const bool is_said = strstr(error.message, rows[k].text) != NULL;
        CU_ASSERT_EQUAL(status, RONDE_BAD_ARGUMENT);
        CU_ASSERT(is_said);
        if (status != RONDE_BAD_ARGUMENT || !is_said)
            suite_note("%s %s: %s", rows[k].keyword, rows[k].value, error.message);
    }
    ronde_scenario_free(&scenario);
}

static void companions_say_what_how_and_where(void)
{
    expect_added("with", "all_reduce:ring:4M");
    expect_added("with", "broadcast:chain:1000:0-3,7,5-6");
    CU_ASSERT_EQUAL_FATAL(scenario.companion_count, 2);
    const struct ronde_companion *first = &scenario.companions[0];
    const struct ronde_companion *second = &scenario.companions[1];
    CU_ASSERT_EQUAL(first->collective, RONDE_ALL_REDUCE);
    CU_ASSERT_STRING_EQUAL(first->algorithm, "ring");
    CU_ASSERT_EQUAL(first->bytes, 4u << 20);
    CU_ASSERT_PTR_NULL(first->hosts.all);
    CU_ASSERT_STRING_EQUAL(first->path, "");
    static const uint32_t hosts[] = {0, 1, 2, 3, 7, 5, 6};
    CU_ASSERT_EQUAL(second->bytes, 1000);
    CU_ASSERT_EQUAL_FATAL(second->hosts.count, 7);
    CU_ASSERT_EQUAL(memcmp(second->hosts.all, hosts, sizeof hosts), 0);
    ronde_scenario_free(&scenario);
    CU_ASSERT(ronde_scenario_is_empty(&scenario));
}

static void a_file_may_be_a_companion(void)
{
    char path[512], value[600];
    if (!suite_source(path, sizeof path, "docs/examples/two_nodes.ronde") ||
        strlen(path) >= sizeof scenario.companions[0].path)
        return;
    snprintf(value, sizeof value, "%s:64K:4-7", path);
    expect_added("with", value);
    CU_ASSERT_STRING_EQUAL(scenario.companions[0].path, path);
    CU_ASSERT_EQUAL(scenario.companions[0].bytes, 65536);
    CU_ASSERT_EQUAL(scenario.companions[0].hosts.count, 4);
    CU_ASSERT_PTR_NULL(scenario.companions[0].algorithm);
    ronde_scenario_free(&scenario);
}

static void companions_that_make_no_sense_are_refused(void)
{
    static const struct refusal rows[] = {
        {"with", "", "is neither COLLECTIVE:ALGORITHM:SIZE"},
        {"with", "all_reduce", "is neither COLLECTIVE:ALGORITHM:SIZE"},
        {"with", "all_reduce:ring", "is neither COLLECTIVE:ALGORITHM:SIZE"},
        {"with", "all_reduec:ring:4M", "did you mean all_reduce"},
        {"with", "all_reduce:rign:4M", "did you mean ring"},
        {"with", "broadcast:double_binary_tree_of_another_name_that_is_far_too_long_here:4M",
         "broadcast has no algorithm"},
        {"with", "all_reduce:ring:", "size"},
        {"with", "all_reduce:ring:4Q", "4Q"},
        {"with", "all_reduce:ring:-4", "-4"},
        {"with", "all_reduce:ring:4M:", "host"},
        {"with", "all_reduce:ring:4M:a", "host"},
        {"with", "all_reduce:ring:4M:1,", "host"},
        {"with", "all_reduce:ring:4M:,1", "host"},
        {"with", "all_reduce:ring:4M:1-", "host"},
        {"with", "all_reduce:ring:4M:-1", "host"},
        {"with", "all_reduce:ring:4M:3-1", "hosts 3-1 are none or too many"},
        {"with", "all_reduce:ring:4M:0-4294967294", "are none or too many"},
        {"with", "all_reduce:ring:4M:4294967295", "host"},
        {"with", "all_reduce:ring:4M:1-2-3", "host"},
    };
    expect_refused(rows, sizeof rows / sizeof rows[0]);
}

/* Hosts are bounded together, not each range by itself. */
static void hosts_of_all_ranges_are_bounded(void)
{
    char value[96];
    struct ronde_error error;
    snprintf(value, sizeof value, "all_reduce:ring:1:0-%u,5", RONDE_MAX_RANKS - 1);
    CU_ASSERT_EQUAL(add("with", value, &error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "hosts 5-5 are none or too many"));
    ronde_scenario_free(&scenario);
    snprintf(value, sizeof value, "all_reduce:ring:1:0-%u,5", RONDE_MAX_RANKS - 2);
    expect_added("with", value);
    CU_ASSERT_EQUAL(scenario.companions[0].hosts.count, RONDE_MAX_RANKS);
    ronde_scenario_free(&scenario);
}

static void flows_go_from_host_to_host(void)
{
    static const struct refusal rows[] = {
        {"background", "", "is not S>D:SIZE"},
        {"background", "0-4:1M", "is not S>D:SIZE"},
        {"background", "0>4", "is not S>D:SIZE"},
        {"background", ">4:1M", "host"},
        {"background", "0>:1M", "host"},
        {"background", "a>4:1M", "host"},
        {"background", "0>-4:1M", "host"},
        {"background", "0>4:", "size"},
        {"background", "0>4:much", "much"},
        {"background", "4>4:1M", "a flow needs two hosts and at least one byte"},
        {"background", "0>4:0", "a flow needs two hosts and at least one byte"},
        {"background", "99999999999>4:1M", "host"},
    };
    expect_added("background", "0>4:1M");
    expect_added("background", "7>3:1");
    CU_ASSERT_EQUAL(scenario.backgrounds[0].src, 0);
    CU_ASSERT_EQUAL(scenario.backgrounds[0].dst, 4);
    CU_ASSERT_EQUAL(scenario.backgrounds[0].bytes, 1u << 20);
    CU_ASSERT_EQUAL(scenario.backgrounds[1].src, 7);
    CU_ASSERT_EQUAL(scenario.backgrounds[1].bytes, 1);
    expect_refused(rows, sizeof rows / sizeof rows[0]);
}

static void links_run_at_a_factor(void)
{
    static const struct refusal rows[] = {
        {"degrade", "", "is not LINK=FACTOR"},
        {"degrade", "nic0", "is not LINK=FACTOR"},
        {"degrade", "=0.5", "is not LINK=FACTOR"},
        {"degrade", "nic0=", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=0x", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=-1", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=+1", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=half", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=0.5x", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=0x1p3", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=inf", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=nan", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=1e999", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=1e-7", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0=1001", "is not 0 or a number from 1e-06 to 1000"},
        {"degrade", "nic0= 1", "is not 0 or a number from 1e-06 to 1000"},
    };
    expect_added("degrade", "nic0=0.5");
    expect_added("degrade", "a=b=c=.25");
    expect_added("degrade", "fast=1e1");
    CU_ASSERT_STRING_EQUAL(scenario.degraded[0].link, "nic0");
    CU_ASSERT_EQUAL(scenario.degraded[0].factor, 0.5);
    CU_ASSERT_STRING_EQUAL(scenario.degraded[1].link, "a=b=c");
    CU_ASSERT_EQUAL(scenario.degraded[1].factor, 0.25);
    CU_ASSERT_EQUAL(scenario.degraded[2].factor, 10.0);
    expect_refused(rows, sizeof rows / sizeof rows[0]);
}

/* The longest name of a link fits, the next does not. */
static void names_of_links_are_not_cut(void)
{
    char value[256];
    struct ronde_error error;
    for (size_t length = 120; length < 140; length++) {
        memset(value, 'n', length);
        snprintf(value + length, sizeof value - length, "=0.5");
        const enum ronde_status status = add("degrade", value, &error);
        CU_ASSERT_EQUAL(status == RONDE_OK, length < sizeof scenario.degraded[0].link);
        if (status == RONDE_OK)
            CU_ASSERT_EQUAL(strlen(scenario.degraded[0].link), length);
        ronde_scenario_free(&scenario);
    }
}

static void stragglers_are_late_slow_or_both(void)
{
    static const struct {
        const char *value;
        uint32_t rank;
        double delay_ns, slow_down;
    } good[] = {
        {"rank=7,delay=2ms", 7, 2e6, 1.0},      {"delay=300ns,rank=0", 0, 300.0, 1.0},
        {"rank=3,slow=1.5", 3, 0.0, 1.5},       {"slow=2,delay=1s,rank=1", 1, 1e9, 2.0},
        {"rank=1,delay=.5us", 1, 500.0, 1.0},   {"rank=1,delay=0ns", 1, 0.0, 1.0},
        {"rank=1,delay=1e3ns", 1, 1000.0, 1.0},
    };
    static const struct refusal rows[] = {
        {"straggler", "", "is not rank=R, delay=TIME or slow=FACTOR"},
        {"straggler", "7", "is not rank=R, delay=TIME or slow=FACTOR"},
        {"straggler", "rank=7", "is not rank=R,delay=TIME"},
        {"straggler", "delay=2ms", "is not rank=R,delay=TIME"},
        {"straggler", "slow=2", "is not rank=R,delay=TIME"},
        {"straggler", "rank=7,late=2ms", "is not rank=R, delay=TIME or slow=FACTOR"},
        {"straggler", "rank=7,delay=2", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,delay=ms", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,delay=2min", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,delay=-2ms", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,delay=0x2ms", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,delay=1e999s", "is not a number with ns, us, ms or s"},
        {"straggler", "rank=7,slow=0", "is not a number from 1e-06 to 1e+06"},
        {"straggler", "rank=7,slow=", "is not a number from 1e-06 to 1e+06"},
        {"straggler", "rank=x,delay=2ms", "rank"},
        {"straggler", "rank=-1,delay=2ms", "rank"},
        {"straggler", "rank=7,delay=2ms,", "is not rank=R, delay=TIME or slow=FACTOR"},
        {"straggler", "rank=7,,delay=2ms", "is not rank=R, delay=TIME or slow=FACTOR"},
    };
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        expect_added("straggler", good[k].value);
        CU_ASSERT_EQUAL(scenario.stragglers[k].rank, good[k].rank);
        CU_ASSERT_DOUBLE_EQUAL(scenario.stragglers[k].delay_ns, good[k].delay_ns, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(scenario.stragglers[k].slow_down, good[k].slow_down, 1e-12);
    }
    expect_refused(rows, sizeof rows / sizeof rows[0]);
}

static void keywords_are_known_or_the_nearest_is_named(void)
{
    static const struct refusal rows[] = {
        {"wiht", "x", "did you mean with"},
        {"backgrund", "x", "did you mean background"},
        {"degrades", "x", "did you mean degrade"},
        {"stragler", "x", "did you mean straggler"},
        {"", "x", "there are with, background, degrade, straggler"},
        {"xyzzy", "x", "unknown statement \"xyzzy\""},
        {"WITH", "x", "unknown statement"},
    };
    expect_refused(rows, sizeof rows / sizeof rows[0]);
}

static void more_statements_than_fit_are_refused(void)
{
    static const char *const values[][2] = {{"with", "all_reduce:ring:1"},
                                            {"background", "0>1:1"},
                                            {"degrade", "nic0=0.5"},
                                            {"straggler", "rank=0,slow=2"}};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        struct ronde_error error;
        char text[64];
        for (uint32_t i = 0; i < RONDE_SCENARIO_STATEMENTS; i++)
            expect_added(values[k][0], values[k][1]);
        CU_ASSERT_EQUAL(add(values[k][0], values[k][1], &error), RONDE_BAD_ARGUMENT);
        snprintf(text, sizeof text, "more than %u times %s", RONDE_SCENARIO_STATEMENTS,
                 values[k][0]);
        CU_ASSERT_STRING_EQUAL(error.message, text);
    }
    CU_ASSERT_EQUAL(scenario.straggler_count, RONDE_SCENARIO_STATEMENTS);
    ronde_scenario_free(&scenario);
}

static enum ronde_status read_text(const char *text, char path[64], struct ronde_error *error)
{
    memset(error, 0, sizeof *error);
    snprintf(path, 64, "/tmp/ronde-scenario-%d", (int)getpid());
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status = ronde_scenario_read(&scenario, path, error);
    remove(path);
    return status;
}

static void a_file_is_its_lines(void)
{
    struct ronde_error error;
    char path[64];
    CU_ASSERT_EQUAL(
        read_text("# late, and a slow cable\n\n  straggler\trank=2,delay=1ms  # here\r\n"
                  "degrade nic0=0.5\n#\nbackground 0>1:1K",
                  path, &error),
        RONDE_OK);
    CU_ASSERT_EQUAL(scenario.straggler_count, 1);
    CU_ASSERT_EQUAL(scenario.degraded_count, 1);
    CU_ASSERT_EQUAL(scenario.background_count, 1);
    CU_ASSERT_EQUAL(scenario.companion_count, 0);
    ronde_scenario_free(&scenario);
}

static void a_wrong_line_is_named_by_file_and_number(void)
{
    static const struct {
        const char *text;
        unsigned line;
        const char *part;
    } rows[] = {
        {"degrade\n", 1, "\"degrade\" takes one value without blanks"},
        {"\n\ndegrade nic0 = 0.5\n", 3, "takes one value without blanks"},
        {"degrade nic0=0.5\ndegrade nic0=-0.5\n", 2, "is not 0 or a number from 1e-06 to 1000"},
        {"# nothing\nslower nic0=1", 2, "unknown statement \"slower\""},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_error error;
        char path[64], place[96];
        CU_ASSERT_EQUAL(read_text(rows[k].text, path, &error), RONDE_BAD_INPUT);
        snprintf(place, sizeof place, "%s:%u: ", path, rows[k].line);
        CU_ASSERT_EQUAL(strncmp(error.message, place, strlen(place)), 0);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, rows[k].part));
        ronde_scenario_free(&scenario);
    }
}

static void a_line_is_never_cut(void)
{
    char text[2048], path[64];
    struct ronde_error error;
    for (size_t filler = 980; filler < 1100; filler += 7) {
        snprintf(text, sizeof text, "degrade nic0=0.5 #%0*d\ndegrade nic1=0.5\n", (int)filler, 0);
        const enum ronde_status status = read_text(text, path, &error);
        CU_ASSERT_EQUAL(status == RONDE_OK, strcspn(text, "\n") <= 1022);
        CU_ASSERT_EQUAL(scenario.degraded_count, status == RONDE_OK ? 2u : 0u);
        if (status != RONDE_OK)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, ":1: the line has more than 1022"));
        ronde_scenario_free(&scenario);
    }
}

static void a_file_that_cannot_be_read_is_named(void)
{
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_scenario_read(&scenario, "/nonexistent/scenario", &error), RONDE_IO);
    CU_ASSERT_EQUAL(strncmp(error.message, "/nonexistent/scenario: ", 23), 0);
    memset(&error, 0, sizeof error);
    CU_ASSERT_EQUAL(ronde_scenario_read(&scenario, "/tmp", &error), RONDE_IO);
    CU_ASSERT(ronde_scenario_is_empty(&scenario));
}

/* Good statements with some bytes replaced, doubled or left out: taken or refused with a message, never more. */
static void mutilated_statements_do_no_harm(void)
{
    static const char *const seeds[][2] = {{"with", "all_reduce:ring:4M:0-7,9"},
                                           {"background", "0>4:1M"},
                                           {"degrade", "nic0=0.5"},
                                           {"straggler", "rank=7,delay=2ms,slow=1.5"}};
    static const char alphabet[] = "0123456789-,.:=>eExMKGnus \"#\xff/";
    uint64_t state = 31;
    uint32_t taken = 0, refused = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        const size_t seed = buffers_draw(&state) % 4;
        char value[64];
        struct ronde_error error;
        snprintf(value, sizeof value, "%s", seeds[seed][1]);
        for (uint64_t edits = 1 + buffers_draw(&state) % 3; edits > 0; edits--) {
            const size_t length = strlen(value), at = buffers_draw(&state) % (length + 1);
            if (buffers_draw(&state) % 3 == 0 && at < length)
                memmove(value + at, value + at + 1, length - at);
            else if (at < length)
                value[at] = alphabet[buffers_draw(&state) % (sizeof alphabet - 1)];
        }
        const enum ronde_status status = add(seeds[seed][0], value, &error);
        taken += status == RONDE_OK;
        refused += status == RONDE_BAD_ARGUMENT && error.message[0] != '\0';
        ronde_scenario_free(&scenario);
    }
    CU_ASSERT_EQUAL(taken + refused, 4000);
    CU_ASSERT(taken > 100 && refused > 1000);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"companions_say_what_how_and_where", companions_say_what_how_and_where},
        {"a_file_may_be_a_companion", a_file_may_be_a_companion},
        {"companions_that_make_no_sense_are_refused", companions_that_make_no_sense_are_refused},
        {"hosts_of_all_ranges_are_bounded", hosts_of_all_ranges_are_bounded},
        {"flows_go_from_host_to_host", flows_go_from_host_to_host},
        {"links_run_at_a_factor", links_run_at_a_factor},
        {"names_of_links_are_not_cut", names_of_links_are_not_cut},
        {"stragglers_are_late_slow_or_both", stragglers_are_late_slow_or_both},
        {"keywords_are_known_or_the_nearest_is_named", keywords_are_known_or_the_nearest_is_named},
        {"more_statements_than_fit_are_refused", more_statements_than_fit_are_refused},
        {"a_file_is_its_lines", a_file_is_its_lines},
        {"a_wrong_line_is_named_by_file_and_number", a_wrong_line_is_named_by_file_and_number},
        {"a_line_is_never_cut", a_line_is_never_cut},
        {"a_file_that_cannot_be_read_is_named", a_file_that_cannot_be_read_is_named},
        {"mutilated_statements_do_no_harm", mutilated_statements_do_no_harm},
    };
    return suite_run("scenario", cases, sizeof cases / sizeof cases[0]);
}
