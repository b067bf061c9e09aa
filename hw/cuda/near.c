/* Processors near a device, by its place on PCIe. See near.h. */
#include "hw/cuda/near.h"

#include "ronde/bind.h"
#include "ronde/gpu_places.h"

enum ronde_status ronde_cuda_near_find(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                       struct ronde_cuda_near *out_near, struct ronde_error *error)
{
    char bus[32] = "";
    struct ronde_error why = {0};
    struct ronde_bind bind = {.mem = mem};
    *out_near = (struct ronde_cuda_near){.mem = mem};
    gpu->where(gpu->self, bus, sizeof bus);
    const enum ronde_status status =
        ronde_gpu_places_near(NULL, bus, mem, &bind.list, &bind.count, &why);
    if (status == RONDE_NO_MEMORY)
        return ronde_fail(error, status, "%s", why.message);
    if (status == RONDE_OK) {
        out_near->list = bind.list;
        out_near->capacity = bind.count;
        out_near->count = ronde_bind_usable(&bind, out_near->list);
    }
    return RONDE_OK;
}

void ronde_cuda_near_stay(const struct ronde_cuda_near *near)
{
    const struct ronde_bind_group all = {0, near->count};
    /* Elsewhere it is only slower. */
    (void)ronde_bind_take(near->list, all);
}

void ronde_cuda_near_forget(struct ronde_cuda_near *near)
{
    if (near->list)
        ronde_mem_free(near->mem, near->list, near->capacity, sizeof *near->list);
    near->list = NULL;
    near->count = 0;
}
