/* ronde completion: what shells complete, made of the tables that --help prints. */
#include "cli/options/option_table.h"
#include "cli/options/option_words.h"
#include "cli/print/report.h"
#include "commands.h"
#include "common.h"

#include <ctype.h>
#include <string.h>

/* A row of a command's options as shells want it. */
struct entry {
    const struct ronde_command *command;
    const struct argp_option *option;
    char letter; /* '\0' = none */
    struct ronde_value_words value;
};

/* Called for every option of every command. */
typedef void (*entry_visitor)(FILE *file, const struct entry *entry);

static void each_option(FILE *file, const struct ronde_command *command, entry_visitor on_entry)
{
    struct ronde_own_options own;
    const uint32_t count = ronde_option_table(command, &own);
    for (uint32_t i = 0; i < count; i++) {
        struct entry entry = {.command = command, .option = &own.all[i]};
        entry.letter = own.all[i].key < 128 && isalpha(own.all[i].key) ? (char)own.all[i].key : 0;
        ronde_option_words(command, own.all[i].name, own.all[i].arg != NULL, &entry.value);
        on_entry(file, &entry);
    }
}

/* A text in single quotes of a shell; zsh's own marks in descriptions get a backslash. */
static void put_quoted(FILE *file, const char *text, const char *marks)
{
    for (; *text; text++) {
        if (*text == '\'') {
            fputs("'\\''", file);
            continue;
        }
        if (marks && strchr(marks, *text))
            fputc('\\', file);
        fputc(*text, file);
    }
}

/* --- bash ------------------------------------------------------------------------------------ */

static void bash_names(FILE *file, const struct entry *entry)
{
    fprintf(file, " --%s", entry->option->name);
    if (entry->letter)
        fprintf(file, " -%c", entry->letter);
}

/* What stands behind an option that takes something. */
static void bash_values(FILE *file, const struct entry *entry)
{
    if (entry->value.kind == RONDE_VALUE_NONE)
        return;
    fprintf(file, "        %s:--%s", entry->command->name, entry->option->name);
    if (entry->letter)
        fprintf(file, "|%s:-%c", entry->command->name, entry->letter);
    fprintf(file, ") _ronde_offer \"%s\" %d; return ;;\n", entry->value.words,
            entry->value.kind == RONDE_VALUE_FILE);
}

static void print_bash(FILE *file, const struct ronde_command *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file,
            "# ronde %s: completion for bash, made by `ronde completion bash`\n\n"
            "_ronde_offer() {\n"
            "    COMPREPLY=($(compgen -W \"$1\" -- \"$cur\"))\n"
            "    if [ \"$2\" = 1 ]; then COMPREPLY+=($(compgen -f -- \"$cur\")); fi\n"
            "}\n\n"
            "_ronde() {\n"
            "    local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
            "    local command=${COMP_WORDS[1]}\n"
            "    COMPREPLY=()\n"
            "    if [ \"$cur\" = \"=\" ]; then cur=\"\"; fi\n"
            "    if [ \"$before\" = \"=\" ]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
            "    if [ \"$COMP_CWORD\" = 1 ] || [ \"$command\" = help ]; then\n"
            "        _ronde_offer \"help",
            RONDE_VERSION);
    for (uint32_t c = 0; c < count; c++)
        fprintf(file, " %s", commands[c].name);
    fputs(" --help --version\" 0; return\n    fi\n    case \"$command:$before\" in\n", file);
    for (uint32_t c = 0; c < count; c++)
        each_option(file, &commands[c], bash_values);
    fputs("    esac\n    case \"$command\" in\n", file);
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(&commands[c], words);
        fprintf(file,
                "        %s)\n            case \"$cur\" in\n                -*) _ronde_offer \"",
                commands[c].name);
        each_option(file, &commands[c], bash_names);
        fprintf(file, "\" 0 ;;\n                *) _ronde_offer \"%s\" 1 ;;\n            esac ;;\n",
                words);
    }
    fputs("    esac\n}\n\ncomplete -o filenames -F _ronde ronde\n", file);
}

/* --- zsh ------------------------------------------------------------------------------------- */

