/* Rows as JSON and CSV and back: what is printed is read as the same values, and what is no row is refused. */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/field.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_json(void)
{
    const char *why;
    const bool is_available = ronde_json_available(&why);
    if (!is_available)
        suite_skip("%s", why);
    return is_available;
}

/* A row as one line of JSON. */
static enum ronde_status print_json(const struct ronde_field *fields, size_t count, char *line,
                                    size_t bytes)
{
    const struct ronde_row row = {fields, count};
    struct ronde_error error = {0};
    FILE *file = fmemopen(line, bytes, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    const enum ronde_status status = ronde_json_print(&row, file, &error);
    fclose(file);
    CU_ASSERT(status == RONDE_OK || error.message[0] != '\0');
    return status;
}

static void numbers_come_back_as_they_were(void)
{
    static const double reals[] = {0.0,     0.1,          1.0 / 3.0,           1e-300, DBL_MAX,
                                   DBL_MIN, DBL_TRUE_MIN, 123456789.123456789, -2.5,   1e22};
    static const int64_t integers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 4294967296};
    char line[256], texts[8];
    struct ronde_error error = {0};
    if (!has_json())
        return;
    for (size_t k = 0; k < sizeof reals / sizeof reals[0]; k++) {
        struct ronde_field field = ronde_field_real("value", reals[k]);
        CU_ASSERT_EQUAL(print_json(&field, 1, line, sizeof line), RONDE_OK);
        field = ronde_field_null("value");
        CU_ASSERT_EQUAL(ronde_json_read(line, &field, 1, texts, sizeof texts, &error), RONDE_OK);
        CU_ASSERT(field.kind == RONDE_FIELD_REAL && field.real == reals[k]);
    }
    for (size_t k = 0; k < sizeof integers / sizeof integers[0]; k++) {
        struct ronde_field field = ronde_field_integer("value", (uint64_t)integers[k]);
        CU_ASSERT_EQUAL(print_json(&field, 1, line, sizeof line), RONDE_OK);
        field = ronde_field_null("value");
        CU_ASSERT_EQUAL(ronde_json_read(line, &field, 1, texts, sizeof texts, &error), RONDE_OK);
        CU_ASSERT(field.kind == RONDE_FIELD_INTEGER && field.integer == integers[k]);
    }
}

static void texts_come_back_as_one(void)
{
    struct ronde_field fields[] = {ronde_field_null("a"), ronde_field_null("b"),
                                   ronde_field_null("c")};
    char texts[16];
    struct ronde_error error = {0};
    if (!has_json())
        return;
    CU_ASSERT_EQUAL(ronde_json_read("{\"a\": [\"one\", \"two\"], \"b\": [], \"c\": {}}", fields, 3,
                                    texts, sizeof texts, &error),
                    RONDE_OK);
    CU_ASSERT_STRING_EQUAL(fields[0].text, "one;two");
    CU_ASSERT_STRING_EQUAL(fields[1].text, "");
    CU_ASSERT_EQUAL(fields[2].kind, RONDE_FIELD_NULL);
    CU_ASSERT_EQUAL(ronde_json_read("{\"a\": [\"longer than\", \"there is room\"]}", fields, 1,
                                    texts, sizeof texts, &error),
                    RONDE_BAD_INPUT);
}

