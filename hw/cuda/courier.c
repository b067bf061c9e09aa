/* A thread that moves the messages of runs in streams. See courier.h. */
#include "hw/cuda/courier.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

struct ronde_cuda_courier {
    const struct ronde_mem *mem;
    struct ronde_cuda_proxy *proxy;
    struct ronde_launch launch; /* what every run is, as far as the communicator asks */
    void **buffers; /* two entries per rank: not what is read, but that there is something */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t news;
    uint64_t begun;   /* under mutex: kernels that the stream has come to */
    uint64_t carried; /* under mutex: runs whose messages are where they belong */
    uint64_t ended;   /* atomic: kernels that are over */
    bool has_failed;  /* under mutex */
    bool is_closing;  /* under mutex */
};

/* The communicator compares what ranks run; lanes, and with them buffers, are the kernel's. */
static bool make_launch(struct ronde_cuda_courier *courier, const struct ronde_launch *given)
{
    const size_t ranks = courier->proxy->host->loaded->schedule->ranks;
    courier->buffers = ronde_mem_new(courier->mem, 2 * ranks, sizeof *courier->buffers);
    if (!courier->buffers)
        return false;
    for (size_t k = 0; k < 2 * ranks; k++)
        courier->buffers[k] = courier->buffers + k / ranks;
    courier->launch = *given;
    courier->launch.in = courier->buffers;
    courier->launch.out = courier->buffers + ranks;
    courier->launch.in_blocks = NULL;
    courier->launch.out_blocks = NULL;
    courier->launch.factors = courier->buffers;
    return true;
}

/* Moves the messages of one run. */
static enum ronde_status carry(struct ronde_cuda_courier *courier, uint64_t run)
{
    struct ronde_cuda_proxy *proxy = courier->proxy;
    bool is_done = false;
    struct ronde_error ignored = {0};
    enum ronde_status status =
        ronde_cuda_proxy_follow(proxy, &courier->launch, &courier->ended, run);
    while (status == RONDE_OK && !is_done) {
        status = ronde_cuda_proxy_test(proxy, &is_done, &ignored);
        sched_yield();
    }
    return status;
}

static void *work(void *self)
{
    struct ronde_cuda_courier *courier = self;
    ronde_cuda_near_stay(&courier->proxy->near);
    pthread_mutex_lock(&courier->mutex);
    while (!courier->is_closing && !courier->has_failed) {
        if (courier->begun == courier->carried) {
            pthread_cond_wait(&courier->news, &courier->mutex);
            continue;
        }
        const uint64_t run = courier->carried + 1;
        pthread_mutex_unlock(&courier->mutex);
        const enum ronde_status status = carry(courier, run);
        pthread_mutex_lock(&courier->mutex);
        courier->carried = run;
        courier->has_failed = status != RONDE_OK;
        pthread_cond_broadcast(&courier->news);
    }
    pthread_mutex_unlock(&courier->mutex);
    return NULL;
}

enum ronde_status
ronde_cuda_courier_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                        const struct ronde_mem *mem, struct ronde_cuda_courier **out_courier,
                        struct ronde_error *error)
{
    struct ronde_cuda_courier *courier = ronde_mem_new(mem, 1, sizeof *courier);
    *out_courier = NULL;
    if (!courier)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for runs in streams");
    courier->mem = mem;
    courier->proxy = proxy;
    if (!make_launch(courier, launch)) {
        ronde_mem_free(mem, courier, 1, sizeof *courier);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for runs in streams");
    }
    pthread_mutex_init(&courier->mutex, NULL);
    pthread_cond_init(&courier->news, NULL);
    const int reason = pthread_create(&courier->thread, NULL, work, courier);
    if (reason == 0) {
        *out_courier = courier;
        return RONDE_OK;
    }
    /* There is no thread to end. */
    const size_t ranks = proxy->host->loaded->schedule->ranks;
    ronde_mem_free(mem, courier->buffers, 2 * ranks, sizeof *courier->buffers);
    ronde_mem_free(mem, courier, 1, sizeof *courier);
    return ronde_fail(error, RONDE_DEVICE, "the system gives no thread for runs in streams: %s",
                      strerror(reason));
}

void ronde_cuda_courier_close(struct ronde_cuda_courier *courier)
{
    if (!courier)
        return;
    pthread_mutex_lock(&courier->mutex);
    courier->is_closing = true;
    pthread_cond_broadcast(&courier->news);
    pthread_mutex_unlock(&courier->mutex);
    pthread_join(courier->thread, NULL);
    pthread_cond_destroy(&courier->news);
    pthread_mutex_destroy(&courier->mutex);
    const size_t ranks = courier->proxy->host->loaded->schedule->ranks;
    ronde_mem_free(courier->mem, courier->buffers, 2 * ranks, sizeof *courier->buffers);
    ronde_mem_free(courier->mem, courier, 1, sizeof *courier);
}

void ronde_cuda_courier_begin(void *self)
{
    struct ronde_cuda_courier *courier = self;
    pthread_mutex_lock(&courier->mutex);
    courier->begun++;
    pthread_cond_broadcast(&courier->news);
    pthread_mutex_unlock(&courier->mutex);
}

void ronde_cuda_courier_end(void *self)
{
    struct ronde_cuda_courier *courier = self;
    __atomic_add_fetch(&courier->ended, 1, __ATOMIC_RELEASE);
}

bool ronde_cuda_courier_is_idle(struct ronde_cuda_courier *courier)
{
    pthread_mutex_lock(&courier->mutex);
    const bool is_idle = courier->has_failed || courier->begun == courier->carried;
    pthread_mutex_unlock(&courier->mutex);
    return is_idle;
}

void ronde_cuda_courier_await(struct ronde_cuda_courier *courier)
{
    pthread_mutex_lock(&courier->mutex);
    while (!courier->has_failed && courier->begun != courier->carried)
        pthread_cond_wait(&courier->news, &courier->mutex);
    pthread_mutex_unlock(&courier->mutex);
}
