/*
 * Collectives, flows, slow links and late ranks in one replay: what shares nothing takes what it takes alone, what shares a
 * port takes longer and never longer than one after the other, a flow lasts as long as the collectives.
 */
#include "support/suite.h"
#include "unit/platform_text.h"

#include "predict/scenario/co_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define RANKS 8u

/* An all_reduce of a mebibyte on hosts 0 to 7 of 64 on a crossbar. */
struct fixture {
    struct ronde_platform *platform, *healthy;
    struct ronde_schedule *schedule;
    struct ronde_forecast forecast;
    struct ronde_scenario scenario;
    struct ronde_co_run co_run;
    struct ronde_record record;
    struct ronde_kept kept;
    struct ronde_error error;
};

static bool begin(struct fixture *fixture)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = "ring",
                                                  .ranks = RANKS};
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .op = RONDE_SUM};
    memset(fixture, 0, sizeof *fixture);
    if (!suite_can_read_platforms())
        return false;
    fixture->platform = platform_text_open("topologies/crossbar-64.xml");
    CU_ASSERT_PTR_NOT_NULL_FATAL(fixture->platform);
    CU_ASSERT_EQUAL_FATAL(ronde_platform_copy(fixture->platform, ronde_mem_default(),
                                              &fixture->healthy, &fixture->error),
                          RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &fixture->schedule,
                                        &fixture->error),
                          RONDE_OK);
    fixture->forecast = ronde_forecast_of(fixture->platform, fixture->schedule, &request, &options);
    fixture->forecast.load.count = 1u << 18;
    return true;
}

static void add(struct fixture *fixture, const char *keyword, const char *value)
{
    CU_ASSERT_EQUAL(ronde_scenario_add(&fixture->scenario, keyword, value, &fixture->error),
                    RONDE_OK);
}

static enum ronde_status run(struct fixture *fixture)
{
    enum ronde_status status =
        ronde_scenario_degrade(&fixture->scenario, fixture->platform, &fixture->error);
    if (status == RONDE_OK)
        status = ronde_co_run_open(&fixture->scenario, fixture->healthy, &fixture->forecast,
                                   &fixture->co_run, &fixture->error);
    if (status == RONDE_OK)
        status = ronde_co_run_run(&fixture->co_run, &fixture->forecast, "flat_fifo", true,
                                  &fixture->record, &fixture->kept, &fixture->error);
    return status;
}

static void expect_run(struct fixture *fixture, uint32_t parts)
{
    CU_ASSERT_EQUAL(run(fixture), RONDE_OK);
    if (fixture->error.status != RONDE_OK)
        suite_note("%s", fixture->error.message);
    CU_ASSERT_EQUAL(fixture->co_run.part_count, parts);
    CU_ASSERT_DOUBLE_EQUAL(fixture->record.time_ns, fixture->co_run.parts[0].together_ns,
                           1e-9 * fixture->record.time_ns);
}

static void end(struct fixture *fixture)
{
    ronde_kept_release(&fixture->kept);
    ronde_co_run_close(&fixture->co_run);
    ronde_scenario_free(&fixture->scenario);
    ronde_schedule_destroy(fixture->schedule);
    ronde_platform_destroy(fixture->platform);
    ronde_platform_destroy(fixture->healthy);
}

static bool is_about(double a, double b)
{
    return fabs(a - b) <= 1e-6 * b;
}

static void alone_and_together_are_the_same_where_nothing_happens(void)
{
    struct fixture fixture;
    if (!begin(&fixture))
        return;
    expect_run(&fixture, 1);
    CU_ASSERT(is_about(fixture.co_run.parts[0].together_ns, fixture.co_run.parts[0].alone_ns));
    CU_ASSERT_STRING_EQUAL(fixture.co_run.parts[0].name, "all_reduce ring 1M on 8 ranks");
    end(&fixture);
}

