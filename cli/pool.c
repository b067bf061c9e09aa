/* A pool of forked processes: pipes are polled, lines handed on whole, children waited for. */
#define _POSIX_C_SOURCE 200809L

#include "pool.h"

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

struct crew {
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

static enum ronde_status start(struct crew *crew, struct worker *worker)
{
    int ends[2];
    if (pipe(ends) != 0)
        return ronde_fail(crew->error, RONDE_IO, "no pipe for another process: %s", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return ronde_fail(crew->error, RONDE_IO, "cannot start another process: %s",
                          strerror(errno));
    }
    if (pid == 0) {
        close(ends[0]);
        run_child(crew->pool, crew->next_task, ends[1]);
    }
    close(ends[1]);
    worker->pid = pid;
    worker->pipe = ends[0];
    worker->task = crew->next_task++;
    worker->length = 0;
    crew->busy++;
    return RONDE_OK;
}

/* Gives idle workers the next tasks. */
static enum ronde_status fill(struct crew *crew)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < crew->pool->jobs && status == RONDE_OK; i++)
        if (crew->workers[i].pid == 0 && crew->next_task < crew->pool->tasks)
            status = start(crew, &crew->workers[i]);
    return status;
}

/* The pipe has ended, so the child is about to. */
static void finish(struct crew *crew, struct worker *worker)
{
    int state = 0;
    close(worker->pipe);
    while (waitpid(worker->pid, &state, 0) < 0 && errno == EINTR)
        ;
    worker->pid = 0;
    crew->busy--;
    crew->pool->on_end(crew->pool->self, worker->task,
                       WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state));
}

/* Hands on every whole line; the rest moves to the front. */
static enum ronde_status hand_on(struct crew *crew, struct worker *worker)
{
    enum ronde_status status = RONDE_OK;
    char *from = worker->line;
    char *const end = worker->line + worker->length;
    for (char *at = memchr(from, '\n', worker->length); at && status == RONDE_OK;
         at = memchr(from, '\n', (size_t)(end - from))) {
        *at = '\0';
        status = crew->pool->on_line(crew->pool->self, from, crew->error);
        from = at + 1;
    }
    worker->length = (size_t)(end - from);
    memmove(worker->line, from, worker->length);
    if (status == RONDE_OK && worker->length == LINE_BYTES)
        return ronde_fail(crew->error, RONDE_IO, "a process printed a line of more than %u bytes",
                          LINE_BYTES);
    return status;
}

static enum ronde_status listen_to(struct crew *crew, struct worker *worker)
{
    const ssize_t bytes =
        read(worker->pipe, worker->line + worker->length, LINE_BYTES - worker->length);
    if (bytes < 0)
        return errno == EINTR ? RONDE_OK
                              : ronde_fail(crew->error, RONDE_IO, "cannot read from a process: %s",
                                           strerror(errno));
    if (bytes == 0) {
        finish(crew, worker);
        return RONDE_OK;
    }
    worker->length += (size_t)bytes;
    return hand_on(crew, worker);
}

/* Waits for any pipe to have something, then serves all that have. */
static enum ronde_status serve(struct crew *crew)
{
    const uint32_t jobs = crew->pool->jobs;
    for (uint32_t i = 0; i < jobs; i++)
        crew->polls[i] =
            (struct pollfd){crew->workers[i].pid ? crew->workers[i].pipe : -1, POLLIN, 0};
    if (poll(crew->polls, jobs, -1) < 0)
        return errno == EINTR ? RONDE_OK
                              : ronde_fail(crew->error, RONDE_IO, "cannot wait for processes: %s",
                                           strerror(errno));
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < jobs && status == RONDE_OK; i++)
        if (crew->polls[i].revents != 0)
            status = listen_to(crew, &crew->workers[i]);
    return status;
}

/* After an error nobody reads what they print. */
static void dismiss(struct crew *crew)
{
    for (uint32_t i = 0; i < crew->pool->jobs; i++)
        if (crew->workers[i].pid != 0) {
            kill(crew->workers[i].pid, SIGTERM);
            finish(crew, &crew->workers[i]);
        }
}

static enum ronde_status run(struct crew *crew)
{
    enum ronde_status status = fill(crew);
    while (status == RONDE_OK && crew->busy > 0) {
        status = serve(crew);
        if (status == RONDE_OK)
            status = fill(crew);
    }
    if (status != RONDE_OK)
        dismiss(crew);
    return status;
}

enum ronde_status ronde_pool_run(const struct ronde_pool *pool, struct ronde_error *error)
{
    struct crew crew = {.pool = pool, .error = error};
    crew.workers = calloc(pool->jobs, sizeof *crew.workers);
    crew.polls = calloc(pool->jobs, sizeof *crew.polls);
    bool holds = crew.workers && crew.polls;
    for (uint32_t i = 0; holds && i < pool->jobs; i++) {
        crew.workers[i].line = malloc(LINE_BYTES);
        holds = crew.workers[i].line != NULL;
    }
    const enum ronde_status status =
        holds ? run(&crew)
              : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u processes", pool->jobs);
    for (uint32_t i = 0; crew.workers && i < pool->jobs; i++)
        free(crew.workers[i].line);
    free(crew.workers);
    free(crew.polls);
    return status;
}