static void what_is_not_finite_or_absent_is_null(void)
{
    const struct ronde_field fields[] = {ronde_field_real("a", INFINITY),
                                         ronde_field_real("b", -INFINITY),
                                         ronde_field_real("c", NAN), ronde_field_text("d", NULL),
                                         ronde_field_null("e")};
    char line[256];
    if (!has_json())
        return;
    CU_ASSERT_EQUAL(print_json(fields, 5, line, sizeof line), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(line,
                           "{\"a\": null, \"b\": null, \"c\": null, \"d\": null, \"e\": null}\n");
}

/*
 * Texts of all bytes that UTF-8 has alone, and of some pairs: escaped or not, they are read as they were. What is no UTF-8
 * comes as U+FFFD.
 */
static void texts_come_back_as_they_were(void)
{
    char line[512], texts[64], text[32];
    struct ronde_error error = {0};
    if (!has_json())
        return;
    for (unsigned byte = 1; byte < 128; byte++) {
        snprintf(text, sizeof text, "a%cb\"%c\\\xc3\xa4", (char)byte, (char)byte);
        struct ronde_field field = ronde_field_text("text", text);
        CU_ASSERT_EQUAL(print_json(&field, 1, line, sizeof line), RONDE_OK);
        /* One row stays one line. */
        CU_ASSERT_EQUAL(strcspn(line, "\n"), strlen(line) - 1);
        field = ronde_field_null("text");
        CU_ASSERT_EQUAL(ronde_json_read(line, &field, 1, texts, sizeof texts, &error), RONDE_OK);
        CU_ASSERT_EQUAL(field.kind, RONDE_FIELD_TEXT);
        CU_ASSERT_STRING_EQUAL(field.text, text);
    }
    const struct ronde_field broken = ronde_field_text("text", "\xff\xfe");
    struct ronde_field mended = ronde_field_null("text");
    CU_ASSERT_EQUAL(print_json(&broken, 1, line, sizeof line), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_json_read(line, &mended, 1, texts, sizeof texts, &error), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(mended.text, "\xef\xbf\xbd\xef\xbf\xbd");
}

static void nested_rows_and_texts_are_printed_in_order(void)
{
    static const char *const labels[] = {"one", "two, three"};
    const struct ronde_field inner[] = {ronde_field_integer("x", 1), ronde_field_boolean("y", true)};
    const struct ronde_row rows[] = {{inner, 2}, {inner, 1}};
    const struct ronde_field fields[] = {
        {.name = "labels", .kind = RONDE_FIELD_TEXTS, .texts = labels, .count = 2},
        {.name = "rows", .kind = RONDE_FIELD_ROWS, .rows = rows, .count = 2},
        {.name = "none", .kind = RONDE_FIELD_TEXTS}};
    char line[256];
    if (!has_json())
        return;
    CU_ASSERT_EQUAL(print_json(fields, 3, line, sizeof line), RONDE_OK);
    CU_ASSERT_STRING_EQUAL(line,
                           "{\"labels\": [\"one\", \"two, three\"], "
                           "\"rows\": [{\"x\": 1, \"y\": true}, {\"x\": 1}], \"none\": []}\n");
}

static void only_what_is_asked_for_is_read(void)
{
    struct ronde_field fields[] = {ronde_field_null("b"), ronde_field_null("missing"),
                                   ronde_field_null("c"), ronde_field_null("d")};
    char texts[4];
    struct ronde_error error = {0};
    if (!has_json())
        return;
    CU_ASSERT_EQUAL(
        ronde_json_read("{\"a\": \"a text that is longer than there is room for\", \"b\": true, "
                        "\"c\": [1, 2], \"d\": \"xyz\"}",
                        fields, 4, texts, sizeof texts, &error),
        RONDE_OK);
    CU_ASSERT(fields[0].kind == RONDE_FIELD_BOOLEAN && fields[0].integer == 1);
    CU_ASSERT_EQUAL(fields[1].kind, RONDE_FIELD_NULL);
    CU_ASSERT_EQUAL(fields[2].kind, RONDE_FIELD_NULL);
    CU_ASSERT_STRING_EQUAL(fields[3].text, "xyz");
}

/* The room for texts is used to its last byte and never beyond. */
static void texts_beyond_the_room_are_refused(void)
{
    if (!has_json())
        return;
    for (size_t room = 0; room < 12; room++) {
        struct ronde_field fields[] = {ronde_field_null("a"), ronde_field_null("b")};
        struct ronde_error error = {0};
        char *texts = malloc(room + 1);
        CU_ASSERT_PTR_NOT_NULL_FATAL(texts);
        const enum ronde_status status =
            ronde_json_read("{\"a\": \"abc\", \"b\": \"defg\"}", fields, 2, texts, room, &error);
        CU_ASSERT_EQUAL(status, room >= 9 ? RONDE_OK : RONDE_BAD_INPUT);
        if (status != RONDE_OK)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "texts of more than"));
        free(texts);
    }
}

