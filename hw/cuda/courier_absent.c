/* A build without threads: nobody moves messages while a stream runs. See courier.h. */
#include "hw/cuda/courier.h"

enum ronde_status
ronde_cuda_courier_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                        const struct ronde_mem *mem, struct ronde_cuda_courier **out_courier,
                        struct ronde_error *error)
{
    (void)proxy;
    (void)launch;
    (void)mem;
    *out_courier = NULL;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      "runs in streams between machines need threads (-DRONDE_CPU=ON)");
}

void ronde_cuda_courier_close(struct ronde_cuda_courier *courier)
{
    (void)courier;
}

void ronde_cuda_courier_begin(void *courier)
{
    (void)courier;
}

void ronde_cuda_courier_end(void *courier)
{
    (void)courier;
}

bool ronde_cuda_courier_is_idle(struct ronde_cuda_courier *courier)
{
    (void)courier;
    return true;
}

void ronde_cuda_courier_await(struct ronde_cuda_courier *courier)
{
    (void)courier;
}
