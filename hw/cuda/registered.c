/* Registered buffers. See registered.h. */
#include "hw/cuda/registered.h"

#include "hw/cuda/handles.h"
#include "hw/cuda/job.h"

/* What one device here has of one process. */
struct mapped_share {
    void *start; /* NULL = nothing */
    enum ronde_sharing sharing;
    uint64_t *bytes; /* of each piece; of another process's memory */
    uint32_t count;
};

struct ronde_registration {
    uint32_t index; /* among all, alike in all processes */
    unsigned char *start;
    uint64_t bytes;
    const struct ronde_gpu *gpu; /* whose memory it is */
    struct ronde_allocation *pieces;
    uint32_t piece_count;
    size_t piece_capacity;
    struct mapped_share *mappings; /* per device here and process */
    bool is_captured;
};

/* A device here. */
struct reading_device {
    const struct ronde_gpu *gpu;
    void *queue;
    unsigned char **table; /* on the device */
};

struct ronde_registry {
    struct ronde_comm *comm;
    const struct ronde_mem *mem;
    struct reading_device *devices;
    uint32_t gpu_count;    /* entries there are */
    uint32_t device_count; /* of these: opened */
    struct ronde_registration *all[RONDE_CUDA_REGISTERED_MOST];
    uint32_t end; /* beyond the last */
};

/* Bytes of a device's table: an address per registration and process. */
static size_t table_bytes(const struct ronde_registry *registry)
{
    return (size_t)RONDE_CUDA_REGISTERED_MOST * registry->comm->ranks * sizeof(void *);
}

static size_t mapping_count(const struct ronde_registry *registry)
{
    return (size_t)registry->device_count * registry->comm->ranks;
}

enum ronde_status ronde_registry_open(struct ronde_comm *comm, const struct ronde_gpu *const *gpus,
                                      uint32_t gpu_count, const struct ronde_mem *mem,
                                      struct ronde_registry **out_registry,
                                      struct ronde_error *error)
{
    struct ronde_registry *registry = ronde_mem_new(mem, 1, sizeof *registry);
    *out_registry = registry;
    if (!registry)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for registered buffers");
    registry->comm = comm;
    registry->mem = mem;
    registry->gpu_count = gpu_count;
    registry->devices = ronde_mem_new(mem, gpu_count, sizeof *registry->devices);
    enum ronde_status status = RONDE_OK;
    for (uint32_t g = 0; registry->devices && g < gpu_count && status == RONDE_OK; g++) {
        struct reading_device *device = &registry->devices[registry->device_count++];
        device->gpu = gpus[g];
        device->table = ronde_mem_resize(gpus[g]->memory, NULL, 0, table_bytes(registry));
        status = gpus[g]->open_queue(gpus[g]->self, &device->queue, error);
        if (!device->table && status == RONDE_OK)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no memory on the device: %llu bytes",
                                (unsigned long long)table_bytes(registry));
    }
    return registry->devices
               ? status
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u devices", gpu_count);
}

/* Releases what a registration holds in this process and frees it; no other process has it mapped. */
static void free_registration(struct ronde_registry *registry,
                              struct ronde_registration *registration)
{
    for (uint32_t k = 0; registration->pieces && k < registration->piece_count; k++)
        registration->gpu->let_go(registration->gpu->self, &registration->pieces[k]);
    ronde_mem_free(registry->mem, registration->pieces, registration->piece_capacity,
                   sizeof *registration->pieces);
    ronde_mem_free(registry->mem, registration->mappings, mapping_count(registry),
                   sizeof *registration->mappings);
    if (registration->index < registry->end)
        registry->all[registration->index] = NULL;
    while (registry->end > 0 && !registry->all[registry->end - 1])
        registry->end--;
    ronde_mem_free(registry->mem, registration, 1, sizeof *registration);
}

/* Unmaps what other processes brought. */
static void unmap_others(struct ronde_registry *registry,
                         const struct ronde_registration *registration)
{
    for (size_t k = 0; registration->mappings && k < mapping_count(registry); k++) {
        struct mapped_share *mapping = &registration->mappings[k];
        const struct ronde_gpu *gpu = registry->devices[k / registry->comm->ranks].gpu;
        if (mapping->start && mapping->bytes)
            gpu->detach(gpu->self, mapping->sharing, mapping->start, mapping->bytes, mapping->count);
        ronde_mem_free(registry->mem, mapping->bytes, mapping->count, sizeof *mapping->bytes);
        *mapping = (struct mapped_share){0};
    }
}

/* Frees what all processes have unmapped. Where the communicator has failed the others are not waited for. */
static void forget(struct ronde_registry *registry, struct ronde_registration *registration)
{
    struct ronde_error ignored = {0};
    unmap_others(registry, registration);
    (void)ronde_control_allgather(registry->comm->control, NULL, 0, NULL, &ignored);
    free_registration(registry, registration);
}

