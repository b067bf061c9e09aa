/*
 * Starting a command's processes on other hosts.
 *
 * For hosts that have ssh and ronde and no launcher: hydra and mpirun also start their processes through ssh, but by a
 * daemon of their own (hydra_pmi_proxy, orted) that must be installed on every host. docs/notes/processes.md compares them.
 *
 * The command is started once on each host, through ssh or whatever --launcher says, with the ranks it is to make there
 * and where they meet; the rest of the command line stays as it is. The job's secret goes through standard input, since
 * command lines are for everybody to read. That input then stays open as long as this process lives: launchers such as
 * ssh leave what they have started behind when they are ended, so the ranks watch their input and end with it.
 */
#include "job.h"

#include "children.h"
#include "cli/print/report.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Where nothing says otherwise the ranks meet at one of so many ports: below those that systems hand out themselves. */
#define FIRST_PORT 20000u
#define PORTS 10000u

/* Hosts and words of a command line, at most. */
#define MAX_HOSTS 256u
#define MAX_WORDS 512u

/* Tells a process on a host to end when its input does. */
#define END_WITH_INPUT "RONDE_END_WITH_INPUT"

/* A launcher that a SIGSTOP has stopped, and what is to end and does not, get this long. */
#define STOPPED_NS 60e9
#define KILL_NS 500000000L

/* What there is to do, and how far it is. */
struct remote_launch {
    const struct ronde_options *options;
    uint32_t ranks;
    uint32_t host_count;
    char *hosts[MAX_HOSTS]; /* in `names` */
    char names[4096];
    char launcher[512];                /* cut at its blanks */
    char join[256];                    /* where the ranks meet */
    char token[RONDE_TOKEN_BYTES + 1]; /* the job's secret, with a line's end */
    char program[512];                 /* this program */
    char count[16];                    /* of ranks, in words */
    char range[32];                    /* of the ranks of a host, in words */
    const char *words[MAX_WORDS];      /* the command line for a host, and NULL */
    uint32_t word_count;
    struct ronde_children children; /* the launchers, one a host */
    int inputs[MAX_HOSTS];          /* the other ends of their inputs */
};

extern char **environ;

/* Cuts a text at a separator; how many parts, or `most` + 1. */
static uint32_t cut(char *text, const char *separator, char **parts, uint32_t most)
{
    uint32_t count = 0;
    char *rest = text;
    for (char *part = strtok_r(text, separator, &rest); part && count <= most;
         part = strtok_r(NULL, separator, &rest)) {
        if (count < most)
            parts[count] = part;
        count++;
    }
    return count;
}

/* A launcher may hand words to a shell of the other host, or may not: only those that mean the same to both are sent. */
static enum ronde_status check_word(const char *word, struct ronde_error *error)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+=:,./@%";
    if (*word != '\0' && word[strspn(word, plain)] == '\0')
        return RONDE_OK;
    return ronde_fail(
        error, RONDE_BAD_ARGUMENT,
        "--hosts: argument \"%.100s\" contains characters the remote shell would change; "
        "use only letters, digits and _-+=:,./@%%",
        word);
}

static enum ronde_status add_word(struct remote_launch *launch, const char *word,
                                  struct ronde_error *error)
{
    RONDE_TRY(check_word(word, error));
    if (launch->word_count + 1 >= MAX_WORDS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--hosts: more than %u words", MAX_WORDS - 1);
    launch->words[launch->word_count++] = word;
    launch->words[launch->word_count] = NULL;
    return RONDE_OK;
}

static enum ronde_status find_hosts(struct remote_launch *launch, struct ronde_error *error)
{
    const struct ronde_options *options = launch->options;
    const uint32_t given = options->what.rank_counts > 0 ? options->what.ranks[0] : 0;
    if (strlen(options->backend.hosts) >= sizeof launch->names)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--hosts: more than %zu characters",
                          sizeof launch->names - 1);
    memcpy(launch->names, options->backend.hosts, strlen(options->backend.hosts) + 1);
    launch->host_count = cut(launch->names, ",", launch->hosts, MAX_HOSTS);
    launch->ranks = given > 0 ? given : launch->host_count;
    snprintf(launch->count, sizeof launch->count, "%u", launch->ranks);
    if (launch->host_count == 0 || launch->host_count > MAX_HOSTS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--hosts \"%.100s\": 1 to %u names are needed",
                          options->backend.hosts, MAX_HOSTS);
    if (launch->ranks < launch->host_count)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u ranks on %u hosts: some would have none",
                          launch->ranks, launch->host_count);
    for (uint32_t host = 0; host < launch->host_count; host++)
        if (launch->hosts[host][0] == '-')
            return ronde_fail(error, RONDE_BAD_ARGUMENT, "--hosts: \"%.100s\" is no host",
                              launch->hosts[host]);
    return RONDE_OK;
}

