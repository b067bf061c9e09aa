/* A build without threads: no messages are moved while a stream runs. See proxy.h. */
#include "hw/cuda/proxy.h"

enum ronde_status
ronde_cuda_progress_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                         const struct ronde_mem *mem, struct ronde_cuda_progress **out_progress,
                         struct ronde_error *error)
{
    (void)proxy;
    (void)launch;
    (void)mem;
    *out_progress = NULL;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "runs in streams between machines need threads (-DRONDE_CPU=ON)");
}

void ronde_cuda_progress_close(struct ronde_cuda_progress *progress)
{
    (void)progress;
}

void ronde_cuda_progress_begin(void *progress)
{
    (void)progress;
}

void ronde_cuda_progress_end(void *progress)
{
    (void)progress;
}

bool ronde_cuda_progress_is_idle(struct ronde_cuda_progress *progress)
{
    (void)progress;
    return true;
}

bool ronde_cuda_progress_has_moved(struct ronde_cuda_progress *progress)
{
    (void)progress;
    return true;
}

void ronde_cuda_progress_await(struct ronde_cuda_progress *progress)
{
    (void)progress;
}
