/* Scores of predictions on made-up grids: winners, where lines meet, and by what factor that is missed. */
#include "support/suite.h"

#include "ronde/score.h"

#include <math.h>

#define SIZES 5u
#define ALGORITHMS 3u

static const uint64_t sizes[SIZES] = {1024, 4096, 16384, 65536, 262144};
static const char *const algorithms[ALGORITHMS] = {"ring", "tree", "doubling"};
static const uint32_t ranks[] = {8};

/*
 * Times that grow with a power of the size: lines in logarithms, so that where two of them meet is exact. `ring` grows with
 * the square root and overtakes `tree`, which is the size itself, at `meet_bytes`; `doubling` is `tree`, a half slower.
 */
static double time_of(uint32_t algorithm, double bytes, double meet_bytes)
{
    return algorithm == 0 ? sqrt(bytes * meet_bytes) : algorithm == 1 ? bytes : 1.5 * bytes;
}

struct made {
    struct ronde_grid_point points[SIZES * ALGORITHMS];
    struct ronde_validation grid;
};

/* Measured crossing at one size, replayed at another; the closed form has nothing cross at all. */
static void make(struct made *made, double measured_bytes, double replayed_bytes)
{
    *made = (struct made){.grid = {.collective = RONDE_ALL_REDUCE,
                                   .algorithms = algorithms,
                                   .algorithm_count = ALGORITHMS,
                                   .ranks = ranks,
                                   .rank_counts = 1,
                                   .size_count = SIZES}};
    for (uint32_t s = 0; s < SIZES; s++)
        for (uint32_t a = 0; a < ALGORITHMS; a++) {
            const double bytes = (double)sizes[s];
            struct ronde_grid_point *point = &made->points[s * ALGORITHMS + a];
            point->bytes = sizes[s];
            point->time_ns[RONDE_SOURCE_MEASURED] = time_of(a, bytes, measured_bytes);
            point->measured.median = point->time_ns[RONDE_SOURCE_MEASURED];
            point->time_ns[RONDE_SOURCE_SIMGRID] = time_of(a, bytes, replayed_bytes);
            point->time_ns[RONDE_SOURCE_CLOSED_FORM] = time_of(a, bytes, 1.0);
        }
    made->grid.points = made->points;
}

static struct ronde_score score_of(struct made *made, enum ronde_source source, uint32_t first,
                                   uint32_t second)
{
    const uint32_t pair[2] = {first, second};
    return ronde_score_pair(&made->grid, source, 0, pair);
}

static void lines_in_logarithms_meet_where_they_meet(void)
{
    static const double crossings[] = {1500.0, 9000.0, 65536.0 * 1.1, 200000.0};
    for (size_t i = 0; i < sizeof crossings / sizeof crossings[0]; i++) {
        struct made made;
        make(&made, crossings[i], crossings[i] * 1.2);
        const struct ronde_score score = score_of(&made, RONDE_SOURCE_SIMGRID, 0, 1);
        CU_ASSERT_EQUAL(score.crossings, 1);
        CU_ASSERT_DOUBLE_EQUAL(score.first.measured_bytes, crossings[i], 1e-9 * crossings[i]);
        CU_ASSERT_DOUBLE_EQUAL(score.first.predicted_bytes, 1.2 * crossings[i], 1e-9 * crossings[i]);
        CU_ASSERT_DOUBLE_EQUAL(score.first.factor, 1.2, 1e-9);
        CU_ASSERT_EQUAL(score.close, 1);
    }
}

