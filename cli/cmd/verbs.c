/* Verbs of commands. See verbs.h. */
#include "verbs.h"

#include "cli/options/stdin_file.h"
#include "cli/print/report.h"

#include "ronde/mem.h"
#include "ronde/values.h"

#include <string.h>

/* "topo show" is typed as show. */
static const char *word_of(const struct ronde_command *verb)
{
    return strchr(verb->name, ' ') + 1;
}

/* With the nearest name, as everywhere. */
static int refuse_verb(const struct ronde_verbs *verbs, const char *name)
{
    enum { MOST = 16 };
    const char *names[MOST];
    struct ronde_error error = {0};
    const uint32_t count = verbs->count < MOST ? verbs->count : MOST;
    for (uint32_t i = 0; i < count; i++)
        names[i] = word_of(&verbs->all[i]);
    const char *nearest = ronde_nearest(name, names, count);
    if (nearest)
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "%s: unknown verb \"%s\"; did you mean %s?",
                   verbs->command, name, nearest);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "%s: unknown verb \"%s\"; there are %s",
                   verbs->command, name, verbs->list);
    return ronde_report(&error);
}

const struct ronde_command *ronde_verbs_find(const struct ronde_verbs *verbs, const char *word)
{
    for (uint32_t i = 0; word && i < verbs->count; i++)
        if (strcmp(word_of(&verbs->all[i]), word) == 0)
            return &verbs->all[i];
    return NULL;
}

static int refuse_rows(const struct ronde_verbs *verbs, const struct ronde_command *verb)
{
    struct ronde_error error = {0};
    ronde_fail(&error, RONDE_BAD_ARGUMENT, "%s %s", verb->name, verbs->rows_refused);
    return ronde_report(&error);
}

/* Reads the words again, without the verb, by the options of the verb, and puts the verb in front of its arguments. */
static enum ronde_status parse_verb(const struct ronde_command *verb,
                                    const struct ronde_options *options,
                                    struct ronde_options *out_options, struct ronde_error *error)
{
    uint32_t words = 0;
    const char *const typed = options->arguments[0];
    char **argv = ronde_mem_new(ronde_mem_default(), (size_t)options->argc + 1, sizeof *argv);
    if (!argv)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %d words", options->argc);
    for (int i = 0; i < options->argc; i++)
        if (options->argv[i] != typed)
            argv[words++] = options->argv[i];
    enum ronde_status status = ronde_options_parse(verb, (int)words, argv, out_options, error);
    ronde_mem_free(ronde_mem_default(), argv, (size_t)options->argc + 1, sizeof *argv);
    if (status != RONDE_OK)
        return status;
    for (uint32_t i = out_options->argument_count; i > 0; i--)
        out_options->arguments[i] = out_options->arguments[i - 1];
    out_options->arguments[0] = typed;
    out_options->argument_count++;
    out_options->argv = options->argv;
    out_options->argc = options->argc;
    return ronde_stdin_to_file(out_options, error);
}

int ronde_verbs_run(const struct ronde_verbs *verbs, const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_options own;
    if (options->argument_count == 0) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "%s: say %s", verbs->command, verbs->choice);
        return ronde_report(&error);
    }
    const struct ronde_command *verb = ronde_verbs_find(verbs, options->arguments[0]);
    if (!verb)
        return refuse_verb(verbs, options->arguments[0]);
    if ((options->json || options->csv) && !strstr(verb->takes, " json "))
        return refuse_rows(verbs, verb);
    return parse_verb(verb, options, &own, &error) == RONDE_OK ? verb->run(&own)
                                                               : ronde_report(&error);
}
