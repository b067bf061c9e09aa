/*
 * Cells and rows of tables: as many characters as a column has, the value that was meant within half of the last digit, and
 * heads above their columns.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "cli/print/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Microseconds between 0.01 and ten seconds fit seven characters, and say what they were to half of the last digit. */
static void times_fit_seven_characters(void)
{
    uint64_t state = 61;
    static const double edges[] = {0.0,        999.994e3, 999.996e3,   1000e3,  99999.94e3,
                                   99999.96e3, 100000e3,  9999999.4e3, 0.004e3, 10.0};
    for (uint32_t round = 0; round < 3000; round++) {
        const size_t edge = sizeof edges / sizeof edges[0];
        const double us = round < edge ? edges[round] / 1e3
                                       : exp((double)(buffers_draw(&state) % 16000) / 1000.0) / 1e2;
        const struct ronde_cell cell = ronde_cell_us(us * 1e3);
        const char *dot = strchr(cell.text, '.');
        const double unit = dot ? pow(10.0, -(double)strlen(dot + 1)) : 1.0;
        CU_ASSERT(strlen(cell.text) <= 7);
        CU_ASSERT(fabs(strtod(cell.text, NULL) - us) <= 0.5000001 * unit + 1e-9 * us);
        if (strlen(cell.text) > 7)
            suite_note("%.6f us is printed as %s", us, cell.text);
    }
}

static void rates_have_two_decimals_below_a_thousand(void)
{
    CU_ASSERT_STRING_EQUAL(ronde_cell_rate(0.0).text, "0.00");
    CU_ASSERT_STRING_EQUAL(ronde_cell_rate(12.345).text, "12.35");
    CU_ASSERT_STRING_EQUAL(ronde_cell_rate(999.99).text, "999.99");
    CU_ASSERT_STRING_EQUAL(ronde_cell_rate(1000.4).text, "1000");
    CU_ASSERT_STRING_EQUAL(ronde_cell_rate(123456.7).text, "123457");
}

static void errors_have_a_sign(void)
{
    CU_ASSERT_STRING_EQUAL(ronde_cell_error(0.123).text, "+12.3%");
    CU_ASSERT_STRING_EQUAL(ronde_cell_error(-0.05).text, "-5.0%");
    CU_ASSERT_STRING_EQUAL(ronde_cell_error(0.0).text, "+0.0%");
    CU_ASSERT_STRING_EQUAL(ronde_cell_error(12.34).text, "+1234%");
    CU_ASSERT_STRING_EQUAL(ronde_cell_error(-1.0).text, "-100.0%");
}

/* Three digits, whatever the size: the number is within half a unit of the third. */
static void sizes_about_have_three_digits(void)
{
    uint64_t state = 62;
    for (uint32_t round = 0; round < 3000; round++) {
        static const char letters[] = "KMGTP";
        const double bytes = exp2((double)(buffers_draw(&state) % 59000) / 1000.0);
        const struct ronde_cell cell = ronde_cell_about(bytes);
        char *end = NULL;
        double value = strtod(cell.text, &end);
        const char *letter = *end ? strchr(letters, *end) : NULL;
        size_t digits = 0;
        for (const char *at = cell.text; at < end; at++)
            digits += *at != '.';
        for (const char *step = letters; letter && step <= letter; step++)
            value *= 1024.0;
        CU_ASSERT(digits <= 3);
        CU_ASSERT(fabs(value / bytes - 1.0) <= (bytes < 100.0 ? 0.5 : 0.0051));
        CU_ASSERT(strlen(cell.text) <= 5);
    }
}

static const struct ronde_column columns[] = {{"size", "(B)", 8},
                                              {"time", "(us)", 7},
                                              {"name", "", 6}};

static const struct ronde_table table = {columns, 3, 2};

static void print(char *text, size_t bytes, const struct ronde_cell *cells)
{
    FILE *file = fmemopen(text, bytes, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    if (cells)
        ronde_table_row(file, &table, cells);
    else
        ronde_table_head(file, &table);
    fclose(file);
}

static void heads_and_rows_line_up(void)
{
    char head[256], row[256];
    const struct ronde_cell cells[] = {ronde_cell_size(4096), ronde_cell_us(1234.0),
                                       ronde_cell_text("ring")};
    const struct ronde_cell empty[3] = {{""}, {""}, {""}};
    print(head, sizeof head, NULL);
    print(row, sizeof row, cells);
    CU_ASSERT_STRING_EQUAL(head, "#   size     time    name\n#    (B)     (us)\n");
    CU_ASSERT_STRING_EQUAL(row, "      4K     1.23    ring\n");
    CU_ASSERT_EQUAL(strcspn(head, "\n"), strcspn(row, "\n"));
    print(row, sizeof row, empty);
    CU_ASSERT_STRING_EQUAL(row, "       -        -       -\n");
}

/* A text that is longer than a cell is cut, not written past its end; one that is longer than its column stays whole. */
static void long_texts_do_no_harm(void)
{
    char text[200], row[256];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_EQUAL(strlen(ronde_cell_text(text).text), RONDE_CELL_BYTES - 1);
    const struct ronde_cell cells[] = {ronde_cell_integer(UINT64_MAX), ronde_cell_text(""),
                                       ronde_cell_text("recursive_doubling")};
    print(row, sizeof row, cells);
    CU_ASSERT_STRING_EQUAL(row, "18446744073709551615        -  recursive_doubling\n");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"times_fit_seven_characters", times_fit_seven_characters},
        {"rates_have_two_decimals_below_a_thousand", rates_have_two_decimals_below_a_thousand},
        {"errors_have_a_sign", errors_have_a_sign},
        {"sizes_about_have_three_digits", sizes_about_have_three_digits},
        {"heads_and_rows_line_up", heads_and_rows_line_up},
        {"long_texts_do_no_harm", long_texts_do_no_harm},
    };
    return suite_run("table", cases, sizeof cases / sizeof cases[0]);
}
