/*
 * Kernels behind a communicator's program. See proxy.h.
 *
 * To the communicator a kernel is a program that is driven otherwise: its progress loop calls `drive` where it would
 * poll lanes. Kernels of one host reach each other's memory themselves; the connections to other hosts are the
 * proxy's. The kernel counts what it has posted in pinned memory of the host; `drive` reads these counts, and the
 * transport moves what they stand for. The run is over when the kernel is; a kernel that was told to stop before is a
 * failure of this rank.
 */
#include "hw/cuda/proxy.h"

#include "hw/cuda/job.h"
#include "hw/page.h"

#include "ronde/bind.h"
#include "ronde/gpu_places.h"

/* Whether the proxy moves a connection's messages: kernels of one host access each other's memory without it. */
static bool is_mine(const struct ronde_comm_program *host, uint64_t end)
{
    return host->loaded->ends[end].is_copied != 0;
}

/* Finds those connections' memory; the transport lays them out in one piece, on pages of their own. */
static void find_memory(struct ronde_cuda_proxy *proxy)
{
    const struct ronde_comm_program *host = proxy->host;
    const struct ronde_loaded *loaded = host->loaded;
    const uint64_t region_bytes =
        ronde_shm_region_bytes(loaded->schedule, host->slot_bytes, host->depth);
    uintptr_t first = UINTPTR_MAX;
    uintptr_t last = 0;
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        if (!is_mine(host, e))
            continue;
        /* A region begins with the counters; the lengths follow. */
        const uintptr_t region = (uintptr_t)loaded->ends[e].lengths - sizeof(struct ronde_fifo);
        first = region < first ? region : first;
        last = region > last ? region : last;
    }
    proxy->memory = last > 0 ? (unsigned char *)first : NULL;
    proxy->memory_bytes = last > 0 ? ronde_page_up(last - first + region_bytes) : 0;
}

/* Whether the run's kernel is over. */
static enum ronde_status poll_kernel(const struct ronde_cuda_proxy *proxy, bool *out_over,
                                     struct ronde_error *error)
{
    const struct ronde_device_program *part = proxy->part;
    if (!proxy->ended)
        return part->gpu->is_over(part->queue, out_over, error);
    *out_over = __atomic_load_n(proxy->ended, __ATOMIC_ACQUIRE) >= proxy->awaited;
    return RONDE_OK;
}

/* A transport that is given device memory calls CUDA itself, which uses the thread's current device. */
static struct ronde_gpu_before enter(const struct ronde_cuda_proxy *proxy)
{
    const struct ronde_gpu *gpu = proxy->part->gpu;
    return proxy->direct.memory ? gpu->enter(gpu->self) : (struct ronde_gpu_before){0};
}

static void leave(const struct ronde_cuda_proxy *proxy, struct ronde_gpu_before before)
{
    const struct ronde_gpu *gpu = proxy->part->gpu;
    if (proxy->direct.memory)
        gpu->leave(gpu->self, before);
}

/* Called by the communicator's progress loop instead of polling lanes. */
static enum ronde_status drive(struct ronde_comm_program *host, bool *io_moved,
                               struct ronde_error *error)
{
    struct ronde_cuda_proxy *proxy = host->driver;
    struct ronde_loaded *loaded = host->loaded;
    bool is_over = false;
    if (!proxy->is_started) {
        proxy->is_started = true;
        *io_moved = true;
        return ronde_device_program_start(proxy->part, NULL, error);
    }
    RONDE_TRY(poll_kernel(proxy, &is_over, error));
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (!is_mine(host, e))
            continue;
        const uint64_t count = RONDE_ACQUIRE(&loaded->frame, end->mine);
        *io_moved |= count != end->count;
        end->count = count;
    }
    if (is_over) {
        host->lane_count = 0;
        if (__atomic_load_n(&proxy->words[1], __ATOMIC_ACQUIRE) != RONDE_STOP_NOT)
            return ronde_fail(error, RONDE_TIMEOUT, "rank %u: the kernel was ended early",
                              host->comm->rank);
    }
    return RONDE_OK;
}

/* Slots on a device that the transport can access. */

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
    RONDE_THEN(status, ronde_control_allgather(comm->control, &mine, sizeof mine, all, error));
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

/**
 * Decides with all ranks whether GPUDirect is used, and allocates; `status` is this rank's status so far, which is
 * returned if it is a failure. Collective. Errors: UNAVAILABLE naming what is missing, where `wish` is ON; NO_MEMORY.
 */
static enum ronde_status open_direct(struct ronde_cuda_direct *direct,
                                     struct ronde_comm_program *host, const struct ronde_gpu *gpu,
                                     enum ronde_gpu_direct wish, enum ronde_status status,
                                     struct ronde_error *error)
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
    RONDE_THEN(status, check_all(comm, can, &do_all, error));
    if (status == RONDE_OK && do_all)
        status = reserve(direct, host, error);
    if (direct->memory)
        host->device = &direct->slots;
    return status;
}

