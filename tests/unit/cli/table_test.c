/*
 * The printer: rows as lines of tables, CSV and JSON; cells: as many characters as a column has, the value that was meant within half of the last digit, and
 * heads above their columns.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "cli/print/printer.h"

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
    static const struct {
        double relative;
        const char *text;
    } errors[] = {
        {0.123, "+12.3%"}, {-0.05, "-5.0%"}, {0.0, "+0.0%"}, {12.34, "+1234%"}, {-1.0, "-100.0%"}};
    const struct ronde_column column = {"error", "error", "(%)", RONDE_CELL_ERROR, 8, false};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        const struct ronde_field field = ronde_field_real("error", errors[i].relative);
        CU_ASSERT_STRING_EQUAL(ronde_cell_of(&column, &(struct ronde_row){&field, 1}).text,
                               errors[i].text);
    }
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

static const struct ronde_column columns[] = {
    {"bytes", "size", "(B)", RONDE_CELL_SIZE, 8, false},
    {"time_ns", "time", "(us)", RONDE_CELL_NS, 8, false},
    {"share", "bound", "(%)", RONDE_CELL_PERCENT, 6, true},
    {"name", "name", "", RONDE_CELL_PLAIN, 7, false},
};
static const struct ronde_table table = RONDE_TABLE(columns);

/* Head and row, as the sink has them; `row` NULL: the head alone. */
static void print(struct ronde_sink sink, const struct ronde_row *row, char text[512])
{
    struct ronde_error error;
    sink.file = fmemopen(text, 512, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(sink.file);
    ronde_sink_head(&sink, &table);
    if (row)
        CU_ASSERT_EQUAL(ronde_sink_print(&sink, &table, row, &error), RONDE_OK);
    fclose(sink.file);
}

static const struct ronde_field fields[] = {
    {.name = "name", .kind = RONDE_FIELD_TEXT, .text = "ring"},
    {.name = "bytes", .kind = RONDE_FIELD_INTEGER, .integer = 4096},
    {.name = "share", .kind = RONDE_FIELD_REAL, .real = 0.5},
    {.name = "time_ns", .kind = RONDE_FIELD_REAL, .real = 1234},
    {.name = "unseen", .kind = RONDE_FIELD_BOOLEAN, .integer = 1},
};

static void heads_and_rows_line_up(void)
{
    char text[512];
    const struct ronde_row row = RONDE_ROW(fields);
    print((struct ronde_sink){.file = NULL}, &row, text);
    CU_ASSERT_STRING_EQUAL(text, "#   size     time    name\n"
                                 "#    (B)     (us)\n"
                                 "      4K     1.23    ring\n");
    print((struct ronde_sink){.is_wide = true}, &row, text);
    CU_ASSERT_STRING_EQUAL(text, "#   size     time  bound    name\n"
                                 "#    (B)     (us)    (%)\n"
                                 "      4K     1.23   50.0    ring\n");
    print((struct ronde_sink){.is_markdown = true}, &row, text);
    CU_ASSERT_STRING_EQUAL(text, "| size (B) | time (us) | bound (%) | name |\n"
                                 "|---|---|---|---|\n"
                                 "| 4K | 1.23 | 50.0 | ring |\n");
}

/* Programs are told every field, whether a table shows it or not. */
static void a_row_is_the_same_in_every_format(void)
{
    char text[512];
    const struct ronde_row row = RONDE_ROW(fields);
    print((struct ronde_sink){.csv = true}, &row, text);
    CU_ASSERT_STRING_EQUAL(text, "name,bytes,share,time_ns,unseen\nring,4096,0.5,1234,true\n");
    if (!ronde_json_available(&(const char *){NULL})) {
        suite_note("no jansson: no JSON to compare with");
        return;
    }
    print((struct ronde_sink){.json = true}, &row, text);
    CU_ASSERT_STRING_EQUAL(text, "{\"name\": \"ring\", \"bytes\": 4096, \"share\": 0.5, "
                                 "\"time_ns\": 1234.0, \"unseen\": true}\n");
}

/* Sentences in the last column stay within a hundred characters, each line below the first; --wide breaks none. */
static void sentences_go_on_below(void)
{
    static const struct ronde_column said[] = {
        {"name", "constant", "", RONDE_CELL_PLAIN, 70, false},
        {"how", "measured by", "", RONDE_CELL_PLAIN, 0, false},
    };
    static const struct ronde_table sentences = RONDE_TABLE(said);
    static const char how[] = "streams one way, on two cores and on all of them";
    const struct ronde_field both[] = {ronde_field_text("name", "copy"),
                                       ronde_field_text("how", how)};
    const struct ronde_row row = RONDE_ROW(both);
    char text[512], expected[512];
    for (int is_wide = 0; is_wide < 2; is_wide++) {
        struct ronde_sink sink = {.file = fmemopen(text, sizeof text, "w"), .is_wide = is_wide};
        CU_ASSERT_PTR_NOT_NULL_FATAL(sink.file);
        CU_ASSERT_EQUAL(ronde_sink_print(&sink, &sentences, &row, NULL), RONDE_OK);
        fclose(sink.file);
        snprintf(expected, sizeof expected, "%70s %s\n%*s%s", "copy",
                 is_wide ? how : "streams one way, on two cores", is_wide ? 0 : 71, "",
                 is_wide ? "" : "and on all of them\n");
        CU_ASSERT_STRING_EQUAL(text, expected);
    }
}

/* What a row does not have, has as null, or has as no text at all. */
static void what_is_not_there_is_a_dash(void)
{
    char text[512];
    const struct ronde_field nulls[] = {
        {.name = "bytes", .kind = RONDE_FIELD_NULL},
        {.name = "name", .kind = RONDE_FIELD_TEXT, .text = ""},
    };
    const struct ronde_row row = RONDE_ROW(nulls);
    print((struct ronde_sink){.file = NULL}, &row, text);
    CU_ASSERT_STRING_EQUAL(strchr(strchr(text, '\n') + 1, '\n') + 1, "       -        -       -\n");
}

static struct ronde_cell cell(enum ronde_cell_form form, struct ronde_field field)
{
    const struct ronde_column column = {"of", "", "", form, 0, false};
    field.name = "of";
    return ronde_cell_of(&column, &(struct ronde_row){&field, 1});
}

static void every_form_says_what_it_shows(void)
{
    static const char *const labels[] = {"symmetric", "approximate"};
    const struct ronde_field texts = {.kind = RONDE_FIELD_TEXTS, .texts = labels, .count = 2};
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, texts).text, "symmetric,approximate");
    static const uint32_t ranks[] = {0, 1, 2, 3, 8, 16, 24, 30, 31};
    struct ronde_field numbers = {.kind = RONDE_FIELD_NUMBERS, .numbers = ranks, .count = 9};
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, numbers).text, "0-3,8-24:8,30,31");
    numbers.count = 2;
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, numbers).text, "0,1");
    numbers.count = 0;
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, numbers).text, "-");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, ronde_field_boolean("", true)).text, "yes");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, ronde_field_real("", 2031616)).text, "2031616");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_PLAIN, ronde_field_real("", 1.75)).text, "1.75");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_NS, ronde_field_integer("", 1500)).text, "1.50");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_US, ronde_field_real("", 1.5)).text, "1.50");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_GBPS, ronde_field_real("", 12.345)).text, "12.35");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_ERROR, ronde_field_real("", -0.05)).text, "-5.0%");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_RATIO, ronde_field_real("", 1.5)).text, "1.50");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_SAVING, ronde_field_real("", 1500)).text, "+1.50");
    CU_ASSERT_STRING_EQUAL(cell(RONDE_CELL_NS, ronde_field_real("", (double)NAN)).text, "-");
}

