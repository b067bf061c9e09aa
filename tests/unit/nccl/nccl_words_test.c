/**
 * Lines of words, of which the files of NCCL's model are made: what a line is cut into, where a comment begins, how long a
 * line may be, and what is refused with which line.
 */
#include "support/files.h"
#include "support/suite.h"

#include "nccl/model/words.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char path[] = "nccl_words_test.txt";

/** Lines that were taken: their numbers, and their words with a bar between. */
struct taken {
    uint32_t lines[16];
    uint32_t counts[16];
    char words[16][128];
    uint32_t count;
    uint32_t refuse_at; /**< line, 0 = none */
};

static enum ronde_status take(void *self, const struct ronde_nccl_words *words,
                              struct ronde_error *error)
{
    struct taken *taken = self;
    CU_ASSERT_FATAL(taken->count < 16);
    if (words->line == taken->refuse_at)
        return ronde_nccl_words_refuse(words, error, "not %d", 7);
    char *out = taken->words[taken->count];
    size_t used = 0;
    for (uint32_t w = 0; w < words->count; w++)
        used += (size_t)snprintf(out + used, sizeof taken->words[0] - used, "%s%s", w ? "|" : "",
                                 words->word[w]);
    taken->lines[taken->count] = words->line;
    taken->counts[taken->count++] = words->count;
    return RONDE_OK;
}

static enum ronde_status read_text(const char *text, struct taken *taken, struct ronde_error *error)
{
    *error = (struct ronde_error){.status = RONDE_OK};
    CU_ASSERT_FATAL(files_write(path, text));
    const enum ronde_status status = ronde_nccl_words_read(path, take, taken, error);
    CU_ASSERT_EQUAL(unlink(path), 0);
    return status;
}