/* Where the ranks meet, and their secret. */
static enum ronde_status choose_rendezvous(struct remote_launch *launch, struct ronde_error *error)
{
    uint64_t drawn;
    RONDE_TRY(ronde_token_draw(launch->token, error));
    strcat(launch->token, "\n");
    if (getrandom(&drawn, sizeof drawn, 0) != (ssize_t)sizeof drawn)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no random numbers");
    /* A login name before the first host's is ssh's business only. */
    const char *at = strrchr(launch->hosts[0], '@');
    snprintf(launch->join, sizeof launch->join, "%.200s:%u", at ? at + 1 : launch->hosts[0],
             FIRST_PORT + (unsigned)(drawn % PORTS));
    return RONDE_OK;
}

/* This program as the hosts know it: by its path, or by the name under which it was found. */
static enum ronde_status find_program(struct remote_launch *launch, struct ronde_error *error)
{
    const ssize_t length = readlink("/proc/self/exe", launch->program, sizeof launch->program - 1);
    if (length <= 0)
        return ronde_fail(error, RONDE_DEVICE, "--hosts: this program's path cannot be read");
    launch->program[length] = '\0';
    return RONDE_OK;
}

/* What this process's environment says to UCX goes along. */
static enum ronde_status add_environment(struct remote_launch *launch, struct ronde_error *error)
{
    RONDE_TRY(add_word(launch, "env", error));
    RONDE_TRY(add_word(launch, END_WITH_INPUT "=1", error));
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "UCX_", 4) == 0)
            RONDE_TRY(add_word(launch, *variable, error));
    return RONDE_OK;
}

/* The first rank of a host, of equal shares; that of the host after the last is the number of ranks. */
static uint32_t first_rank(const struct remote_launch *launch, uint32_t host)
{
    return (uint32_t)((uint64_t)launch->ranks * host / launch->host_count);
}

/* Whether a word of the command line holds an option's value. */
static bool holds(const char *word, const char *value)
{
    return value && (uintptr_t)value >= (uintptr_t)word &&
           (uintptr_t)value <= (uintptr_t)word + strlen(word);
}

/* Whether the word is part of --hosts or --launcher, which are for this process alone. */
static bool is_own(const struct ronde_options *options, int k)
{
    const char *const values[] = {options->backend.hosts, options->backend.launcher};
    for (size_t v = 0; v < sizeof values / sizeof values[0]; v++)
        if (holds(options->argv[k], values[v]) ||
            (k + 1 < options->argc && values[v] == options->argv[k + 1]))
            return true;
    return false;
}

/* The words for one host: launcher, host, environment, this program, what is new, the command line as given. */
static enum ronde_status fill_words(struct remote_launch *launch, uint32_t host,
                                    struct ronde_error *error)
{
    const struct ronde_options *options = launch->options;
    snprintf(launch->range, sizeof launch->range, "%u..%u", first_rank(launch, host),
             first_rank(launch, host + 1) - 1);
    const char *const own[] = {launch->program, options->argv[0], "--rank",     launch->range, "-N",
                               launch->count,   "--join",         launch->join, "--token",     "-"};
    snprintf(launch->launcher, sizeof launch->launcher, "%s",
             options->backend.launcher ? options->backend.launcher : "ssh -o BatchMode=yes");
    launch->word_count = cut(launch->launcher, " ", (char **)launch->words, MAX_WORDS / 4);
    if (launch->word_count == 0 || launch->word_count > MAX_WORDS / 4)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--launcher \"%.100s\" is no command",
                          options->backend.launcher);
    RONDE_TRY(add_word(launch, launch->hosts[host], error));
    RONDE_TRY(add_environment(launch, error));
    for (size_t k = 0; k < sizeof own / sizeof own[0]; k++)
        RONDE_TRY(add_word(launch, own[k], error));
    /* What was given comes last, and wins. */
    for (int k = 1; k < options->argc; k++)
        if (!is_own(options, k))
            RONDE_TRY(add_word(launch, options->argv[k], error));
    return RONDE_OK;
}

/* Never returns. The launcher's input is the token, and then nothing until this process ends. */
static void be_launcher(struct remote_launch *launch, int input)
{
    if (dup2(input, STDIN_FILENO) < 0)
        _exit(RONDE_EXIT_FAILED);
    execvp(launch->words[0], (char *const *)(uintptr_t)launch->words);
    ronde_note("ronde: %s cannot be started: %s", launch->words[0], strerror(errno));
    _exit(RONDE_EXIT_FAILED);
}

