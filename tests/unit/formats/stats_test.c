/*
 * What is said of samples, against definitions that are worked out the long way: a percentile by counting, a median by its
 * property, scatter and notch by their formulas.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/stats.h"

#include <math.h>
#include <string.h>

#define MOST 1500u

/* Samples of few values, so that many are equal, or of many. */
static void draw(uint64_t *state, double *samples, size_t count)
{
    const uint64_t values = buffers_draw(state) % 2 == 0 ? 5 : 1000000;
    for (size_t i = 0; i < count; i++)
        samples[i] = (double)(buffers_draw(state) % values) / 7.0;
}

static size_t count_at_most(const double *samples, size_t count, double value)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += samples[i] <= value;
    return found;
}

/* Nearest rank: the least sample that at least so many per cent do not exceed. */
static double percentile_of(const double *samples, size_t count, double percent)
{
    double best = INFINITY;
    for (size_t i = 0; i < count; i++)
        if ((double)count_at_most(samples, count, samples[i]) * 100.0 >= percent * (double)count &&
            samples[i] < best)
            best = samples[i];
    return best;
}

static void percentiles_are_by_nearest_rank(void)
{
    static const double percents[] = {1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 100.0};
    static double samples[200], sorted[200];
    uint64_t state = 11;
    for (size_t count = 1; count < 200; count += 13) {
        draw(&state, samples, count);
        memcpy(sorted, samples, sizeof sorted);
        (void)ronde_stats_of(sorted, count);
        for (size_t i = 1; i < count; i++)
            CU_ASSERT(sorted[i - 1] <= sorted[i]);
        for (size_t k = 0; k < sizeof percents / sizeof percents[0]; k++)
            CU_ASSERT_EQUAL(ronde_percentile(sorted, count, percents[k]),
                            percentile_of(samples, count, percents[k]));
    }
}

static void the_median_has_as_many_below_as_above(void)
{
    static double samples[301];
    uint64_t state = 12;
    for (size_t count = 1; count < 301; count += 7) {
        size_t below = 0, above = 0;
        draw(&state, samples, count);
        const struct ronde_stats stats = ronde_stats_of(samples, count);
        for (size_t i = 0; i < count; i++) {
            below += samples[i] < stats.median;
            above += samples[i] > stats.median;
        }
        CU_ASSERT(2 * below <= count && 2 * above <= count);
        CU_ASSERT_EQUAL(stats.count, count);
        CU_ASSERT_EQUAL(stats.min, samples[0]);
        CU_ASSERT(stats.min <= stats.median && stats.median <= samples[count - 1]);
        CU_ASSERT_EQUAL(stats.p95, percentile_of(samples, count, 95.0));
    }
}

/* McGill, Tukey and Larsen's half-width: 1.57 interquartile ranges over the root of the number. */
static void the_notch_is_the_formula(void)
{
    static double samples[MOST];
    uint64_t state = 13;
    for (size_t count = 4; count < 400; count += 31) {
        draw(&state, samples, count);
        const struct ronde_stats stats = ronde_stats_of(samples, count);
        const double range =
            percentile_of(samples, count, 75.0) - percentile_of(samples, count, 25.0);
        CU_ASSERT_DOUBLE_EQUAL(stats.notch, 1.57 * range / sqrt((double)count), 1e-12);
    }
}

/* Everything is relative: twice the unit is twice the numbers, and an offset moves places only. */
static void units_and_offsets_do_what_they_should(void)
{
    static double samples[400], scaled[400], moved[400];
    uint64_t state = 14;
    for (size_t count = 2; count < 400; count += 57) {
        draw(&state, samples, count);
        for (size_t i = 0; i < count; i++) {
            scaled[i] = 4.0 * samples[i];
            moved[i] = samples[i] + 64.0;
        }
        const struct ronde_stats stats = ronde_stats_of(samples, count);
        const struct ronde_stats four = ronde_stats_of(scaled, count);
        const struct ronde_stats far = ronde_stats_of(moved, count);
        CU_ASSERT_EQUAL(four.median, 4.0 * stats.median);
        CU_ASSERT_EQUAL(four.p95, 4.0 * stats.p95);
        CU_ASSERT_DOUBLE_EQUAL(four.notch, 4.0 * stats.notch, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(four.scatter, 4.0 * stats.scatter, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(far.median, stats.median + 64.0, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(far.notch, stats.notch, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(far.scatter, stats.scatter, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(ronde_stats_spread(&four), ronde_stats_spread(&stats), 1e-12);
    }
}

/* Scatter is from one sample of a thing to its next: what differs between things taken in turns is not in it. */
static void things_in_turns_are_compared_with_themselves(void)
{
    static double samples[MOST];
    for (size_t things = 1; things <= 8; things++) {
        const size_t count = 20 * things;
        for (size_t i = 0; i < count; i++)
            samples[i] = 1000.0 * (double)(i % things) + (i / things % 2 == 0 ? 0.0 : 3.0);
        const struct ronde_stats stats = ronde_stats_of_turns(samples, count, things);
        CU_ASSERT_DOUBLE_EQUAL(stats.scatter, 3.0 / 0.954, 1e-9);
    }
}

/* A thousand differences decide: a disturbance behind them does not show, one within them would. */
static void scatter_looks_at_a_bounded_number(void)
{
    static double samples[MOST];
    for (size_t i = 0; i < MOST; i++)
        samples[i] = i <= RONDE_MAX_SAMPLES ? (double)(i % 2) : 1e6 * (double)(i % 2);
    CU_ASSERT_DOUBLE_EQUAL(ronde_stats_of(samples, MOST).scatter, 1.0 / 0.954, 1e-9);
}

static void few_samples_say_little(void)
{
    double one[] = {7.0}, two[] = {7.0, 9.0};
    const struct ronde_stats single = ronde_stats_of(one, 1);
    CU_ASSERT(single.median == 7.0 && single.min == 7.0 && single.p95 == 7.0);
    CU_ASSERT(single.scatter == 0.0 && single.notch == 0.0);
    const struct ronde_stats pair = ronde_stats_of(two, 2);
    CU_ASSERT(pair.median == 8.0 && pair.min == 7.0 && pair.p95 == 9.0);
    CU_ASSERT_DOUBLE_EQUAL(pair.scatter, 2.0 / 0.954, 1e-12);
    /* Fewer samples than things: nothing has a next one. */
    CU_ASSERT_EQUAL(ronde_stats_of_turns(two, 2, 3).scatter, 0.0);
    const struct ronde_stats none = {0};
    CU_ASSERT_EQUAL(ronde_stats_spread(&none), 0.0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"percentiles_are_by_nearest_rank", percentiles_are_by_nearest_rank},
        {"the_median_has_as_many_below_as_above", the_median_has_as_many_below_as_above},
        {"the_notch_is_the_formula", the_notch_is_the_formula},
        {"units_and_offsets_do_what_they_should", units_and_offsets_do_what_they_should},
        {"things_in_turns_are_compared_with_themselves",
         things_in_turns_are_compared_with_themselves},
        {"scatter_looks_at_a_bounded_number", scatter_looks_at_a_bounded_number},
        {"few_samples_say_little", few_samples_say_little},
    };
    return suite_run("stats", cases, sizeof cases / sizeof cases[0]);
}
