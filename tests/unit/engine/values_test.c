/*
 * Numbers, sizes and misspelt names in texts: what is printed is read as the same number, ranges end where they say, and the
 * nearest name is the nearest by edit distance, worked out the slow way.
 */
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void sizes_are_read_as_they_were_printed(void)
{
    uint64_t state = 41;
    for (uint32_t round = 0; round < 2000; round++) {
        char text[RONDE_SIZE_TEXT_BYTES];
        uint64_t read = 0;
        struct ronde_error error = {0};
        const uint64_t shift = 10 * (buffers_draw(&state) % 6);
        const uint64_t most = UINT64_C(1) << 53;
        const uint64_t bytes = (buffers_draw(&state) % most >> shift >> buffers_draw(&state) % 20)
                               << shift;
        CU_ASSERT_EQUAL(ronde_size_parse(ronde_size_text(bytes, text), &read, &error), RONDE_OK);
        CU_ASSERT_EQUAL(read, bytes);
        if (read != bytes)
            suite_note("%" PRIu64 " is printed as %s", bytes, text);
        /* No shorter form would do: a number with a letter is no multiple of 1024. */
        uint64_t number = 0;
        char letter = 0;
        CU_ASSERT(sscanf(text, "%" SCNu64 "%c", &number, &letter) >= 1);
        CU_ASSERT(bytes == 0 || number % 1024 != 0 || letter == 'P');
    }
}

/* The largest size is read as it is, and the next ones are not read as it. */
static void sizes_end_where_a_double_is_exact(void)
{
    static const char *const beyond[] = {"9007199254740993", "9007199254740993B", "8193T",
                                         "18446744073709551616", "99999999999999999999999K"};
    uint64_t bytes = 0;
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_size_parse("9007199254740991", &bytes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(bytes, (UINT64_C(1) << 53) - 1);
    CU_ASSERT_EQUAL(ronde_size_parse("9007199254740992", &bytes, &error), RONDE_OK);
    CU_ASSERT_EQUAL(bytes, UINT64_C(1) << 53);
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        struct ronde_error refused = {0};
        CU_ASSERT_EQUAL(ronde_size_parse(beyond[i], &bytes, &refused), RONDE_BAD_ARGUMENT);
        CU_ASSERT_PTR_NOT_NULL(strstr(refused.message, "whole number of bytes up to 8P"));
    }
}

static void whole_numbers_end_where_they_say(void)
{
    static const struct {
        uint64_t low, high;
    } ranges[] = {{0, 0}, {0, 1}, {5, 9}, {1, UINT32_MAX}, {0, INT64_MAX - 1}, {1024, 4096}};
    for (size_t k = 0; k < sizeof ranges / sizeof ranges[0]; k++) {
        const uint64_t low = ranges[k].low, high = ranges[k].high;
        const uint64_t tried[] = {low, high, low + (high - low) / 2, low - 1, high + 1};
        for (size_t t = 0; t < sizeof tried / sizeof tried[0]; t++) {
            char text[32];
            uint64_t out = 77;
            struct ronde_error error = {0};
            const bool is_inside = tried[t] >= low && tried[t] <= high;
            snprintf(text, sizeof text, "%" PRIu64, tried[t]);
            const enum ronde_status status =
                ronde_number_parse("number", text, low, high, &out, &error);
            CU_ASSERT_EQUAL(status, is_inside ? RONDE_OK : RONDE_BAD_ARGUMENT);
            CU_ASSERT_EQUAL(out, is_inside ? tried[t] : 77);
            CU_ASSERT(is_inside || (strstr(error.message, "number") && strstr(error.message, text)));
        }
    }
}

