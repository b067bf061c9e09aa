/* The GPU of a build without CUDA: every call is refused with the reason. */
#include "hw/cuda/gpu.h"
#include "ronde/gpus.h"

#include <string.h>

static enum ronde_status refuse(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "cuda: built without CUDA (-DRONDE_CUDA=ON, CUDA toolkit 12 or newer)");
}

uint32_t ronde_gpu_runtime(void)
{
    return 0;
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    return refuse(why_not);
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    *out_count = 0;
    return refuse(why_not);
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    (void)mem;
    (void)number;
    *out_gpu = NULL;
    return refuse(error);
}

void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    (void)mem;
    (void)gpu;
}
