/**
 * Commands that are several: the first word says which, and each has options of its own.
 */
#ifndef RONDE_CLI_VERBS_H
#define RONDE_CLI_VERBS_H

#include "cli/options/options.h"

/** The verbs of a command. */
struct ronde_verbs {
    const char *command;             /**< e.g. "topo" */
    const struct ronde_command *all; /**< each called "topo show" */
    uint32_t count;                  /**< how many */
    const char *list;                /**< all words, e.g. "show, generate, import, check" */
    const char *choice;       /**< the same in a sentence: "show, generate, import or check" */
    const char *rows_refused; /**< behind "VERB ": why it takes neither --json nor --csv */
};

/** The verb of a word, or NULL. */
const struct ronde_command *ronde_verbs_find(const struct ronde_verbs *verbs, const char *word);

/** Reads the words again, without the verb, by its options, and runs it; its arguments are behind the verb. */
int ronde_verbs_run(const struct ronde_verbs *verbs, const struct ronde_options *options);

#endif