static void what_is_no_object_is_refused(void)
{
    static const char *const lines[] = {"",
                                        " ",
                                        "null",
                                        "[1]",
                                        "\"a\"",
                                        "7",
                                        "{",
                                        "}",
                                        "{\"a\"}",
                                        "{\"a\": }",
                                        "{a: 1}",
                                        "{\"a\": 01}",
                                        "{\"a\": 1,}",
                                        "{\"a\": 1} x",
                                        "{\"a\": 1, \"a\": 2}",
                                        "{\"a\": 1e400}",
                                        "{\"a\": tru}",
                                        "{\"a\": \"\n\"}",
                                        "{\"a\": \"\\u12\"}",
                                        "{\"a\": 99999999999999999999}"};
    if (!has_json())
        return;
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
        struct ronde_field field = ronde_field_null("a");
        struct ronde_error error = {0};
        char texts[16];
        const enum ronde_status status =
            ronde_json_read(lines[k], &field, 1, texts, sizeof texts, &error);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(strncmp(error.message, "not a JSON object: ", 19), 0);
        if (status != RONDE_BAD_INPUT)
            suite_note("accepted: %s", lines[k]);
    }
}

/* Objects within objects, a thousand deep: refused or read, in either case without using up the stack. */
static void deep_nesting_does_no_harm(void)
{
    static char line[200016];
    struct ronde_field field = ronde_field_null("z");
    struct ronde_error error = {0};
    char texts[16];
    if (!has_json())
        return;
    size_t used = 0;
    for (uint32_t k = 0; k < 30000; k++)
        used += (size_t)snprintf(line + used, sizeof line - used, "{\"a\":");
    CU_ASSERT_EQUAL(ronde_json_read(line, &field, 1, texts, sizeof texts, &error), RONDE_BAD_INPUT);
}

/* A cell of CSV as RFC 4180 reads it; returns what follows its end. */
static const char *read_cell(const char *at, char *out)
{
    if (*at != '"') {
        while (*at && *at != ',' && *at != '\n')
            *out++ = *at++;
        *out = '\0';
        return at;
    }
    for (at++; *at; at++) {
        if (*at == '"' && at[1] != '"')
            break;
        at += *at == '"';
        *out++ = *at;
    }
    *out = '\0';
    return at + (*at == '"');
}

/* Random cells of the characters that matter. */
static void csv_cells_come_back_as_they_were(void)
{
    static const char alphabet[] = "a,\"\r\n; 1";
    uint64_t state = 21;
    for (uint32_t round = 0; round < 300; round++) {
        char texts[4][12], line[256] = "", cell[32];
        struct ronde_field fields[4];
        for (uint32_t k = 0; k < 4; k++) {
            const size_t length = buffers_draw(&state) % 10;
            for (size_t i = 0; i < length; i++)
                texts[k][i] = alphabet[buffers_draw(&state) % (sizeof alphabet - 1)];
            texts[k][length] = '\0';
            fields[k] = ronde_field_text("text", texts[k]);
        }
        const struct ronde_row row = {fields, 4};
        FILE *file = fmemopen(line, sizeof line, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        ronde_csv_print(&row, file);
        fclose(file);
        const char *at = line;
        for (uint32_t k = 0; k < 4; k++) {
            at = read_cell(at, cell);
            CU_ASSERT_STRING_EQUAL(cell, texts[k]);
            CU_ASSERT_EQUAL(*at, k < 3 ? ',' : '\n');
            at++;
        }
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"numbers_come_back_as_they_were", numbers_come_back_as_they_were},
        {"texts_come_back_as_one", texts_come_back_as_one},
        {"what_is_not_finite_or_absent_is_null", what_is_not_finite_or_absent_is_null},
        {"texts_come_back_as_they_were", texts_come_back_as_they_were},
        {"nested_rows_and_texts_are_printed_in_order", nested_rows_and_texts_are_printed_in_order},
        {"only_what_is_asked_for_is_read", only_what_is_asked_for_is_read},
        {"texts_beyond_the_room_are_refused", texts_beyond_the_room_are_refused},
        {"what_is_no_object_is_refused", what_is_no_object_is_refused},
        {"deep_nesting_does_no_harm", deep_nesting_does_no_harm},
        {"csv_cells_come_back_as_they_were", csv_cells_come_back_as_they_were},
    };
    return suite_run("json", cases, sizeof cases / sizeof cases[0]);
}
