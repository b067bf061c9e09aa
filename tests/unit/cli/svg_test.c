/*
 * Names of pictures and text inside them: what is no SVG is refused with a way out, and whatever bytes a name has, the
 * picture is one that an XML reader takes.
 */
#include "support/suite.h"

#include "cli/draw/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is printed of a text; free it. */
static char *printed(const char *text)
{
    char *out = NULL;
    size_t bytes = 0;
    FILE *file = open_memstream(&out, &bytes);
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    ronde_markup_print(file, text);
    CU_ASSERT_EQUAL(fclose(file), 0);
    return out;
}

/* U+FFFD, which stands for what is no character. */
#define NONE "\xef\xbf\xbd"

static void text_is_written_out(void)
{
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"", ""},
        {"plain text, 4 \"ranks\"", "plain text, 4 \"ranks\""},
        {"a<b>&c", "a&lt;b&gt;&amp;c"},
        {"&lt;", "&amp;lt;"},
        {"<<>>", "&lt;&lt;&gt;&gt;"},
        {"\xc3\xa9t\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\x80",
         "\xc3\xa9t\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\x80"},
        {"a\x01\nb", "a" NONE NONE "b"},
        {"\x1f", NONE},
        {"\x80z", NONE "z"},
        {"\xffz", NONE "z"},
        {"\xc3", NONE},
        {"\xc3<", NONE "&lt;"},
        {"\xc0\x80", NONE NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *out = printed(rows[i].text);
        CU_ASSERT_STRING_EQUAL(out, rows[i].expected);
        if (strcmp(out, rows[i].expected) != 0)
            suite_note("row %zu: \"%s\"", i, out);
        free(out);
    }
}

/* Whether an XML reader takes it as text: no control character, no markup but entities, and UTF-8 as it should be. */
static bool is_fine(const unsigned char *text)
{
    while (*text) {
        const unsigned follow = *text < 0x80 ? 0 : *text < 0xe0 ? 1 : *text < 0xf0 ? 2 : 3;
        if (*text < 0x20 || *text == '<' || *text == '>' || (*text >= 0x80 && *text < 0xc2) ||
            *text > 0xf4)
            return false;
        if (*text == '&' && strncmp((const char *)text, "&lt;", 4) != 0 &&
            strncmp((const char *)text, "&gt;", 4) != 0 &&
            strncmp((const char *)text, "&amp;", 5) != 0)
            return false;
        for (unsigned i = 1; i <= follow; i++)
            if ((text[i] & 0xc0) != 0x80)
                return false;
        text += 1 + follow;
    }
    return true;
}

/* Every pair of bytes, between letters. */
static void no_pair_of_bytes_spoils_a_picture(void)
{
    uint32_t wrong = 0;
    for (unsigned first = 1; first < 256; first++)
        for (unsigned second = 1; second < 256; second += first < 0x80 ? 7 : 1) {
            const char text[] = {'a', (char)first, (char)second, 'z', '\0'};
            char *out = printed(text);
            const size_t length = strlen(out);
            wrong += !is_fine((unsigned char *)out) || out[0] != 'a' || out[length - 1] != 'z';
            free(out);
        }
    CU_ASSERT_EQUAL(wrong, 0);
}

static void names_say_what_a_picture_is(void)
{
    static const struct {
        const char *name;
        bool is_svg;
        const char *other; /* refused as this; NULL = taken */
    } rows[] = {
        {"a.svg", true, NULL},      {"a.SVG", true, NULL},       {"dir.png/a.Svg", true, NULL},
        {"a", false, NULL},         {"", false, NULL},           {"svg", false, NULL},
        {"a.svg.txt", false, NULL}, {"a.txt", false, NULL},      {"a.", false, NULL},
        {"a.png", false, "png"},    {"a.svg.PNG", false, "png"}, {"/tmp/b.pdf", false, "pdf"},
        {".jpg", false, "jpg"},     {"a.JPeg", false, "jpeg"},   {"a.gif", false, "gif"},
        {"a.ps", false, "ps"},      {"a.eps", false, "eps"},     {"a.bmp", false, "bmp"},
        {"a.tif", false, "tif"},    {"a.tiff", false, "tiff"},   {"a.webp", false, "webp"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ronde_error error = {0};
        char makes[32];
        const enum ronde_status status = ronde_picture_check(rows[i].name, &error);
        CU_ASSERT_EQUAL(ronde_picture_is(rows[i].name, ".svg"), rows[i].is_svg);
        CU_ASSERT_EQUAL(status, rows[i].other ? RONDE_BAD_ARGUMENT : RONDE_OK);
        if (!rows[i].other)
            continue;
        snprintf(makes, sizeof makes, "makes a %s", rows[i].other);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, makes));
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "call it x.svg"));
        CU_ASSERT_EQUAL(strncmp(error.message, rows[i].name, strlen(rows[i].name)), 0);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"text_is_written_out", text_is_written_out},
        {"no_pair_of_bytes_spoils_a_picture", no_pair_of_bytes_spoils_a_picture},
        {"names_say_what_a_picture_is", names_say_what_a_picture_is},
    };
    return suite_run("svg", cases, sizeof cases / sizeof cases[0]);
}
