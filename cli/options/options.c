/*
 * Options: one table, filtered by what a command takes, parsed by argp without its printing and
 * exiting.
 *
 * argp would end the program with its own text and code on a bad option. Here every error is one
 * line and a status, so argp runs silently and says only where it stopped; option_explain.c finds the
 * words for it. An option a command does not take is unknown to it: nothing is silently ignored.
 */
#include "option_table.h"

#include "cli/draw/picture.h"

#include <errno.h>

/* argp hands its parser one opaque pointer. */
struct parsing {
    const struct ronde_command *command;
    struct ronde_options *options;
    struct ronde_error *error;
    bool max_given;
    int stopped_at; /* index into argv where getopt was when something was wrong */
};

/* Options whose default depends on others, or that some backends have no use for. */
static void note_given(struct ronde_options *options, int key)
{
    options->has_backend |= key == KEY_BACKEND;
    options->has_seed |= key == KEY_SEED;
    options->has_buffers |= key == KEY_BUFFERS;
}

/* One option. -o is whichever of the two the command's table gave it to. */
static enum ronde_status take_option(struct parsing *parsing, int key, const char *text)
{
    if (key == 'o')
        key = parsing->command->is_bench ? KEY_OP : KEY_OUTPUT;
    note_given(parsing->options, key);
    parsing->max_given = parsing->max_given || key == 'e' || key == KEY_BYTES;
    if (parsing->command->is_bench && text && ronde_option_take_all(parsing->options, key, text))
        return RONDE_OK;
    return ronde_option_take(parsing->options, key, text, parsing->error);
}

/* One positional argument; what it means is the command's business. */
static enum ronde_status take_argument(struct parsing *parsing, const char *text)
{
    struct ronde_options *options = parsing->options;
    if (options->argument_count == parsing->command->max_arguments)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: unexpected argument \"%s\"",
                          parsing->command->name, text);
    options->arguments[options->argument_count++] = text;
    return RONDE_OK;
}

/* argp's side of the conversation: what it asks for beyond options is nothing to do. */
static error_t on_key(int key, char *text, struct argp_state *state)
{
    struct parsing *parsing = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
    case ARGP_KEY_END:
    case ARGP_KEY_FINI:
    case ARGP_KEY_SUCCESS:
    case ARGP_KEY_NO_ARGS:
        return 0;
    case ARGP_KEY_ERROR:
        parsing->stopped_at = state->next;
        return 0;
    case ARGP_KEY_ARG:
        return take_argument(parsing, text) == RONDE_OK ? 0 : EINVAL;
    case ARGP_KEY_ARGS:
        return ARGP_ERR_UNKNOWN;
    default:
        return take_option(parsing, key, text) == RONDE_OK ? 0 : EINVAL;
    }
}

/* What can only be seen when all options are there. */
static enum ronde_status check_sweep(struct parsing *parsing)
{
    struct ronde_options *options = parsing->options;
    /* A shape says how many ranks there are; whether a number beside it agrees is asked of the request. */
    if (options->shape.count > 0 && options->rank_counts == 0) {
        options->ranks[0] = ronde_shape_ranks(&options->shape);
        options->rank_counts = 1;
    }
    if (!parsing->max_given && options->max_bytes < options->min_bytes)
        options->max_bytes = options->min_bytes;
    if (options->max_bytes < options->min_bytes)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                          "largest size %llu is less than smallest size %llu",
                          (unsigned long long)options->max_bytes,
                          (unsigned long long)options->min_bytes);
    if (options->json && options->csv)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "--json and --csv exclude each other");
    const char *const pictures[] = {options->plot, options->map, options->timeline};
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; i < sizeof pictures / sizeof pictures[0] && status == RONDE_OK; i++)
        status = pictures[i] ? ronde_picture_check(pictures[i], parsing->error) : RONDE_OK;
    return status;
}

/* nccl-tests' defaults where it has them; the sweep starts where latency shows. */
static void set_defaults(struct ronde_options *options)
{
    *options = (struct ronde_options){
        .min_bytes = 8,
        .max_bytes = (uint64_t)16 << 20,
        .factor = 4,
        .iterations = 20,
        .warmups = RONDE_NONE,
        .check = true,
        .dtype = RONDE_FLOAT32,
        .op = RONDE_SUM,
        .backend = "cpu",
        .rank = RONDE_NONE,
        .engine = "auto",
        .gpt = {.seq = RONDE_GPT_SEQ,
                .vocab = RONDE_GPT_VOCAB,
                .tp = 1,
                .dp = 1,
                .pp = 1,
                .dtype = RONDE_BFLOAT16,
                .flops = 400e12,
                .bucket_bytes = (uint64_t)25 << 20},
    };
}

enum ronde_status ronde_options_parse(const struct ronde_command *command, int argc, char **argv,
                                      struct ronde_options *out_options, struct ronde_error *error)
{
    struct ronde_own_options own;
    struct parsing parsing = {command, out_options, error, false, 1};
    (void)ronde_option_table(command, &own);
    set_defaults(out_options);
    out_options->argv = argv;
    out_options->argc = argc;
    const struct argp argp = {.options = own.all, .parser = on_key};
    if (argp_parse(&argp, argc, argv, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &parsing) !=
        0)
        return error->status != RONDE_OK
                   ? error->status
                   : ronde_option_explain(command, own.all, argv, argc, parsing.stopped_at, error);
    return out_options->help ? RONDE_OK : check_sweep(&parsing);
}

void ronde_options_help(const struct ronde_command *command, FILE *file)
{
    struct ronde_own_options own;
    char name[64];
    (void)ronde_option_table(command, &own);
    snprintf(name, sizeof name, "ronde %s", command->name);
    const struct argp argp = {.options = own.all, .args_doc = command->arguments};
    fprintf(file, "ronde %s: %s\n", command->name, command->summary);
    argp_help(&argp, file, ARGP_HELP_USAGE | ARGP_HELP_LONG, name);
    fprintf(file, "\nExamples:\n%s", command->examples);
}

uint64_t ronde_options_next_size(const struct ronde_options *options, uint64_t bytes)
{
    uint64_t next = options->step_bytes ? bytes + options->step_bytes : bytes * options->factor;
    if (!options->step_bytes && bytes == 0)
        next = 1;
    return next > bytes && next <= options->max_bytes ? next : 0;
}
