/* ronde: the dispatch table. */
#include "cli/cmd/commands.h"
#include "cli/options/options.h"
#include "cli/print/report.h"
#include "ronde/field.h"

#include "ronde/comm.h"
#include "ronde/executors.h"
#include "ronde/schedules.h"
#include "ronde/sim.h"
#include "ronde/topologies.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct ronde_command *find_command(const char *name)
{
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* With the nearest name, as everywhere; who types a collective first, as other benchmarks are called, is shown how. */
static int refuse_command(const char *name)
{
    const char *names[RONDE_MOST_COMMANDS];
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    struct ronde_error error = {0};
    struct ronde_error no_collective = {0};
    enum ronde_collective collective;
    if (ronde_parse_collective(name, &collective, &no_collective) == RONDE_OK) {
        ronde_fail(&error, RONDE_BAD_ARGUMENT,
                   "%s is a collective, not a command; did you mean ronde run %s?", name, name);
        return ronde_report(&error);
    }
    for (uint32_t i = 0; i < count; i++)
        names[i] = commands[i]->name;
    const char *nearest = ronde_nearest(name, names, count);
    if (nearest)
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "unknown command \"%s\"; did you mean %s?", name,
                   nearest);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "unknown command \"%s\"; see ronde help", name);
    return ronde_report(&error);
}

/* To stdout where it was asked for, to stderr where a command is missing. */
static int print_help(FILE *file, bool is_whole, int code)
{
    uint32_t count;
    const struct ronde_command *const *commands = ronde_commands(&count);
    fputs("ronde: how long a collective takes on a machine, with which algorithm, and whether that "
          "is "
          "true\n\nUsage: ronde COMMAND [OPTION...]\n\nCommands:\n",
          file);
    for (uint32_t i = 0; i < count; i++)
        if (is_whole || !commands[i]->is_rare)
            fprintf(file, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs(is_whole ? "" : "\nronde --help all names the others, too.", file);
    fputs("\nronde COMMAND --help tells the options of a command; ronde --version the version.\n"
          "Exit codes: 0 done, 1 the answer is no (wrong result, failed proof), 2 bad usage or\n"
          "input, 3 a component is missing, 4 the run failed.\n",
          file);
    return code;
}

/* Executors that work here, and what joins processes. */
static void print_executors(void)
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        struct ronde_machine machine;
        struct ronde_error why_not = {0};
        if (ronde_executor_probe(&executors[e], &machine, &why_not) == RONDE_OK)
            printf(" %s", executors[e].name);
    }
}

/* Features are asked, not remembered from the build. */
static int print_version(void)
{
    const char *text = NULL, *reason = NULL;
    printf("ronde %s (features:", RONDE_VERSION);
    print_executors();
    if (ronde_sim_simgrid_available(&text))
        printf(" simgrid");
    if (ronde_topologies_available(&reason))
        printf(" xml");
    if (ronde_json_available(&text))
        printf(" json");
    printf(")\n");
    return RONDE_EXIT_OK;
}

/* "topo show" is typed as show. */
static const char *word_of(const struct ronde_command *verb)
{
    return strchr(verb->name, ' ') + 1;
}

static const struct ronde_command *find_verb(const struct ronde_command *command, const char *word)
{
    for (uint32_t i = 0; word && i < command->verb_count; i++)
        if (strcmp(word_of(&command->verbs[i]), word) == 0)
            return &command->verbs[i];
    return NULL;
}

/* With the nearest verb, as everywhere. */
static int refuse_verb(const struct ronde_command *command, const char *word)
{
    const char *names[RONDE_MOST_COMMANDS];
    char list[RONDE_NAMES_BYTES], lead[64];
    struct ronde_error error = {0};

    for (uint32_t i = 0; i < command->verb_count; i++)
        names[i] = word_of(&command->verbs[i]);
    snprintf(lead, sizeof lead, "%s: unknown verb", command->name);
    if (word)
        ronde_name_refuse(lead, word, names, command->verb_count, &error);
    else
        ronde_fail(&error, RONDE_BAD_ARGUMENT, "%s: which verb? there are %s", command->name,
                   ronde_names_list(names, command->verb_count, list));
    return ronde_report(&error);
}

/* The verbs of a command, which have options of their own. */
static int print_verbs(const struct ronde_command *command)
{
    printf("ronde %s: %s\nUsage: ronde %s %s [OPTION...]\n\n", command->name, command->summary,
           command->name, command->arguments);
    for (uint32_t i = 0; i < command->verb_count; i++)
        printf("  %-10s %s\n", word_of(&command->verbs[i]), command->verbs[i].summary);
    printf("\nronde %s VERB --help tells the options of a verb.\n\nExamples:\n%s", command->name,
           command->examples);
    return RONDE_EXIT_OK;
}

static bool is_help(const char *word)
{
    return word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
}

static int run_command(const struct ronde_command *command, int argc, char **argv);

/* The first word that is a verb says which; what stands before and behind it is the verb's. */
static int run_verb(const struct ronde_command *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    for (int at = 1; at < argc; at++) {
        const struct ronde_command *verb = find_verb(command, argv[at]);
        if (!verb)
            continue;
        memmove(argv + at, argv + at + 1, (size_t)(argc - at) * sizeof *argv);
        return run_command(verb, argc - 1, argv);
    }
    return is_help(word) ? print_verbs(command) : refuse_verb(command, word);
}

