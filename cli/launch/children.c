/* Children of a command. See children.h. */
#define _POSIX_C_SOURCE 200809L

#include "children.h"
#include "cli/print/report.h"

#include "ronde/hw.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
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
        ronde_note("ronde: %s %u has been stopped (SIGSTOP) for %.3g s, and is ended",
                   children->kind, children->first + index, children->stop_limit_ns / 1e9);
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

/* UCX's files in shared memory. */

/* Bytes of a folder's path. */
#define PATH_BYTES ((ssize_t)sizeof((struct ronde_shm_folder *)NULL)->path)

/* What tells UCX where its files go. */
#define VARIABLE "UCX_POSIX_DIR"

/* Does nothing where the path is empty. */
static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
         entry = readdir(folder))
        (void)unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        (void)closedir(folder);
    (void)rmdir(path);
}

/* Lets go of everything that somebody may wait for, such as the end of a pipe of a launcher's. */
static void close_others(int kept)
{
    const int nowhere = open("/dev/null", O_RDWR);
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        (void)dup2(nowhere, fd);
    for (int fd = STDERR_FILENO + 1; fd < (int)sysconf(_SC_OPEN_MAX) && fd < 4096; fd++)
        if (fd != kept)
            (void)close(fd);
}

/* Never returns. Makes the folder itself, so that none is there without a process that removes it. */
static void be_remover(char *path, int end)
{
    (void)setsid();
    close_others(end);
    char nothing;
    if (!mkdtemp(path))
        path[0] = '\0';
    const bool is_told = send(end, path, PATH_BYTES, MSG_NOSIGNAL) == PATH_BYTES;
    while (is_told && path[0] && read(end, &nothing, 1) < 0 && errno == EINTR)
        continue;
    remove_folder(path);
    _exit(RONDE_EXIT_OK);
}

