/*
 * Grids read back from records: files as validate writes them in any order, and files with a field missing, of another
 * kind or out of range, each of which is named with its line.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/field.h"
#include "ronde/recorded.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file under way. */
struct text {
    char at[1 << 17];
    size_t used;
};

static struct text file;

static void add(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void add(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(file.at + file.used, sizeof file.at - file.used, format, arguments);
    va_end(arguments);
    CU_ASSERT_FATAL(length >= 0 && file.used + (size_t)length < sizeof file.at);
    file.used += (size_t)length;
}

static void add_time(const char *kind, const char *engine, const char *algorithm, uint32_t ranks,
                     uint64_t bytes, double time_ns)
{
    add("{\"kind\": \"%s\", \"engine\": \"%s\", \"collective\": \"all_reduce\", \"algorithm\": "
        "\"%s\", \"ranks\": %u, \"bytes\": %llu, \"time_ns\": %.17g, \"p95_ns\": %.17g}\n",
        kind, engine, algorithm, ranks, (unsigned long long)bytes, time_ns, time_ns + 1.0);
}

static void start(void)
{
    file.used = 0;
    file.at[0] = '\0';
}

/* Reads what was written so far. */
static enum ronde_status read_text(struct ronde_recorded *out, struct ronde_error *error)
{
    char path[64];
    memset(error, 0, sizeof *error);
    snprintf(path, sizeof path, "/tmp/ronde-recorded-%d.jsonl", (int)getpid());
    CU_ASSERT_FATAL(files_write(path, file.at));
    const enum ronde_status status = ronde_recorded_read(path, RONDE_ALL_REDUCE, out, error);
    remove(path);
    return status;
}

/* False after a skip where nothing reads JSON. */
static bool can_read(void)
{
    const char *why;
    const bool is_available = ronde_json_available(&why);
    if (!is_available)
        suite_skip("%s", why);
    return is_available;
}

static double time_of(uint32_t algorithm, uint32_t ranks, uint32_t size, uint32_t source)
{
    return 100.0 + 1000.0 * algorithm + 10.0 * ranks + size + 0.25 * source;
}

static const char *const names[] = {"ring", "tree", "direct"};
static const uint32_t rank_counts[] = {2, 7, 64};

enum { NAMES = 3, RANK_COUNTS = 3, SIZES = 4, POINTS = NAMES * RANK_COUNTS * SIZES };

/* Point number k of a grid, in an order in which nothing is sorted. */
static void add_point(uint32_t k)
{
    const uint32_t a = k % NAMES, r = k / NAMES % RANK_COUNTS, s = k / NAMES / RANK_COUNTS;
    const uint64_t bytes = UINT64_C(8) << (4 * s);
    add_time("simulated", "simgrid", names[a], rank_counts[r], bytes,
             time_of(a, rank_counts[r], s, RONDE_SOURCE_SIMGRID));
    add_time("measured", "cpu", names[a], rank_counts[r], bytes,
             time_of(a, rank_counts[r], s, RONDE_SOURCE_MEASURED));
    add_time("modelled", "closed_form", names[a], rank_counts[r], bytes,
             time_of(a, rank_counts[r], s, RONDE_SOURCE_CLOSED_FORM));
}

static uint32_t index_of(const struct ronde_recorded *recorded, const char *name)
{
    for (uint32_t a = 0; a < recorded->grid.algorithm_count; a++)
        if (strcmp(recorded->grid.algorithms[a], name) == 0)
            return a;
    return 0;
}

static uint32_t wrong_points(const struct ronde_recorded *recorded)
{
    static const enum ronde_source sources[] = {RONDE_SOURCE_MEASURED, RONDE_SOURCE_SIMGRID,
                                                RONDE_SOURCE_CLOSED_FORM};
    const struct ronde_validation *grid = &recorded->grid;
    uint32_t wrong = 0;
    for (uint32_t r = 0; r < grid->rank_counts; r++)
        for (uint32_t s = 0; s < grid->size_count; s++)
            for (uint32_t a = 0; a < NAMES; a++) {
                const struct ronde_grid_point *point =
                    ronde_validation_point(grid, r, s, index_of(recorded, names[a]));
                uint32_t size = 0;
                while (UINT64_C(8) << (4 * size) != point->bytes && size < SIZES)
                    size++;
                for (uint32_t k = 0; k < 3; k++)
                    wrong +=
                        point->time_ns[sources[k]] != time_of(a, grid->ranks[r], size, sources[k]);
                wrong += point->measured.p95 != point->measured.median + 1.0;
            }
    return wrong;
}

/* 7 and 36 have no common factor: every point comes once, in another order for each beginning. */
static void records_in_any_order_are_the_same_grid(void)
{
    if (!can_read())
        return;
    for (uint32_t first = 0; first < POINTS; first += 5) {
        struct ronde_recorded recorded;
        struct ronde_error error;
        start();
        for (uint32_t k = 0; k < POINTS; k++)
            add_point((first + 7 * k) % POINTS);
        CU_ASSERT_EQUAL_FATAL(read_text(&recorded, &error), RONDE_OK);
        CU_ASSERT_EQUAL(recorded.grid.algorithm_count, NAMES);
        CU_ASSERT_EQUAL(recorded.grid.rank_counts, RANK_COUNTS);
        CU_ASSERT_EQUAL(recorded.grid.size_count, SIZES);
        CU_ASSERT_EQUAL(wrong_points(&recorded), 0);
        ronde_recorded_close(&recorded);
    }
}

static void what_is_no_time_of_the_collective_is_passed_over(void)
{
    struct ronde_recorded recorded;
    struct ronde_error error;
    if (!can_read())
        return;
    start();
    add("{}\n{\"kind\": 7}\n{\"kind\": \"score\", \"engine\": \"cpu\"}\n");
    add("{\"kind\": \"simulated\", \"engine\": \"no_engine\", \"collective\": \"all_reduce\"}\n");
    add("{\"kind\": \"modelled\", \"engine\": \"dag\", \"collective\": \"all_reduce\"}\n");
    add("{\"kind\": \"measured\", \"engine\": \"cpu\", \"collective\": \"broadcast\"}\n");
    add("{\"kind\": \"measured\", \"engine\": \"cpu\", \"collective\": null}\n");
    add_time("measured", "cpu", "ring", 2, 8, 5.0);
    CU_ASSERT_EQUAL_FATAL(read_text(&recorded, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_validation_size(&recorded.grid), 1);
    CU_ASSERT_FALSE(recorded.grid.has_ports || recorded.grid.has_cores);
    CU_ASSERT(recorded.grid.lacks_simgrid);
    ronde_recorded_close(&recorded);
    ronde_recorded_close(&recorded);
}

static void the_last_of_two_equal_points_counts(void)
{
    struct ronde_recorded recorded;
    struct ronde_error error;
    if (!can_read())
        return;
    start();
    add_time("measured", "cpu", "ring", 2, 8, 5.0);
    add_time("measured", "cpu", "ring", 2, 8, 9.0);
    CU_ASSERT_EQUAL_FATAL(read_text(&recorded, &error), RONDE_OK);
    CU_ASSERT_DOUBLE_EQUAL(ronde_validation_point(&recorded.grid, 0, 0, 0)->measured.median, 9.0,
                           0.0);
    ronde_recorded_close(&recorded);
}

/* A good record, with one field's text replaced. */
static void add_replaced(const char *key, const char *value)
{
    static const char *const keys[] = {"algorithm", "ranks", "bytes", "time_ns", "p95_ns"};
    static const char *const values[] = {"\"ring\"", "2", "8", "5", "6"};
    add("{\"kind\": \"measured\", \"engine\": \"cpu\", \"collective\": \"all_reduce\"");
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (strcmp(key, keys[k]) != 0)
            add(", \"%s\": %s", keys[k], values[k]);
        else if (value)
            add(", \"%s\": %s", key, value);
    add("}\n");
}

static void a_field_that_makes_no_point_is_named_with_its_line(void)
{
    static const struct {
        const char *key, *value;
    } rows[] = {
        {"algorithm", NULL},
        {"algorithm", "7"},
        {"algorithm", "\"a name of forty-eight characters, which is too long.\""},
        {"ranks", NULL},
        {"ranks", "0"},
        {"ranks", "-2"},
        {"ranks", "2.5"},
        {"ranks", "4294967296"},
        {"ranks", "\"2\""},
        {"bytes", NULL},
        {"bytes", "0"},
        {"bytes", "-8"},
        {"bytes", "8.5"},
        {"bytes", "1e30"},
        {"bytes", "[8]"},
        {"time_ns", NULL},
        {"time_ns", "0"},
        {"time_ns", "-1"},
        {"time_ns", "true"},
        {"time_ns", "\"5\""},
        {"p95_ns", "-6"},
    };
    if (!can_read())
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_recorded recorded;
        struct ronde_error error;
        start();
        add_replaced("", NULL);
        add_replaced(rows[k].key, rows[k].value);
        const enum ronde_status status = read_text(&recorded, &error);
        const bool is_named =
            strstr(error.message, ":2: a time without algorithm, ranks, bytes or nanoseconds");
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT(is_named);
        if (status == RONDE_OK || !is_named)
            suite_note("%s: %s: %s", rows[k].key, rows[k].value ? rows[k].value : "missing",
                       error.message);
        if (status == RONDE_OK)
            ronde_recorded_close(&recorded);
    }
}

/* Each limit is reached and then passed by one. */
static void more_of_a_kind_than_fit_are_refused(void)
{
    static const struct {
        uint32_t algorithms, ranks, sizes;
        bool fits;
    } rows[] = {
        {RONDE_RECORDED_ALGORITHMS, 1, 1, true}, {RONDE_RECORDED_ALGORITHMS + 1, 1, 1, false},
        {1, RONDE_RECORDED_RANKS, 1, true},      {1, RONDE_RECORDED_RANKS + 1, 1, false},
        {1, 1, RONDE_MAX_SIZES, true},           {1, 1, RONDE_MAX_SIZES + 1, false},
    };
    if (!can_read())
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        struct ronde_recorded recorded;
        struct ronde_error error;
        char name[16];
        start();
        for (uint32_t a = 0; a < rows[k].algorithms; a++)
            for (uint32_t r = 0; r < rows[k].ranks; r++)
                for (uint32_t s = 0; s < rows[k].sizes; s++) {
                    snprintf(name, sizeof name, "ring%u", a);
                    add_time("measured", "cpu", name, 2 + r, 8 + s, 5.0);
                }
        const enum ronde_status status = read_text(&recorded, &error);
        CU_ASSERT_EQUAL(status, rows[k].fits ? RONDE_OK : RONDE_BAD_INPUT);
        if (status == RONDE_OK)
            ronde_recorded_close(&recorded);
        else
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, ": more than "));
    }
}