void ronde_registry_close(struct ronde_registry *registry)
{
    if (!registry)
        return;
    while (registry->end > 0)
        forget(registry, registry->all[registry->end - 1]);
    for (uint32_t g = 0; g < registry->device_count; g++) {
        const struct reading_device *device = &registry->devices[g];
        if (device->queue)
            device->gpu->close_queue(device->queue);
        ronde_mem_free(device->gpu->memory, device->table, table_bytes(registry), 1);
    }
    ronde_mem_free(registry->mem, registry->devices, registry->gpu_count, sizeof *registry->devices);
    ronde_mem_free(registry->mem, registry, 1, sizeof *registry);
}

/* One allocation more, in which an address lies. */
static enum ronde_status add_piece(const struct ronde_registry *registry,
                                   struct ronde_registration *registration, const unsigned char *at,
                                   struct ronde_error *error)
{
    const struct ronde_gpu *gpu = registration->gpu;
    if (registration->piece_count == RONDE_CUDA_PIECES_MOST)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "registered memory lies in more than %u allocations: register parts of it",
            RONDE_CUDA_PIECES_MOST);
    if (!ronde_mem_grow(registry->mem, &registration->pieces, &registration->piece_capacity,
                        registration->piece_count + (size_t)1, sizeof *registration->pieces))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to register a buffer");
    const enum ronde_status status =
        gpu->hold(gpu->self, at, &registration->pieces[registration->piece_count], error);
    registration->piece_count += status == RONDE_OK;
    return status;
}

/* The allocations of one device that a range lies in, one after another. */
static enum ronde_status find_pieces(const struct ronde_registry *registry,
                                     struct ronde_registration *registration,
                                     struct ronde_error *error)
{
    const unsigned char *at = registration->start;
    const unsigned char *const end = at + registration->bytes;
    while (at < end) {
        RONDE_TRY(add_piece(registry, registration, at, error));
        const struct ronde_allocation *first = registration->pieces;
        const struct ronde_allocation *piece = &first[registration->piece_count - 1];
        if (piece != first && (piece->start != at || piece->sharing != first->sharing ||
                               piece->sharing == RONDE_SHARING_IPC))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "registered memory ends %llu bytes from its start, not %llu: what "
                              "follows is another allocation",
                              (unsigned long long)(at - registration->start),
                              (unsigned long long)registration->bytes);
        at = piece->start + piece->bytes;
    }
    return RONDE_OK;
}

/* The same, on whichever device it is. */
static enum ronde_status find_memory(const struct ronde_registry *registry,
                                     struct ronde_registration *registration,
                                     struct ronde_error *error)
{
    enum ronde_status status = RONDE_BAD_ARGUMENT;
    struct ronde_error why = {0};
    if (registration->bytes == 0)
        return RONDE_OK;
    if (registration->bytes > UINTPTR_MAX - (uintptr_t)registration->start)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "registered memory of %llu bytes ends beyond all addresses",
                          (unsigned long long)registration->bytes);
    for (uint32_t g = 0; g < registry->device_count && status == RONDE_BAD_ARGUMENT; g++) {
        struct ronde_allocation ignored;
        registration->gpu = registry->devices[g].gpu;
        why = (struct ronde_error){.status = RONDE_OK};
        status =
            registration->gpu->hold(registration->gpu->self, registration->start, &ignored, &why);
        if (status == RONDE_OK)
            registration->gpu->let_go(registration->gpu->self, &ignored);
    }
    return status == RONDE_OK ? find_pieces(registry, registration, error)
                              : ronde_fail(error, status, "%s", why.message);
}

static enum ronde_status make(struct ronde_registry *registry, void *start, uint64_t bytes,
                              struct ronde_registration **out_registration,
                              struct ronde_error *error)
{
    struct ronde_registration *made = ronde_mem_new(registry->mem, 1, sizeof *made);
    *out_registration = made;
    if (made) {
        made->start = start;
        made->bytes = start ? bytes : 0;
        made->mappings =
            ronde_mem_new(registry->mem, mapping_count(registry), sizeof *made->mappings);
        while (made->index < RONDE_CUDA_REGISTERED_MOST && registry->all[made->index])
            made->index++;
    }
    if (!made || !made->mappings)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to register a buffer");
    if (made->index == RONDE_CUDA_REGISTERED_MOST)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%u buffers are registered, and no more can be",
                          RONDE_CUDA_REGISTERED_MOST);
    return find_memory(registry, made, error);
}

/* What a process says of the memory it brings. */
struct brought {
    uint64_t pieces;
    uint64_t index;
};

