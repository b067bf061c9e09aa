/* ronde manual: the pages of `man`, made of the tables that --help prints. */
#include "cli/options/option_table.h"
#include "cli/print/report.h"
#include "commands.h"
#include "common.h"

#include <ctype.h>
#include <string.h>

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

/* One option: its letter and name, its value, and what the table says. */
static void put_option(FILE *file, const struct argp_option *option)
{
    fputs(".TP\n", file);
    if (option->key < 128 && isalpha(option->key))
        fprintf(file, "\\fB\\-%c\\fR, ", option->key);
    fputs("\\fB\\-\\-", file);
    put(file, option->name);
    fputs("\\fR", file);
    if (option->arg) {
        fputs("=\\fI", file);
        put(file, option->arg);
        fputs("\\fR", file);
    }
    fputc('\n', file);
    put(file, option->doc);
    fputc('\n', file);
}

static void print_command(FILE *file, const struct ronde_command *command)
{
    struct ronde_own_options own;
    char page[64];
    const uint32_t count = ronde_option_table(command, &own);
    (void)snprintf(page, sizeof page, "ronde-%s", command->name);
    put_title(file, page);
    put_name(file, page, command->summary);
    fprintf(file, ".SH SYNOPSIS\n\\fBronde %s\\fR [\\fIOPTION\\fR...] ", command->name);
    put(file, command->arguments);
    fputs("\n.SH OPTIONS\n", file);
    for (uint32_t i = 0; i < count; i++)
        put_option(file, &own.all[i]);
    fputs(".SH EXAMPLES\n.nf\n", file);
    put(file, command->examples);
    fputs(".fi\n.SH SEE ALSO\n.BR ronde (1)\n", file);
}

static void print_overview(FILE *file, const struct ronde_command *commands, uint32_t count)
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
        fprintf(file, ".TP\n.BR ronde\\-%s (1)\n", commands[c].name);
        put(file, commands[c].summary);
        fputc('\n', file);
    }
    fputs(".SH EXIT STATUS\n"
          ".TP\n0\ndone\n.TP\n1\nthe answer is no: a wrong result, a failed proof\n"
          ".TP\n2\nbad usage or input\n.TP\n3\na component is missing\n.TP\n4\nthe run failed\n"
          ".SH FILES\n.TP\n\\fI*.ronde\\fR\nschedules, in the form of docs/schedule\\-format.md\n"
          ".TP\n\\fI$XDG_CONFIG_HOME/ronde/tune\\fR\ntables of measured times, by which "
          "\\fB\\-a auto\\fR chooses\n"
          ".SH ENVIRONMENT\n.TP\nNO_COLOR\nif it is set and not empty, nothing is coloured\n",
          file);
}

static const struct ronde_command *find(const struct ronde_command *commands, uint32_t count,
                                        const char *name)
{
    for (uint32_t c = 0; c < count; c++)
        if (strcmp(commands[c].name, name) == 0)
            return &commands[c];
    return NULL;
}

int ronde_cmd_manual(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct ronde_sink sink = {0};
    uint32_t count;
    const struct ronde_command *commands = ronde_commands(&count);
    const struct ronde_command *command =
        options->argument_count > 0 ? find(commands, count, options->arguments[0]) : NULL;
    if (options->argument_count > 0 && !command) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "no command \"%s\" to write a page of",
                   options->arguments[0]);
        return ronde_report(&error);
    }
    if (ronde_sink_open(options, &sink, &error) != RONDE_OK)
        return ronde_report(&error);
    if (command)
        print_command(sink.file, command);
    else
        print_overview(sink.file, commands, count);
    return ronde_sink_close(&sink, &error) == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
}
