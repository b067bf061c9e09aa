/**
 * What may stand behind an option, for shells that complete it: words, or a file. The words are those of the tables that parse
 * them.
 */
#ifndef RONDE_CLI_OPTION_WORDS_H
#define RONDE_CLI_OPTION_WORDS_H

#include "options.h"

/** Kinds of values. */
enum ronde_value_kind {
    RONDE_VALUE_NONE,  /**< the option takes no value */
    RONDE_VALUE_ANY,   /**< a number or a text of the user's */
    RONDE_VALUE_WORDS, /**< one of these words */
    RONDE_VALUE_FILE   /**< a file, or one of the words if there are any */
};

/** Bytes of all words of an option. */
#define RONDE_WORDS_BYTES 2048

/** What an option takes. */
struct ronde_value_words {
    enum ronde_value_kind kind;
    char words[RONDE_WORDS_BYTES]; /**< with blanks between them; "" for none */
};

/** What the option of this long name takes in a command; `has_value` as its row of the table says. */
void ronde_option_words(const struct ronde_command *command, const char *name, bool has_value,
                        struct ronde_value_words *out_words);

/** What a command's arguments may be besides files: collectives, verbs, shells. "" for none. */
void ronde_argument_words(const struct ronde_command *command, char out_words[RONDE_WORDS_BYTES]);

#endif
