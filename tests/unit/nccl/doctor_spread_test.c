/**
 * How far the model is off by itself: spread.txt is read line by line or refused, and what is computed of a table is the root
 * mean square over systems of their mean errors, by place and class of size, against values by hand.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/doctor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_ROWS 64u

/** Sizes, one of each class. */
static const uint64_t sizes[RONDE_DOCTOR_SIZES] = {1024, 1048576, 16777216, 1073741824};

static char folder[] = "doctor_spread_XXXXXX";

static enum ronde_status read_text(const char *text, struct ronde_doctor_spread *out,
                                   struct ronde_error *error)
{
    char path[64];
    *error = (struct ronde_error){.status = RONDE_OK};
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/spread.txt", folder);
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status = ronde_doctor_spread_read(folder, out, error);
    CU_ASSERT_EQUAL(unlink(path) + rmdir(folder), 0);
    return status;
}

static void what_no_line_says_is_guessed(void)
{
    struct ronde_doctor_spread spread;
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text("# nothing\n\n \t# more\n0 2 .125 7 # x\r\n1 3 1.5 2", &spread, &error),
                    RONDE_OK);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
            const bool is_first = p == 0 && c == 2, is_second = p == 1 && c == 3;
            CU_ASSERT_EQUAL(spread.off[p][c], is_first ? .125 : is_second ? 1.5 : .5);
            CU_ASSERT_EQUAL(spread.systems[p][c], is_first ? 7 : is_second ? 2 : 0);
        }
    CU_ASSERT_EQUAL(spread.most_bytes[0], 65536);
    CU_ASSERT_EQUAL(spread.most_bytes[1], 4 << 20);
    CU_ASSERT_EQUAL(spread.most_bytes[2], 128 << 20);
    CU_ASSERT_EQUAL(spread.most_bytes[3], UINT64_MAX);
}

static void wrong_lines_are_refused_with_their_line(void)
{
    static const char *const lines[] = {
        "0",        "0 0",        "0 0 .1",    "0 0 .1 3 4", "2 0 .1 3",
        "0 4 .1 3", "-1 0 .1 3",  "0 -1 .1 3", "0 0 .04 3",  "0 0 0 3",
        "0 0 -1 3", "0 0 10.1 3", "0 0 nan 3", "0 0 inf 3",  "0 0 .1 many",
        "a 0 .1 3", "0 a .1 3",   "0 0 x 3",   "0 0 .1 3x",  "0 0 .1 -3",
        "0,0,.1,3", "0 0 .1 3;",  "0 0 .1 +3", "0.5 0 .1 3", "0 0 .1 3 # x\n0 0 .1 99999999999",
    };
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[128], says[64];
        struct ronde_doctor_spread spread;
        struct ronde_error error;
        const uint32_t line = strchr(lines[i], '\n') ? 3 : 2;
        snprintf(text, sizeof text, "1 0 .2 9\n%s\n", lines[i]);
        CU_ASSERT_EQUAL(read_text(text, &spread, &error), RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, line);
        snprintf(says, sizeof says, "%s/spread.txt:%u: ", folder, line);
        CU_ASSERT_EQUAL(strncmp(error.message, says, strlen(says)), 0);
        if (error.line != line)
            suite_note("\"%s\": %s", lines[i], error.message);
    }
}

static void a_line_has_a_longest(void)
{
    for (size_t length = 240; length < 270; length++) {
        char text[512] = "1 0 .2 9\n";
        struct ronde_doctor_spread spread;
        struct ronde_error error;
        memset(text + 9, '#', length);
        strcpy(text + 9 + length, "\n0 0 .1 1\n");
        const enum ronde_status status = read_text(text, &spread, &error);
        CU_ASSERT_EQUAL(status, length <= 254 ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, length <= 254 ? 0 : 2);
        CU_ASSERT(status != RONDE_OK || spread.off[0][0] == .1);
    }
}

static void a_folder_without_it_is_named(void)
{
    struct ronde_doctor_spread spread;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL(ronde_doctor_spread_read("no-such-folder", &spread, &error), RONDE_IO);
    CU_ASSERT_EQUAL(strncmp(error.message, "no-such-folder/spread.txt: ", 27), 0);
}

/* Every class of both places is known of what is shipped, and no better than a run is. */
static void shipped_numbers_rest_on_systems(void)
{
    struct ronde_doctor_spread spread;
    struct ronde_error error = {.status = RONDE_OK};
    CU_ASSERT_EQUAL_FATAL(ronde_doctor_spread_read(NULL, &spread, &error), RONDE_OK);
    for (unsigned p = 0; p < RONDE_DOCTOR_PLACES; p++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
            CU_ASSERT(spread.systems[p][c] > 1);
            CU_ASSERT(spread.off[p][c] >= .05 && spread.off[p][c] < 1);
        }
}

/** A table in place. */
struct spread_table {
    struct ronde_published table;
    struct ronde_published_row rows[MAX_ROWS];
};

static void start(struct spread_table *made, uint32_t systems)
{
    memset(made, 0, sizeof *made);
    made->table.rows = made->rows;
    made->table.system_count = systems;
}

