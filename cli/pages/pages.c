/* ronde_pages completion SHELL | manual [COMMAND] prints what is installed beside the command, made of the tables that
 * --help prints; ronde_pages all FOLDER writes it. */
#include "cli/cmd/commands.h"
#include "cli/options/option_groups.h"

#include <ctype.h>
#include <string.h>

/* What shells complete, made of the tables that --help prints. */

/* An option as shells want it. */
struct entry {
    const struct ronde_command *command;
    const struct ronde_option *option;
    int letter; /* 0 = none */
    struct ronde_value_words value;
    const char *help;
};

/* Called for every option of every command. */
typedef void (*entry_visitor)(FILE *file, const struct entry *entry);

struct visiting {
    FILE *file;
    entry_visitor on_entry;
};

static void visit(const struct ronde_command *command, const struct ronde_own_option *own,
                  void *context)
{
    const struct visiting *visiting = context;
    char help[RONDE_WORDS_BYTES];
    struct entry entry = {.command = command, .option = own->option, .letter = own->letter};
    entry.help = ronde_option_help(own->option, help);
    ronde_option_words(own->option, &entry.value);
    visiting->on_entry(visiting->file, &entry);
}

static void each_option(FILE *file, const struct ronde_command *command, entry_visitor on_entry)
{
    struct visiting visiting = {file, on_entry};
    ronde_options_visit(command, visit, &visiting);
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

static void print_bash(FILE *file, const struct ronde_command *const *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file,
            "# ronde %s: completion for bash, made with it\n\n"
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
        fprintf(file, " %s", commands[c]->name);
    fputs(" --help --version\" 0; return\n    fi\n    case \"$command:$before\" in\n", file);
    for (uint32_t c = 0; c < count; c++)
        each_option(file, commands[c], bash_values);
    fputs("    esac\n    case \"$command\" in\n", file);
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(commands[c], words);
        fprintf(file,
                "        %s)\n            case \"$cur\" in\n                -*) _ronde_offer \"",
                commands[c]->name);
        each_option(file, commands[c], bash_names);
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
    put_quoted(file, entry->option->value, ":[]\\");
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
        put_quoted(file, entry->help, ":[]\\");
        fputc(']', file);
        zsh_value(file, entry);
        fputs("' \\\n", file);
    }
    fprintf(file, "            '*--%s%s[", entry->option->name, eq);
    put_quoted(file, entry->help, ":[]\\");
    fputc(']', file);
    zsh_value(file, entry);
    fputs("' \\\n", file);
}

static void print_zsh(FILE *file, const struct ronde_command *const *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file,
            "#compdef ronde\n# ronde %s: completion for zsh, made with it\n\n"
            "_ronde() {\n    local -a commands\n    commands=(\n",
            RONDE_VERSION);
    for (uint32_t c = 0; c < count; c++) {
        fprintf(file, "        '%s:", commands[c]->name);
        put_quoted(file, commands[c]->summary, ":\\");
        fputs("'\n", file);
    }
    fputs("    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        "
          "return\n"
          "    fi\n    local command=$words[2]\n    shift words\n    (( CURRENT-- ))\n"
          "    case $command in\n",
          file);
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(commands[c], words);
        fprintf(file, "        %s)\n            _arguments -s -S \\\n", commands[c]->name);
        each_option(file, commands[c], zsh_option);
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
    put_quoted(file, entry->help, "\\");
    fputs("'\n", file);
}

static void print_fish(FILE *file, const struct ronde_command *const *commands, uint32_t count)
{
    char words[RONDE_WORDS_BYTES];
    fprintf(file, "# ronde %s: completion for fish, made with it\n\n", RONDE_VERSION);
    for (uint32_t c = 0; c < count; c++) {
        fprintf(file, "complete -c ronde -f -n __fish_use_subcommand -a %s -d '", commands[c]->name);
        put_quoted(file, commands[c]->summary, "\\");
        fputs("'\n", file);
    }
    for (uint32_t c = 0; c < count; c++) {
        ronde_argument_words(commands[c], words);
        if (words[0])
            fprintf(file, "complete -c ronde -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                    commands[c]->name, words);
        each_option(file, commands[c], fish_option);
    }
}

/* Completions of a shell: bash, zsh or fish; false for another. */
static bool print_completion(FILE *file, const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(FILE *file, const struct ronde_command *const *commands, uint32_t count);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, shell) == 0) {
            shells[i].print(file, commands, count);
            return true;
        }
    return false;
}

/* The pages of `man`, made of the tables that --help prints. */

/* A text for roff: its own marks escaped, minus signs as they are typed. */
static void put(FILE *file, const char *text)
{
    bool is_line_start = true;
    for (; *text; text++) {
        if (is_line_start && (*text == '.' || *text == '\''))
            fputs("\\&", file);
        if (*text == '\\')
            fputs("\\e", file);
        else if (*text == '-')
            fputs("\\-", file);
        else
            fputc(*text, file);
        is_line_start = *text == '\n';
    }
}

static void put_title(FILE *file, const char *page)
{
    fputs(".TH ", file);
    for (; *page; page++)
        fputc(toupper((unsigned char)*page), file);
    fprintf(file, " 1 \"\" \"ronde %s\" \"ronde\"\n", RONDE_VERSION);
}