static enum ronde_status start_host(struct remote_launch *launch, uint32_t host,
                                    struct ronde_error *error)
{
    int ends[2];
    enum ronde_status status = fill_words(launch, host, error);
    if (status != RONDE_OK)
        return status;
    /* No launcher may inherit the input of another. */
    if (pipe2(ends, O_CLOEXEC) != 0)
        return ronde_fail(error, RONDE_DEVICE, "the system gives no pipe: %s", strerror(errno));
    fflush(NULL);
    const pid_t pid = ronde_children_fork(&launch->children);
    if (pid == 0)
        be_launcher(launch, ends[0]);
    /* A few bytes: they fit into the pipe whether somebody reads or not. */
    const size_t bytes = strlen(launch->token);
    if (pid < 0 || write(ends[1], launch->token, bytes) != (ssize_t)bytes)
        status = ronde_fail(error, RONDE_DEVICE, "the system refuses process %u of %u: %s",
                            host + 1, launch->host_count, strerror(errno));
    close(ends[0]);
    if (pid > 0)
        launch->inputs[host] = ends[1];
    else
        close(ends[1]);
    return status;
}

/* The input is over: the launcher that held its other end has ended. */
static void end_followed(pid_t follower)
{
    const struct timespec pause = {0, KILL_NS};
    if (getppid() != follower)
        return;
    (void)kill(follower, SIGTERM);
    /* One that is stopped takes the signal when it is continued. */
    (void)kill(follower, SIGCONT);
    (void)nanosleep(&pause, NULL);
    if (getppid() == follower)
        (void)kill(follower, SIGKILL);
}

void ronde_remote_launch_follow(void)
{
    const pid_t follower = getpid();
    char nothing[64];
    if (!getenv(END_WITH_INPUT) || fork() != 0)
        return;
    ronde_child_follow(follower);
    ssize_t got = 1;
    while (got > 0 || (got < 0 && errno == EINTR))
        got = read(STDIN_FILENO, nothing, sizeof nothing);
    end_followed(follower);
    _exit(RONDE_EXIT_OK);
}

/* What the end of a host's command means; codes that are not ronde's are its launcher's. */
static int judge(void *self, uint32_t host, int state)
{
    const struct remote_launch *launch = self;
    if (WIFEXITED(state) && WEXITSTATUS(state) <= RONDE_EXIT_FAILED)
        return WEXITSTATUS(state);
    if (WIFEXITED(state))
        ronde_note("ronde: host %s: its launcher ended with code %d", launch->hosts[host],
                   WEXITSTATUS(state));
    else
        ronde_note("ronde: host %s: its launcher was ended by signal %d", launch->hosts[host],
                   WTERMSIG(state));
    return RONDE_EXIT_FAILED;
}

/* Prepares everything; nothing is started before all of it can be said. */
static enum ronde_status prepare(struct remote_launch *launch, struct ronde_error *error)
{
    RONDE_TRY(find_hosts(launch, error));
    RONDE_TRY(choose_rendezvous(launch, error));
    RONDE_TRY(find_program(launch, error));
    for (uint32_t host = 0; host < launch->host_count; host++)
        RONDE_TRY(fill_words(launch, host, error));
    return ronde_children_open(&launch->children, launch->host_count, error);
}

/* Starts the command on all hosts and waits for them; returns the exit code. */
static int run_hosts(struct remote_launch *launch)
{
    struct ronde_error error = {0};
    enum ronde_status status = RONDE_OK;
    uint32_t started = 0;
    for (; started < launch->host_count && status == RONDE_OK; started++)
        status = start_host(launch, started, &error);
    const int code = status == RONDE_OK ? RONDE_EXIT_OK : ronde_report(&error);
    bool is_cut = false;
    const int verdict = ronde_children_await(&launch->children, code, &is_cut);
    for (uint32_t host = 0; host < launch->children.count; host++)
        close(launch->inputs[host]);
    ronde_children_close(&launch->children);
    return verdict;
}

int ronde_remote_launch_run(const struct ronde_options *options)
{
    struct ronde_error error = {0};
    struct remote_launch *launch = ronde_mem_new(ronde_mem_default(), 1, sizeof *launch);
    if (!launch) {
        (void)ronde_fail(&error, RONDE_NO_MEMORY, "no memory for --hosts");
        return ronde_report(&error);
    }
    launch->options = options;
    launch->children = (struct ronde_children){.stop_limit_ns = STOPPED_NS,
                                               .kind = "the command on host",
                                               .first = 1,
                                               .judge = judge,
                                               .self = launch};
    const int code = prepare(launch, &error) == RONDE_OK ? run_hosts(launch) : ronde_report(&error);
    ronde_mem_free(ronde_mem_default(), launch, 1, sizeof *launch);
    return code;
}
