/* A thread that moves the messages of runs in streams. See proxy.h. */
#include "hw/cuda/proxy.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

/* Runs of a program that its stream has begun while earlier ones are not moved; it waits before more. */
#define AHEAD_MOST 64u

struct ronde_cuda_progress {
    const struct ronde_mem *mem;
    struct ronde_cuda_proxy *proxy;
    struct ronde_launch launch; /* every run's, as far as the communicator reads it */
    void **buffers; /* two entries per rank: placeholders that are not NULL and never read */
    pthread_t thread;
    uint64_t begun;             /* under mutex: kernels that the stream has started */
    uint64_t moved;             /* under mutex: runs whose messages have all been moved */
    uint64_t turns[AHEAD_MOST]; /* under mutex: of those in between, among all of the communicator */
    uint64_t ended;             /* atomic: kernels that are over */
    bool has_failed;            /* under mutex */
    bool is_closing;            /* under mutex */
};

/* Of all programs: those of a communicator take turns. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static struct ronde_comm_turns *turns_of(const struct ronde_cuda_progress *progress)
{
    return &progress->proxy->host->comm->turns;
}

/* The communicator compares what ranks run; lanes, and with them buffers, are the kernel's. */
static bool make_launch(struct ronde_cuda_progress *progress, const struct ronde_launch *launch)
{
    const size_t ranks = progress->proxy->host->loaded->schedule->ranks;
    progress->buffers = ronde_mem_new(progress->mem, 2 * ranks, sizeof *progress->buffers);
    if (!progress->buffers)
        return false;
    for (size_t k = 0; k < 2 * ranks; k++)
        progress->buffers[k] = progress->buffers + k / ranks;
    progress->launch = *launch;
    progress->launch.in = progress->buffers;
    progress->launch.out = progress->buffers + ranks;
    progress->launch.in_blocks = NULL;
    progress->launch.out_blocks = NULL;
    progress->launch.factors = progress->buffers;
    return true;
}

/* Moves the messages of one run. */
static enum ronde_status move_messages(struct ronde_cuda_progress *progress, uint64_t run)
{
    struct ronde_cuda_proxy *proxy = progress->proxy;
    bool is_done = false;
    struct ronde_error ignored = {0};
    enum ronde_status status =
        ronde_cuda_proxy_follow(proxy, &progress->launch, &progress->ended, run);
    while (status == RONDE_OK && !is_done) {
        status = ronde_cuda_proxy_test(proxy, &is_done, &ignored);
        sched_yield();
    }
    return status;
}

/* Under the mutex: whether the next run has begun, and those before it on the communicator are moved. */
static bool has_turn(const struct ronde_cuda_progress *progress)
{
    const struct ronde_comm_turns *turns = turns_of(progress);
    return progress->begun > progress->moved &&
           (turns->has_failed || progress->turns[progress->moved % AHEAD_MOST] == turns->moved);
}

static void *run_progress(void *self)
{
    struct ronde_cuda_progress *progress = self;
    ronde_cuda_numa_bind(&progress->proxy->numa);
    pthread_mutex_lock(&mutex);
    while (!progress->is_closing && !progress->has_failed) {
        if (!has_turn(progress)) {
            pthread_cond_wait(&changed, &mutex);
            continue;
        }
        const uint64_t run = progress->moved + 1;
        pthread_mutex_unlock(&mutex);
        const enum ronde_status status = move_messages(progress, run);
        pthread_mutex_lock(&mutex);
        progress->moved = run;
        progress->has_failed = status != RONDE_OK;
        turns_of(progress)->moved++;
        turns_of(progress)->has_failed |= progress->has_failed;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

enum ronde_status
ronde_cuda_progress_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                         const struct ronde_mem *mem, struct ronde_cuda_progress **out_progress,
                         struct ronde_error *error)
{
    *out_progress = NULL;
    if (!RONDE_HAS_THREADS)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "runs in streams between machines need threads (-DRONDE_CPU=ON)");
    struct ronde_cuda_progress *progress = ronde_mem_new(mem, 1, sizeof *progress);
    if (!progress)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for runs in streams");
    progress->mem = mem;
    progress->proxy = proxy;
    if (!make_launch(progress, launch)) {
        ronde_mem_free(mem, progress, 1, sizeof *progress);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for runs in streams");
    }
    const int reason = pthread_create(&progress->thread, NULL, run_progress, progress);
    if (reason == 0) {
        *out_progress = progress;
        return RONDE_OK;
    }
    /* There is no thread to end. */
    const size_t ranks = proxy->host->loaded->schedule->ranks;
    ronde_mem_free(mem, progress->buffers, 2 * ranks, sizeof *progress->buffers);
    ronde_mem_free(mem, progress, 1, sizeof *progress);
    return ronde_fail(error, RONDE_DEVICE, "the system gives no thread for runs in streams: %s",
                      strerror(reason));
}

void ronde_cuda_progress_close(struct ronde_cuda_progress *progress)
{
    if (!progress)
        return;
    pthread_mutex_lock(&mutex);
    progress->is_closing = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    pthread_join(progress->thread, NULL);
    const size_t ranks = progress->proxy->host->loaded->schedule->ranks;
    ronde_mem_free(progress->mem, progress->buffers, 2 * ranks, sizeof *progress->buffers);
    ronde_mem_free(progress->mem, progress, 1, sizeof *progress);
}

void ronde_cuda_progress_begin(void *self)
{
    struct ronde_cuda_progress *progress = self;
    pthread_mutex_lock(&mutex);
    while (progress->begun - progress->moved == AHEAD_MOST && !progress->has_failed)
        pthread_cond_wait(&changed, &mutex);
    progress->turns[progress->begun++ % AHEAD_MOST] = turns_of(progress)->begun++;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

void ronde_cuda_progress_end(void *self)
{
    struct ronde_cuda_progress *progress = self;
    __atomic_add_fetch(&progress->ended, 1, __ATOMIC_RELEASE);
}

bool ronde_cuda_progress_is_idle(struct ronde_cuda_progress *progress)
{
    pthread_mutex_lock(&mutex);
    const bool is_idle = progress->has_failed || progress->begun == progress->moved;
    pthread_mutex_unlock(&mutex);
    return is_idle;
}

bool ronde_cuda_progress_has_moved(struct ronde_cuda_progress *progress)
{
    const uint64_t ended = __atomic_load_n(&progress->ended, __ATOMIC_ACQUIRE);
    pthread_mutex_lock(&mutex);
    const bool has_moved = progress->has_failed || progress->moved >= ended;
    pthread_mutex_unlock(&mutex);
    return has_moved;
}

void ronde_cuda_progress_await(struct ronde_cuda_progress *progress)
{
    pthread_mutex_lock(&mutex);
    while (!progress->has_failed && progress->begun != progress->moved)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
}
