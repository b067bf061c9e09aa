/* Slots on a device that the transport can access. See direct.h. */
#include "hw/cuda/direct.h"

/* Whether this rank can use GPUDirect, and why not. */
static enum ronde_status check_support(const struct ronde_comm *comm, const struct ronde_gpu *gpu,
                                       enum ronde_gpu_direct wish, struct ronde_error *why_not)
{
    if (wish == RONDE_GPU_DIRECT_OFF)
        return ronde_fail(why_not, RONDE_UNAVAILABLE, "rank %u: GPUDirect is switched off",
                          comm->rank);
    if (!comm->wire->reaches_devices || !comm->wire->reaches_devices(comm))
        return ronde_fail(
            why_not, RONDE_UNAVAILABLE,
            "rank %u: UCX reports no CUDA memory here: GPUDirect needs a UCX with CUDA", comm->rank);
    if (!gpu->is_exposed(gpu->self))
        return ronde_fail(why_not, RONDE_UNAVAILABLE,
                          "rank %u: kernels of its GPU cannot be shown what others write to its "
                          "memory, which GPUDirect needs",
                          comm->rank);
    return RONDE_OK;
}

/* Whether all ranks can use it. Collective. */
static enum ronde_status check_all(struct ronde_comm *comm, bool can, bool *out_all,
                                   struct ronde_error *error)
{
    const uint64_t mine = can;
    uint64_t *all = ronde_mem_new(comm->mem, comm->ranks, sizeof *all);
    enum ronde_status status =
        all ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_control_allgather(comm->control, &mine, sizeof mine, all, error);
    *out_all = status == RONDE_OK;
    for (uint32_t rank = 0; status == RONDE_OK && rank < comm->ranks; rank++)
        *out_all &= all[rank] != 0;
    ronde_mem_free(comm->mem, all, comm->ranks, sizeof *all);
    return status;
}

/* Connections with ranks of other machines. */
static uint64_t count_remote(const struct ronde_loaded *loaded)
{
    uint64_t count = 0;
    for (uint64_t e = 0; e < loaded->end_count; e++)
        count += loaded->ends[e].is_copied != 0;
    return count;
}

/* Allocates as much as the same connections have in the host's memory. */
static enum ronde_status reserve(struct ronde_cuda_direct *direct,
                                 const struct ronde_comm_program *host, struct ronde_error *error)
{
    const struct ronde_mem *memory = direct->gpu->memory;
    direct->stride = ronde_shm_region_bytes(host->loaded->schedule, host->slot_bytes, host->depth);
    direct->stride = (direct->stride + 127) / 128 * 128;
    direct->bytes = count_remote(host->loaded) * direct->stride;
    if (direct->bytes == 0)
        return RONDE_OK;
    direct->memory = memory->resize(memory->self, NULL, 0, direct->bytes);
    return direct->memory ? RONDE_OK
                          : ronde_fail(error, RONDE_NO_MEMORY,
                                       "no memory on the device: %llu bytes for GPUDirect",
                                       (unsigned long long)direct->bytes);
}

enum ronde_status ronde_cuda_direct_open(struct ronde_cuda_direct *direct,
                                         struct ronde_comm_program *host,
                                         const struct ronde_gpu *gpu, enum ronde_gpu_direct wish,
                                         enum ronde_status status, struct ronde_error *error)
{
    struct ronde_comm *comm = host->comm;
    struct ronde_error why_not = {0};
    bool do_all = false;
    direct->gpu = gpu;
    direct->slots.settle = gpu->settle;
    direct->slots.self = gpu->self;
    const bool can = check_support(comm, gpu, wish, &why_not) == RONDE_OK;
    if (status == RONDE_OK && !can && wish == RONDE_GPU_DIRECT_ON)
        status = ronde_fail(error, why_not.status, "%s", why_not.message);
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = check_all(comm, can, &do_all, error);
    if (status == RONDE_OK && do_all)
        status = reserve(direct, host, error);
    if (direct->memory)
        host->device = &direct->slots;
    return status;
}

void ronde_cuda_direct_place(struct ronde_cuda_direct *direct, struct ronde_comm_program *host,
                             uint64_t slot_stride)
{
    struct ronde_loaded *loaded = host->loaded;
    const bool is_used = direct->memory && slot_stride >= RONDE_CUDA_DIRECT_FROM_BYTES;
    unsigned char *slots = direct->memory;
    if (is_used == direct->slots.is_used)
        return;
    direct->slots.is_used = is_used;
    /* Peers must stop sending to the old addresses. */
    host->is_rearranged = true;
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (end->is_copied == 0)
            continue;
        end->slots =
            is_used ? slots : (unsigned char *)(end->lengths + ronde_lengths_stride(host->depth));
        slots += direct->stride;
    }
}

void ronde_cuda_direct_close(struct ronde_cuda_direct *direct)
{
    /* Held memory is the target of a lost rank's message, which may still be written: it stays until the process ends. */
    if (direct->memory && !direct->slots.is_held)
        (void)direct->gpu->memory->resize(direct->gpu->memory->self, direct->memory, direct->bytes,
                                          0);
    direct->memory = NULL;
}
