/**
 * Times measured on a backend: which rows speak for a launch, what lies between sizes, and that the shipped tables name
 * algorithms there are.
 */
#include "support/suite.h"

#include "ronde/measured.h"

#include <math.h>
#include <string.h>

/** Most candidates of any collective. */
#define MOST_CANDIDATES 16

/* Two algorithms of broadcast, and one of them on more ranks than cores. */
static const struct ronde_measured_row rows[] = {
    {RONDE_BROADCAST, "binomial", 2, {1, 1, 2, 4, 8, 16, 32, 64}},
    {RONDE_BROADCAST, "chain", 2, {2, 2, 2, 2, 4, 8, 16, 32}},
    {RONDE_BROADCAST, "chain", 6, {3, 3, 3, 3, 3, 3, 3, 3}},
    {RONDE_BROADCAST, "binomial", 12, {5, 5, 5, 0, 5, 5, 5, 5}},
};

static const struct ronde_measured table = {
    .backend = "paper",
    .machine = "4 cores",
    .cores = 4,
    .bytes = {8, 64, 512, 4096, 32768, 262144, 2097152, 16777216},
    .rows = rows,
    .row_count = sizeof rows / sizeof rows[0],
};

static struct ronde_choice open_broadcast(uint32_t ranks)
{
    const struct ronde_request request = {.collective = RONDE_BROADCAST, .ranks = ranks};
    struct ronde_choice choice;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_init(&request, ronde_mem_default(), &choice, &error),
                          RONDE_OK);
    CU_ASSERT_FATAL(choice.count < MOST_CANDIDATES);
    return choice;
}

/** The time of an algorithm for so many bytes, ns. */
static double time_of(const struct ronde_choice *choice, const struct ronde_measured_view *view,
                      const char *algorithm, uint64_t bytes)
{
    const struct ronde_load load = {.count = bytes, .dtype = RONDE_UINT8};
    const struct ronde_pricer pricer = ronde_measured_pricer(view);
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_choice_price(choice, &load, &pricer, quotes, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(quotes[0].engine, "measured");
    return quotes[ronde_choice_find(choice, algorithm)].time_ns;
}

/*
 * From 512 to 4,096 bytes binomial goes from 2 to 4 us: at their geometric mean, 1,448 bytes, it takes sqrt(8) us. Beyond
 * the last size it grows with the bytes.
 */
static void times_lie_on_lines_between_logarithms(void)
{
    struct ronde_choice choice = open_broadcast(2);
    struct ronde_measured_view view;
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 2, 4, &view));
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 1), 1000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 8), 1000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 512), 2000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 1448), 2828.4, 0.1);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 4096), 4000, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(time_of(&choice, &view, "binomial", 3u << 24), 192000, 1e-6);
    ronde_choice_fini(&choice);
}

/* binomial and chain meet at 512 bytes, where binomial stands first. */
static void winner_is_the_measured_one(void)
{
    struct ronde_choice choice = open_broadcast(2);
    struct ronde_measured_view view;
    struct ronde_quote quotes[MOST_CANDIDATES];
    struct ronde_error error = {0};
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 2, 4, &view));
    const struct ronde_pricer pricer = ronde_measured_pricer(&view);
    for (uint64_t bytes = 8; bytes <= 1u << 20; bytes *= 4) {
        const struct ronde_load load = {.count = bytes, .dtype = RONDE_UINT8};
        CU_ASSERT_EQUAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error), RONDE_OK);
        const uint32_t best = ronde_choice_best(&choice, quotes, RONDE_NONE);
        const uint32_t second = ronde_choice_best(&choice, quotes, best);
        CU_ASSERT_STRING_EQUAL(choice.candidates[best].request.algorithm,
                               bytes <= 512 ? "binomial" : "chain");
        /* Nobody has measured the other two: they are no runners-up. */
        CU_ASSERT_STRING_EQUAL(choice.candidates[second].request.algorithm,
                               bytes <= 512 ? "chain" : "binomial");
    }
    ronde_choice_fini(&choice);
}

