/* ronde topo: one verb each for pictures, generators, importers and checks of platform files. */
#include "commands.h"

#include "report.h"
#include "stdin_file.h"

#include <string.h>

/* Each verb has options of its own; its files are the arguments behind it. */
static const struct ronde_command verbs[] = {
    {"topo show", "FILE", "a machine as a tree on a terminal, or as a picture",
     "  ronde topo show crossbar-64\n  ronde topo show dgx-h100-pod -o pod.svg\n"
     "  ronde topo show --local\n  ronde topo generate rail --nodes 4 | ronde topo show -\n",
     " local json csv output ", 1, false, ronde_topo_show},
    {"topo generate", "KIND [SHAPE]", "a platform file of one of the usual kinds, of any size",
     "  ronde topo generate rail --nodes 16 -o pod.xml\n"
     "  ronde topo generate torus 8x8x8 -o torus.xml\n"
     "Kinds are listed by `ronde topo generate` alone.\n",
     " nodes gpus levels shape oversubscription fabric output ", 2, false, ronde_topo_generate},
    {"topo import", "[FILE]", "a dump of NCCL, RCCL or hwloc, or this machine, as a platform file",
     "  ronde topo import nccl-topo.xml --nodes 4 --fabric rail -o cluster.xml\n"
     "  ronde topo import live -o machine.xml\n",
     " nodes fabric nic-GBps nvlink-GBps memory-GBps output ", 1, false, ronde_topo_import},
    {"topo check", "FILE", "reads a platform file as every command does and says what is there",
     "  ronde topo check pod.xml\n  ronde topo check dgx-h100 --json\n", " json csv output ", 1,
     false, ronde_topo_check},
};

#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

/* "topo show" is typed as show. */
static const char *word_of(const struct ronde_command *verb)
{
    return strchr(verb->name, ' ') + 1;
}

/* With the nearest name, as everywhere. */
static int refuse_verb(const char *name)
{
    const char *names[VERB_COUNT];
    struct ronde_error error = {0};
    for (uint32_t i = 0; i < VERB_COUNT; i++)
        names[i] = word_of(&verbs[i]);
    const char *nearest = ronde_nearest(name, names, VERB_COUNT);
    if (nearest)
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo: unknown verb \"%s\"; did you mean %s?", name,
                   nearest);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT,
                   "topo: unknown verb \"%s\"; there are show, generate, import, check", name);
    return ronde_report(&error);
}

const struct ronde_command *ronde_topo_verb(const char *word)
{
    for (size_t i = 0; word && i < VERB_COUNT; i++)
        if (strcmp(word_of(&verbs[i]), word) == 0)
            return &verbs[i];
    return NULL;
}

static int refuse_rows(const struct ronde_command *verb)
{
    struct ronde_error error = {0};
    ronde_fail(&error, RONDE_BAD_ARGUMENT,
               "%s writes a platform file; --json and --csv are for show and check", verb->name);
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

int ronde_cmd_topo(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_options own;
    if (options->argument_count == 0) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo: say show, generate, import or check");
        return ronde_report(&error);
    }
    const struct ronde_command *verb = ronde_topo_verb(options->arguments[0]);
    if (!verb)
        return refuse_verb(options->arguments[0]);
    if ((options->json || options->csv) && !strstr(verb->takes, " json "))
        return refuse_rows(verb);
    return parse_verb(verb, options, &own, &error) == RONDE_OK ? verb->run(&own)
                                                               : ronde_report(&error);
}