/* Blanks of every kind, a comment anywhere, lines ended by Unix, by DOS or by the end of the file. */
static void a_line_is_cut_at_blanks(void)
{
    static const struct {
        const char *text;
        uint32_t line, count;
        const char *words;
    } cases[] = {
        {"a b c\n", 1, 3, "a|b|c"},
        {"  a\t\tb  \n", 1, 2, "a|b"},
        {"a b\r\n", 1, 2, "a|b"},
        {"a b", 1, 2, "a|b"},
        {"a # b c\n", 1, 1, "a"},
        {"a#b\n", 1, 1, "a"},
        {"\n\n \t\r\na\n", 4, 1, "a"},
        {"# one\n#\n   # three\na b # four # five\n", 4, 2, "a|b"},
        {"1 2 3 4 5 6 7 8\n", 1, 8, "1|2|3|4|5|6|7|8"},
        {"1 2 3 4 5 6 7 8 # 9\n", 1, 8, "1|2|3|4|5|6|7|8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = {.count = 0};
        struct ronde_error error;
        CU_ASSERT_EQUAL(read_text(cases[i].text, &taken, &error), RONDE_OK);
        CU_ASSERT_EQUAL_FATAL(taken.count, 1);
        CU_ASSERT_EQUAL(taken.lines[0], cases[i].line);
        CU_ASSERT_EQUAL(taken.counts[0], cases[i].count);
        CU_ASSERT_STRING_EQUAL(taken.words[0], cases[i].words);
    }
}

static void a_file_without_words_is_read(void)
{
    static const char *const texts[] = {"", "\n", "# all of it", " \t \r\n\n", "#\n#\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct taken taken = {.count = 0};
        struct ronde_error error;
        CU_ASSERT_EQUAL(read_text(texts[i], &taken, &error), RONDE_OK);
        CU_ASSERT_EQUAL(taken.count, 0);
    }
}

/* Lines count from 1 with those that say nothing; what is refused ends the reading. */
static void the_first_refusal_ends_the_reading(void)
{
    struct taken taken = {.refuse_at = 4};
    struct ronde_error error;
    CU_ASSERT_EQUAL(read_text("a\n# b\nc\nd 1\ne\n", &taken, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(taken.count, 2);
    CU_ASSERT_EQUAL(taken.lines[1], 3);
    CU_ASSERT_EQUAL(error.line, 4);
    CU_ASSERT_STRING_EQUAL(error.message, "nccl_words_test.txt:4: d: not 7");
}

/* 510 bytes and a newline are a line; one more is refused, whatever is in it: words, blanks or a comment. */
static void a_line_has_a_longest(void)
{
    static const char fillings[] = {'x', ' ', '#'};
    for (size_t f = 0; f < sizeof fillings; f++)
        for (size_t length = 500; length <= 1100; length += length < 520 ? 1 : 97) {
            char text[1200] = "a\n";
            struct taken taken = {.count = 0};
            struct ronde_error error;
            memset(text + 2, fillings[f], length);
            memcpy(text + 2 + length, "\nb\n", 4);
            if (fillings[f] == 'x') /* words that a taker has room for */
                memset(text + 2 + 9, '#', 1);
            const enum ronde_status status = read_text(text, &taken, &error);
            CU_ASSERT_EQUAL(status, length <= 510 ? RONDE_OK : RONDE_BAD_INPUT);
            CU_ASSERT_EQUAL(error.line, length <= 510 ? 0 : 2);
            if (status == RONDE_OK)
                CU_ASSERT_STRING_EQUAL(taken.words[taken.count - 1], "b");
            if (status != RONDE_OK)
                CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "longer than 510 bytes"));
        }
}

static void a_25th_word_is_refused(void)
{
    struct taken taken = {.count = 0};
    struct ronde_error error;
    CU_ASSERT_EQUAL(
        read_text("\xef\xbb\xbf"
                  "a\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25\n",
                  &taken, &error),
        RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(taken.count, 1);
    /* A mark of the byte order is no part of the first word. */
    CU_ASSERT_STRING_EQUAL(taken.words[0], "a");
    CU_ASSERT_STRING_EQUAL(error.message, "nccl_words_test.txt:2: 1: more than 24 words");
}

/* A byte that ends a C string would hide the rest of its line. */
static void a_zero_byte_is_refused(void)
{
    static const char texts[][16] = {"a 1\0 2\nb\n", "\0\nb\n", "a\nb 2\n#\0\n"};
    static const size_t lengths[] = {9, 4, 9};
    static const uint32_t lines[] = {1, 1, 3};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct taken taken = {.count = 0};
        struct ronde_error error = {.status = RONDE_OK};
        FILE *file = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(file);
        CU_ASSERT_EQUAL(fwrite(texts[i], 1, lengths[i], file), lengths[i]);
        fclose(file);
        CU_ASSERT_EQUAL(ronde_nccl_words_read(path, take, &taken, &error), RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, lines[i]);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "zero byte"));
        CU_ASSERT_EQUAL(unlink(path), 0);
    }
}

static void what_is_not_a_file_is_an_io_error(void)
{
    static const char *const paths[] = {"no-such-folder/words.txt", "no-such-words.txt", "", "."};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct taken taken = {.count = 0};
        struct ronde_error error = {.status = RONDE_OK};
        CU_ASSERT_EQUAL(ronde_nccl_words_read(paths[i], take, &taken, &error), RONDE_IO);
        CU_ASSERT_EQUAL(taken.count, 0);
        CU_ASSERT_EQUAL(error.line, 0);
        CU_ASSERT_EQUAL(strncmp(error.message, paths[i], strlen(paths[i])), 0);
    }
}