static void numbers_of_sizes_must_agree(void)
{
    struct ronde_recorded recorded;
    struct ronde_error error;
    if (!can_read())
        return;
    start();
    add_time("measured", "cpu", "ring", 2, 8, 5.0);
    add_time("measured", "cpu", "ring", 3, 8, 5.0);
    add_time("measured", "cpu", "ring", 3, 16, 5.0);
    CU_ASSERT_EQUAL(read_text(&recorded, &error), RONDE_BAD_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "1 sizes of 2 ranks, 2 of 3"));
}

static void lines_that_are_no_objects_are_named(void)
{
    static const char *const lines[] = {"[]",
                                        "7",
                                        "\"text\"",
                                        "{",
                                        "{]}",
                                        "{\"a\":}",
                                        "{\"a\":1,\"a\":2}",
                                        "\x01",
                                        "{} {}",
                                        "nan",
                                        "{\"a\": 1e999}",
                                        "{\"a\": \"\xff\"}",
                                        "{'a': 1}",
                                        "\xef\xbb\xbf{}"};
    if (!can_read())
        return;
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
        struct ronde_recorded recorded;
        struct ronde_error error;
        start();
        add_time("measured", "cpu", "ring", 2, 8, 5.0);
        add("{}\n%s\n", lines[k]);
        CU_ASSERT_EQUAL(read_text(&recorded, &error), RONDE_BAD_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, ":3: not a JSON object"));
    }
}