/** Points a program's connections with other machines to the memory that slots of this stride are in. */
static void place_direct(struct ronde_cuda_direct *direct, struct ronde_comm_program *host,
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

/** Frees them, after the program was unloaded, unless the transport still holds them. */
static void close_direct(struct ronde_cuda_direct *direct)
{
    /* Held memory is the target of a lost rank's message, which may still be written: it stays until the process ends. */
    if (direct->memory && !direct->slots.is_held)
        (void)direct->gpu->memory->resize(direct->gpu->memory->self, direct->memory, direct->bytes,
                                          0);
    direct->memory = NULL;
}

/* Processors near a device, by its PCIe address. */

/** Finds them. Owner: the caller frees *out_numa. Errors: NO_MEMORY; all else leaves an empty list. */
static enum ronde_status find_numa(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
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

/** Frees the list; zeroed is allowed. */
static void free_numa(struct ronde_cuda_numa *numa)
{
    if (numa->list)
        ronde_mem_free(numa->mem, numa->list, numa->capacity, sizeof *numa->list);
    numa->list = NULL;
    numa->count = 0;
}

enum ronde_status ronde_cuda_proxy_load(struct ronde_cuda_proxy *proxy, struct ronde_comm *comm,
                                        struct ronde_device_program *part,
                                        enum ronde_gpu_direct wish, enum ronde_status status,
                                        struct ronde_error *error)
{
    proxy->part = part;
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, ronde_comm_load(comm, part->loaded->schedule, NULL, &proxy->host, error));
    if (status != RONDE_OK)
        return status;
    proxy->host->drive = drive;
    proxy->host->driver = proxy;
    find_memory(proxy);
    if (proxy->memory) {
        unsigned char *const memory = proxy->memory;
        proxy->memory = NULL;
        status = part->gpu->pin(part->gpu->self, memory, proxy->memory_bytes, error);
        if (status == RONDE_OK)
            proxy->memory = memory;
    }
    RONDE_THEN(status, find_numa(part->gpu, comm->mem, &proxy->numa, error));
    status = open_direct(&proxy->direct, proxy->host, part->gpu, wish, status, error);
    return ronde_comm_agree(comm, status, error);
}

void ronde_cuda_proxy_unload(struct ronde_cuda_proxy *proxy)
{
    const struct ronde_gpu *gpu = proxy->part ? proxy->part->gpu : NULL;
    if (proxy->memory)
        gpu->unpin(gpu->self, proxy->memory, proxy->memory_bytes);
    free_numa(&proxy->numa);
    ronde_comm_unload(proxy->host);
    close_direct(&proxy->direct);
}

struct ronde_launch ronde_cuda_proxy_settle(const struct ronde_cuda_proxy *proxy,
                                            const struct ronde_launch *launch)
{
    struct ronde_launch settled = *launch;
    settled.slot_bytes = launch->slot_bytes ? launch->slot_bytes : proxy->host->slot_bytes;
    settled.depth = launch->depth ? launch->depth : proxy->host->depth;
    /* Kernels of several processes do not read each other's buffers, even where the host could. */
    if (launch->protocol == RONDE_PROTOCOL_AUTO)
        settled.protocol = RONDE_PROTOCOL_STAGED;
    return settled;
}

void ronde_cuda_proxy_place(struct ronde_cuda_proxy *proxy)
{
    const struct ronde_loaded *from = proxy->host->loaded;
    struct ronde_loaded *to = proxy->part->loaded;
    place_direct(&proxy->direct, proxy->host, to->frame.slot_stride);
    for (uint64_t e = 0; e < to->end_count; e++) {
        if (!is_mine(proxy->host, e))
            continue;
        to->ends[e].mine = from->ends[e].mine;
        to->ends[e].theirs = from->ends[e].theirs;
        to->ends[e].lengths = from->ends[e].lengths;
        to->ends[e].slots = from->ends[e].slots;
    }
}

static enum ronde_status begin(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                               const uint64_t *ended, struct ronde_error *error)
{
    const struct ronde_launch settled = ronde_cuda_proxy_settle(proxy, launch);
    const struct ronde_gpu_before before = enter(proxy);
    const enum ronde_status status = ronde_comm_run(proxy->host, &settled, error);
    leave(proxy, before);
    proxy->is_running = status == RONDE_OK;
    proxy->is_started = ended != NULL;
    proxy->ended = ended;
    return status;
}

enum ronde_status ronde_cuda_proxy_run(struct ronde_cuda_proxy *proxy,
                                       const struct ronde_launch *launch, struct ronde_error *error)
{
    proxy->failure = (struct ronde_error){.status = RONDE_OK};
    return begin(proxy, launch, NULL, error);
}

/* A failure is returned by ronde_cuda_check later; the kernel is stopped now. */
enum ronde_status ronde_cuda_proxy_follow(struct ronde_cuda_proxy *proxy,
                                          const struct ronde_launch *launch, const uint64_t *ended,
                                          uint64_t awaited)
{
    proxy->awaited = awaited;
    const enum ronde_status status = begin(proxy, launch, ended, &proxy->failure);
    if (status != RONDE_OK)
        __atomic_store_n(&proxy->words[0], 1, __ATOMIC_RELEASE);
    return status;
}

enum ronde_status ronde_cuda_proxy_test(struct ronde_cuda_proxy *proxy, bool *out_done,
                                        struct ronde_error *error)
{
    const struct ronde_device_program *part = proxy->part;
    *out_done = true;
    if (!proxy->is_running)
        return RONDE_OK;
    const struct ronde_gpu_before before = enter(proxy);
    const enum ronde_status status = ronde_comm_test(proxy->host, out_done, &proxy->failure);
    leave(proxy, before);
    proxy->is_running = status == RONDE_OK && !*out_done;
    if (status == RONDE_OK)
        return RONDE_OK;
    if (proxy->is_started) {
        /* Its messages are no longer moved, so the kernel is stopped. */
        __atomic_store_n(&proxy->words[0], 1, __ATOMIC_RELEASE);
        if (!proxy->ended)
            (void)part->gpu->finish(part->queue, NULL, NULL);
    }
    return ronde_fail(error, status, "%s", proxy->failure.message);
}