/* Options first: help of a command must work where the command would not. */
static int run_command(const struct ronde_command *command, int argc, char **argv)
{
    static struct ronde_options options;
    struct ronde_invocation call = {.options = &options};
    struct ronde_error error = {0};

    if (command->verbs)
        return run_verb(command, argc, argv);
    if (ronde_options_parse(command, argc, argv, &options, &error) != RONDE_OK)
        return ronde_report(&error);
    if (options.help) {
        ronde_options_help(command, options.help_all, stdout);
        return RONDE_EXIT_OK;
    }
    if (ronde_inputs_check(command, &options, &error) != RONDE_OK)
        return ronde_report(&error);
    if (options.output.json || options.output.csv)
        ronde_progress_silence();
    enum ronde_status status = command->run(&call, &error);
    ronde_progress_end();
    status = ronde_sink_close(&call.sink, status, &error);
    ronde_platform_destroy(call.platform);
    return status == RONDE_OK ? call.code : ronde_report(&error);
}

/* `ronde help COMMAND [VERB]` is `ronde COMMAND [VERB] --help`; `all` shows all there is. */
static int help_command(int argc, char **argv)
{
    const bool is_whole = argc > 1 && strcmp(argv[argc - 1], "all") == 0;
    if (argc < 2 + is_whole)
        return print_help(stdout, is_whole, RONDE_EXIT_OK);
    const struct ronde_command *command = find_command(argv[1]);
    if (!command)
        return refuse_command(argv[1]);
    if (!command->verbs) {
        ronde_options_help(command, is_whole, stdout);
        return RONDE_EXIT_OK;
    }
    if (argc < 3 + is_whole)
        return print_verbs(command);
    const struct ronde_command *verb = find_verb(command, argv[2]);
    if (!verb)
        return refuse_verb(command, argv[2]);
    ronde_options_help(verb, is_whole, stdout);
    return RONDE_EXIT_OK;
}

static bool is_one_of(const char *text, const char *a, const char *b)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

/* The kernel's own set of signals, in bytes (_NSIG of the kernel / 8). */
#define KERNEL_SET_BYTES 8u

/* The signals that were blocked when the program was started. */
static sigset_t mask_at_start;

/*
 * UCX's library catches SIGHUP while it is loaded, and hw/ucx/net.c gives it back; one that comes in between would be
 * lost. What stands in .preinit_array runs before the libraries' own beginnings. A plain system call: a sanitizer's
 * sigprocmask does not work yet.
 */
static void hold_signals(void)
{
    sigset_t all;
    memset(&all, 0xff, sizeof all);
    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask_at_start, KERNEL_SET_BYTES);
}

__attribute__((section(".preinit_array"), used)) static void (*hold)(void) = hold_signals;

/*
 * A program may be started without its standard streams. The next file it opened would then be one of them, and take what
 * is printed, or a socket count as none. What cannot be printed is an error: a stream for writing is opened for reading.
 */
static bool open_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDONLY) != fd)
            return false;
    return true;
}

/* The exit code, unless what the command has printed did not all arrive. */
static int finish(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    if (code != RONDE_EXIT_OK)
        return code;
    ronde_note("ronde: not all that was printed has arrived at standard output: is it closed, or "
               "its disk full?");
    return RONDE_EXIT_FAILED;
}

static int run_words(int argc, char **argv)
{
    if (argc < 2)
        return print_help(stderr, false, RONDE_EXIT_USAGE);
    if (is_help(argv[1]))
        return help_command(argc - 1, argv + 1);
    if (is_one_of(argv[1], "--version", "-V"))
        return print_version();
    if (strcmp(argv[1], "help") == 0)
        return help_command(argc - 1, argv + 1);
    const struct ronde_command *command = find_command(argv[1]);
    return command ? run_command(command, argc - 1, argv + 1) : refuse_command(argv[1]);
}

/* A link that is named like a program of nccl-tests. */
static int run_nccl_tests(int argc, char **argv)
{
    struct ronde_nccl_tests words;
    struct ronde_error error = {0};
    bool has_helped;
    if (ronde_nccl_tests_translate(argc, argv, &words, &has_helped, &error) != RONDE_OK)
        return ronde_report(&error);
    return has_helped ? RONDE_EXIT_OK : run_command(find_command("run"), words.count, words.words);
}

int main(int argc, char **argv)
{
    (void)sigprocmask(SIG_SETMASK, &mask_at_start, NULL);
    if (!open_standard_streams())
        return RONDE_EXIT_FAILED;
    /* A reader that has seen enough ends the program quietly, also where whoever started it ignores the signal. */
    (void)signal(SIGPIPE, SIG_DFL);
    /* A file that may grow no longer (ulimit -f) is an error like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    /* Rows appear as they are measured, in pipes too. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    /* One replay after another takes large arrays: a page that was given back would be cleared again for the next. All
     * threads share these pages. */
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, -1);
    (void)mallopt(M_ARENA_MAX, 1);
    const bool is_link = argc > 0 && ronde_is_nccl_tests(argv[0]);
    return finish(is_link ? run_nccl_tests(argc, argv) : run_words(argc, argv));
}