/* The remover starts with all signals blocked: those of a terminal, or sent to all processes of a job, are for the ranks. */
static pid_t fork_blocked(void)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    const pid_t pid = fork();
    if (pid != 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* Waits for the folder; false where there is none. */
static bool await_folder(int end, char *path)
{
    ssize_t got;
    while ((got = recv(end, path, PATH_BYTES, MSG_WAITALL)) < 0 && errno == EINTR)
        continue;
    if (got != PATH_BYTES)
        path[0] = '\0';
    return path[0] != '\0' && setenv(VARIABLE, path, 1) == 0;
}

void ronde_shm_folder_open(struct ronde_shm_folder *folder)
{
    int ends[2];
    *folder = (struct ronde_shm_folder){.path = "/dev/shm/ronde-XXXXXX", .alive = -1};
    if (getenv(VARIABLE) || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return;
    folder->remover = fork_blocked();
    if (folder->remover == 0) {
        (void)close(ends[1]);
        be_remover(folder->path, ends[0]);
    }
    (void)close(ends[0]);
    folder->alive = ends[1];
    if (folder->remover < 0) {
        (void)close(folder->alive);
        folder->remover = 0;
    } else if (!await_folder(folder->alive, folder->path)) {
        ronde_shm_folder_close(folder);
    }
}

void ronde_shm_folder_close(struct ronde_shm_folder *folder)
{
    if (folder->remover == 0)
        return;
    (void)close(folder->alive);
    (void)kill(folder->remover, SIGCONT);
    while (waitpid(folder->remover, NULL, 0) < 0 && errno == EINTR)
        continue;
    /* Nothing is left to do, unless somebody has killed the remover. */
    remove_folder(folder->path);
    folder->remover = 0;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------ */

/* Longer lines are not ours. */
#define LINE_BYTES 65536u

/* A child at work. */
struct worker {
    pid_t pid; /* 0 = idle */
    int pipe;  /* read end */
    uint32_t task;
    size_t length; /* of the line begun */
    char *line;    /* LINE_BYTES */
};

struct netns {
    const struct ronde_pool *pool;
    struct worker *workers; /* pool->jobs of them */
    struct pollfd *polls;   /* beside them */
    uint32_t next_task;
    uint32_t busy;
    struct ronde_error *error;
};

/* What the child does; buffers of the parent are not flushed twice because it leaves by _exit. */
static void run_child(const struct ronde_pool *pool, uint32_t task, int descriptor)
{
    FILE *out = fdopen(descriptor, "w");
    int code = out ? pool->work(pool->self, task, out) : EXIT_FAILURE;
    if (out && fclose(out) != 0 && code == EXIT_SUCCESS)
        code = EXIT_FAILURE;
    fflush(stderr);
    _exit(code);
}

static enum ronde_status start(struct netns *netns, struct worker *worker)
{
    int ends[2];
    if (pipe(ends) != 0)
        return ronde_fail(netns->error, RONDE_DEVICE, "no pipe for another process: %s",
                          strerror(errno));
    fflush(NULL);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return ronde_fail(netns->error, RONDE_DEVICE, "cannot start another process: %s",
                          strerror(errno));
    }
    if (pid == 0) {
        ronde_child_follow(parent);
        close(ends[0]);
        run_child(netns->pool, netns->next_task, ends[1]);
    }
    close(ends[1]);
    worker->pid = pid;
    worker->pipe = ends[0];
    worker->task = netns->next_task++;
    worker->length = 0;
    netns->busy++;
    return RONDE_OK;
}

/* Gives idle workers the next tasks. */
static enum ronde_status fill(struct netns *netns)
{
    for (uint32_t i = 0; i < netns->pool->jobs; i++)
        if (netns->workers[i].pid == 0 && netns->next_task < netns->pool->tasks)
            RONDE_TRY(start(netns, &netns->workers[i]));
    return RONDE_OK;
}

static int reap(struct netns *netns, struct worker *worker)
{
    int state = 0;
    close(worker->pipe);
    while (waitpid(worker->pid, &state, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    netns->busy--;
    return state;
}

/* The pipe has ended, so the child is about to. */
static void finish(struct netns *netns, struct worker *worker)
{
    const int state = reap(netns, worker);
    netns->pool->on_end(netns->pool->self, worker->task,
                        WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state));
}

/* Hands on every whole line; the rest moves to the front. */
static enum ronde_status hand_on(struct netns *netns, struct worker *worker)
{
    enum ronde_status status = RONDE_OK;
    char *from = worker->line;
    char *const end = worker->line + worker->length;
    for (char *at = memchr(from, '\n', worker->length); at && status == RONDE_OK;
         at = memchr(from, '\n', (size_t)(end - from))) {
        *at = '\0';
        status = netns->pool->on_line(netns->pool->self, from, netns->error);
        from = at + 1;
    }
    worker->length = (size_t)(end - from);
    memmove(worker->line, from, worker->length);
    if (status == RONDE_OK && worker->length == LINE_BYTES)
        return ronde_fail(netns->error, RONDE_DEVICE,
                          "a process printed a line of more than %u bytes", LINE_BYTES);
    return status;
}

static enum ronde_status listen_to(struct netns *netns, struct worker *worker)
{
    const ssize_t bytes =
        read(worker->pipe, worker->line + worker->length, LINE_BYTES - worker->length);
    if (bytes < 0)
        return errno == EINTR ? RONDE_OK
                              : ronde_fail(netns->error, RONDE_DEVICE,
                                           "cannot read from a process: %s", strerror(errno));
    if (bytes == 0) {
        finish(netns, worker);
        return RONDE_OK;
    }
    worker->length += (size_t)bytes;
    return hand_on(netns, worker);
}

/* Waits for any pipe to have something, then serves all that have. */
static enum ronde_status serve(struct netns *netns)
{
    const uint32_t jobs = netns->pool->jobs;
    for (uint32_t i = 0; i < jobs; i++)
        netns->polls[i] =
            (struct pollfd){netns->workers[i].pid ? netns->workers[i].pipe : -1, POLLIN, 0};
    if (poll(netns->polls, jobs, -1) < 0)
        return errno == EINTR ? RONDE_OK
                              : ronde_fail(netns->error, RONDE_DEVICE,
                                           "cannot wait for processes: %s", strerror(errno));
    for (uint32_t i = 0; i < jobs; i++)
        if (netns->polls[i].revents != 0)
            RONDE_TRY(listen_to(netns, &netns->workers[i]));
    return RONDE_OK;
}

/* After an error nobody reads what they print, and their ends are not reported: this function caused them. */
static void dismiss(struct netns *netns)
{
    for (uint32_t i = 0; i < netns->pool->jobs; i++)
        if (netns->workers[i].pid != 0) {
            kill(netns->workers[i].pid, SIGKILL);
            (void)reap(netns, &netns->workers[i]);
        }
}

static enum ronde_status run(struct netns *netns)
{
    enum ronde_status status = fill(netns);
    while (status == RONDE_OK && netns->busy > 0) {
        status = serve(netns);
        RONDE_THEN(status, fill(netns));
    }
    if (status != RONDE_OK)
        dismiss(netns);
    return status;
}

enum ronde_status ronde_pool_run(const struct ronde_pool *pool, struct ronde_error *error)
{
    struct netns netns = {.pool = pool, .error = error};
    netns.workers = calloc(pool->jobs, sizeof *netns.workers);
    netns.polls = calloc(pool->jobs, sizeof *netns.polls);
    bool holds = netns.workers && netns.polls;
    for (uint32_t i = 0; holds && i < pool->jobs; i++) {
        netns.workers[i].line = malloc(LINE_BYTES);
        holds = netns.workers[i].line != NULL;
    }
    const enum ronde_status status =
        holds ? run(&netns)
              : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u processes", pool->jobs);
    for (uint32_t i = 0; netns.workers && i < pool->jobs; i++)
        free(netns.workers[i].line);
    free(netns.workers);
    free(netns.polls);
    return status;
}
