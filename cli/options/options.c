/*
 * Options: groups of rows, of which a command takes some, parsed by getopt_long without its printing. Every error is one line
 * and a status. An option that a command does not take is unknown to it: nothing is ignored.
 */
#include "options.h"

#include "cli/draw/screen.h"
#include "option_groups.h"

#include "ronde/values.h"

#include <getopt.h>
#include <string.h>

/* The key of an option without a letter is its place behind these. */
#define FIRST_KEY 256

/* The options of one command. */
struct parsing {
    const struct ronde_command *command;
    struct ronde_options *options;
    struct ronde_error *error;
    struct ronde_own_option own[RONDE_MAX_OPTIONS];
    struct option rows[RONDE_MAX_OPTIONS];   /* as getopt_long wants them */
    char letters[2 * RONDE_MAX_OPTIONS + 2]; /* the same */
    uint32_t count;
};

static const struct ronde_option help_row = {.name = "help",
                                             .letter = 'h',
                                             .help = "this text; --help all: all options"};
static const struct ronde_option_group help_group = {
    RONDE_SECTION_OUTPUT, &help_row, 1, 0, NULL, NULL};
static const struct ronde_option_use help_use = {&help_group, 0, NULL, false};

static bool has_own(const struct parsing *parsing, const char *name, int letter)
{
    for (uint32_t i = 0; i < parsing->count; i++)
        if ((name && strcmp(parsing->own[i].option->name, name) == 0) ||
            (letter && parsing->rows[i].val == letter))
            return true;
    return false;
}

/* Of two options with one name the first counts, and so of two with one letter. */
static void add_own(struct parsing *parsing, const struct ronde_option *option,
                    const struct ronde_option_use *use)
{
    const uint32_t at = parsing->count;
    if (at + 1 >= RONDE_MAX_OPTIONS || has_own(parsing, option->name, 0))
        return;
    const bool has_letter = option->letter && !has_own(parsing, NULL, option->letter);
    parsing->own[at] = (struct ronde_own_option){option, has_letter ? option->letter : 0, use};
    parsing->rows[at] = (struct option){option->name, option->value != NULL, NULL,
                                        has_letter ? option->letter : FIRST_KEY + (int)at};
    if (has_letter)
        sprintf(parsing->letters + strlen(parsing->letters), "%c%s", option->letter,
                option->value ? ":" : "");
    parsing->count++;
}

static void add_uses(struct parsing *parsing, const struct ronde_option_use *use)
{
    for (; use->group; use++)
        for (uint32_t i = 0; i < use->group->count; i++)
            if (!use->takes || ronde_has_word(use->takes, use->group->rows[i].name))
                add_own(parsing, &use->group->rows[i], use);
}

/* Lists a command's options, or those of all its verbs; getopt's rows end with one of zeroes. */
static void open_parsing(const struct ronde_command *command, struct parsing *out)
{
    *out = (struct parsing){.command = command, .letters = ":"};
    if (command->uses)
        add_uses(out, command->uses);
    for (uint32_t v = 0; v < command->verb_count; v++)
        add_uses(out, command->verbs[v].uses);
    add_own(out, &help_row, &help_use);
}

/* The struct of a group. */
static char *struct_of(struct ronde_options *options, const struct ronde_option_use *use)
{
    return (use->is_own ? (char *)options->own : (char *)options) + use->offset;
}

static void note_given(struct ronde_options *options, const char *name)
{
    for (uint32_t i = 0; i < options->given_count; i++)
        if (options->given[i] == name)
            return;
    if (options->given_count < RONDE_MAX_OPTIONS)
        options->given[options->given_count++] = name;
}

/* Of an option that is given twice the last counts. */
static void add_input(struct ronde_options *options, const char **input)
{
    for (uint32_t i = 0; i < options->input_count; i++)
        if (options->inputs[i] == input)
            return;
    if (options->input_count < RONDE_MAX_INPUTS)
        options->inputs[options->input_count++] = input;
}

static enum ronde_status take_option(struct parsing *parsing, int key, const char *text)
{
    for (uint32_t i = 0; i < parsing->count; i++) {
        const struct ronde_option *option = parsing->own[i].option;
        if (parsing->rows[i].val != key)
            continue;
        if (option == &help_row) {
            parsing->options->help = true;
            return RONDE_OK;
        }
        if (option->value && *text == '\0')
            return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                              "%s: option --%s has an empty value; is a variable not set?",
                              parsing->command->name, option->name);
        char *group = struct_of(parsing->options, parsing->own[i].use);
        note_given(parsing->options, option->name);
        if (option->take == ronde_take_input)
            add_input(parsing->options, (const char **)(void *)(group + option->offset));
        return option->take(option, text, group, parsing->error);
    }
    return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "option %d is of no command", key);
}

