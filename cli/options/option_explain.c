/* What was wrong with a command line that argp could not read, in words. See option_table.h. */
#include "option_table.h"

#include "ronde/values.h"

#include <string.h>

/*
 * The row a word on the command line means, as getopt_long reads it: a letter, a long name or an
 * unambiguous prefix.
 */
static const struct argp_option *option_of(const struct argp_option *own, const char *word)
{
    const struct argp_option *found = NULL;
    uint32_t matches = 0;
    if (word[1] != '-') {
        for (; own->name; own++)
            if (own->key == word[1])
                return own;
        return NULL;
    }
    const size_t length = strcspn(word + 2, "=");
    for (; own->name; own++) {
        if (strncmp(own->name, word + 2, length) != 0)
            continue;
        if (own->name[length] == '\0')
            return own;
        found = own;
        matches++;
    }
    return matches == 1 ? found : NULL;
}

/* Letters by which other benchmarks and launchers are told how many ranks there are: -g GPUs, -t threads, -np, -p. */
static bool means_ranks(const struct argp_option *own, const char *word)
{
    bool has_ranks = false;
    for (; own->name; own++)
        has_ranks = has_ranks || own->key == 'N';
    return has_ranks && (word[1] == 'g' || word[1] == 't' || word[1] == 'p');
}

/* Names the option as typed, and the nearest one this command takes. */
static enum ronde_status fail_option(const struct ronde_command *command,
                                     const struct argp_option *own, const char *word,
                                     struct ronde_error *error)
{
    const char *names[RONDE_OPTION_ROOM];
    uint32_t count = 0;
    char bare[64];
    for (; own[count].name; count++)
        names[count] = own[count].name;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = bare[1] == '-' ? ronde_nearest(bare + 2, names, count) : NULL;
    if (means_ranks(own, word))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: unknown option %s; the number of ranks is -N", command->name, bare);
    if (nearest)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: unknown option %s; did you mean --%s?",
                          command->name, bare, nearest);
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: unknown option %s; see ronde %s --help",
                      command->name, bare, command->name);
}

/*
 * argp only says where it stopped. getopt steps over a word it has read to its end, so the
 * culprit is the word before,
 * or, inside a cluster of letters, the word itself.
 */
enum ronde_status ronde_option_explain(const struct ronde_command *command,
                                       const struct argp_option *own, char **argv, int argc,
                                       int stopped_at, struct ronde_error *error)
{
    for (int at = stopped_at - 1; at <= stopped_at; at++) {
        if (at < 1 || at >= argc || argv[at][0] != '-' || argv[at][1] == '\0')
            continue;
        const struct argp_option *option = option_of(own, argv[at]);
        if (!option)
            return fail_option(command, own, argv[at], error);
        if (option->arg && at == argc - 1)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: option %s needs a value",
                              command->name, argv[at]);
        if (!option->arg && strchr(argv[at], '='))
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: option --%s takes no value",
                              command->name, option->name);
    }
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: cannot read the options; see ronde %s --help",
                      command->name, command->name);
}
