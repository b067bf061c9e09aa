/* Relative times and what is marked in pictures, on made-up grids; and grids that come back from records. */
#include "support/files.h"
#include "support/suite.h"

#include "cli/print/printer.h"
#include "ronde/recorded.h"
#include "ronde/relative.h"

#include <math.h>
#include <string.h>

#define SIZES 5u
#define ALGORITHMS 3u

static const uint64_t sizes[SIZES] = {1024, 4096, 16384, 65536, 262144};
static const uint32_t ranks[] = {8};

struct made {
    const char *algorithms[ALGORITHMS];
    struct ronde_grid_point points[SIZES * ALGORITHMS];
    struct ronde_validation grid;
};

/* `tree` takes the size itself, `ring` overtakes it at `meet_bytes`, `slow` takes twice as long as
 * `ring`: it crosses `tree` at four times that size, where neither of them is the fastest. */
static void make(struct made *made, double meet_bytes)
{
    *made = (struct made){.algorithms = {"tree", "ring", "slow"},
                          .grid = {.collective = RONDE_ALL_REDUCE,
                                   .algorithm_count = ALGORITHMS,
                                   .ranks = ranks,
                                   .rank_counts = 1,
                                   .size_count = SIZES}};
    made->grid.algorithms = made->algorithms;
    made->grid.points = made->points;
    for (uint32_t s = 0; s < SIZES; s++) {
        const double bytes = (double)sizes[s], ring = sqrt(bytes * meet_bytes);
        const double times[ALGORITHMS] = {bytes, ring, 2.0 * ring};
        for (uint32_t a = 0; a < ALGORITHMS; a++) {
            struct ronde_grid_point *point = &made->points[s * ALGORITHMS + a];
            point->bytes = sizes[s];
            point->time_ns[RONDE_SOURCE_MEASURED] = times[a];
            point->measured.median = times[a];
            point->time_ns[RONDE_SOURCE_SIMGRID] = 1.25 * times[a];
        }
    }
}

static void the_ring_is_the_base_where_it_is(void)
{
    struct made made;
    make(&made, 9000.0);
    CU_ASSERT_EQUAL(ronde_relative_base(&made.grid), 1);
    made.algorithms[1] = "chain";
    CU_ASSERT_EQUAL(ronde_relative_base(&made.grid), 0);
}

