/*
 * When warming up ends, on made-up times: pure, so that ranks with the same times end it together.
 */
#include "support/suite.h"

#include "ronde/benchmark.h"
#include "ronde/warmup.h"

/* Runs until the rule is satisfied; a run takes first_ns up to the first_runs-th, then last_ns. */
static struct ronde_warmup warm_up(uint32_t first_runs, double first_ns, double last_ns)
{
    struct ronde_warmup warmup = {0};
    for (uint32_t runs = ronde_warmup_next(&warmup); runs > 0; runs = ronde_warmup_next(&warmup)) {
        double samples[RONDE_WARMUP_MOST], total_ns = 0.0;
        for (uint32_t i = 0; i < runs; i++) {
            samples[i] = warmup.runs + i < first_runs ? first_ns : last_ns;
            total_ns += samples[i];
        }
        ronde_warmup_add(&warmup, runs, total_ns, ronde_stats_of(samples, runs).median);
    }
    return warmup;
}

/* What runs of 8 bytes between two processes do: 64 slots are touched for the first time, all alike. */
static void slots_that_are_new_do_not_pass_for_stable(void)
{
    const struct ronde_warmup warmup = warm_up(64, 4000.0, 400.0);
    CU_ASSERT_EQUAL(warmup.last_ns, 400.0);
    CU_ASSERT_EQUAL(warmup.before_ns, 400.0);
    CU_ASSERT(warmup.runs > 64 + 32);
    CU_ASSERT(warmup.runs < 250);
}

static void stable_runs_end_it_soon(void)
{
    const struct ronde_warmup warmup = warm_up(0, 0.0, 400.0);
    CU_ASSERT(warmup.runs >= 64);
    CU_ASSERT(warmup.runs < 200);
}

static void a_change_that_comes_late_is_waited_for(void)
{
    const struct ronde_warmup warmup = warm_up(90, 4000.0, 400.0);
    CU_ASSERT_EQUAL(warmup.last_ns, 400.0);
    CU_ASSERT_EQUAL(warmup.before_ns, 400.0);
}

static void long_runs_cost_no_more_than_before(void)
{
    CU_ASSERT_EQUAL(warm_up(0, 0.0, 4e8).runs, RONDE_WARMUP_LEAST);
    CU_ASSERT_EQUAL(warm_up(0, 0.0, RONDE_WARMUP_MOST_NS / RONDE_WARMUP_LEAST).runs,
                    RONDE_WARMUP_LEAST);
}

/* 1 ms a run: some 20 use all slots, and the bound in time holds whatever they do. */
static void time_is_bounded(void)
{
    const struct ronde_warmup steady = warm_up(0, 0.0, 1e6);
    CU_ASSERT(steady.spent_ns <= RONDE_WARMUP_MOST_NS + 1e6);
    const struct ronde_warmup ended = warm_up(40, 2e6, 1e6);
    CU_ASSERT(ended.spent_ns <= RONDE_WARMUP_MOST_NS + 2e6);
}

static void runs_that_never_agree_are_bounded(void)
{
    struct ronde_warmup warmup = {0};
    double run_ns = 1000.0;
    for (uint32_t runs = ronde_warmup_next(&warmup); runs > 0; runs = ronde_warmup_next(&warmup)) {
        run_ns = 3000.0 - run_ns;
        ronde_warmup_add(&warmup, runs, runs * run_ns, run_ns);
    }
    CU_ASSERT_EQUAL(warmup.runs, RONDE_WARMUP_MOST);
}

static void runs_without_a_time_end_it_too(void)
{
    CU_ASSERT(warm_up(0, 0.0, 0.0).runs <= RONDE_WARMUP_MOST);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"slots_that_are_new_do_not_pass_for_stable", slots_that_are_new_do_not_pass_for_stable},
        {"stable_runs_end_it_soon", stable_runs_end_it_soon},
        {"a_change_that_comes_late_is_waited_for", a_change_that_comes_late_is_waited_for},
        {"long_runs_cost_no_more_than_before", long_runs_cost_no_more_than_before},
        {"time_is_bounded", time_is_bounded},
        {"runs_that_never_agree_are_bounded", runs_that_never_agree_are_bounded},
        {"runs_without_a_time_end_it_too", runs_without_a_time_end_it_too},
    };
    return suite_run("warmup", cases, sizeof cases / sizeof cases[0]);
}
