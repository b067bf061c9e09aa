/** What an error keeps of a message: one line, whole where it is short enough, both ends of a longer one. */
#include "support/suite.h"

#include "ronde/status.h"
#include "ronde/utf8.h"

#include <stdlib.h>
#include <string.h>

#define END ": cannot be written; name another file"

/* The message about a name of so many times a text. */
static struct ronde_error fail_with(const char *text, size_t count)
{
    struct ronde_error error = {0};
    char *name = calloc(count * strlen(text) + 1, 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(name);
    for (size_t i = 0; i < count; i++)
        strcat(name, text);
    CU_ASSERT_EQUAL(ronde_fail(&error, RONDE_IO, "name %s%s", name, END), RONDE_IO);
    free(name);
    return error;
}

static bool ends_so(const struct ronde_error *error)
{
    const size_t bytes = strlen(error->message), end = strlen(END);
    return bytes >= end && strcmp(error->message + bytes - end, END) == 0;
}

/* Of a name of any length, what is wrong with it and what to do are still said. */
static void a_long_message_lacks_its_middle(void)
{
    const size_t room = RONDE_ERROR_MESSAGE_BYTES - 1 - strlen("name " END);
    for (size_t count = room - 8; count <= 4096; count += count < room + 8 ? 1 : 397) {
        const struct ronde_error error = fail_with("x", count);
        CU_ASSERT_EQUAL(strncmp(error.message, "name xxx", 8), 0);
        CU_ASSERT_TRUE(ends_so(&error));
        CU_ASSERT_EQUAL(strstr(error.message, " ... ") != NULL, count > room);
        CU_ASSERT(strlen(error.message) ==
                  (count > room ? RONDE_ERROR_MESSAGE_BYTES - 1 : strlen("name " END) + count));
    }
}

static void no_character_is_cut(void)
{
    static const char *const texts[] = {"m\xc3\xbc", "\xe2\x82\xac", "\xf0\x9f\x98\x80",
                                        "a\xf0\x9f\x98\x80"};
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; t++)
        for (size_t count = 500; count < 508; count++) {
            const struct ronde_error error = fail_with(texts[t], count);
            CU_ASSERT_TRUE(ends_so(&error));
            CU_ASSERT_FALSE(ronde_utf8_has_control(error.message));
        }
}

/* Bytes that are no characters, however many: still a message that ends. */
static void what_is_no_text_is_cut_anywhere(void)
{
    const struct ronde_error error = fail_with("\x80", 3000);
    CU_ASSERT_TRUE(ends_so(&error));
    CU_ASSERT(strlen(error.message) < RONDE_ERROR_MESSAGE_BYTES);
}

static void a_message_is_one_line(void)
{
    struct ronde_error error = {0};
    (void)ronde_fail(&error, RONDE_BAD_INPUT, "a\nb\x1b[31mc\x7f");
    CU_ASSERT_STRING_EQUAL(error.message, "a?b?[31mc?");
    (void)ronde_fail(&error, RONDE_IO, "second");
    CU_ASSERT_EQUAL(error.status, RONDE_BAD_INPUT);
    CU_ASSERT_STRING_EQUAL(error.message, "a?b?[31mc?");
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_long_message_lacks_its_middle", a_long_message_lacks_its_middle},
        {"no_character_is_cut", no_character_is_cut},
        {"what_is_no_text_is_cut_anywhere", what_is_no_text_is_cut_anywhere},
        {"a_message_is_one_line", a_message_is_one_line},
    };
    return suite_run("status", cases, sizeof cases / sizeof cases[0]);
}