/* A text that is longer than a cell is cut, not written past its end; one that is longer than its column stays whole. */
static void long_texts_do_no_harm(void)
{
    char text[200], printed[512];
    const char *const both[] = {text, text};
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    const struct ronde_field texts = {.kind = RONDE_FIELD_TEXTS, .texts = both, .count = 2};
    CU_ASSERT_EQUAL(strlen(cell(RONDE_CELL_PLAIN, ronde_field_text("", text)).text),
                    RONDE_CELL_BYTES - 1);
    CU_ASSERT_EQUAL(strlen(cell(RONDE_CELL_PLAIN, texts).text), RONDE_CELL_BYTES - 1);
    const struct ronde_field long_name = ronde_field_text("name", "recursive_doubling");
    print((struct ronde_sink){.file = NULL}, &(struct ronde_row){&long_name, 1}, printed);
    CU_ASSERT_PTR_NOT_NULL(strstr(printed, "       -        - recursive_doubling\n"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"times_fit_seven_characters", times_fit_seven_characters},
        {"rates_have_two_decimals_below_a_thousand", rates_have_two_decimals_below_a_thousand},
        {"errors_have_a_sign", errors_have_a_sign},
        {"sizes_about_have_three_digits", sizes_about_have_three_digits},
        {"heads_and_rows_line_up", heads_and_rows_line_up},
        {"a_row_is_the_same_in_every_format", a_row_is_the_same_in_every_format},
        {"sentences_go_on_below", sentences_go_on_below},
        {"what_is_not_there_is_a_dash", what_is_not_there_is_a_dash},
        {"every_form_says_what_it_shows", every_form_says_what_it_shows},
        {"long_texts_do_no_harm", long_texts_do_no_harm},
    };
    return suite_run("table", cases, sizeof cases / sizeof cases[0]);
}