static void a_line_of_any_length_is_read_or_refused(void)
{
    if (!can_read())
        return;
    for (uint32_t bytes = 8000; bytes < 8400; bytes += 37) {
        struct ronde_recorded recorded;
        struct ronde_error error;
        start();
        add_time("measured", "cpu", "ring", 2, 8, 5.0);
        add("{\"filler\": \"%*s\"}\n", (int)bytes, "");
        const enum ronde_status status = read_text(&recorded, &error);
        CU_ASSERT_EQUAL(status == RONDE_OK, bytes + 15 < 8192);
        if (status == RONDE_OK)
            ronde_recorded_close(&recorded);
        else
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, ":2: "));
    }
}

static void a_file_that_is_none_is_named(void)
{
    static const char *const paths[] = {"/nonexistent/records.jsonl", "/tmp", ""};
    for (size_t k = 0; k < sizeof paths / sizeof paths[0]; k++) {
        struct ronde_recorded recorded;
        struct ronde_error error = {0};
        const enum ronde_status status =
            ronde_recorded_read(paths[k], RONDE_ALL_REDUCE, &recorded, &error);
        CU_ASSERT(status == RONDE_IO || status == RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(strncmp(error.message, paths[k], strlen(paths[k])), 0);
        CU_ASSERT_PTR_NULL(recorded.grid.points);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"records_in_any_order_are_the_same_grid", records_in_any_order_are_the_same_grid},
        {"what_is_no_time_of_the_collective_is_passed_over",
         what_is_no_time_of_the_collective_is_passed_over},
        {"the_last_of_two_equal_points_counts", the_last_of_two_equal_points_counts},
        {"a_field_that_makes_no_point_is_named_with_its_line",
         a_field_that_makes_no_point_is_named_with_its_line},
        {"more_of_a_kind_than_fit_are_refused", more_of_a_kind_than_fit_are_refused},
        {"numbers_of_sizes_must_agree", numbers_of_sizes_must_agree},
        {"lines_that_are_no_objects_are_named", lines_that_are_no_objects_are_named},
        {"a_line_of_any_length_is_read_or_refused", a_line_of_any_length_is_read_or_refused},
        {"a_file_that_is_none_is_named", a_file_that_is_none_is_named},
    };
    return suite_run("recorded", cases, sizeof cases / sizeof cases[0]);
}