/* Learns how many pieces each process brings; *out_most is at least one. */
static enum ronde_status compare(struct ronde_registry *registry,
                                 const struct ronde_registration *registration, struct brought *all,
                                 uint32_t *out_most, struct ronde_error *error)
{
    const struct brought mine = {registration->piece_count, registration->index};
    const enum ronde_status status =
        ronde_control_allgather(registry->comm->control, &mine, sizeof mine, all, error);
    *out_most = 1;
    for (uint32_t p = 0; p < registry->comm->ranks && status == RONDE_OK; p++)
        if (all[p].pieces > *out_most)
            *out_most = (uint32_t)all[p].pieces;
    return status;
}

/* Maps one process's memory for one device here. */
static enum ronde_status attach_one(const struct ronde_registry *registry,
                                    const struct ronde_handles *handles, uint32_t process,
                                    const struct ronde_gpu *gpu, struct mapped_share *mapping,
                                    struct ronde_error *error)
{
    const uint32_t count = mapping->count;
    struct ronde_share *shares = ronde_mem_new(registry->mem, count, sizeof *shares);
    struct ronde_error why = {0};
    mapping->bytes = ronde_mem_new(registry->mem, count, sizeof *mapping->bytes);
    if (!shares || !mapping->bytes) {
        ronde_mem_free(registry->mem, shares, count, sizeof *shares);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to map %u allocations", count);
    }
    for (uint32_t k = 0; k < count; k++) {
        shares[k] = ronde_handles_find(handles, process, k);
        mapping->bytes[k] = shares[k].bytes;
    }
    mapping->sharing = shares[0].sharing;
    const enum ronde_status status =
        gpu->attach(gpu->self, shares, mapping->bytes, count, &mapping->start, &why);
    ronde_mem_free(registry->mem, shares, count, sizeof *shares);
    return status == RONDE_OK ? RONDE_OK
                              : ronde_fail(error, status, "registered memory of rank %u: %.420s",
                                           process, why.message);
}

/* Maps what others have brought for one device, and tells its kernels where everything is. */
static enum ronde_status attach_all(const struct ronde_registry *registry,
                                    struct ronde_registration *registration,
                                    const struct ronde_handles *handles, const struct brought *all,
                                    uint32_t g, struct ronde_error *error)
{
    const uint32_t ranks = registry->comm->ranks;
    const struct reading_device *device = &registry->devices[g];
    for (uint32_t p = 0; p < ranks; p++) {
        struct mapped_share *mapping = &registration->mappings[(size_t)g * ranks + p];
        mapping->count = (uint32_t)all[p].pieces;
        if (p == registry->comm->rank && mapping->count > 0)
            mapping->start = registration->pieces[0].start;
        else if (mapping->count > 0)
            RONDE_TRY(attach_one(registry, handles, p, device->gpu, mapping, error));
        RONDE_TRY(device->gpu->write(device->queue,
                                     device->table + (size_t)registration->index * ranks + p,
                                     &mapping->start, sizeof mapping->start, error));
    }
    return device->gpu->finish(device->queue, NULL, error);
}

/* Exchanges the handles of what was brought, and maps it everywhere. */
static enum ronde_status share(struct ronde_registry *registry,
                               struct ronde_registration *registration, const struct brought *all,
                               uint32_t most, struct ronde_error *error)
{
    struct ronde_comm *comm = registry->comm;
    const struct ronde_gpu *gpu = registration->gpu;
    struct ronde_handles handles;
    enum ronde_status status = ronde_handles_open(&handles, comm, most, error);
    const bool has_room = status == RONDE_OK;
    for (uint32_t k = 0; k < registration->piece_count && status == RONDE_OK; k++) {
        status = gpu->offer(gpu->self, &registration->pieces[k], &handles.mine[k], error);
        handles.mine[k].bytes = registration->pieces[k].bytes;
    }
    for (size_t k = 0; has_room && k < (size_t)comm->ranks * most; k++) {
        const bool is_other = k / most != comm->rank;
        handles.is_due[k] = is_other && k % most < registration->piece_count;
        handles.is_wanted[k] = is_other && k % most < all[k / most].pieces;
    }
    status = has_room ? ronde_handles_exchange(&handles, status, error)
                      : ronde_comm_agree(comm, status, error);
    for (uint32_t g = 0; g < registry->device_count && status == RONDE_OK; g++)
        status = attach_all(registry, registration, &handles, all, g, error);
    ronde_handles_close(&handles);
    return status;
}

