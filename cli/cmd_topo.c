/* ronde topo: one verb each for pictures, generators, importers and checks of platform files. */
#include "commands.h"

#include "report.h"

#include <string.h>

/* A verb and what does it. */
struct verb {
    const char *name;
    uint32_t arguments; /* it takes at most, itself included */
    bool has_rows; /* its answer can be had as a row, for programs; the others write platform files */
    int (*run)(const struct ronde_options *options);
};

static const struct verb verbs[] = {
    {"show", 2, true, ronde_topo_show},
    {"generate", 3, false, ronde_topo_generate},
    {"import", 2, false, ronde_topo_import},
    {"check", 2, true, ronde_topo_check},
};

#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

/* With the nearest name, as everywhere. */
static int refuse_verb(const char *name)
{
    const char *names[VERB_COUNT];
    struct ronde_error error = {0};
    for (uint32_t i = 0; i < VERB_COUNT; i++)
        names[i] = verbs[i].name;
    const char *nearest = ronde_nearest(name, names, VERB_COUNT);
    if (nearest)
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo: unknown verb \"%s\"; did you mean %s?", name,
                   nearest);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT,
                   "topo: unknown verb \"%s\"; there are show, generate, import, check", name);
    return ronde_report(&error);
}

static int refuse_argument(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo %s: unexpected argument \"%s\"",
               options->arguments[0], options->arguments[options->argument_count - 1]);
    return ronde_report(&error);
}

static int refuse_rows(const struct verb *verb)
{
    struct ronde_error error = {0};
    ronde_fail(&error, RONDE_BAD_ARGUMENT,
               "topo %s writes a platform file; --json and --csv are for show and check",
               verb->name);
    return ronde_report(&error);
}

static int run_verb(const struct verb *verb, const struct ronde_options *options)
{
    if (options->argument_count > verb->arguments)
        return refuse_argument(options);
    if ((options->json || options->csv) && !verb->has_rows)
        return refuse_rows(verb);
    return verb->run(options);
}

int ronde_cmd_topo(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    if (options->argument_count == 0) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "topo: say show, generate, import or check");
        return ronde_report(&error);
    }
    for (size_t i = 0; i < VERB_COUNT; i++)
        if (strcmp(verbs[i].name, options->arguments[0]) == 0)
            return run_verb(&verbs[i], options);
    return refuse_verb(options->arguments[0]);
}
