/**
 * Tokens of the text form, one line at a time, and the errors every part of the reader reports alike.
 *
 * The lexer looks at the text once, from front to back, and allocates nothing.
 */
#ifndef RONDE_ENGINE_TEXT_LEX_H
#define RONDE_ENGINE_TEXT_LEX_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stddef.h>

/** Kinds of token. */
enum text_token {
    TEXT_END,     /**< end of the line, or of the text */
    TEXT_WORD,    /**< letters, digits and underscores, beginning with a letter or underscore */
    TEXT_NUMBER,  /**< decimal digits */
    TEXT_SEND,    /**< "->" */
    TEXT_RECEIVE, /**< "<-" */
    TEXT_SYMBOL   /**< any other single character */
};

/** Where the reader is. The current token is looked at before it is taken. */
struct text_lexer {
    const char *name;          /**< of the text, for messages */
    const char *end;           /**< of the text */
    const char *start;         /**< of the current token */
    size_t length;             /**< of the current token */
    uint64_t number;           /**< value of a TEXT_NUMBER, UINT64_MAX if it is larger */
    enum text_token kind;      /**< of the current token */
    uint32_t line;             /**< of the current token, from 1 */
    struct ronde_error *error; /**< the caller's record, may be NULL */
    enum ronde_status status;  /**< RONDE_OK until the first failure */
};

/** Starts before the first line. */
void text_lex_open(struct text_lexer *lexer, const char *text, size_t bytes, const char *name,
                   struct ronde_error *error);

/** Moves to the first token of the next line that has one; false at the end of the text. */
bool text_lex_line(struct text_lexer *lexer);

/** Moves to the next token of the line; stays at TEXT_END once there. */
void text_lex_next(struct text_lexer *lexer);

/** Whether the current token is this word. */
bool text_is_word(const struct text_lexer *lexer, const char *word);

/** Takes the current token if it is this word. */
bool text_take_word(struct text_lexer *lexer, const char *word);

/** Takes the current token if it is this character. */
bool text_take_symbol(struct text_lexer *lexer, char symbol);

/** Takes this character or fails. */
bool text_need_symbol(struct text_lexer *lexer, char symbol);

/** Takes a number least..most or fails; `what` names it in the message. */
bool text_need_number(struct text_lexer *lexer, const char *what, uint32_t least, uint32_t most,
                      uint32_t *out);

/** Takes a name (letters, digits, "_", "-", ".") of at most size-1 characters, or fails; `what` names it. */
bool text_need_name(struct text_lexer *lexer, const char *what, char *out, size_t size);

/** Fails unless the line is over. */
bool text_need_end(struct text_lexer *lexer);

/** Called for each number of a list; false stops the list, having failed. */
typedef bool (*text_take_number)(void *self, struct text_lexer *lexer, uint32_t number);

/** Reads numbers below `bound` and runs of them ("1 3 5-7 9-8") to the end of the line; at least one. */
bool text_need_list(struct text_lexer *lexer, const char *what, uint32_t bound,
                    text_take_number take, void *self);

/** Records "name:line: message" as BAD_INPUT at the current line; always false. */
bool text_fail(struct text_lexer *lexer, const char *format, ...) RONDE_FORMAT(2, 3);

/** The same at another line. */
bool text_fail_at(struct text_lexer *lexer, uint32_t line, const char *format, ...)
    RONDE_FORMAT(3, 4);

/** Records NO_MEMORY; always false. */
bool text_fail_memory(struct text_lexer *lexer);

/** Fails with "expected `what`, found ..." about the current token; always false. */
bool text_fail_expected(struct text_lexer *lexer, const char *what);

#endif
