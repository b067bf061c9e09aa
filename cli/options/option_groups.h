/**
 * Groups of options that several commands take, and how a command says which.
 */
#ifndef RONDE_CLI_OPTION_GROUPS_H
#define RONDE_CLI_OPTION_GROUPS_H

#include "options.h"

extern const struct ronde_option_group ronde_what_group; /**< ranks, algorithm, type, root, shape */
extern const struct ronde_option_group ronde_several_group; /**< several ranks and algorithms at once */
extern const struct ronde_option_group ronde_sizes_group;   /**< -b, -e, -i, -f, --bytes */
extern const struct ronde_option_group ronde_machine_group; /**< --topo, and what is missing of it */
extern const struct ronde_option_group ronde_scenario_group; /**< what else happens */
extern const struct ronde_option_group ronde_engine_group;   /**< how it is replayed */
extern const struct ronde_option_group ronde_backend_group;  /**< what executes */
extern const struct ronde_option_group ronde_output_group;   /**< where results go */
extern const struct ronde_option_group ronde_views_group;    /**< what explains a result */
extern const struct ronde_option_group ronde_format_group;   /**< schedules of other tools */
extern const struct ronde_option_group ronde_style_group;    /**< --style nccl */

/** How a command takes a group: all of it, or options by name. */
#define RONDE_TAKES(what, names)                                                                   \
    {                                                                                              \
        &ronde_##what##_group, offsetof(struct ronde_options, what), names, false                  \
    }
/** The same of a struct that is the command's own, or a member of it (OWN: offsetof of either). */
#define RONDE_TAKES_OWN(group, own_offset, names)                                                  \
    {                                                                                              \
        &group, own_offset, names, true                                                            \
    }
/** Rows of the command's own struct, which no other command takes. */
#define RONDE_TAKES_ROWS(section, rows, type, defaults)                                            \
    {                                                                                              \
        &(const struct ronde_option_group)RONDE_GROUP(section, rows, type, defaults, NULL), 0,     \
            NULL, true                                                                             \
    }
/** A group that another one's struct is for. */
#define RONDE_TAKES_AS(group, what, names)                                                         \
    {                                                                                              \
        &ronde_##group##_group, offsetof(struct ronde_options, what), names, false                 \
    }
/** Ends a list of uses. */
#define RONDE_TAKES_END                                                                            \
    {                                                                                              \
        NULL, 0, NULL, false                                                                       \
    }

/** Makes a group of a table of rows. */
#define RONDE_GROUP(section, rows, type, defaults, finish)                                         \
    {                                                                                              \
        section, rows, sizeof(rows) / sizeof(rows)[0], sizeof(type), defaults, finish              \
    }

/* What puts the value of an option into its group's struct, by the kind of member it sets. Whatever is refused is
 * named. */

#define RONDE_DECLARE_TAKER(name)                                                                  \
    enum ronde_status ronde_take_##name(const struct ronde_option *option, const char *text,       \
                                        void *group, struct ronde_error *error)

RONDE_DECLARE_TAKER(switch);      /**< bool: true */
RONDE_DECLARE_TAKER(text);        /**< const char *: as it is */
RONDE_DECLARE_TAKER(input);       /**< const char *: a file that is read, or - */
RONDE_DECLARE_TAKER(word);        /**< const char *: one of the row's words */
RONDE_DECLARE_TAKER(texts);       /**< struct ronde_texts: one more */
RONDE_DECLARE_TAKER(picture);     /**< const char *: a file that pictures can be written to */
RONDE_DECLARE_TAKER(plot);        /**< const char *: the same for what gnuplot draws, PDF too */
RONDE_DECLARE_TAKER(count);       /**< uint32_t: `least` and more */
RONDE_DECLARE_TAKER(size);        /**< uint64_t: bytes */
RONDE_DECLARE_TAKER(slot);        /**< uint64_t: bytes, a grain at least */
RONDE_DECLARE_TAKER(positive);    /**< double: above 0, to 1e6 */
RONDE_DECLARE_TAKER(flops);       /**< double: above 0 */
RONDE_DECLARE_TAKER(factor);      /**< uint64_t: 2 and more */
RONDE_DECLARE_TAKER(dtype);       /**< enum ronde_dtype */
RONDE_DECLARE_TAKER(op);          /**< enum ronde_op */
RONDE_DECLARE_TAKER(ranks);       /**< struct ronde_what_options */
RONDE_DECLARE_TAKER(algorithms);  /**< struct ronde_what_options */
RONDE_DECLARE_TAKER(shape);       /**< struct ronde_grid */
RONDE_DECLARE_TAKER(pairs);       /**< struct ronde_pairs */
RONDE_DECLARE_TAKER(every_dtype); /**< struct ronde_what_options: one, or all */
RONDE_DECLARE_TAKER(every_op);    /**< struct ronde_what_options: one, or all */
RONDE_DECLARE_TAKER(every_root);  /**< struct ronde_what_options: one, or all */
RONDE_DECLARE_TAKER(sizes);       /**< struct ronde_sizes_options: all at once */
RONDE_DECLARE_TAKER(backend);     /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(seed);        /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(rank);        /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(check);       /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(protocol);    /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(buffers);     /**< struct ronde_backend_options */
RONDE_DECLARE_TAKER(bind);        /**< struct ronde_backend_options */

#undef RONDE_DECLARE_TAKER

/* What may stand behind an option, for shells that complete it: words, or a file. The words are those of the tables
 * that parse them. */

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

/** Whether a list with blanks has a word. */
bool ronde_has_word(const char *list, const char *word);

/** What an option takes. */
void ronde_option_words(const struct ronde_option *option, struct ronde_value_words *out_words);

/** What help says of an option: its text, and behind a colon the words it takes. Returns out_text. */
const char *ronde_option_help(const struct ronde_option *option, char out_text[RONDE_WORDS_BYTES]);

/** What a command's arguments may be besides files: collectives, verbs, shells. "" for none. */
void ronde_argument_words(const struct ronde_command *command, char out_words[RONDE_WORDS_BYTES]);

#endif
