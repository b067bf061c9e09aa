/* Words, numbers and comments of GOAL. */
#include "goal_scan.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void goal_refuse(struct goal *goal, const char *format, ...)
{
    char text[RONDE_ERROR_MESSAGE_BYTES];
    va_list arguments;
    if (goal->status != RONDE_OK)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    goal->status = ronde_fail_at(goal->error, RONDE_BAD_INPUT, goal->line, "%s:%u: %s", goal->path,
                                 goal->line, text);
}

char goal_peek(const struct goal *goal, size_t ahead)
{
    return goal->at + ahead < goal->bytes ? goal->text[goal->at + ahead] : '\0';
}

/* Comments of several lines count as blanks; their lines are counted. */
static void skip_comment(struct goal *goal)
{
    if (goal_peek(goal, 1) == '/') {
        while (goal->at < goal->bytes && goal_peek(goal, 0) != '\n')
            goal->at++;
        return;
    }
    const uint32_t first = goal->line;
    goal->at += 2;
    while (goal->at < goal->bytes && !(goal_peek(goal, 0) == '*' && goal_peek(goal, 1) == '/'))
        goal->line += goal->text[goal->at++] == '\n';
    if (goal->at >= goal->bytes) {
        goal->line = first;
        goal_refuse(goal, "a comment that does not end");
    }
    goal->at += 2;
}

static bool is_comment(const struct goal *goal)
{
    return goal_peek(goal, 0) == '/' && (goal_peek(goal, 1) == '/' || goal_peek(goal, 1) == '*');
}

/* Blanks within a line. */
void goal_skip_blanks(struct goal *goal)
{
    while (goal->status == RONDE_OK && goal->at < goal->bytes) {
        const char c = goal_peek(goal, 0);
        if (c == ' ' || c == '\t' || c == '\r')
            goal->at++;
        else if (is_comment(goal))
            skip_comment(goal);
        else
            return;
    }
}

/* Blanks and ends of lines. */
void goal_skip_lines(struct goal *goal)
{
    for (goal_skip_blanks(goal); goal->status == RONDE_OK && goal_peek(goal, 0) == '\n';
         goal_skip_blanks(goal)) {
        goal->at++;
        goal->line++;
    }
}

static bool is_word_start(char c)
{
    return isalpha((unsigned char)c) || c == '_';
}

/* The next word, which may be of no bytes. */
struct label_text goal_word(struct goal *goal)
{
    goal_skip_blanks(goal);
    struct label_text found = {goal->text + goal->at, 0};
    if (goal->status != RONDE_OK || !is_word_start(goal_peek(goal, 0)))
        return found;
    while (isalnum((unsigned char)goal_peek(goal, found.bytes)) ||
           goal_peek(goal, found.bytes) == '_')
        found.bytes++;
    goal->at += found.bytes;
    return found;
}

bool goal_word_is(struct label_text found, const char *text)
{
    return found.bytes == strlen(text) && memcmp(found.at, text, found.bytes) == 0;
}

/* Takes a word if it is there. */
bool goal_take(struct goal *goal, const char *text)
{
    const size_t at = goal->at;
    if (goal_word_is(goal_word(goal), text))
        return true;
    goal->at = at;
    return false;
}

void goal_expect(struct goal *goal, const char *text)
{
    if (goal->status == RONDE_OK && !goal_take(goal, text))
        goal_refuse(goal, "expected \"%s\"", text);
}

void goal_expect_char(struct goal *goal, char c)
{
    goal_skip_blanks(goal);
    if (goal->status == RONDE_OK && goal_peek(goal, 0) != c)
        goal_refuse(goal, "expected '%c'", c);
    else
        goal->at++;
}

/* A number up to `most`. */
uint64_t goal_number(struct goal *goal, const char *what, uint64_t most)
{
    uint64_t value = 0;
    goal_skip_blanks(goal);
    if (goal->status == RONDE_OK && !isdigit((unsigned char)goal_peek(goal, 0)))
        goal_refuse(goal, "%s is no number", what);
    for (; goal->status == RONDE_OK && isdigit((unsigned char)goal_peek(goal, 0)); goal->at++) {
        const uint64_t digit = (uint64_t)(goal_peek(goal, 0) - '0');
        if (value > (most - digit) / 10 || digit > most) {
            goal_refuse(goal, "%s is more than %llu", what, (unsigned long long)most);
            return 0;
        }
        value = 10 * value + digit;
    }
    return value;
}