/* One positional argument; what it means is the command's business. */
static enum ronde_status take_argument(struct parsing *parsing, const char *text)
{
    struct ronde_options *options = parsing->options;
    if (options->help && strcmp(text, "all") == 0) {
        options->help_all = true;
        return RONDE_OK;
    }
    if (options->argument_count == parsing->command->max_arguments)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: unexpected argument \"%s\"",
                          parsing->command->name, text);
    options->arguments[options->argument_count++] = text;
    return RONDE_OK;
}

/* What has a value even in commands that do not ask for it. */
static const struct ronde_option_use everywhere[] = {
    RONDE_TAKES(what, NULL),    RONDE_TAKES(sizes, NULL), RONDE_TAKES(engine, NULL),
    RONDE_TAKES(backend, NULL), RONDE_TAKES_END,
};

/* Structs of groups before anything was said. */
static void set_defaults(const struct ronde_option_use *uses, struct ronde_options *options)
{
    for (; uses->group; uses++)
        if (uses->group->defaults)
            memcpy(struct_of(options, uses), uses->group->defaults, uses->group->bytes);
}

static enum ronde_status finish(const struct parsing *parsing, const struct ronde_option_use *uses)
{
    for (; uses->group; uses++)
        if (uses->group->finish)
            RONDE_TRY(uses->group->finish(struct_of(parsing->options, uses), parsing->error));
    return RONDE_OK;
}

/* What is said of a machine needs one: nothing of it may be ignored where a command can do without. */
static enum ronde_status check_machine(const struct parsing *parsing)
{
    const struct ronde_machine_options *const machine = &parsing->options->machine;
    const char *const said = machine->without.count > 0   ? "without"
                             : machine->degrade.count > 0 ? "degrade"
                             : machine->nodes > 0         ? "nodes"
                             : machine->nics              ? "nics"
                             : machine->fabric            ? "fabric"
                                                          : NULL;
    if (!said || machine->topo || !has_own(parsing, "topo", 0))
        return RONDE_OK;
    return ronde_fail(
        parsing->error, RONDE_BAD_ARGUMENT,
        "--%s on which machine? --topo is missing; `ronde list` names the shipped ones", said);
}

static enum ronde_status check_given(const struct ronde_options *options, const char *names,
                                     bool are_taken, const char *what, struct ronde_error *error)
{
    for (uint32_t i = 0; i < options->given_count; i++)
        if (ronde_has_word(names, options->given[i]) != are_taken)
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: leave out --%s", what,
                              options->given[i]);
    return RONDE_OK;
}

enum ronde_status ronde_takes_only(const struct ronde_options *options, const char *names,
                                   const char *what, struct ronde_error *error)
{
    return check_given(options, names, true, what, error);
}

enum ronde_status ronde_takes_none(const struct ronde_options *options, const char *names,
                                   const char *what, struct ronde_error *error)
{
    return check_given(options, names, false, what, error);
}

/* ---- What stopped getopt, in words ------------------------------------------------------------------------------ */

/* Letters by which other benchmarks and launchers are told how many ranks there are: -g GPUs, -t threads, -np, -p. */
static bool means_ranks(const struct parsing *parsing, const char *word)
{
    return has_own(parsing, NULL, 'N') && (word[1] == 'g' || word[1] == 't' || word[1] == 'p');
}

/* Names the option as typed, and the nearest one this command takes. */
static enum ronde_status fail_option(const struct parsing *parsing, const char *word)
{
    const char *names[RONDE_MAX_OPTIONS], *command = parsing->command->name;
    char bare[64];
    for (uint32_t i = 0; i < parsing->count; i++)
        names[i] = parsing->rows[i].name;
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word, "="), word);
    const char *nearest = bare[1] == '-' ? ronde_nearest(bare + 2, names, parsing->count) : NULL;
    if (means_ranks(parsing, word))
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                          "%s: unknown option %s; the number of ranks is -N", command, bare);
    if (nearest)
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                          "%s: unknown option %s; did you mean --%s?", command, bare, nearest);
    return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT,
                      "%s: unknown option %s; see ronde %s --help", command, bare, command);
}

/*
 * getopt steps over a word it has read to its end, so the culprit is the word before, or, inside a cluster of letters, the
 * word itself.
 */
static enum ronde_status explain(const struct parsing *parsing, int key, char **argv)
{
    const char *command = parsing->command->name, *word = argv[optind - 1];

