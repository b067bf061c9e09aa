/* runtime.c's interface for one emulated GPU. See one.h. */
#include "cuda/emulated/one.h"

#include "ronde/gpus.h"

#include <string.h>

uint32_t ronde_gpu_runtime(void)
{
    return 13000;
}

enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not)
{
    (void)why_not;
    *out_count = 1;
    return RONDE_OK;
}

enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine, struct ronde_error *why_not)
{
    memset(out_machine, 0, sizeof *out_machine);
    out_machine->max_ranks = RONDE_MAX_RANKS;
    return ronde_gpu_count(&out_machine->devices, why_not);
}

enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                 const struct ronde_gpu **out_gpu, struct ronde_error *error)
{
    (void)mem;
    (void)number;
    const struct ronde_gpu *const inner = emulated_gpu_open(&emulated_one_options);
    if (!inner)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a device");
    *out_gpu = emulated_one_open(inner);
    return RONDE_OK;
}

void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu)
{
    (void)mem;
    const struct ronde_gpu *const inner = emulated_one_close(gpu);
    if (gpu)
        emulated_gpu_close(inner);
}