static void hosts_apart_do_not_disturb_each_other(void)
{
    struct fixture fixture;
    if (!begin(&fixture))
        return;
    add(&fixture, "with", "broadcast:binomial:1M:8-15");
    add(&fixture, "with", "all_to_all:direct:64K:16-19");
    expect_run(&fixture, 3);
    for (uint32_t k = 0; k < 3; k++)
        CU_ASSERT(is_about(fixture.co_run.parts[k].together_ns, fixture.co_run.parts[k].alone_ns));
    CU_ASSERT_STRING_EQUAL(fixture.co_run.parts[1].name, "broadcast binomial 1M on 8 ranks");
    CU_ASSERT_STRING_EQUAL(fixture.co_run.parts[2].name, "all_to_all direct 64K on 4 ranks");
    end(&fixture);
}

/* As alone on its hosts: with the rings that the machine has ways for, in the pieces that the size asks for. */
static void a_companion_is_set_up_as_alone(void)
{
    static const struct {
        const char *value;
        enum ronde_collective collective;
        const char *algorithm;
    } rows[] = {{"broadcast:chain:64M:8-15", RONDE_BROADCAST, "chain"},
                {"all_reduce:ring:1M:16-31", RONDE_ALL_REDUCE, "ring"}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture))
            return;
        add(&fixture, "with", rows[k].value);
        expect_run(&fixture, 2);
        const struct ronde_setup setup = {.platform = fixture.platform,
                                          .request = {.collective = rows[k].collective,
                                                      .algorithm = rows[k].algorithm,
                                                      .ranks = 8u << k}};
        const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .op = RONDE_SUM};
        struct ronde_candidate alone;
        struct ronde_prediction prediction;
        CU_ASSERT_EQUAL_FATAL(ronde_candidate_open(&setup, ronde_mem_default(), &alone,
                                                   &fixture.error),
                              RONDE_OK);
        struct ronde_forecast forecast =
            ronde_candidate_forecast(&alone, fixture.platform, &options);
        ronde_forecast_set_count(&forecast, k == 0 ? 1u << 24 : 1u << 18);
        CU_ASSERT_EQUAL(ronde_forecast_replay(&forecast, "auto", &prediction, &fixture.error),
                        RONDE_OK);
        CU_ASSERT(is_about(fixture.co_run.parts[1].alone_ns, prediction.time_ns));
        ronde_candidate_close(&alone, ronde_mem_default());
        end(&fixture);
    }
}

/* The same collective on the same hosts: each port carries twice as much. */
static void the_same_twice_takes_up_to_twice_as_long(void)
{
    struct fixture fixture;
    if (!begin(&fixture))
        return;
    add(&fixture, "with", "all_reduce:ring:1M");
    expect_run(&fixture, 2);
    const struct ronde_co_run_part *parts = fixture.co_run.parts;
    CU_ASSERT(is_about(parts[0].alone_ns, parts[1].alone_ns));
    for (uint32_t k = 0; k < 2; k++) {
        CU_ASSERT(parts[k].together_ns > 1.2 * parts[k].alone_ns);
        CU_ASSERT(parts[k].together_ns <= 2.0 * parts[k].alone_ns * (1 + 1e-6));
    }
    end(&fixture);
}

static void a_flow_lasts_as_long_as_the_collectives(void)
{
    static const char *const flows[] = {"0>1:64K", "0>1:4M", "30>31:1K", "5>40:256K"};
    for (size_t k = 0; k < sizeof flows / sizeof flows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture))
            return;
        add(&fixture, "background", flows[k]);
        expect_run(&fixture, 2);
        const struct ronde_co_run_part *parts = fixture.co_run.parts;
        CU_ASSERT(parts[1].repeats >= 1);
        CU_ASSERT(parts[1].together_ns >= parts[0].together_ns);
        CU_ASSERT(parts[0].together_ns >= parts[0].alone_ns * (1 - 1e-9));
        CU_ASSERT_EQUAL(parts[1].alone_ns, 0.0);
        CU_ASSERT_EQUAL(parts[0].repeats, 0);
        CU_ASSERT_EQUAL(strncmp(parts[1].name, "background ", 11), 0);
        end(&fixture);
    }
}