static void what_is_no_whole_number_is_refused(void)
{
    static const char *const texts[] = {"",
                                        " ",
                                        "-",
                                        "+",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1.0",
                                        "1e3",
                                        "0x10",
                                        "1,000",
                                        "one",
                                        "1\n",
                                        "\xc2\xb2",
                                        "18446744073709551616",
                                        "99999999999999999999999"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        uint64_t wide = 77;
        uint32_t narrow = 77;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_number_parse("number", texts[k], 0, INT64_MAX, &wide, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT_EQUAL(ronde_count_parse("count", texts[k], 0, &narrow, &error),
                        RONDE_BAD_ARGUMENT);
        CU_ASSERT(wide == 77 && narrow == 77);
        if (wide != 77)
            suite_note("\"%s\" was read as %" PRIu64, texts[k], wide);
    }
}

static void fractions_of_a_size_are_whole_bytes(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0.5K", 512},        {"1.25K", 1280},  {"0.0009765625K", 1},
                {"2.0G", 2147483648}, {"1.000K", 1024}, {"8P", UINT64_C(9007199254740992)}};
    static const char *const bad[] = {"0.5",   "0.3K",  "1.0000001K", "8.5P", ".5M",
                                      "1..5K", "1.5.K", "1.5KK",      "K",    ".K",
                                      "1.K.",  "1.5 K", "1.5Ki5"};
    for (size_t k = 0; k < sizeof good / sizeof good[0]; k++) {
        uint64_t bytes = 0;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_size_parse(good[k].text, &bytes, &error), RONDE_OK);
        CU_ASSERT_EQUAL(bytes, good[k].bytes);
        if (bytes != good[k].bytes)
            suite_note("%s: %" PRIu64 " %s", good[k].text, bytes, error.message);
    }
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        uint64_t bytes = 77;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_size_parse(bad[k], &bytes, &error), RONDE_BAD_ARGUMENT);
        CU_ASSERT(strstr(error.message, bad[k]) && bytes == 77);
        if (error.status == RONDE_OK)
            suite_note("\"%s\" was read as %" PRIu64, bad[k], bytes);
    }
}

/* Levenshtein's distance by its definition. */
static uint32_t distance(const char *a, const char *b)
{
    if (!*a || !*b)
        return (uint32_t)(strlen(a) + strlen(b));
    const uint32_t change = distance(a + 1, b + 1) + (*a != *b);
    if (*a == *b)
        return change;
    const uint32_t left_out = distance(a + 1, b) + 1, put_in = distance(a, b + 1) + 1;
    const uint32_t least = left_out < put_in ? left_out : put_in;
    return least < change ? least : change;
}

static void the_nearest_name_is_the_nearest(void)
{
    static const char *const names[] = {"ring", "tree", "direct", "chain", "torus", "rings"};
    static const char alphabet[] = "ringtechads";
    uint64_t state = 43;
    uint32_t suggested = 0;
    for (uint32_t round = 0; round < 400; round++) {
        char text[8];
        uint32_t least = UINT32_MAX;
        snprintf(text, sizeof text, "%s", names[buffers_draw(&state) % 6]);
        for (uint64_t edits = buffers_draw(&state) % 4; edits > 0; edits--)
            text[buffers_draw(&state) % strlen(text)] =
                alphabet[buffers_draw(&state) % (sizeof alphabet - 1)];
        for (uint32_t k = 0; k < 6; k++) {
            const uint32_t now = distance(text, names[k]);
            least = now < least ? now : least;
        }
        const char *found = ronde_nearest(text, names, 6);
        const uint32_t limit = ((uint32_t)strlen(text) + 2) / 3;
        CU_ASSERT_EQUAL(found != NULL, least <= limit);
        if (found)
            CU_ASSERT_EQUAL(distance(text, found), least);
        suggested += found != NULL;
    }
    CU_ASSERT(suggested > 100 && suggested < 400);
}

static void names_that_are_too_long_are_no_misspelling(void)
{
    char text[200];
    const char *const names[] = {text};
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    CU_ASSERT_PTR_NULL(ronde_nearest("aaaa", names, 1));
    CU_ASSERT_PTR_NULL(ronde_nearest(text, names, 1));
    CU_ASSERT_PTR_NULL(ronde_nearest("ring", names, 0));
    CU_ASSERT_PTR_NULL(ronde_nearest("", names, 0));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"sizes_are_read_as_they_were_printed", sizes_are_read_as_they_were_printed},
        {"sizes_end_where_a_double_is_exact", sizes_end_where_a_double_is_exact},
        {"whole_numbers_end_where_they_say", whole_numbers_end_where_they_say},
        {"what_is_no_whole_number_is_refused", what_is_no_whole_number_is_refused},
        {"fractions_of_a_size_are_whole_bytes", fractions_of_a_size_are_whole_bytes},
        {"the_nearest_name_is_the_nearest", the_nearest_name_is_the_nearest},
        {"names_that_are_too_long_are_no_misspelling", names_that_are_too_long_are_no_misspelling},
    };
    return suite_run("values", cases, sizeof cases / sizeof cases[0]);
}