/* Both ways: it does not matter who is larger, and at a factor of 1.5 it ends. */
static void a_crossover_is_close_within_a_factor(void)
{
    static const struct {
        double off;
        size_t close;
    } cases[] = {{1.0, 1}, {1.49, 1}, {1.0 / 1.49, 1}, {1.52, 0}, {1.0 / 1.52, 0}, {4.0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made made;
        make(&made, 20000.0, 20000.0 * cases[i].off);
        const struct ronde_score score = score_of(&made, RONDE_SOURCE_SIMGRID, 0, 1);
        CU_ASSERT_EQUAL(score.crossings, 1);
        CU_ASSERT_EQUAL(score.close, cases[i].close);
        CU_ASSERT_DOUBLE_EQUAL(score.first.factor, fmax(cases[i].off, 1.0 / cases[i].off), 1e-9);
    }
}

/* A prediction that has none, or one the other way round, has missed. */
static void no_crossover_and_the_wrong_one_are_misses(void)
{
    struct made made;
    make(&made, 20000.0, 20000.0);
    const struct ronde_score none = score_of(&made, RONDE_SOURCE_CLOSED_FORM, 0, 1);
    CU_ASSERT_EQUAL(none.crossings, 1);
    CU_ASSERT_EQUAL(none.close, 0);
    CU_ASSERT_EQUAL(none.first.factor, 0.0);
    CU_ASSERT_EQUAL(none.first.predicted_bytes, 0.0);
    for (uint32_t s = 0; s < SIZES; s++) {
        double *ring = &made.points[s * ALGORITHMS].time_ns[RONDE_SOURCE_SIMGRID];
        double *tree = &made.points[s * ALGORITHMS + 1].time_ns[RONDE_SOURCE_SIMGRID];
        const double kept = *ring;
        *ring = *tree;
        *tree = kept;
    }
    const struct ronde_score reversed = score_of(&made, RONDE_SOURCE_SIMGRID, 0, 1);
    CU_ASSERT_EQUAL(reversed.crossings, 1);
    CU_ASSERT_EQUAL(reversed.close, 0);
    CU_ASSERT_EQUAL(reversed.winners.agreed, 0);
}

/* Sizes that noise leaves open lie inside a bracket; the sign of the difference still says where. */
static void the_crossover_lies_inside_a_wide_bracket(void)
{
    struct made made;
    make(&made, 20000.0, 20000.0);
    made.points[2 * ALGORITHMS].measured.notch = 1e6;
    const struct ronde_score score = score_of(&made, RONDE_SOURCE_SIMGRID, 0, 1);
    CU_ASSERT_EQUAL(score.winners.decided, SIZES - 1);
    CU_ASSERT_DOUBLE_EQUAL(score.first.measured_bytes, 20000.0, 1e-6);
}

/* Three pairs: one crosses at 20000 bytes, one at 20000 / 2.25, one never. */
static void the_sum_is_over_all_pairs(void)
{
    struct made made;
    make(&made, 20000.0, 30500.0);
    const struct ronde_score all = ronde_score_all(&made.grid, RONDE_SOURCE_SIMGRID);
    CU_ASSERT_EQUAL(all.crossings, 2);
    CU_ASSERT_EQUAL(all.close, 0);
    CU_ASSERT_EQUAL(all.winners.decided, 3 * SIZES);
    CU_ASSERT_EQUAL(all.winners.agreed, 3 * SIZES);
    make(&made, 20000.0, 29500.0);
    CU_ASSERT_EQUAL(ronde_score_all(&made.grid, RONDE_SOURCE_SIMGRID).close, 2);
    /* The closed form takes the tree to lose everywhere: right beyond the crossovers. */
    const struct ronde_score closed = ronde_score_all(&made.grid, RONDE_SOURCE_CLOSED_FORM);
    CU_ASSERT_EQUAL(closed.crossings, 2);
    CU_ASSERT_EQUAL(closed.close, 0);
    CU_ASSERT(closed.winners.agreed < closed.winners.decided);
}

/* A measurement that was thrown away has no time: nothing meets there. */
static void a_missing_time_meets_nothing(void)
{
    const uint64_t bytes[] = {8, 32};
    const double first[] = {0, 1}, second[] = {1, 2};
    const struct ronde_duel duel = {bytes, first, second, NULL, 2};
    const struct ronde_crossover bracket = {8, 32, 0.0, 0.0, true};
    CU_ASSERT_EQUAL(ronde_duel_crossover_bytes(&duel, &bracket), 0.0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"lines_in_logarithms_meet_where_they_meet", lines_in_logarithms_meet_where_they_meet},
        {"a_crossover_is_close_within_a_factor", a_crossover_is_close_within_a_factor},
        {"no_crossover_and_the_wrong_one_are_misses", no_crossover_and_the_wrong_one_are_misses},
        {"the_crossover_lies_inside_a_wide_bracket", the_crossover_lies_inside_a_wide_bracket},
        {"the_sum_is_over_all_pairs", the_sum_is_over_all_pairs},
        {"a_missing_time_meets_nothing", a_missing_time_meets_nothing},
    };
    return suite_run("score", cases, sizeof cases / sizeof cases[0]);
}