/** A row whose measured time is exp(off) times the predicted one. */
static struct ronde_published_row *add(struct spread_table *made, uint32_t system, uint32_t nodes,
                                       uint64_t bytes, double off)
{
    CU_ASSERT_FATAL(made->table.count < MAX_ROWS);
    struct ronde_published_row *row = &made->rows[made->table.count++];
    *row = (struct ronde_published_row){.system = system,
                                        .call = {RONDE_ALL_REDUCE, 8 * nodes, nodes, 229, bytes},
                                        .predicted_us = (double)bytes,
                                        .measured_us = (double)bytes * exp(off)};
    return row;
}

/* Two systems off by 0.3 and -0.4 on average: sqrt((0.09 + 0.16) / 2), whatever their number of rows. */
static void systems_weigh_alike(void)
{
    struct spread_table made;
    struct ronde_doctor_spread spread;
    for (unsigned place = 0; place < RONDE_DOCTOR_PLACES; place++)
        for (unsigned c = 0; c < RONDE_DOCTOR_SIZES; c++) {
            start(&made, 3);
            add(&made, 0, place + 1, sizes[c], .1);
            add(&made, 0, place + 1, sizes[c] + 1, .5);
            add(&made, 2, place + 1, sizes[c], -.4);
            ronde_doctor_spread_of(&made.table, &spread);
            CU_ASSERT_DOUBLE_EQUAL(spread.off[place][c], sqrt(.125), 1e-9);
            CU_ASSERT_EQUAL(spread.systems[place][c], 2);
            for (unsigned other = 0; other < RONDE_DOCTOR_SIZES; other++)
                if (other != c)
                    CU_ASSERT(spread.off[place][other] == .5 && spread.systems[place][other] == 0);
            CU_ASSERT_EQUAL(spread.off[!place][c], .5);
        }
}

/* One system is no spread; two that are right are no better known than a log is. */
static void little_is_known_of_few_systems(void)
{
    struct spread_table made;
    struct ronde_doctor_spread spread;
    start(&made, 2);
    add(&made, 0, 1, 1024, .01);
    ronde_doctor_spread_of(&made.table, &spread);
    CU_ASSERT_EQUAL(spread.off[0][0], .5);
    CU_ASSERT_EQUAL(spread.systems[0][0], 1);
    add(&made, 1, 1, 1024, .01);
    ronde_doctor_spread_of(&made.table, &spread);
    CU_ASSERT_EQUAL(spread.off[0][0], .05);
    CU_ASSERT_EQUAL(spread.systems[0][0], 2);
}

/* Bounds of classes belong to the lower class. */
static void classes_include_their_bounds(void)
{
    static const uint64_t bounds[] = {65536, 4 << 20, 128 << 20};
    for (unsigned c = 0; c < sizeof bounds / sizeof bounds[0]; c++)
        for (uint64_t beyond = 0; beyond < 2; beyond++) {
            struct spread_table made;
            struct ronde_doctor_spread spread;
            start(&made, 2);
            add(&made, 0, 1, bounds[c] + beyond, .2);
            add(&made, 1, 1, bounds[c] + beyond, .2);
            ronde_doctor_spread_of(&made.table, &spread);
            CU_ASSERT_EQUAL(spread.systems[0][c], beyond ? 0 : 2);
            CU_ASSERT_EQUAL(spread.systems[0][c + 1], beyond ? 2 : 0);
        }
}

/* Rows that are fitted, faulty or not predicted say nothing; nor does a system that contradicts itself. */
static void rows_that_do_not_count(void)
{
    struct spread_table made;
    struct ronde_doctor_spread spread;
    start(&made, 3);
    add(&made, 0, 1, 1024, .2);
    add(&made, 1, 1, 1024, .2);
    for (unsigned s = RONDE_PUBLISHED_FITTED; s < RONDE_PUBLISHED_STATE_COUNT; s++)
        add(&made, 0, 1, 1024, 5)->state = (enum ronde_published_state)s;
    for (unsigned r = 0; r < 10; r++)
        add(&made, 2, 1, (uint64_t)1024 << r, r % 2 ? -3 : 3);
    ronde_doctor_spread_of(&made.table, &spread);
    CU_ASSERT_DOUBLE_EQUAL(spread.off[0][0], .2, 1e-9);
    CU_ASSERT_EQUAL(spread.systems[0][0], 2);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_no_line_says_is_guessed", what_no_line_says_is_guessed},
        {"wrong_lines_are_refused_with_their_line", wrong_lines_are_refused_with_their_line},
        {"a_line_has_a_longest", a_line_has_a_longest},
        {"a_folder_without_it_is_named", a_folder_without_it_is_named},
        {"shipped_numbers_rest_on_systems", shipped_numbers_rest_on_systems},
        {"systems_weigh_alike", systems_weigh_alike},
        {"little_is_known_of_few_systems", little_is_known_of_few_systems},
        {"classes_include_their_bounds", classes_include_their_bounds},
        {"rows_that_do_not_count", rows_that_do_not_count},
    };
    return suite_run("doctor_spread", cases, sizeof cases / sizeof cases[0]);
}
