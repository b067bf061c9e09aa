/* Tokens of the text form, see draft.h. */
#include "draft.h"
#include "engine/text/refuse.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Characters of a token that a message quotes. */
#define QUOTED_MOST 32

/* Bytes of a quoted token: the characters, two quotes, dots and the zero. */
#define QUOTED_BYTES 48

/*
 * Classes are spelled out because <ctype.h> depends on the locale, and a file must read the same
 * everywhere.
 */
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

void text_lex_open(struct text_lexer *lexer, const char *text, size_t bytes, const char *name,
                   struct ronde_error *error)
{
    memset(lexer, 0, sizeof *lexer);
    lexer->name = name;
    lexer->start = text;
    lexer->end = text + bytes;
    lexer->error = error;
}

static void lex_number(struct text_lexer *lexer)
{
    const char *at = lexer->start;
    uint64_t value = 0;
    for (; at < lexer->end && is_digit(*at); at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        /* Saturates: every bound a number is compared with is far smaller. */
        value = value > (UINT64_MAX - digit) / 10 ? UINT64_MAX : value * 10 + digit;
    }
    lexer->kind = TEXT_NUMBER;
    lexer->number = value;
    lexer->length = (size_t)(at - lexer->start);
}

/* A word goes on as far as letters and digits do. */
static void lex_word(struct text_lexer *lexer)
{
    const char *at = lexer->start;
    while (at < lexer->end && (is_letter(*at) || is_digit(*at)))
        at++;
    lexer->kind = TEXT_WORD;
    lexer->length = (size_t)(at - lexer->start);
}

/* One character, or one of the two arrows. */
static void lex_symbol(struct text_lexer *lexer)
{
    const char first = *lexer->start;
    const char second = lexer->end - lexer->start > 1 ? lexer->start[1] : '\0';
    lexer->kind = TEXT_SYMBOL;
    lexer->length = 1;
    if (first == '-' && second == '>')
        lexer->kind = TEXT_SEND;
    if (first == '<' && second == '-')
        lexer->kind = TEXT_RECEIVE;
    if (lexer->kind != TEXT_SYMBOL)
        lexer->length = 2;
}

/* Makes the token at `start`, which is not past the line's end unless it is the end. */
static void lex_token(struct text_lexer *lexer)
{
    while (lexer->start < lexer->end && is_blank(*lexer->start))
        lexer->start++;
    if (lexer->start < lexer->end && *lexer->start == '#')
        while (lexer->start < lexer->end && *lexer->start != '\n')
            lexer->start++;
    lexer->length = 0;
    lexer->kind = TEXT_END;
    if (lexer->start == lexer->end || *lexer->start == '\n')
        return;
    if (is_digit(*lexer->start))
        lex_number(lexer);
    else if (is_letter(*lexer->start))
        lex_word(lexer);
    else
        lex_symbol(lexer);
}

bool text_lex_line(struct text_lexer *lexer)
{
    /* Callers come here at the end of a line, or before the first one, where line is still 0. */
    while (lexer->line == 0 || lexer->start < lexer->end) {
        if (lexer->line > 0)
            lexer->start++;
        lexer->line++;
        lex_token(lexer);
        if (lexer->kind != TEXT_END)
            return true;
    }
    return false;
}

void text_lex_next(struct text_lexer *lexer)
{
    lexer->start += lexer->length;
    lex_token(lexer);
}

bool text_is_word(const struct text_lexer *lexer, const char *word)
{
    return lexer->kind == TEXT_WORD && strlen(word) == lexer->length &&
           memcmp(word, lexer->start, lexer->length) == 0;
}

bool text_take_word(struct text_lexer *lexer, const char *word)
{
    if (!text_is_word(lexer, word))
        return false;
    text_lex_next(lexer);
    return true;
}

bool text_take_symbol(struct text_lexer *lexer, char symbol)
{
    if (lexer->kind != TEXT_SYMBOL || *lexer->start != symbol)
        return false;
    text_lex_next(lexer);
    return true;
}

bool text_need_symbol(struct text_lexer *lexer, char symbol)
{
    const char what[] = {'\'', symbol, '\'', '\0'};
    return text_take_symbol(lexer, symbol) || text_fail_expected(lexer, what);
}