    if (key == ':')
        return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: option %s needs a value",
                          command, word);
    for (uint32_t i = 0; i < parsing->count; i++)
        if (parsing->rows[i].val == optopt)
            return ronde_fail(parsing->error, RONDE_BAD_ARGUMENT, "%s: option --%s takes no value",
                              command, parsing->rows[i].name);
    const bool is_read = word[0] == '-' && word[1] != '-' && word[strlen(word) - 1] == optopt;
    return fail_option(parsing, optopt == 0 || is_read ? word : argv[optind]);
}

enum ronde_status ronde_options_parse(const struct ronde_command *command, int argc, char **argv,
                                      struct ronde_options *out_options, struct ronde_error *error)
{
    struct parsing parsing;
    open_parsing(command, &parsing);
    *out_options = (struct ronde_options){.argv = argv, .argc = argc};
    out_options->own = out_options->room;
    parsing.options = out_options;
    parsing.error = error;
    set_defaults(everywhere, out_options);
    set_defaults(command->uses, out_options);
    opterr = 0;
    optind = 0;
    for (int key; (key = getopt_long(argc, argv, parsing.letters, parsing.rows, NULL)) != -1;)
        RONDE_TRY(key == '?' || key == ':' ? explain(&parsing, key, argv)
                                           : take_option(&parsing, key, optarg));
    for (int i = optind; i < argc; i++)
        RONDE_TRY(take_argument(&parsing, argv[i]));
    if (out_options->help)
        return RONDE_OK;
    RONDE_TRY(check_machine(&parsing));
    RONDE_TRY(finish(&parsing, everywhere));
    return finish(&parsing, command->uses);
}

/* ---- Help ------------------------------------------------------------------------------------------------------- */

static const char *const sections[] = {
    [RONDE_SECTION_WHAT] = "What:",         [RONDE_SECTION_MACHINE] = "Machine:",
    [RONDE_SECTION_SCENARIO] = "Scenario:", [RONDE_SECTION_ENGINE] = "Engine:",
    [RONDE_SECTION_OUTPUT] = "Output:",
};

#define SECTIONS (sizeof sections / sizeof sections[0])

void ronde_options_visit(const struct ronde_command *command, ronde_option_visitor visit,
                         void *context)
{
    struct parsing parsing;
    open_parsing(command, &parsing);
    for (unsigned section = 0; section < SECTIONS; section++)
        for (uint32_t i = 0; i < parsing.count; i++)
            if (parsing.own[i].use->group->section == section)
                visit(command, &parsing.own[i], context);
}

/* Help under way. */
struct helping {
    FILE *file;
    bool is_whole;
    uint32_t hidden;
    int section; /* of the last option; -1 = none yet */
};

/* Where what options do begins, and where its lines end. */
#define HELP_COLUMN 30
#define HELP_WIDTH 100

static void help_option(const struct ronde_command *command, const struct ronde_own_option *own,
                        void *context)
{
    struct helping *helping = context;
    const struct ronde_option *option = own->option;
    const char *value = option->value ? option->value : "";
    char text[RONDE_WORDS_BYTES];
    (void)command;
    if (option->is_rare && !helping->is_whole) {
        helping->hidden++;
        return;
    }
    if (helping->section != (int)own->use->group->section)
        fprintf(helping->file, "\n%s\n", sections[own->use->group->section]);
    helping->section = (int)own->use->group->section;
    int used = own->letter ? fprintf(helping->file, "  -%c, ", own->letter)
                           : fprintf(helping->file, "      ");
    used += fprintf(helping->file, "--%s%s%s", option->name, *value ? "=" : "", value);
    if (used + 2 > HELP_COLUMN)
        fprintf(helping->file, "\n%*s", HELP_COLUMN, "");
    else
        fprintf(helping->file, "%*s", HELP_COLUMN - used, "");
    ronde_screen_hang(helping->file, HELP_WIDTH, HELP_COLUMN, ronde_option_help(option, text));
}

void ronde_options_help(const struct ronde_command *command, bool is_whole, FILE *file)
{
    struct helping helping = {.file = file, .is_whole = is_whole, .section = -1};
    fprintf(file, "ronde %s: %s\nUsage: ronde %s%s%s [OPTION...]\n", command->name,
            command->summary, command->name, command->arguments[0] ? " " : "", command->arguments);
    ronde_options_visit(command, help_option, &helping);
    if (helping.hidden > 0)
        fprintf(file, "\n%u more: ronde %s --help all\n", helping.hidden, command->name);
    fprintf(file, "\nExamples:\n%s", command->examples);
}

uint64_t ronde_options_next_size(const struct ronde_sizes_options *sizes, uint64_t bytes)
{
    uint64_t next = sizes->step_bytes ? bytes + sizes->step_bytes : bytes * sizes->factor;
    if (!sizes->step_bytes && bytes == 0)
        next = 1;
    return next > bytes && next <= sizes->max_bytes ? next : 0;
}
