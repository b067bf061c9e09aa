/* Kernels behind a communicator's program. See proxy.h. */
#include "hw/cuda/proxy.h"

#include "hw/cuda/job.h"

/* Whether the proxy moves a connection's messages: kernels of one host access each other's memory without it. */
static bool is_mine(const struct ronde_comm_program *host, uint64_t end)
{
    return host->loaded->ends[end].is_copied != 0;
}

/* Finds those connections' memory; the transport lays them out in one piece. */
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
    proxy->memory_bytes = last > 0 ? last - first + region_bytes : 0;
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
static int enter(const struct ronde_cuda_proxy *proxy)
{
    const struct ronde_gpu *gpu = proxy->part->gpu;
    return proxy->direct.memory ? gpu->enter(gpu->self) : 0;
}

static void leave(const struct ronde_cuda_proxy *proxy, int before)
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
    const enum ronde_status status = poll_kernel(proxy, &is_over, error);
    for (uint64_t e = 0; e < loaded->end_count && status == RONDE_OK; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (!is_mine(host, e))
            continue;
        const uint64_t count = RONDE_ACQUIRE(&loaded->frame, end->mine);
        *io_moved |= count != end->count;
        end->count = count;
    }
    if (status == RONDE_OK && is_over) {
        host->lane_count = 0;
        if (__atomic_load_n(&proxy->words[1], __ATOMIC_ACQUIRE) != RONDE_STOP_NOT)
            return ronde_fail(error, RONDE_TIMEOUT, "rank %u: the kernel was ended early",
                              host->comm->rank);
    }
    return status;
}

enum ronde_status ronde_cuda_proxy_load(struct ronde_cuda_proxy *proxy, struct ronde_comm *comm,
                                        struct ronde_device_program *part,
                                        enum ronde_gpu_direct wish, enum ronde_status status,
                                        struct ronde_error *error)
{
    proxy->part = part;
    status = ronde_comm_agree(comm, status, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, part->loaded->schedule, NULL, &proxy->host, error);
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
    if (status == RONDE_OK)
        status = ronde_cuda_numa_find(part->gpu, comm->mem, &proxy->numa, error);
    status = ronde_cuda_direct_open(&proxy->direct, proxy->host, part->gpu, wish, status, error);
    return ronde_comm_agree(comm, status, error);
}

void ronde_cuda_proxy_unload(struct ronde_cuda_proxy *proxy)
{
    const struct ronde_gpu *gpu = proxy->part ? proxy->part->gpu : NULL;
    if (proxy->memory)
        gpu->unpin(gpu->self, proxy->memory, proxy->memory_bytes);
    ronde_cuda_numa_free(&proxy->numa);
    ronde_comm_unload(proxy->host);
    ronde_cuda_direct_close(&proxy->direct);
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
    ronde_cuda_direct_place(&proxy->direct, proxy->host, to->frame.slot_stride);
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
    const int before = enter(proxy);
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
    const int before = enter(proxy);
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