bool text_need_number(struct text_lexer *lexer, const char *what, uint32_t least, uint32_t most,
                      uint32_t *out)
{
    if (lexer->kind != TEXT_NUMBER)
        return text_fail_expected(lexer, what);
    if (lexer->number < least || lexer->number > most) {
        const bool is_long = lexer->length > QUOTED_MOST;
        return text_fail(lexer, "%s %.*s%s is outside %" PRIu32 "..%" PRIu32, what,
                         is_long ? QUOTED_MOST : (int)lexer->length, lexer->start,
                         is_long ? "..." : "", least, most);
    }
    *out = (uint32_t)lexer->number;
    text_lex_next(lexer);
    return true;
}

/* Reads past the end of the current token: a name may hold what is a token of its own elsewhere. */
bool text_need_name(struct text_lexer *lexer, const char *what, char *out, size_t size)
{
    const char *at = lexer->start;
    while (at < lexer->end && (is_letter(*at) || is_digit(*at) || *at == '-' || *at == '.'))
        at++;
    const size_t length = (size_t)(at - lexer->start);
    if (length == 0)
        return text_fail_expected(lexer, what);
    if (length >= size)
        return text_fail(lexer, "%s has %zu characters, more than %zu", what, length, size - 1);
    memcpy(out, lexer->start, length);
    out[length] = '\0';
    lexer->length = length;
    text_lex_next(lexer);
    return true;
}

bool text_need_end(struct text_lexer *lexer)
{
    return lexer->kind == TEXT_END || text_fail_expected(lexer, "the end of the line");
}

/* Passes a run first-last to `take`, upwards or downwards. */
static bool take_run(struct text_lexer *lexer, uint32_t first, uint32_t last, text_take_number take,
                     void *self)
{
    for (uint32_t number = first;; number = first < last ? number + 1 : number - 1) {
        if (!take(self, lexer, number))
            return false;
        if (number == last)
            return true;
    }
}

bool text_need_list(struct text_lexer *lexer, const char *what, uint32_t bound,
                    text_take_number take, void *self)
{
    do {
        uint32_t first = 0;
        if (!text_need_number(lexer, what, 0, bound - 1, &first))
            return false;
        uint32_t last = first;
        if (text_take_symbol(lexer, '-') && !text_need_number(lexer, what, 0, bound - 1, &last))
            return false;
        if (!take_run(lexer, first, last, take, self))
            return false;
    } while (lexer->kind != TEXT_END);
    return true;
}

/* The first failure counts; "path:line: " is what editors jump to. */
static bool fail_at(struct text_lexer *lexer, uint32_t line, const char *format, va_list arguments)
{
    if (lexer->status == RONDE_OK)
        lexer->status = ronde_refuse_line(lexer->error, lexer->name, line, format, arguments);
    return false;
}

bool text_fail(struct text_lexer *lexer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_at(lexer, lexer->line, format, arguments);
    va_end(arguments);
    return false;
}

bool text_fail_at(struct text_lexer *lexer, uint32_t line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fail_at(lexer, line, format, arguments);
    va_end(arguments);
    return false;
}

bool text_fail_memory(struct text_lexer *lexer)
{
    if (lexer->status == RONDE_OK)
        lexer->status =
            ronde_fail(lexer->error, RONDE_NO_MEMORY, "no memory to read %s at line %" PRIu32,
                       lexer->name, lexer->line);
    return false;
}

bool text_fail_expected(struct text_lexer *lexer, const char *what)
{
    char found[QUOTED_BYTES] = "the end of the line";
    const unsigned char first = lexer->kind == TEXT_END ? 0 : (unsigned char)*lexer->start;
    if (lexer->kind == TEXT_SYMBOL && (first < 0x20 || first >= 0x7f))
        snprintf(found, sizeof found, "byte 0x%02x", first);
    else if (lexer->length > QUOTED_MOST)
        snprintf(found, sizeof found, "'%.*s...'", QUOTED_MOST, lexer->start);
    else if (lexer->kind != TEXT_END)
        snprintf(found, sizeof found, "'%.*s'", (int)lexer->length, lexer->start);
    return text_fail(lexer, "expected %s, found %s", what, found);
}
