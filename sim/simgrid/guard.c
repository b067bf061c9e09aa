/*
 * The forked child. SimGrid calls abort() on what it takes for impossible (an unknown model name, a solver that loses a
 * variable) and may run for ever on coupled flows; neither may reach the caller. A child also makes "one engine per
 * process" no limit.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, syscall */

#include "shim.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that its own timer has not ended by then, because it is stopped, is killed. */
#define LATE_MS 500.0

/* How often the parent looks at what goes on meanwhile: a request to cancel, how far the child is. */
#define LOOK_MS 50.0

/* How a child came to its end: of itself, its timer's included, or killed. */
enum ending { OF_ITSELF, LATE, CANCELLED };

/* How much of the end of the child's output is searched for an error message. */
#define WORDS_BYTES 4096

void *ronde_guard_share(size_t bytes)
{
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

/* The child has its own mapping of it and is gone by now. */
void ronde_guard_unshare(void *block, size_t bytes)
{
    if (block)
        (void)munmap(block, bytes);
}

/* SIGALRM must kill whatever the parent did with it, and a dying solver should not fill the disk with cores. */
static void arm(double limit_s)
{
    const struct rlimit no_core = {0, 0};
    const double whole = floor(fmin(limit_s, 1e8));
    struct itimerval limit = {{0, 0}, {0, 0}};
    sigset_t alarm_only;
    (void)sigemptyset(&alarm_only);
    (void)sigaddset(&alarm_only, SIGALRM);
    (void)signal(SIGALRM, SIG_DFL);
    (void)signal(SIGABRT, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &alarm_only, NULL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    limit.it_value.tv_sec = (time_t)whole;
    /* At least one, since zero would be no limit; a whole second of them would be refused. */
    limit.it_value.tv_usec = (suseconds_t)fmin((fmin(limit_s, 1e8) - whole) * 1e6 + 1, 999999);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

/* Leaves by _exit: the parent's buffers must not be flushed twice, nor its atexit functions run. */
static _Noreturn void be_child(void (*work)(void *argument), void *argument, double limit_s,
                               int words, pid_t parent)
{
    /* Nobody is left to say the result to. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    if (dup2(words, STDOUT_FILENO) < 0 || dup2(words, STDERR_FILENO) < 0)
        _exit(1);
    arm(limit_s);
    work(argument);
    _exit(0);
}

/*
 * The most telling line: the first one SimGrid calls critical or an error, else the last that is
 * not empty.
 */
static void pick_line(char *text, char *line, size_t bytes)
{
    bool is_sure = false;
    (void)snprintf(line, bytes, "it said nothing");
    for (char *at = strtok(text, "\r\n"); at && !is_sure; at = strtok(NULL, "\r\n")) {
        char *said = strstr(at, "CRITICAL] ");
        is_sure = said != NULL || strstr(at, "ERROR] ") || strstr(at, "ERROR: ");
        if (strspn(at, " \t") < strlen(at))
            (void)snprintf(line, bytes, "%s", said ? said + strlen("CRITICAL] ") : at);
    }
}

/* From the beginning: the first complaint is the cause, later ones follow from it. */
static void last_words(FILE *words, char *line, size_t bytes)
{
    char text[WORDS_BYTES];
    rewind(words);
    const size_t count = fread(text, 1, sizeof text - 1, words);
    text[count] = '\0';
    pick_line(text, line, bytes);
}

/* SIGALRM can only be ours: the child sets no other timer. */
static enum ronde_status judge(int state, enum ending ending, double limit_s, FILE *words,
                               struct ronde_error *error)
{
    char line[300];
    if (ending == CANCELLED)
        return ronde_fail(error, RONDE_CANCELLED, "the replay was cancelled");
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0)
        return RONDE_OK;
    if (WIFSIGNALED(state) && (WTERMSIG(state) == SIGALRM || ending == LATE))
        return ronde_fail(error, RONDE_TIMEOUT, "the replay took longer than its limit of %g s",
                          limit_s);
    last_words(words, line, sizeof line);
    if (WIFSIGNALED(state))
        return ronde_fail(error, RONDE_DEVICE, "SimGrid died of signal %d: %s", WTERMSIG(state),
                          line);
    return ronde_fail(error, RONDE_DEVICE, "SimGrid left with code %d: %s", WEXITSTATUS(state),
                      line);
}

/* Until the child behind `fd` ends, its time is up, or the end is requested. */
static enum ending watch(int fd, const struct ronde_guarded *guarded)
{
    struct pollfd end = {fd, POLLIN, 0};
    double left_ms = fmin(guarded->limit_s * 1e3 + LATE_MS, INT_MAX);
    while (left_ms > 0) {
        const bool looks = guarded->cancel || guarded->look;
        const double wait_ms = looks ? fmin(left_ms, LOOK_MS) : left_ms;
        if (ronde_cancel_is_requested(guarded->cancel))
            return CANCELLED;
        if (guarded->look)
            guarded->look(guarded->argument);
        const int got = poll(&end, 1, (int)wait_ms);
        if (got > 0)
            return OF_ITSELF;
        /* A signal that was handled has taken an unknown part of it. */
        left_ms -= got == 0 ? wait_ms : 0;
    }
    return LATE;
}

/*
 * Waits for the child, and kills it where it has to end. A child that a SIGSTOP has stopped does not end by its timer.
 * Before Linux 5.3 there is nothing that waits for one child with a limit and leaves the program's signals alone: there
 * its timer alone ends it.
 */
static enum ending await_child(pid_t child, const struct ronde_guarded *guarded, int *out_state)
{
#ifdef SYS_pidfd_open
    const int fd = (int)syscall(SYS_pidfd_open, child, 0);
#else
    const int fd = -1;
#endif
    const enum ending ending = fd >= 0 ? watch(fd, guarded) : OF_ITSELF;
    if (ending != OF_ITSELF)
        (void)kill(child, SIGKILL);
    if (fd >= 0)
        (void)close(fd);
    while (waitpid(child, out_state, 0) < 0 && errno == EINTR)
        continue;
    return ending;
}

/* A file rather than a pipe: the child may write any amount without a reader. */
enum ronde_status ronde_guard_run(const struct ronde_guarded *guarded, struct ronde_error *error)
{
    FILE *words = tmpfile();
    if (!words)
        return ronde_fail(error, RONDE_DEVICE, "no temporary file for the replay's output: %s",
                          strerror(errno));
    enum ronde_status status;
    int state = 0;
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0)
        be_child(guarded->work, guarded->argument, guarded->limit_s, fileno(words), parent);
    if (child < 0) {
        status = ronde_fail(error, RONDE_DEVICE, "no process for the replay: %s", strerror(errno));
    } else {
        const enum ending ending = await_child(child, guarded, &state);
        status = judge(state, ending, guarded->limit_s, words, error);
    }
    (void)fclose(words);
    return status;
}
