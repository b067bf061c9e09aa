/* A pool of forked processes: pipes are polled, lines handed on whole, children waited for. */
#define _POSIX_C_SOURCE 200809L

#include "children.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < netns->pool->jobs && status == RONDE_OK; i++)
        if (netns->workers[i].pid == 0 && netns->next_task < netns->pool->tasks)
            status = start(netns, &netns->workers[i]);
    return status;
}

/* The pipe has ended, so the child is about to. */
static void finish(struct netns *netns, struct worker *worker)
{
    int state = 0;
    close(worker->pipe);
    while (waitpid(worker->pid, &state, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    netns->busy--;
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
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < jobs && status == RONDE_OK; i++)
        if (netns->polls[i].revents != 0)
            status = listen_to(netns, &netns->workers[i]);
    return status;
}

/* After an error nobody reads what they print. */
static void dismiss(struct netns *netns)
{
    for (uint32_t i = 0; i < netns->pool->jobs; i++)
        if (netns->workers[i].pid != 0) {
            kill(netns->workers[i].pid, SIGKILL);
            finish(netns, &netns->workers[i]);
        }
}

static enum ronde_status run(struct netns *netns)
{
    enum ronde_status status = fill(netns);
    while (status == RONDE_OK && netns->busy > 0) {
        status = serve(netns);
        if (status == RONDE_OK)
            status = fill(netns);
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
