/* Children of a command. See children.h. */
#include "children.h"

#include "cli/print/report.h"

#include "ronde/hw.h"

#include <errno.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Once a child has failed the others get this long to print the cause. */
#define GRACE_NS 2e9

/* One that was told to end and has not is killed after this long. */
#define KILL_NS 5e8

void ronde_child_follow(pid_t parent)
{
    /* SIGKILL: any other signal waits until a stopped process is continued. */
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(RONDE_EXIT_FAILED);
}

/* SIGCHLD stays blocked, so that none is missed between a look at the children and the wait for the next. */
enum ronde_status ronde_children_open(struct ronde_children *children, uint32_t room,
                                      struct ronde_error *error)
{
    sigset_t ends;
    children->all = ronde_mem_new(ronde_mem_default(), room, sizeof *children->all);
    if (!children->all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u processes", room);
    children->room = room;
    children->count = 0;
    /* Where it was ignored when this program was started the system would keep no exit codes. */
    (void)signal(SIGCHLD, SIG_DFL);
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &ends, &children->mask);
    return RONDE_OK;
}

void ronde_children_close(struct ronde_children *children)
{
    if (children->all)
        (void)sigprocmask(SIG_SETMASK, &children->mask, NULL);
    ronde_mem_free(ronde_mem_default(), children->all, children->room, sizeof *children->all);
    children->all = NULL;
    children->room = 0;
    children->count = 0;
}

pid_t ronde_children_fork(struct ronde_children *children)
{
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        ronde_child_follow(parent);
        ronde_children_close(children);
    } else if (pid > 0) {
        children->all[children->count++] = (struct ronde_child){.pid = pid};
    }
    return pid;
}

/* The exit codes so far: of the first child, and of the others. */
struct verdict {
    int first;
    int others;
    double end_ns; /* when the processes that are left are ended, a failure having been seen; 0 = none yet */
    bool is_cut; /* the first child was told to end, and was not stopped */
};

static void fail(struct verdict *verdict, int code)
{
    if (verdict->others == RONDE_EXIT_OK)
        verdict->others = code;
    if (verdict->end_ns == 0)
        verdict->end_ns = ronde_clock_ns() + GRACE_NS;
}

/* A child is over. One that no longer counts, because it was told to end, changes no verdict. */
static void take_end(const struct ronde_children *children, uint32_t index, int state,
                     struct verdict *verdict)
{
    struct ronde_child *child = &children->all[index];
    child->pid = 0;
    if (child->is_terminated)
        return;
    const int code = children->judge(children->self, index, state);
    if (index == 0)
        verdict->first = code;
    if (code != RONDE_EXIT_OK)
        fail(verdict, index == 0 ? RONDE_EXIT_OK : code);
}

/* What has become of a child since the last look. */
static void look_at(const struct ronde_children *children, uint32_t index, struct verdict *verdict)
{
    struct ronde_child *child = &children->all[index];
    int state = 0;
    pid_t got;
    while (child->pid > 0 &&
           (got = waitpid(child->pid, &state, WNOHANG | WUNTRACED | WCONTINUED)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            child->pid = 0;
        } else if (WIFSTOPPED(state)) {
            /* What a terminal has stopped it continues. */
            child->is_stopped = WSTOPSIG(state) == SIGSTOP;
            child->since_ns = child->is_terminated ? child->since_ns : ronde_clock_ns();
        } else if (WIFCONTINUED(state)) {
            child->is_stopped = false;
        } else {
            take_end(children, index, state, verdict);
        }
    }
}

/* Tells a child to end. One that is stopped gets the signal when it is continued. */
static void terminate(struct ronde_child *child)
{
    child->is_terminated = true;
    child->since_ns = ronde_clock_ns();
    (void)kill(child->pid, SIGTERM);
    (void)kill(child->pid, SIGCONT);
}

/* When a child that is not over by then is to be ended, or, having been told so, killed. */
static double end_ns(const struct ronde_children *children, const struct ronde_child *child,
                     const struct verdict *verdict)
{
    if (child->is_terminated)
        return child->since_ns + KILL_NS;
    if (verdict->end_ns == 0)
        return child->is_stopped ? child->since_ns + children->stop_limit_ns : INFINITY;
    /* One that is stopped prints nothing. */
    return child->is_stopped ? 0.0 : verdict->end_ns;
}

/* Ends a child whose time is over. */
static void end_late(const struct ronde_children *children, uint32_t index, struct verdict *verdict)
{
    struct ronde_child *child = &children->all[index];
    if (child->is_terminated) {
        (void)kill(child->pid, SIGKILL);
        child->since_ns = ronde_clock_ns();
        return;
    }
    if (verdict->end_ns == 0) {
        ronde_note("ronde: process %u of %u has been stopped (SIGSTOP) for %.3g s, and is ended",
                   index + 1, children->count, children->stop_limit_ns / 1e9);
        fail(verdict, RONDE_EXIT_FAILED);
    }
    verdict->is_cut |= index == 0 && !child->is_stopped;
    terminate(child);
}

/* Looks at all children; when the next of them is to be ended, in *out_ns. Returns how many are not over. */
static uint32_t look_at_all(const struct ronde_children *children, struct verdict *verdict,
                            double *out_ns)
{
    uint32_t left = 0;
    for (uint32_t index = 0; index < children->count; index++)
        look_at(children, index, verdict);
    *out_ns = INFINITY;
    /* The last first: the others would report that rank 0 was lost. */
    for (uint32_t index = children->count; index-- > 0;) {
        const struct ronde_child *child = &children->all[index];
        if (child->pid == 0)
            continue;
        left++;
        if (end_ns(children, child, verdict) <= ronde_clock_ns())
            end_late(children, index, verdict);
        *out_ns = fmin(*out_ns, end_ns(children, child, verdict));
    }
    return left;
}

/* Until a child has ended, was stopped or continued, or a moment has come. */
static void await_change(double until_ns)
{
    const double left_ns = fmin(fmax(until_ns - ronde_clock_ns(), 0.0), 3600e9);
    const time_t seconds = (time_t)(left_ns / 1e9);
    const struct timespec limit = {seconds, (long)(left_ns - (double)seconds * 1e9)};
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGCHLD);
    (void)sigtimedwait(&ends, NULL, &limit);
}

int ronde_children_await(struct ronde_children *children, int code, bool *out_is_cut)
{
    struct verdict verdict = {.others = code,
                              .end_ns = code == RONDE_EXIT_OK ? 0.0 : ronde_clock_ns()};
    double until_ns;
    while (look_at_all(children, &verdict, &until_ns) > 0)
        await_change(until_ns);
    *out_is_cut = verdict.is_cut;
    if (code != RONDE_EXIT_OK)
        return code;
    return verdict.first != RONDE_EXIT_OK ? verdict.first : verdict.others;
}