static void times_are_relative_to_the_base_of_their_own_source(void)
{
    struct made made;
    make(&made, 16384.0);
    for (uint32_t s = 0; s < SIZES; s++) {
        const double expected = (double)sizes[s] / sqrt((double)sizes[s] * 16384.0);
        CU_ASSERT_EQUAL(ronde_relative_time(&made.grid, RONDE_SOURCE_MEASURED, 0, s, 1), 1.0);
        CU_ASSERT_DOUBLE_EQUAL(ronde_relative_time(&made.grid, RONDE_SOURCE_MEASURED, 0, s, 0),
                               expected, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(ronde_relative_time(&made.grid, RONDE_SOURCE_SIMGRID, 0, s, 0),
                               expected, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(ronde_relative_error(&made.grid, RONDE_SOURCE_SIMGRID, 0, s, 0),
                               0.25, 1e-9);
    }
    made.points[1].time_ns[RONDE_SOURCE_MEASURED] = 0.0;
    CU_ASSERT_EQUAL(ronde_relative_time(&made.grid, RONDE_SOURCE_MEASURED, 0, 0, 0), 0.0);
    CU_ASSERT(isnan(ronde_relative_error(&made.grid, RONDE_SOURCE_SIMGRID, 0, 0, 1)));
}

static void a_crossover_is_marked_where_lines_meet(void)
{
    struct made made;
    struct ronde_mark marks[RONDE_MAX_MARKS];
    make(&made, 9000.0);
    CU_ASSERT_EQUAL_FATAL(ronde_relative_marks(&made.grid, 0, marks), 1);
    CU_ASSERT_EQUAL(marks[0].pair[0], 0);
    CU_ASSERT_EQUAL(marks[0].pair[1], 1);
    CU_ASSERT_EQUAL(marks[0].where.below_bytes, 4096);
    CU_ASSERT_EQUAL(marks[0].where.above_bytes, 16384);
    CU_ASSERT_DOUBLE_EQUAL(marks[0].bytes, 9000.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(marks[0].height, 1.0, 1e-9);
}

/* Losers that change places are not marked, but where one of them is the base; winners are, whatever the base. */
static void only_winners_and_the_base_are_marked(void)
{
    struct made made;
    struct ronde_mark marks[RONDE_MAX_MARKS];
    make(&made, 9000.0);
    made.algorithms[1] = "chain";
    made.algorithms[2] = "ring";
    CU_ASSERT_EQUAL_FATAL(ronde_relative_marks(&made.grid, 0, marks), 2);
    CU_ASSERT_DOUBLE_EQUAL(marks[0].bytes, 9000.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(marks[0].height, 0.5, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(marks[1].bytes, 36000.0, 1e-6);
    CU_ASSERT_DOUBLE_EQUAL(marks[1].height, 1.0, 1e-9);
    make(&made, 9000.0);
    made.algorithms[1] = "chain";
    for (uint32_t s = 0; s < SIZES; s++) {
        struct ronde_grid_point *fast = &made.points[s * ALGORITHMS];
        struct ronde_grid_point *slow = &made.points[s * ALGORITHMS + 2];
        slow->time_ns[RONDE_SOURCE_MEASURED] = fast->time_ns[RONDE_SOURCE_MEASURED] / 100.0;
        slow->measured.median = slow->time_ns[RONDE_SOURCE_MEASURED];
    }
    made.algorithms[0] = "tree";
    made.algorithms[2] = "ring";
    CU_ASSERT_EQUAL(ronde_relative_marks(&made.grid, 0, marks), 0);
}

static void sizes_between_sizes_have_three_digits(void)
{
    static const struct {
        double bytes;
        const char *text;
    } cases[] = {{421.0, "421"},         {999.4, "999"},         {999.6, "0.98K"},
                 {9605.12, "9.38K"},     {131072.0, "128K"},     {1247805.4, "1.19M"},
                 {38.6 * 1024, "38.6K"}, {1073741824.0, "1.00G"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CU_ASSERT_STRING_EQUAL(ronde_cell_about(cases[i].bytes).text, cases[i].text);
}

/* The stored records of this machine, whose table is beside them. */
static void records_come_back_as_the_grid_they_were(void)
{
    char path[512];
    struct ronde_recorded recorded;
    struct ronde_error error = {0};
    CU_ASSERT_TRUE_FATAL(suite_source(path, sizeof path, "docs/results/cpu-validate.jsonl"));
    const enum ronde_status status = ronde_recorded_read(path, RONDE_ALL_REDUCE, &recorded, &error);
    if (status == RONDE_UNAVAILABLE) {
        suite_skip("%s", error.message);
        return;
    }
    CU_ASSERT_EQUAL_FATAL(status, RONDE_OK);
    const struct ronde_validation *grid = &recorded.grid;
    CU_ASSERT_EQUAL(grid->rank_counts, 3);
    CU_ASSERT_EQUAL(grid->size_count, 8);
    CU_ASSERT_EQUAL(grid->algorithm_count, 4);
    CU_ASSERT(grid->has_cores && !grid->has_ports);
    CU_ASSERT_STRING_EQUAL(grid->algorithms[3], "recursive_doubling");
    const struct ronde_grid_point *point = ronde_validation_point(grid, 1, 0, 0);
    CU_ASSERT_EQUAL(point->bytes, 8);
    CU_ASSERT(point->is_oversubscribed);
    CU_ASSERT_DOUBLE_EQUAL(point->measured.median, 2850.0, 5.0);
    CU_ASSERT_DOUBLE_EQUAL(point->measured.p95, 3220.0, 5.0);
    CU_ASSERT_DOUBLE_EQUAL(point->time_ns[RONDE_SOURCE_CORES], 3750.0, 10.0);
    CU_ASSERT_DOUBLE_EQUAL(point->time_ns[RONDE_SOURCE_CLOSED_FORM], 3230.0, 10.0);
    ronde_recorded_close(&recorded);
    CU_ASSERT_EQUAL(ronde_recorded_read(path, RONDE_BROADCAST, &recorded, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "no times of broadcast"));
}

#define LINE(bytes, algorithm)                                                                     \
    "{\"kind\": \"measured\", \"engine\": \"cpu\", \"collective\": \"all_reduce\", "               \
    "\"algorithm\": "                                                                              \
    "\"" algorithm "\", \"ranks\": 2, \"bytes\": " bytes ", \"time_ns\": 5, \"p95_ns\": 6}\n"

static void files_that_are_no_grid_are_refused(void)
{
    static const struct {
        const char *text, *part;
    } cases[] = {{LINE("8", "ring") LINE("8", "tree") LINE("16", "ring"), "1 of 4 points"},
                 {LINE("8", "ring") "no record\n", ":2: "},
                 {"{\"kind\": \"measured\", \"engine\": \"cpu\", \"collective\": \"all_reduce\"}\n",
                  ":1: a time without algorithm"},
                 {"", "no times of all_reduce"}};
    struct ronde_recorded recorded;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ronde_error error = {0};
        char path[] = "/tmp/ronde-relative-test.jsonl";
        CU_ASSERT_TRUE_FATAL(files_write(path, cases[i].text));
        const enum ronde_status status =
            ronde_recorded_read(path, RONDE_ALL_REDUCE, &recorded, &error);
        remove(path);
        if (status == RONDE_UNAVAILABLE) {
            suite_skip("%s", error.message);
            return;
        }
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].part));
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"the_ring_is_the_base_where_it_is", the_ring_is_the_base_where_it_is},
        {"times_are_relative_to_the_base_of_their_own_source",
         times_are_relative_to_the_base_of_their_own_source},
        {"a_crossover_is_marked_where_lines_meet", a_crossover_is_marked_where_lines_meet},
        {"only_winners_and_the_base_are_marked", only_winners_and_the_base_are_marked},
        {"sizes_between_sizes_have_three_digits", sizes_between_sizes_have_three_digits},
        {"records_come_back_as_the_grid_they_were", records_come_back_as_the_grid_they_were},
        {"files_that_are_no_grid_are_refused", files_that_are_no_grid_are_refused},
    };
    return suite_run("relative", cases, sizeof cases / sizeof cases[0]);
}