static void a_flow_on_the_ring_slows_it_and_one_elsewhere_does_not(void)
{
    static const struct {
        const char *flow;
        bool slows;
    } rows[] = {{"0>1:1M", true}, {"3>4:1M", true}, {"40>41:1M", false}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture))
            return;
        add(&fixture, "background", rows[k].flow);
        expect_run(&fixture, 2);
        const struct ronde_co_run_part *main_part = &fixture.co_run.parts[0];
        CU_ASSERT_EQUAL(main_part->together_ns > 1.05 * main_part->alone_ns, rows[k].slows);
        end(&fixture);
    }
}

/* A ring waits for its late rank: by its delay at least, where that is long. */
static void a_late_rank_delays_by_no_more_than_its_delay(void)
{
    static const char *const values[] = {"rank=3,delay=1us", "rank=0,delay=50us",
                                         "rank=7,delay=1ms"};
    static const double delays_ns[] = {1e3, 5e4, 1e6};
    for (size_t k = 0; k < sizeof values / sizeof values[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture))
            return;
        add(&fixture, "straggler", values[k]);
        expect_run(&fixture, 1);
        const struct ronde_co_run_part *part = &fixture.co_run.parts[0];
        CU_ASSERT(part->together_ns >= part->alone_ns);
        CU_ASSERT(part->together_ns >= delays_ns[k]);
        CU_ASSERT(part->together_ns <= part->alone_ns + delays_ns[k] + 1.0);
        end(&fixture);
    }
}

static void a_slow_link_slows_what_crosses_it_and_the_healthy_machine_stays(void)
{
    char name[160], value[192];
    struct fixture fixture;
    uint32_t links[8], count = 0;
    if (!begin(&fixture))
        return;
    CU_ASSERT_EQUAL_FATAL(ronde_platform_route(fixture.platform, 0, 1, 8, links, &count,
                                               &fixture.error),
                          RONDE_OK);
    CU_ASSERT_FATAL(count > 0);
    snprintf(name, sizeof name, "%s", ronde_platform_link(fixture.platform, links[0])->name);
    const double rate = ronde_platform_link(fixture.platform, links[0])->rate_GBps;
    snprintf(value, sizeof value, "%s=0.25", name);
    add(&fixture, "degrade", value);
    expect_run(&fixture, 1);
    const struct ronde_co_run_part *part = &fixture.co_run.parts[0];
    /* Most of its time is bytes, so a quarter of the rate is most of four times as long. */
    CU_ASSERT(part->together_ns > 2.0 * part->alone_ns);
    CU_ASSERT(part->together_ns < 4.0 * part->alone_ns * (1 + 1e-6));
    CU_ASSERT_EQUAL(ronde_platform_link(fixture.healthy, links[0])->rate_GBps, rate);
    CU_ASSERT_EQUAL(ronde_platform_link(fixture.platform, links[0])->rate_GBps, rate / 4);
    end(&fixture);
}

