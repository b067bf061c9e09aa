/**
 * Rows of nccl-tests' tables one by one: what stands before, between and behind them, halves that are not there, columns that
 * options add, rows that end on a later line or never, and lines of any length.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/published.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABOVE                                                                                      \
    "# nThread 1 nGpus 8 minBytes 8\n# Collective test starting: all_reduce_perf\n"                \
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
#define CELLS "1048576 262144 float sum -1 50.00 20.97 36.70 0 100.00 10.49 18.35 0"

static const char path[] = "log_rows_test.txt";

static enum ronde_status read_text(const char *text, struct ronde_published *table,
                                   struct ronde_error *error)
{
    const struct ronde_published_request request = {.path = path, .folder = "no-such-folder"};
    *error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status =
        ronde_published_open(&request, ronde_mem_default(), table, error);
    CU_ASSERT_EQUAL(unlink(path), 0);
    return status;
}

/** What a table of a few lines holds. */
struct rows_case {
    const char *lines;
    size_t rows;
    double first_us, last_us; /**< of the first and the last row; 0 = does not matter */
    uint32_t unfinished, wrong, last_line;
};

static void check(const struct rows_case *one)
{
    char text[16384];
    struct ronde_published table;
    struct ronde_error error;
    snprintf(text, sizeof text, ABOVE "%s", one->lines);
    const enum ronde_status status = read_text(text, &table, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT_EQUAL(table.count, one->rows);
    CU_ASSERT_EQUAL(table.log.unfinished_line, one->unfinished);
    CU_ASSERT_EQUAL(table.log.wrong_line, one->wrong);
    if (status != RONDE_OK || table.count != one->rows)
        suite_note("%zu rows of \"%.60s\": %s", table.count, one->lines, error.message);
    if (table.count > 0 && one->first_us > 0)
        CU_ASSERT_EQUAL(table.rows[0].measured_us, one->first_us);
    if (table.count > 0 && one->last_us > 0)
        CU_ASSERT_EQUAL(table.rows[table.count - 1].measured_us, one->last_us);
    if (table.count > 0 && one->last_line > 0)
        CU_ASSERT_EQUAL(table.rows[table.count - 1].line, one->last_line);
    ronde_published_close(&table);
}

#define CHECK_ALL(list)                                                                            \
    for (size_t i = 0; i < sizeof(list) / sizeof(list)[0]; i++)                                    \
    check(&(list)[i])

/* mpirun, srun, torchrun, a time stamp, colours: a row begins where two whole numbers and a type stand. */
static void whatever_stands_before_a_row_is_passed_over(void)
{
    static const struct rows_case cases[] = {
        {CELLS "\n", 2, 50, 100, 0, 0, 4},
        {CELLS, 2, 50, 100, 0, 0, 4},
        {"  \t" CELLS " \r\n", 2, 50, 100, 0, 0, 4},
        {"[1,0]<stdout>: " CELLS "\n", 2, 50, 100, 0, 0, 4},
        {"0: " CELLS "\n", 2, 50, 100, 0, 0, 4},
        {"(head, rank=0, pid=7) " CELLS "\n", 2, 50, 100, 0, 0, 4},
        {"7 " CELLS "\n", 2, 50, 100, 0, 0, 4},
        {CELLS " 2026-01-31 12:34:56\n", 2, 50, 100, 0, 0, 4},
        {"\033[32m1048576\033[0m 262144 float sum -1 \033[1;31m50.00\033[m 20.97 36.70 0\n", 1, 50,
         50, 0, 0, 4},
        {"\n\n" CELLS "\n\n# Avg bus bandwidth : 20\n", 2, 50, 100, 0, 0, 6},
        {CELLS "\n" CELLS "\n" CELLS "\n", 6, 50, 100, 0, 0, 6},
    };
    CHECK_ALL(cases);
}

/* Operator and root are left out by some versions and blank in others. */
static void types_operators_and_roots_may_be_left_out(void)
{
    static const char *const words[] = {"float sum -1",     "float sum",        "float",
                                        "float none",       "float none 0",     "half max 3",
                                        "bfloat16 avg -1",  "fp8_e4m3 prod -1", "f8e5m2 min",
                                        "uint64 mulsum -1", "int8 all -1"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char line[256];
        const struct rows_case one = {line, 2, 50, 100, 0, 0, 4};
        snprintf(line, sizeof line, "1048576 262144 %s 50.00 20.97 36.70 0 100.00 10.49 18.35 0\n",
                 words[i]);
        check(&one);
    }
}

/* N/A: not checked, or not run; a size of 0 moved nothing. */
static void halves_that_are_not_there_are_no_rows(void)
{
    static const struct rows_case cases[] = {
        {"1048576 262144 float sum -1 50.00 20.97 36.70 N/A 100.00 10.49 18.35 N/A\n", 2, 50, 100,
         0, 0, 4},
        {"1048576 262144 float sum -1 50.00 20.97 36.70 0 N/A N/A N/A N/A\n", 1, 50, 50, 0, 0, 4},
        {"1048576 262144 float sum -1 N/A N/A N/A N/A 100.00 10.49 18.35 0\n", 1, 100, 100, 0, 0, 4},
        {"0 0 float sum -1 5.00 0.00 0.00 0 5.00 0.00 0.00 0\n" CELLS "\n", 2, 50, 100, 0, 0, 5},
        {"1048576 262144 float sum -1 50.00 20.97 36.70 0\n", 1, 50, 50, 0, 0, 4},
    };
    CHECK_ALL(cases);
}

/* Wrong elements are told with the first line that has some; RCCL marks large differences. */
static void wrong_results_are_told(void)
{
    static const struct rows_case cases[] = {
        {"1048576 262144 float sum -1 50.00 20.97 36.70 3 100.00 10.49 18.35 0\n", 2, 50, 100, 0, 4,
         4},
        {"1048576 262144 float sum -1 50.00 20.97 36.70 0 100.00 10.49 18.35 9\n" CELLS "\n", 4, 50,
         100, 0, 4, 5},
        {CELLS "\n# Out of bounds values : 12 FAILED\n", 2, 50, 100, 0, 5, 4},
        {CELLS "\n# Out of bounds values : 0 OK\n", 2, 50, 100, 0, 0, 4},
    };
    CHECK_ALL(cases);
}

/* The rest of a row may come behind NCCL's own output, on a later line; what never comes is told. */
static void rows_may_end_on_a_later_line(void)
{
#define BEGUN "1048576 262144 float sum -1"
#define REST "50.00 20.97 36.70 0 100.00 10.49 18.35 0"
    static const struct rows_case cases[] = {
        {BEGUN "\n" REST "\n", 2, 50, 100, 0, 0, 4},
        {BEGUN " host:1:1 [0] NCCL INFO Channel 00\nx NCCL INFO more\n  " REST "\n", 2, 50, 100, 0,
         0, 4},
        {BEGUN "\nhost:1:1 [0] NCCL INFO comm 0x1\n" REST "\n" CELLS "\n", 4, 50, 100, 0, 0, 7},
        {BEGUN "\n" CELLS "\n", 2, 50, 100, 0, 0, 5},
        {BEGUN "\n" BEGUN "\n" REST "\n", 2, 50, 100, 0, 0, 5},
        /* Times that may be of either. */
        {BEGUN "\n2097152 524288 float sum -1\n" REST "\n" CELLS "\n", 2, 50, 100, 0, 0, 7},
        {CELLS "\n" BEGUN "\n", 2, 50, 100, 5, 0, 4},
        {BEGUN "\n# Out of bounds values : 0 OK\n", 0, 0, 0, 4, 0, 0},
        /* Times alone, of no row. */
        {REST "\n" CELLS "\n", 2, 50, 100, 0, 0, 5},
    };
    CHECK_ALL(cases);
}

/* A run that was killed while it wrote: what the last line has of a row is told, and the rows above it are read. */
static void a_last_line_may_be_cut(void)
{
    static const struct rows_case cases[] = {
        {CELLS "\n1048576 262144 float sum -1 50.00 20.9", 2, 50, 100, 5, 0, 4},
        {CELLS "\n1048576 262144 float sum -1 50.00 20.97 36.70 0 100.00 10.49 18", 2, 50, 100, 5,
         0, 4},
        {CELLS "\n1048576 262144 float sum -1 50.00 2 36.70 0", 2, 50, 100, 5, 0, 4},
        {CELLS "\n1048576 262144 float sum", 2, 50, 100, 5, 0, 4},
        {"1048576 262144 float sum -1 50.00 20.9", 0, 0, 0, 4, 0, 0},
        {CELLS "\n10485", 2, 50, 100, 0, 0, 4},
    };
    CHECK_ALL(cases);
}

/* Lines longer than any row: their beginning is looked at, their rest is passed over, and lines go on being counted. */
static void lines_may_be_of_any_length(void)
{
    for (size_t length = 8000; length < 40000; length = length * 2 + 191) {
        char *text = malloc(length + 1024);
        struct ronde_published table;
        struct ronde_error error;
        CU_ASSERT_PTR_NOT_NULL_FATAL(text);
        strcpy(text, ABOVE);
        const size_t used = strlen(text);
        memset(text + used, 'x', length);
        strcpy(text + used + length, "\n" CELLS "\n");
        CU_ASSERT_EQUAL(read_text(text, &table, &error), RONDE_OK);
        CU_ASSERT_EQUAL(table.count, 2);
        CU_ASSERT(table.count == 0 || table.rows[0].line == 5);
        ronde_published_close(&table);
        free(text);
    }
}

/* What begins as a row and does not go on as one is left out, and so are times and rates that contradict each other. */
static void what_is_no_row_is_left_out_with_its_line(void)
{
    static const struct {
        const char *line, *says;
    } rows[] = {
        {"262144 float sum -1 50.00 20.97 36.70 0\n", "size cannot be read"},
        {"1048576 262144 float sum -1 50.0x7 20.97 gpu-1:1:1 [0] NCCL INFO via\n", "cells behind"},
        {"1048576 262144 float sum -1 50.00 20.97 36.70\n", "cells behind type and operator"},
        {"1048576 262144 float sum -1 50.00 20.97 36.70 0 100.00\n", "cells behind"},
        {"1048576 262144 float sum -1 fast 20.97 36.70 0\n", "cells behind"},
        {"1048576 262144 float sum -1 -50.00 20.97 36.70 0\n", "\"-50.00\" the first"},
        {"1048576 262144 float sum -1 50.00 20.97 36.70 0x\n", "cells behind"},
        {"1048576 262144 float sum -1 1e999 20.97 36.70 0\n", "cells behind"},
        {"1048576 262144 float sum -1 50.00 40.97 36.70 0\n", "algbw 40.97 contradicts"},
        {"1048576 262144 float sum -1 50.00 5.97 36.70 0\n", "contradicts time 50 us"},
        {"1048576 262144 float sum -1 0.00 20.97 36.70 0\n", "a time of 0"},
        {"2251799813685248 262144 float sum -1 50.00 20.97 36.70 0\n", "too many"},
        {"99999999999999999999999 262144 float sum -1 50.00 20.97 36.70 0\n", "too many"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int alone = 0; alone < 2; alone++) {
            char text[1024];
            struct ronde_published table;
            struct ronde_error error;
            snprintf(text, sizeof text, ABOVE "%s\n%s", alone ? "" : CELLS, rows[i].line);
            const enum ronde_status status = read_text(text, &table, &error);
            CU_ASSERT_EQUAL(status, alone ? RONDE_BAD_INPUT : RONDE_OK);
            CU_ASSERT_EQUAL(table.log.unread_line, 5);
            CU_ASSERT_EQUAL(table.count, alone ? 0 : 2);
            CU_ASSERT_PTR_NOT_NULL(strstr(table.log.unread, rows[i].says));
            CU_ASSERT(!alone || (error.line == 5 && strstr(error.message, rows[i].says) &&
                                 strstr(error.message, "log_rows_test.txt:5: ")));
            if (!strstr(table.log.unread, rows[i].says))
                suite_note("\"%.70s\": %s", rows[i].line, table.log.unread);
            ronde_published_close(&table);
        }
}

/* -T, -z and the like put columns between; the header says how many. Milliseconds are those of the first versions. */
static void headers_say_what_columns_are(void)
{
    static const struct {
        const char *header, *row;
        double us;
    } rows[] = {
        {"# size count type redop root time algbw busbw #wrong",
         "1048576 262144 float sum -1 50.00 20.97 36.70 0", 50},
        {"# size count type redop root cputime algbw busbw #wrong cputime algbw busbw #wrong",
         "1048576 262144 float sum -1 50.00 20.97 36.70 0 50.00 20.97 36.70 0", 50},
        {"# size count type redop root time algbw busbw #wrong min max time algbw busbw #wrong min "
         "max",
         "1048576 262144 float sum -1 50.00 20.97 36.70 0 40 60 50.00 20.97 36.70 0 40 60", 50},
        {"# size count type redop time algbw busbw error time algbw busbw error",
         "1048576 262144 float sum 50.00 20.97 36.70 3e-07 50.00 20.97 36.70 3e-07", 50},
        {"# bytes N type op time algbw busbw res time algbw busbw res",
         "1048576 262144 float sum 0.050 20.97 36.70 4e-07 0.050 20.97 36.70 4e-07", 50},
        {"# size count type redop root time algbw busbw #wrong\n# (B) (elements) (ms) (GB/s) "
         "(GB/s)",
         "1048576 262144 float sum -1 0.050 20.97 36.70 0", 50},
        {"# size count type redop root time algbw busbw #wrong\n# (B) (elements) (us) (GB/s) "
         "(GB/s)",
         "1048576 262144 float sum -1 50.00 20.97 36.70 0", 50},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        struct ronde_published table;
        struct ronde_error error;
        snprintf(text, sizeof text,
                 "# nThread 1 nGpus 8 minBytes 8\n# Collective test starting: all_reduce_perf\n"
                 "%s\n%s\n",
                 rows[i].header, rows[i].row);
        CU_ASSERT_EQUAL(read_text(text, &table, &error), RONDE_OK);
        CU_ASSERT(table.count > 0 && fabs(table.rows[0].measured_us - rows[i].us) < 1e-9);
        CU_ASSERT_EQUAL(table.log.wrong_line, 0);
        if (error.status != RONDE_OK)
            suite_note("header %zu: %s", i, error.message);
        ronde_published_close(&table);
    }
}

/* Of several runs each has its own settings, ranks and collective, and rows of the first stay as they were. */
static void runs_do_not_mix(void)
{
    static const char text[] =
        "# nThread 1 nGpus 8 minBytes 8\n# Collective test starting: all_reduce_perf\n"
        "# size count type redop root time algbw busbw #wrong\n"
        "1048576 262144 float sum -1 50.00 20.97 36.70 0\n"
        "# nThread 1 nGpus 4 minBytes 8\n# Collective test starting: all_gather_perf\n"
        "# size count type redop root time algbw busbw #wrong\n"
        "1048576 65536 float none -1 50.00 20.97 15.73 0\n"
        "2097152 131072 float none -1 100.00 20.97 15.73 0\n";
    struct ronde_published table;
    struct ronde_error error;
    CU_ASSERT_EQUAL_FATAL(read_text(text, &table, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(table.count, 3);
    CU_ASSERT_EQUAL(table.rows[0].call.collective, RONDE_ALL_REDUCE);
    CU_ASSERT_EQUAL(table.rows[0].call.ranks, 8);
    for (size_t r = 1; r < 3; r++) {
        CU_ASSERT_EQUAL(table.rows[r].call.collective, RONDE_ALL_GATHER);
        CU_ASSERT_EQUAL(table.rows[r].call.ranks, 4);
        CU_ASSERT_EQUAL(table.rows[r].line, 7 + r);
    }
    ronde_published_close(&table);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"whatever_stands_before_a_row_is_passed_over", whatever_stands_before_a_row_is_passed_over},
        {"types_operators_and_roots_may_be_left_out", types_operators_and_roots_may_be_left_out},
        {"halves_that_are_not_there_are_no_rows", halves_that_are_not_there_are_no_rows},
        {"wrong_results_are_told", wrong_results_are_told},
        {"rows_may_end_on_a_later_line", rows_may_end_on_a_later_line},
        {"a_last_line_may_be_cut", a_last_line_may_be_cut},
        {"lines_may_be_of_any_length", lines_may_be_of_any_length},
        {"what_is_no_row_is_left_out_with_its_line", what_is_no_row_is_left_out_with_its_line},
        {"headers_say_what_columns_are", headers_say_what_columns_are},
        {"runs_do_not_mix", runs_do_not_mix},
    };
    return suite_run("nccl_log_rows", cases, sizeof cases / sizeof cases[0]);
}