static void numbers_are_within_their_bounds(void)
{
    static const struct {
        const char *word;
        bool is_taken;
        double number;
    } cases[] = {
        {"1", true, 1},       {"64", true, 64},        {"1.5", true, 1.5}, {"+2", true, 2},
        {"2e1", true, 20},    {"64.0001", false, 0},   {".999", false, 0}, {"0", false, 0},
        {"-1", false, 0},     {"nan", false, 0},       {"inf", false, 0},  {"-inf", false, 0},
        {"1e999", false, 0},  {"2x", false, 0},        {"x2", false, 0},   {"2,5", false, 0},
        {"2.5.1", false, 0},  {"--2", false, 0},       {"e1", false, 0},   {"", false, 0},
        {"1e-999", false, 0}, {"2\xc2\xa0", false, 0}, {"+", false, 0},    {".", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_nccl_words words = {"f", 9, 2, {"rate", cases[i].word}};
        struct ronde_error error = {.status = RONDE_OK};
        double number = -1;
        const enum ronde_status status = ronde_nccl_words_number(&words, 1, 1, 64, &number, &error);
        CU_ASSERT_EQUAL(status, cases[i].is_taken ? RONDE_OK : RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(error.line, cases[i].is_taken ? 0 : 9);
        if (cases[i].is_taken)
            CU_ASSERT_EQUAL(number, cases[i].number);
        if (!cases[i].is_taken)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is not a number from 1 to 64"));
    }
}

static void a_missing_number_is_refused(void)
{
    const struct ronde_nccl_words words = {"f", 3, 1, {"rate"}};
    struct ronde_error error = {.status = RONDE_OK};
    double number = 5;
    CU_ASSERT_EQUAL(ronde_nccl_words_number(&words, 1, 1, 64, &number, &error), RONDE_BAD_INPUT);
    CU_ASSERT_EQUAL(number, 5);
    CU_ASSERT_STRING_EQUAL(error.message, "f:3: rate: a number is missing");
}

static void names_are_whole_words_of_their_list(void)
{
    static const char *const names[] = {"pairs", "pcie", "p"};
    static const struct {
        const char *word;
        uint32_t count, at;
    } cases[] = {{"pairs", 2, 0}, {"pcie", 2, 1}, {"p", 2, 2},    {"pc", 2, 9},
                 {"pciex", 2, 9}, {"PCIE", 2, 9}, {"pcie", 1, 9}, {"", 2, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_nccl_words words = {"f", 3, cases[i].count, {"link", cases[i].word}};
        struct ronde_error error = {.status = RONDE_OK};
        uint32_t at = 9;
        const enum ronde_status status = ronde_nccl_words_name(&words, 1, names, 3, &at, &error);
        CU_ASSERT_EQUAL(at, cases[i].at);
        CU_ASSERT_EQUAL(status, cases[i].at < 3 ? RONDE_OK : RONDE_BAD_INPUT);
        if (status != RONDE_OK)
            CU_ASSERT_STRING_EQUAL(error.message, "f:3: link: is to be one of pairs, pcie, p");
    }
}

/* Words of any length leave the message whole: file and line come first, and it ends with a zero. */
static void long_words_do_not_break_the_message(void)
{
    static char word[501];
    static const char *names[40];
    memset(word, 'w', sizeof word - 1);
    for (size_t n = 0; n < 40; n++)
        names[n] = "a-name-of-some-length";
    const struct ronde_nccl_words words = {"folder/f", 12, 2, {word, word}};
    for (int which = 0; which < 3; which++) {
        struct ronde_error error = {.status = RONDE_OK};
        double number = 0;
        uint32_t at = 0;
        const enum ronde_status status =
            which == 0   ? ronde_nccl_words_refuse(&words, &error, "%s", word)
            : which == 1 ? ronde_nccl_words_number(&words, 1, 0, 1, &number, &error)
                         : ronde_nccl_words_name(&words, 1, names, 40, &at, &error);
        CU_ASSERT_EQUAL(status, RONDE_BAD_INPUT);
        CU_ASSERT_EQUAL(strncmp(error.message, "folder/f:12: www", 16), 0);
        CU_ASSERT(strlen(error.message) < sizeof error.message);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_line_is_cut_at_blanks", a_line_is_cut_at_blanks},
        {"a_file_without_words_is_read", a_file_without_words_is_read},
        {"the_first_refusal_ends_the_reading", the_first_refusal_ends_the_reading},
        {"a_line_has_a_longest", a_line_has_a_longest},
        {"a_25th_word_is_refused", a_25th_word_is_refused},
        {"a_zero_byte_is_refused", a_zero_byte_is_refused},
        {"what_is_not_a_file_is_an_io_error", what_is_not_a_file_is_an_io_error},
        {"numbers_are_within_their_bounds", numbers_are_within_their_bounds},
        {"a_missing_number_is_refused", a_missing_number_is_refused},
        {"names_are_whole_words_of_their_list", names_are_whole_words_of_their_list},
        {"long_words_do_not_break_the_message", long_words_do_not_break_the_message},
    };
    return suite_run("nccl_words", cases, sizeof cases / sizeof cases[0]);
}
