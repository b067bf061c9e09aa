/* The pure parts of validation: percentiles, errors, winners, crossovers. */
#include "support/suite.h"

#include "ronde/validate.h"

#include <math.h>

static void percentile_is_nearest_rank(void)
{
    const double sorted[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    CU_ASSERT(ronde_percentile(sorted, 10, 95.0) == 10.0);
    CU_ASSERT(ronde_percentile(sorted, 10, 90.0) == 9.0);
    CU_ASSERT(ronde_percentile(sorted, 10, 25.0) == 3.0);
    CU_ASSERT(ronde_percentile(sorted, 10, 0.1) == 1.0);
    CU_ASSERT(ronde_percentile(sorted, 1, 95.0) == 1.0);
    CU_ASSERT(ronde_percentile(sorted, 0, 95.0) == 0.0);
}

static void stats_sort_and_describe(void)
{
    double samples[] = {9, 1, 5, 3, 7};
    const struct ronde_stats stats = ronde_stats_of(samples, 5);
    CU_ASSERT(stats.median == 5.0);
    CU_ASSERT(stats.min == 1.0);
    CU_ASSERT(stats.p95 == 9.0);
    CU_ASSERT(stats.count == 5);
    /* Quartiles by nearest rank are 3 and 7. */
    CU_ASSERT(fabs(stats.notch - 1.57 * 4.0 / sqrt(5.0)) < 1e-12);
    CU_ASSERT(fabs(ronde_stats_spread(&stats) - 0.8) < 1e-12);
    /* From one to the next they differ by 8, 4, 2 and 4. */
    CU_ASSERT(fabs(stats.scatter - 4.0 / 0.954) < 1e-12);
}

/* A machine that gets slower by and by scatters as little as one that does not. */
static void scatter_leaves_out_drifts(void)
{
    double steady[100], drifting[100];
    for (size_t i = 0; i < 100; i++) {
        steady[i] = 1000.0 + 2.0 * (double)(i % 2);
        drifting[i] = steady[i] + 0.01 * (double)i;
    }
    const double scatter = ronde_stats_of(steady, 100).scatter;
    CU_ASSERT(fabs(ronde_stats_of(drifting, 100).scatter - scatter) < 0.02);
    CU_ASSERT(fabs(scatter - 2.0 / 0.954) < 1e-9);
}

/* What is sampled in turns is compared with itself: how far two things are apart is no scatter. */
static void scatter_is_of_each_thing(void)
{
    double samples[] = {10, 1000, 14, 1004, 10, 1000, 14, 1004};
    CU_ASSERT(fabs(ronde_stats_of_turns(samples, 8, 2).scatter - 4.0 / 0.954) < 1e-9);
    CU_ASSERT(ronde_stats_of_turns(samples, 2, 2).scatter == 0.0);
}

static void median_of_an_even_number_is_the_mean_of_the_middle(void)
{
    double samples[] = {4, 1, 3, 2};
    CU_ASSERT(ronde_stats_of(samples, 4).median == 2.5);
}

static void stats_of_nothing_are_zero(void)
{
    const struct ronde_stats stats = ronde_stats_of(NULL, 0);
    CU_ASSERT(stats.count == 0);
    CU_ASSERT(stats.median == 0.0);
    CU_ASSERT(ronde_stats_spread(&stats) == 0.0);
}

static void no_crossover_where_one_always_wins(void)
{
    const uint64_t bytes[] = {8, 32, 128};
    const double first[] = {1, 2, 3}, second[] = {2, 3, 4};
    const struct ronde_duel duel = {bytes, first, second, NULL, 3};
    struct ronde_crossover found[2];
    CU_ASSERT(ronde_duel_crossovers(&duel, found, 2) == 0);
    CU_ASSERT(ronde_duel_winner(&duel, 0) == -1);
}

static void a_crossover_is_bracketed_with_its_margins(void)
{
    const uint64_t bytes[] = {8, 32, 128};
    const double first[] = {3, 2, 10}, second[] = {2, 4, 20};
    const struct ronde_duel duel = {bytes, first, second, NULL, 3};
    struct ronde_crossover found[2];
    CU_ASSERT(ronde_duel_crossovers(&duel, found, 2) == 1);
    CU_ASSERT(found[0].below_bytes == 8);
    CU_ASSERT(found[0].above_bytes == 32);
    CU_ASSERT(fabs(found[0].below_margin - 0.5) < 1e-12);
    CU_ASSERT(fabs(found[0].above_margin - 1.0) < 1e-12);
    CU_ASSERT(found[0].first_wins_above);
}

static void sizes_within_noise_widen_the_bracket(void)
{
    const uint64_t bytes[] = {8, 32, 128, 512};
    const double first[] = {1, 2.0, 3.1, 9}, second[] = {2, 2.1, 3.0, 5};
    const double noise[] = {0.2, 0.2, 0.2, 0.2};
    const struct ronde_duel duel = {bytes, first, second, noise, 4};
    struct ronde_crossover found[2];
    CU_ASSERT(ronde_duel_winner(&duel, 1) == 0);
    CU_ASSERT(ronde_duel_winner(&duel, 2) == 0);
    CU_ASSERT(ronde_duel_crossovers(&duel, found, 2) == 1);
    CU_ASSERT(found[0].below_bytes == 8);
    CU_ASSERT(found[0].above_bytes == 512);
    CU_ASSERT(!found[0].first_wins_above);
}

static void several_crossovers_are_counted_beyond_the_capacity(void)
{
    const uint64_t bytes[] = {1, 2, 3, 4};
    const double first[] = {1, 3, 1, 3}, second[] = {2, 2, 2, 2};
    const struct ronde_duel duel = {bytes, first, second, NULL, 4};
    struct ronde_crossover found[2];
    CU_ASSERT(ronde_duel_crossovers(&duel, found, 2) == 3);
    CU_ASSERT(found[1].below_bytes == 2);
    CU_ASSERT(found[1].above_bytes == 3);
}

/* Two rank counts, two sizes, two algorithms. */
static const char *const algorithms[] = {"ring", "tree"};
static const uint32_t ranks[] = {2, 8};

static struct ronde_validation grid_of(struct ronde_grid_point *points)
{
    return (struct ronde_validation){.collective = RONDE_ALL_REDUCE,
                                     .algorithms = algorithms,
                                     .algorithm_count = 2,
                                     .ranks = ranks,
                                     .rank_counts = 2,
                                     .size_count = 2,
                                     .points = points};
}

static struct ronde_grid_point point(uint64_t bytes, double measured, double simgrid, double closed)
{
    struct ronde_grid_point result = {.bytes = bytes};
    result.measured.median = measured;
    result.time_ns[RONDE_SOURCE_MEASURED] = measured;
    result.time_ns[RONDE_SOURCE_SIMGRID] = simgrid;
    result.time_ns[RONDE_SOURCE_CLOSED_FORM] = closed;
    return result;
}

static void fill(struct ronde_grid_point *points)
{
    points[0] = point(8, 100, 90, 100);
    points[1] = point(8, 200, 220, 100);
    points[2] = point(32, 300, 300, 300);
    points[3] = point(32, 150, 165, 400);
    for (int i = 4; i < 8; i++) {
        points[i] = point(i < 6 ? 8 : 32, 100, 50, 300);
        points[i].is_oversubscribed = true;
    }
}

static void errors_name_the_worst_point_and_the_bias(void)
{
    struct ronde_grid_point points[8];
    double scratch[8];
    fill(points);
    const struct ronde_validation grid = grid_of(points);
    const struct ronde_errors all =
        ronde_validation_errors(&grid, RONDE_SOURCE_SIMGRID, RONDE_SUBSET_ALL, scratch);
    CU_ASSERT(all.count == 8);
    CU_ASSERT(fabs(all.worst - 0.5) < 1e-12);
    CU_ASSERT(all.worst_ranks == 8);
    CU_ASSERT(all.worst_bytes == 8);
    CU_ASSERT(all.bias < 0.0);
    const struct ronde_errors fitting =
        ronde_validation_errors(&grid, RONDE_SOURCE_SIMGRID, RONDE_SUBSET_FITTING, scratch);
    CU_ASSERT(fitting.count == 4);
    CU_ASSERT(fabs(fitting.median - 0.1) < 1e-9);
    const struct ronde_errors closed =
        ronde_validation_errors(&grid, RONDE_SOURCE_CLOSED_FORM, RONDE_SUBSET_FITTING, scratch);
    CU_ASSERT(fabs(closed.worst - 250.0 / 150.0) < 1e-12);
    CU_ASSERT(closed.worst_algorithm == 1);
    CU_ASSERT(closed.worst_bytes == 32);
}

static void agreement_counts_decided_sizes_only(void)
{
    struct ronde_grid_point points[8];
    fill(points);
    const struct ronde_validation grid = grid_of(points);
    const struct ronde_agreement simgrid =
        ronde_validation_agreement(&grid, RONDE_SOURCE_SIMGRID, 0, 0, 1);
    CU_ASSERT(simgrid.decided == 2);
    CU_ASSERT(simgrid.agreed == 2);
    /* The closed form calls the first size a tie and the second for the other side. */
    const struct ronde_agreement closed =
        ronde_validation_agreement(&grid, RONDE_SOURCE_CLOSED_FORM, 0, 0, 1);
    CU_ASSERT(closed.decided == 2);
    CU_ASSERT(closed.agreed == 0);
    const struct ronde_agreement none =
        ronde_validation_agreement(&grid, RONDE_SOURCE_SIMGRID, 1, 0, 1);
    CU_ASSERT(none.decided == 0);
}

static void measured_differences_below_the_floor_are_noise(void)
{
    struct ronde_grid_point points[8];
    struct ronde_duel_buffers buffers;
    const uint32_t pair[2] = {0, 1};
    fill(points);
    points[0] = point(8, 100, 100, 100);
    points[1] = point(8, 104, 104, 104);
    const struct ronde_validation grid = grid_of(points);
    const struct ronde_duel measured =
        ronde_validation_duel(&grid, RONDE_SOURCE_MEASURED, 0, pair, &buffers);
    CU_ASSERT(ronde_duel_winner(&measured, 0) == 0);
    const struct ronde_duel predicted =
        ronde_validation_duel(&grid, RONDE_SOURCE_SIMGRID, 0, pair, &buffers);
    CU_ASSERT(ronde_duel_winner(&predicted, 0) == -1);
}

/* Not a single quiet repetition: no error, and no winner. */
static void a_point_without_a_time_says_nothing(void)
{
    struct ronde_grid_point points[8];
    double scratch[8];
    fill(points);
    points[1] = point(8, 0, 220, 100);
    const struct ronde_validation grid = grid_of(points);
    const struct ronde_errors fitting =
        ronde_validation_errors(&grid, RONDE_SOURCE_SIMGRID, RONDE_SUBSET_FITTING, scratch);
    CU_ASSERT(fitting.count == 3);
    CU_ASSERT(fabs(fitting.median - 0.1) < 1e-9);
    const struct ronde_agreement agreement =
        ronde_validation_agreement(&grid, RONDE_SOURCE_SIMGRID, 0, 0, 1);
    CU_ASSERT(agreement.decided == 1);
}

/* What a machine is predicted by, from what knows least of it to what knows most. */
static void the_best_prediction_there_is_is_compared(void)
{
    struct ronde_grid_point points[8];
    fill(points);
    struct ronde_validation grid = grid_of(points);
    CU_ASSERT(ronde_validation_has(&grid, RONDE_SOURCE_SIMGRID));
    CU_ASSERT_EQUAL(ronde_validation_replay(&grid), RONDE_SOURCE_SIMGRID);
    grid.lacks_simgrid = true;
    CU_ASSERT_FALSE(ronde_validation_has(&grid, RONDE_SOURCE_SIMGRID));
    CU_ASSERT_EQUAL(ronde_validation_replay(&grid), RONDE_SOURCE_CLOSED_FORM);
    grid.has_cores = true;
    CU_ASSERT_EQUAL(ronde_validation_replay(&grid), RONDE_SOURCE_CORES);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"percentile_is_nearest_rank", percentile_is_nearest_rank},
        {"stats_sort_and_describe", stats_sort_and_describe},
        {"scatter_leaves_out_drifts", scatter_leaves_out_drifts},
        {"scatter_is_of_each_thing", scatter_is_of_each_thing},
        {"median_of_an_even_number_is_the_mean_of_the_middle",
         median_of_an_even_number_is_the_mean_of_the_middle},
        {"stats_of_nothing_are_zero", stats_of_nothing_are_zero},
        {"no_crossover_where_one_always_wins", no_crossover_where_one_always_wins},
        {"a_crossover_is_bracketed_with_its_margins", a_crossover_is_bracketed_with_its_margins},
        {"sizes_within_noise_widen_the_bracket", sizes_within_noise_widen_the_bracket},
        {"several_crossovers_are_counted_beyond_the_capacity",
         several_crossovers_are_counted_beyond_the_capacity},
        {"errors_name_the_worst_point_and_the_bias", errors_name_the_worst_point_and_the_bias},
        {"agreement_counts_decided_sizes_only", agreement_counts_decided_sizes_only},
        {"a_point_without_a_time_says_nothing", a_point_without_a_time_says_nothing},
        {"the_best_prediction_there_is_is_compared", the_best_prediction_there_is_is_compared},
        {"measured_differences_below_the_floor_are_noise",
         measured_differences_below_the_floor_are_noise},
    };
    return suite_run("validate", cases, sizeof cases / sizeof cases[0]);
}