/* Ranks with cores of their own, and ranks that take turns, are not each other's neighbours. */
static void rows_are_those_of_the_nearest_ranks_alike(void)
{
    static const struct {
        uint32_t ranks, cores, expected;
    } cases[] = {{2, 4, 2}, {4, 4, 2},  {64, 64, 2}, {5, 4, 6},   {6, 2, 6},
                 {8, 4, 6}, {9, 4, 12}, {99, 4, 12}, {99, 100, 2}};
    struct ronde_measured_view view = {NULL, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CU_ASSERT(
            ronde_measured_look(&table, RONDE_BROADCAST, cases[i].ranks, cases[i].cores, &view));
        CU_ASSERT_EQUAL(view.ranks, cases[i].expected);
    }
    CU_ASSERT(!ronde_measured_look(&table, RONDE_REDUCE, 2, 4, &view));
}

/* A size that was left out has no time on either side of it; elsewhere the row speaks. */
static void what_was_not_measured_is_not_guessed(void)
{
    struct ronde_choice choice = open_broadcast(12);
    struct ronde_measured_view view;
    CU_ASSERT_FATAL(ronde_measured_look(&table, RONDE_BROADCAST, 12, 4, &view));
    CU_ASSERT_EQUAL(time_of(&choice, &view, "binomial", 64), 5000);
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 1000)));
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 4096)));
    CU_ASSERT(isinf(time_of(&choice, &view, "binomial", 5000)));
    CU_ASSERT(isinf(time_of(&choice, &view, "chain", 64)));
    CU_ASSERT_EQUAL(time_of(&choice, &view, "binomial", 32768), 5000);
    ronde_choice_fini(&choice);
}

/** Rows of a collective, or of one algorithm of it, on so many ranks. */
static uint32_t count_rows(const struct ronde_measured *shipped, enum ronde_collective collective,
                           const char *algorithm, uint32_t ranks)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < shipped->row_count; i++)
        count += shipped->rows[i].collective == collective && shipped->rows[i].ranks == ranks &&
                 (!algorithm || strcmp(shipped->rows[i].algorithm, algorithm) == 0);
    return count;
}

/* Every time of a row above zero, every name one of the registry. */
static void check_rows(const struct ronde_measured *shipped)
{
    for (uint32_t i = 0; i < shipped->row_count; i++) {
        const struct ronde_measured_row *row = &shipped->rows[i];
        struct ronde_error error = {0};
        CU_ASSERT(ronde_algorithm_find(row->collective, row->algorithm, &error) != NULL);
        CU_ASSERT_EQUAL(count_rows(shipped, row->collective, row->algorithm, row->ranks), 1);
        for (uint32_t k = 0; k < RONDE_MEASURED_SIZES; k++)
            CU_ASSERT(row->time_us[k] > 0.0);
    }
}

/* Every collective on every number of ranks. An algorithm that is new may wait for a quiet machine, and is then named. */
static void check_shipped(const char *backend)
{
    const struct ronde_measured *shipped = ronde_measured_find(backend);
    uint32_t total = 0;
    const struct ronde_algorithm *all = ronde_algorithms(&total);
    CU_ASSERT_FATAL(shipped != NULL);
    CU_ASSERT(shipped->cores > 0 && strstr(shipped->machine, "cores") != NULL);
    check_rows(shipped);
    for (uint32_t ranks = 2; ranks <= 8; ranks *= 2) {
        for (int c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
            CU_ASSERT(count_rows(shipped, (enum ronde_collective)c, NULL, ranks) > 0);
        for (uint32_t i = 0; i < total; i++)
            if (count_rows(shipped, all[i].collective, all[i].name, ranks) == 0)
                suite_note("%s: %s %s on %u ranks was not measured: bench/measured.sh", backend,
                           ronde_collective_text(all[i].collective), all[i].name, ranks);
    }
}

static void shipped_tables_are_whole(void)
{
    check_shipped("cpu");
    check_shipped("proc");
    CU_ASSERT(ronde_measured_find("cuda") == NULL);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"times_lie_on_lines_between_logarithms", times_lie_on_lines_between_logarithms},
        {"winner_is_the_measured_one", winner_is_the_measured_one},
        {"rows_are_those_of_the_nearest_ranks_alike", rows_are_those_of_the_nearest_ranks_alike},
        {"what_was_not_measured_is_not_guessed", what_was_not_measured_is_not_guessed},
        {"shipped_tables_are_whole", shipped_tables_are_whole},
    };
    return suite_run("measured", cases, sizeof cases / sizeof cases[0]);
}
