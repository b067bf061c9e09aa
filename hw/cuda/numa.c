/* Processors near a device, by its PCIe address. See numa.h. */
#include "hw/cuda/numa.h"

#include "ronde/bind.h"
#include "ronde/gpu_places.h"

enum ronde_status ronde_cuda_numa_find(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                       struct ronde_cuda_numa *out_numa, struct ronde_error *error)
{
    char bus[32] = "";
    struct ronde_error why = {0};
    struct ronde_bind bind = {.mem = mem};
    *out_numa = (struct ronde_cuda_numa){.mem = mem};
    gpu->where(gpu->self, bus, sizeof bus);
    const enum ronde_status status =
        ronde_gpu_places_near(NULL, bus, mem, &bind.list, &bind.count, &why);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s", why.message);
    if (status == RONDE_OK) {
        out_numa->list = bind.list;
        out_numa->capacity = bind.count;
        out_numa->count = ronde_bind_usable(&bind, out_numa->list);
    }
    return RONDE_OK;
}

void ronde_cuda_numa_bind(const struct ronde_cuda_numa *numa)
{
    const struct ronde_bind_group all = {0, numa->count};
    /* A failure is ignored: other processors are only slower. */
    (void)ronde_bind_take(numa->list, all);
}

void ronde_cuda_numa_free(struct ronde_cuda_numa *numa)
{
    if (numa->list)
        ronde_mem_free(numa->mem, numa->list, numa->capacity, sizeof *numa->list);
    numa->list = NULL;
    numa->count = 0;
}