/* The last word of _arguments' specification: what the value is called and how it is completed. */
static void zsh_value(FILE *file, const struct entry *entry)
{
    if (entry->value.kind == RONDE_VALUE_NONE)
        return;
    fputc(':', file);
    put_quoted(file, entry->option->arg, ":[]\\");
    if (entry->value.kind == RONDE_VALUE_WORDS)
        fprintf(file, ":(%s)", entry->value.words);
    else
        fputs(entry->value.kind == RONDE_VALUE_FILE ? ":_files" : ": ", file);
}

static void zsh_option(FILE *file, const struct entry *entry)
{
    const char *const eq = entry->value.kind == RONDE_VALUE_NONE ? "" : "=";
    if (entry->letter) {
        fprintf(file, "            '*-%c%s[", entry->letter, *eq ? "+" : "");
        put_quoted(file, entry->option->doc, ":[]\\");
        fputc(']', file);
        zsh_value(file, entry);
        fputs("' \\\n", file);
    }
    fprintf(file, "            '*--%s%s[", entry->option->name, eq);
    put_quoted(file, entry->option->doc, ":[]\\");
    fputc(']', file);
    zsh_value(file, entry);
    fputs("' \\\n", file);
}

static void print_zsh(FILE *file, const struct ronde_command *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file,
            "#compdef ronde\n# ronde %s: completion for zsh, made by `ronde completion zsh`\n\n"
            "_ronde() {\n    local -a commands\n    commands=(\n",
            RONDE_VERSION);
    for (uint32_t c = 0; c < count; c++) {
        fprintf(file, "        '%s:", commands[c].name);
        put_quoted(file, commands[c].summary, ":\\");
        fputs("'\n", file);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
          "return\n"
          "    fi\n    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $command in\n",
          file);
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(&commands[c], words);
        fprintf(file, "        %s)\n            _arguments -s -S \\\n", commands[c].name);
        each_option(file, &commands[c], zsh_option);
        fprintf(file,
                words[0] ? "            '*:argument:{ _alternative \"words:word:(%s)\" "
                           "\"files:file:_files\" }' ;;\n"
                         : "            '*:argument:_files%s' ;;\n",
                words);
    }
    fputs("    esac\n}\n\n_ronde \"$@\"\n", file);
}

/* --- fish ------------------------------------------------------------------------------------ */

static void fish_option(FILE *file, const struct entry *entry)
{
    fprintf(file, "complete -c ronde -n '__fish_seen_subcommand_from %s' -l %s",
            entry->command->name, entry->option->name);
    if (entry->letter)
        fprintf(file, " -s %c", entry->letter);
    if (entry->value.kind == RONDE_VALUE_ANY || entry->value.kind == RONDE_VALUE_WORDS)
        fputs(" -x", file);
    if (entry->value.kind == RONDE_VALUE_FILE)
        fputs(" -r -F", file);
    if (entry->value.words[0])
        fprintf(file, " -a '%s'", entry->value.words);
    fputs(" -d '", file);
    put_quoted(file, entry->option->doc, "\\");
    fputs("'\n", file);
}

static void print_fish(FILE *file, const struct ronde_command *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file, "# ronde %s: completion for fish, made by `ronde completion fish`\n\n",
            RONDE_VERSION);
    for (uint32_t c = 0; c < count; c++) {
        fprintf(file, "complete -c ronde -f -n __fish_use_subcommand -a %s -d '", commands[c].name);
        put_quoted(file, commands[c].summary, "\\");
        fputs("'\n", file);
    }
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(&commands[c], words);
        if (words[0])
            fprintf(file, "complete -c ronde -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                    commands[c].name, words);
        each_option(file, &commands[c], fish_option);
    }
}

/* --- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*print)(FILE *file, const struct ronde_command *commands, uint32_t count);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

int ronde_cmd_completion(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    uint32_t count;
    const struct ronde_command *commands = ronde_commands(&count);
    const char *shell = options->argument_count > 0 ? options->arguments[0] : "";
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        struct ronde_sink sink = {0};
        if (strcmp(shells[i].name, shell) != 0)
            continue;
        enum ronde_status status = ronde_sink_open(options, &sink, &error);
        if (status != RONDE_OK)
            return ronde_report(&error);
        shells[i].print(sink.file, commands, count);
        status = ronde_sink_close(&sink, &error);
        return status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
    }
    ronde_fail(&error, RONDE_BAD_ARGUMENT, "completion for which shell? bash, zsh or fish");
    return ronde_report(&error);
}