enum ronde_status ronde_registry_add(struct ronde_registry *registry, void *start, uint64_t bytes,
                                     struct ronde_registration **out_registration,
                                     struct ronde_error *error)
{
    struct ronde_comm *comm = registry->comm;
    struct ronde_registration *made = NULL;
    struct brought *all = ronde_mem_new(registry->mem, comm->ranks, sizeof *all);
    uint32_t most = 1;
    *out_registration = NULL;
    enum ronde_status status =
        all ? make(registry, start, bytes, &made, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    status = ronde_comm_agree(comm, status, error);
    const bool is_made = status == RONDE_OK;
    RONDE_THEN(status, compare(registry, made, all, &most, error));
    RONDE_THEN(status, ronde_comm_agree(comm, share(registry, made, all, most, error), error));
    ronde_mem_free(registry->mem, all, comm->ranks, sizeof *all);
    if (status == RONDE_OK) {
        registry->all[made->index] = made;
        registry->end = made->index >= registry->end ? made->index + 1 : registry->end;
        *out_registration = made;
    } else if (is_made) {
        forget(registry, made);
    } else if (made) {
        free_registration(registry, made);
    }
    return status;
}

/* Whether a registration is one of a registry's. */
static enum ronde_status check(const struct ronde_registry *registry,
                               const struct ronde_registration *registration,
                               struct ronde_error *error)
{
    uint32_t k = 0;
    while (k < registry->end && registry->all[k] != registration)
        k++;
    if (!registration || k == registry->end)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "no buffer is registered by that");
    return registration->is_captured
               ? ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "a captured graph reads the registered buffer: it stays until the "
                            "communicator is destroyed")
               : RONDE_OK;
}

enum ronde_status ronde_registry_drop(struct ronde_registry *registry,
                                      struct ronde_registration *registration,
                                      struct ronde_error *error)
{
    struct ronde_comm *comm = registry->comm;
    struct brought *all = ronde_mem_new(registry->mem, comm->ranks, sizeof *all);
    uint32_t most;
    enum ronde_status status =
        all ? check(registry, registration, error)
            : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u ranks", comm->ranks);
    /* All are past the runs that read it, which is what the caller has waited for. */
    status = ronde_comm_agree(comm, status, error);
    RONDE_THEN(status, compare(registry, registration, all, &most, error));
    for (uint32_t p = 1; p < comm->ranks && status == RONDE_OK; p++)
        if (all[p].index != all[0].index)
            status =
                ronde_fail(error, RONDE_REJECTED,
                           "ranks 0 and %u disagree about which buffer is registered no more: "
                           "their registrations %llu and %llu",
                           p, (unsigned long long)all[0].index, (unsigned long long)all[p].index);
    ronde_mem_free(registry->mem, all, comm->ranks, sizeof *all);
    if (status == RONDE_OK)
        forget(registry, registration);
    return status;
}

/* Whether the allocations that bytes lie in are those that were registered. */
static bool is_there(const struct ronde_registration *registration, const unsigned char *start,
                     uint64_t bytes)
{
    const struct ronde_gpu *gpu = registration->gpu;
    bool is_same = true;
    for (uint32_t k = 0; k < registration->piece_count && is_same; k++) {
        const struct ronde_allocation *piece = &registration->pieces[k];
        struct ronde_allocation now;
        if (start >= piece->start + piece->bytes || piece->start >= start + bytes)
            continue;
        is_same = gpu->hold(gpu->self, piece->start, &now, NULL) == RONDE_OK;
        if (!is_same)
            break;
        is_same =
            now.start == piece->start && now.bytes == piece->bytes && now.number == piece->number;
        gpu->let_go(gpu->self, &now);
    }
    return is_same;
}

struct ronde_readable ronde_registry_find(const struct ronde_registry *registry, const void *start,
                                          uint64_t bytes)
{
    for (uint32_t k = 0; registry && k < registry->end; k++) {
        const struct ronde_registration *registration = registry->all[k];
        const unsigned char *const at = start;
        if (!registration || at < registration->start ||
            (uint64_t)(at - registration->start) > registration->bytes ||
            bytes > registration->bytes - (uint64_t)(at - registration->start) ||
            !is_there(registration, at, bytes))
            continue;
        const uint64_t entry = (uint64_t)k * registry->comm->ranks + registry->comm->rank;
        return (struct ronde_readable){registration,
                                       (entry << RONDE_REFERENCE_BITS) -
                                           (uint64_t)(uintptr_t)registration->pieces[0].start};
    }
    return (struct ronde_readable){NULL, 0};
}

void ronde_registry_keep(struct ronde_registry *registry,
                         const struct ronde_registration *registration)
{
    if (registration)
        registry->all[registration->index]->is_captured = true;
}

unsigned char *const *ronde_registry_mapped(const struct ronde_registry *registry,
                                            const struct ronde_gpu *gpu)
{
    for (uint32_t g = 0; registry && g < registry->device_count; g++)
        if (registry->devices[g].gpu == gpu)
            return registry->devices[g].table;
    return NULL;
}