static void what_cannot_happen_is_refused(void)
{
    static const struct {
        const char *keyword, *value;
        enum ronde_status status;
        const char *text;
    } rows[] = {
        {"straggler", "rank=8,delay=1us", RONDE_BAD_ARGUMENT, "--straggler: rank 8 of 8 ranks"},
        {"background", "0>64:1M", RONDE_BAD_INPUT, "background from host 0 to 64 of 64 hosts"},
        {"background", "70>1:1M", RONDE_BAD_INPUT, "background from host 70 to 1 of 64 hosts"},
        {"degrade", "no_such_link=0.5", RONDE_BAD_ARGUMENT, "no_such_link"},
        {"with", "all_reduce:recursive_doubling:1M:0-63", RONDE_OK, ""},
        {"with", "all_reduce:ring:1M:60-70", RONDE_BAD_INPUT, "hosts"},
    };
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct fixture fixture;
        if (!begin(&fixture))
            return;
        add(&fixture, rows[k].keyword, rows[k].value);
        const enum ronde_status status = run(&fixture);
        CU_ASSERT_EQUAL(status, rows[k].status);
        CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, rows[k].text));
        if (status != rows[k].status || !strstr(fixture.error.message, rows[k].text))
            suite_note("%s %s: %s: %s", rows[k].keyword, rows[k].value, ronde_status_text(status),
                       fixture.error.message);
        end(&fixture);
    }
}

/* A flow of single bytes beside a collective of seconds would be millions of messages. */
static void a_flow_of_too_many_messages_is_refused(void)
{
    struct fixture fixture;
    if (!begin(&fixture))
        return;
    fixture.forecast.load.count = 1u << 30;
    add(&fixture, "background", "0>1:1");
    CU_ASSERT_EQUAL(run(&fixture), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, "background 0>1: "));
    CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, "make them larger"));
    end(&fixture);
}

static void a_file_for_other_ranks_is_refused(void)
{
    char path[512], value[600];
    struct fixture fixture;
    if (!suite_source(path, sizeof path, "docs/examples/two_nodes.ronde") || strlen(path) > 240 ||
        !begin(&fixture))
        return;
    snprintf(value, sizeof value, "%s:64K:0-2", path);
    add(&fixture, "with", value);
    CU_ASSERT_EQUAL(run(&fixture), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(fixture.error.message, "ranks, not for 3: name its hosts"));
    end(&fixture);
}

static void groups_are_the_parts(void)
{
    struct ronde_trace_group groups[RONDE_MAX_PARTS];
    struct fixture fixture;
    if (!begin(&fixture))
        return;
    add(&fixture, "with", "broadcast:chain:1M:8-11");
    add(&fixture, "background", "20>21:1M");
    expect_run(&fixture, 3);
    CU_ASSERT_EQUAL(ronde_co_run_groups(&fixture.co_run, &fixture.kept, groups), 3);
    for (uint32_t k = 0; k < 3; k++)
        CU_ASSERT_STRING_EQUAL(groups[k].name, fixture.co_run.parts[k].name);
    end(&fixture);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"alone_and_together_are_the_same_where_nothing_happens",
         alone_and_together_are_the_same_where_nothing_happens},
        {"hosts_apart_do_not_disturb_each_other", hosts_apart_do_not_disturb_each_other},
        {"a_companion_is_set_up_as_alone", a_companion_is_set_up_as_alone},
        {"the_same_twice_takes_up_to_twice_as_long", the_same_twice_takes_up_to_twice_as_long},
        {"a_flow_lasts_as_long_as_the_collectives", a_flow_lasts_as_long_as_the_collectives},
        {"a_flow_on_the_ring_slows_it_and_one_elsewhere_does_not",
         a_flow_on_the_ring_slows_it_and_one_elsewhere_does_not},
        {"a_late_rank_delays_by_no_more_than_its_delay",
         a_late_rank_delays_by_no_more_than_its_delay},
        {"a_slow_link_slows_what_crosses_it_and_the_healthy_machine_stays",
         a_slow_link_slows_what_crosses_it_and_the_healthy_machine_stays},
        {"what_cannot_happen_is_refused", what_cannot_happen_is_refused},
        {"a_flow_of_too_many_messages_is_refused", a_flow_of_too_many_messages_is_refused},
        {"a_file_for_other_ranks_is_refused", a_file_for_other_ranks_is_refused},
        {"groups_are_the_parts", groups_are_the_parts},
    };
    return suite_run("co_run", cases, sizeof cases / sizeof cases[0]);
}