/* ".SH NAME" wants the page, a minus and one line. */
static void put_name(FILE *file, const char *page, const char *summary)
{
    fputs(".SH NAME\n", file);
    put(file, page);
    fputs(" \\- ", file);
    put(file, summary);
    fputc('\n', file);
}

/* One option: its letter and name, its value, and what it does. */
static void put_option(const struct ronde_command *command, const struct ronde_own_option *own,
                       void *context)
{
    FILE *file = context;
    char help[RONDE_WORDS_BYTES];
    (void)command;
    fputs(".TP\n", file);
    if (own->letter)
        fprintf(file, "\\fB\\-%c\\fR, ", own->letter);
    fputs("\\fB\\-\\-", file);
    put(file, own->option->name);
    fputs("\\fR", file);
    if (own->option->value) {
        fputs("=\\fI", file);
        put(file, own->option->value);
        fputs("\\fR", file);
    }
    fputc('\n', file);
    put(file, ronde_option_help(own->option, help));
    fputc('\n', file);
}

static void print_command(FILE *file, const struct ronde_command *command)
{
    char page[64];
    (void)snprintf(page, sizeof page, "ronde-%s", command->name);
    put_title(file, page);
    put_name(file, page, command->summary);
    fprintf(file, ".SH SYNOPSIS\n\\fBronde %s\\fR [\\fIOPTION\\fR...] ", command->name);
    put(file, command->arguments);
    fputs("\n.SH OPTIONS\n", file);
    ronde_options_visit(command, put_option, file);
    fputs(".SH EXAMPLES\n.nf\n", file);
    put(file, command->examples);
    fputs(".fi\n.SH SEE ALSO\n.BR ronde (1)\n", file);
}

static void print_overview(FILE *file, const struct ronde_command *const *commands, uint32_t count)
{
    put_title(file, "ronde");
    put_name(file, "ronde",
             "compile, prove, run, replay and price the schedules of collective operations");
    fputs(
        ".SH SYNOPSIS\n\\fBronde\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fIARGUMENT\\fR...]\n"
        ".SH DESCRIPTION\n"
        "ronde compiles a collective operation into a schedule: which rank sends which part of "
        "what to whom, when.\nThe schedule is proved, and then runs on processors, processes and "
        "GPUs, is replayed on a described machine, and is priced.\nNumbers of bytes may end in K, "
        "M or G, powers of 1024.\n.SH COMMANDS\n",
        file);
    for (uint32_t c = 0; c < count; c++) {
        fprintf(file, ".TP\n.BR ronde\\-%s (1)\n", commands[c]->name);
        put(file, commands[c]->summary);
        fputc('\n', file);
    }
    fputs(".SH EXIT STATUS\n"
          ".TP\n0\ndone\n.TP\n1\nthe answer is no: a wrong result, a failed proof\n"
          ".TP\n2\nbad usage or input\n.TP\n3\na component is missing\n.TP\n4\nthe run failed\n"
          ".SH FILES\n.TP\n\\fI*.ronde\\fR\nschedules, in the form of "
          "docs/reference/schedule\\-format.md\n"
          ".TP\n\\fI$XDG_CONFIG_HOME/ronde/tune\\fR\ntables of measured times, by which "
          "\\fB\\-a auto\\fR chooses\n"
          ".SH ENVIRONMENT\n.TP\nNO_COLOR\nif it is set and not empty, nothing is coloured\n",
          file);
}

/* A page for man, of a command or (NULL) of all together; false where there is no such command. */
static bool print_manual(FILE *file, const char *name)
{
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    if (!name)
        print_overview(file, commands, count);
    for (uint32_t c = 0; name && c < count; c++)
        if (strcmp(commands[c]->name, name) == 0) {
            print_command(file, commands[c]);
            return true;
        }
    return !name;
}

/* One of them as a file: what main's first two arguments say, into the third. */
static bool write_page(const char *kind, const char *word, const char *path)
{
    FILE *file = path ? fopen(path, "w") : stdout;
    if (!file)
        return false;
    const bool is_done = strcmp(kind, "manual") == 0               ? print_manual(file, word)
                         : strcmp(kind, "completion") == 0 && word ? print_completion(file, word)
                                                                   : false;
    return path ? fclose(file) == 0 && is_done : is_done;
}

/* All of them into a folder, manual pages into its folder man1; false where a file cannot be written. */
static bool write_all(const char *folder)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};
    char path[4096];
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    snprintf(path, sizeof path, "%s/man1/ronde.1", folder);
    bool is_done = write_page("manual", NULL, path);
    for (size_t s = 0; s < sizeof shells / sizeof shells[0]; s++) {
        snprintf(path, sizeof path, "%s/%s", folder, shells[s]);
        is_done = write_page("completion", shells[s], path) && is_done;
    }
    for (uint32_t c = 0; c < count; c++) {
        snprintf(path, sizeof path, "%s/man1/ronde-%s.1", folder, commands[c]->name);
        is_done = write_page("manual", commands[c]->name, path) && is_done;
    }
    return is_done;
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "", *word = argc > 2 ? argv[2] : NULL;
    if (strcmp(kind, "all") == 0 && word) {
        if (write_all(word))
            return 0;
        fprintf(stderr, "ronde_pages: not all pages could be written below %s\n", word);
        return 4;
    }
    if (write_page(kind, word, NULL))
        return 0;
    fputs("ronde_pages: completion bash|zsh|fish, manual [COMMAND], or all FOLDER\n", stderr);
    return 2;
}
