/* Memory of emulated GPUs: their own, that of other processes, and what they can access of the host's. See emulated_gpu.h. */
#include "support/emulated_device.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A piece of device memory, a whole number of pages. */
struct emulated_region {
    struct emulated_region *next;
    unsigned char *start;
    size_t bytes;
};

static void protect_one(const struct emulated_device *device, int protection)
{
    for (const struct emulated_region *r = device->regions; device->options.is_guarded && r;
         r = r->next)
        mprotect(r->start, r->bytes, protection);
}

static void protect(const struct emulated_device *device, int protection)
{
    for (uint32_t d = 0; d < EMULATED_DEVICES_MAX; d++) {
        const struct emulated_device *other = device->machine->devices[d];
        if (other && (other == device || device->is_joined[d]))
            protect_one(other, protection);
    }
}

void emulated_enter(const struct emulated_device *device)
{
    protect(device, PROT_READ | PROT_WRITE);
}

void emulated_leave(const struct emulated_device *device)
{
    protect(device, PROT_NONE);
}

static enum ronde_status join(void *self, void *other_self, struct ronde_error *error)
{
    struct emulated_device *device = self;
    const struct emulated_device *other = other_self;
    if (device->options.is_isolated || other->options.is_isolated)
        return ronde_fail(error, RONDE_UNAVAILABLE, "device %u does not reach device %u",
                          device->place, other->place);
    device->is_joined[other->place] = !device->options.join_does_nothing;
    return RONDE_OK;
}

static bool is_exposed(void *self)
{
    const struct emulated_device *device = self;
    return !device->options.is_hidden;
}

static void settle(void *self)
{
    struct emulated_device *device = self;
    device->counts.settled++;
}

static void *take_region(struct emulated_device *device, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct emulated_region *region = malloc(sizeof *region);
    if (!region)
        return NULL;
    region->bytes = (bytes + page - 1) / page * page;
    region->start =
        mmap(NULL, region->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region->start == MAP_FAILED) {
        free(region);
        return NULL;
    }
    /* Fresh memory of a device holds anything. */
    memset(region->start, 0x5A, region->bytes);
    region->next = device->regions;
    device->regions = region;
    device->counts.live_blocks++;
    emulated_leave(device);
    return region->start;
}

static void free_region(struct emulated_device *device, void *start)
{
    for (struct emulated_region **link = &device->regions; *link; link = &(*link)->next) {
        struct emulated_region *region = *link;
        if (region->start != start)
            continue;
        *link = region->next;
        munmap(region->start, region->bytes);
        free(region);
        device->counts.live_blocks--;
        return;
    }
    abort();
}

/* Whether a call is one that is to fail. */
bool emulated_fails(struct emulated_device *device, enum emulated_call call)
{
    return device->refusals[call] > 0 && --device->refusals[call] == 0;
}

/* Guarded memory comes in pages of its own; unguarded memory from malloc, whose bounds the sanitizers watch. */
static void *device_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct emulated_device *device = self;
    (void)old_bytes;
    if (new_bytes > 0 && emulated_fails(device, EMULATED_MEMORY))
        new_bytes = 0;
    if (device->options.is_guarded) {
        if (old)
            free_region(device, old);
        return new_bytes > 0 ? take_region(device, new_bytes) : NULL;
    }
    if (old)
        device->counts.live_blocks--;
    free(old);
    unsigned char *const block =
        new_bytes > 0 ? aligned_alloc(256, (new_bytes + 255) / 256 * 256) : NULL;
    if (block) {
        memset(block, 0x5A, new_bytes);
        device->counts.live_blocks++;
    }
    return block;
}

static enum ronde_status share(void *self, enum ronde_sharing sharing, uint64_t bytes,
                               void **out_block, struct ronde_share *out_share,
                               struct ronde_error *error)
{
    struct emulated_device *device = self;
    const struct emulated_options *options = &device->options;
    *out_block = NULL;
    if (emulated_fails(device, EMULATED_SHARE))
        return ronde_fail(error, RONDE_NO_MEMORY, "the device shares nothing");
    if (sharing == RONDE_SHARING_AUTO)
        sharing = options->lacks_descriptors ? RONDE_SHARING_IPC : RONDE_SHARING_DESCRIPTOR;
    if ((sharing == RONDE_SHARING_DESCRIPTOR && options->lacks_descriptors) ||
        (sharing == RONDE_SHARING_FABRIC && !options->has_fabric))
        return ronde_fail(error, RONDE_UNAVAILABLE, "the device makes no handles of kind %s",
                          ronde_sharing_text(sharing));
    const enum ronde_status status =
        emulated_share_make(&device->named, sharing, bytes, out_block, out_share, error);
    device->counts.live_blocks += status == RONDE_OK;
    device->counts.shared[sharing] += status == RONDE_OK;
    return status;
}

static void unshare(void *self, enum ronde_sharing sharing, void *block, uint64_t bytes)
{
    struct emulated_device *device = self;
    (void)sharing;
    emulated_share_drop(&device->named, block, bytes);
    device->counts.live_blocks--;
}

static enum ronde_status attach(void *self, const struct ronde_share *from, const uint64_t *bytes,
                                uint32_t count, void **out_block, struct ronde_error *error)
{
    struct emulated_device *device = self;
    *out_block = NULL;
    if (emulated_fails(device, EMULATED_ATTACH))
        return ronde_fail(error, RONDE_DEVICE, "the driver refuses to import");
    const enum ronde_status status = emulated_share_map(from, bytes, count, out_block, error);
    device->counts.live_blocks += status == RONDE_OK;
    device->counts.attached += status == RONDE_OK;
    return status;
}

static void detach(void *self, enum ronde_sharing sharing, void *block, const uint64_t *bytes,
                   uint32_t count)
{
    struct emulated_device *device = self;
    (void)sharing;
    emulated_share_unmap(block, bytes, count);
    device->counts.live_blocks--;
}

/* Buffers, which other processes can map later. */
static void *buffer_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct emulated_device *device = self;
    if (old) {
        emulated_pieces_drop(&device->pieces, old, old_bytes);
        device->counts.live_blocks--;
    }
    void *const block = new_bytes > 0
                            ? emulated_pieces_make(&device->pieces, new_bytes,
                                                   device->options.piece_bytes, device->wish)
                            : NULL;
    device->wish = NULL;
    device->counts.live_blocks += block != NULL;
    return block;
}

static enum ronde_status hold(void *self, const void *address,
                              struct ronde_allocation *out_allocation, struct ronde_error *error)
{
    struct emulated_device *device = self;
    const struct emulated_piece *piece = emulated_pieces_find(&device->pieces, address);
    if (!piece)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%p is not memory of the device", address);
    if (device->options.shares_no_buffers)
        return ronde_fail(error, RONDE_UNSUPPORTED, "memory at %p has no handle", address);
    *out_allocation = (struct ronde_allocation){.start = piece->start,
                                                .bytes = piece->bytes,
                                                .number = piece->number,
                                                .sharing = device->options.lacks_descriptors
                                                               ? RONDE_SHARING_IPC
                                                               : RONDE_SHARING_DESCRIPTOR,
                                                .is_held = true};
    device->counts.held++;
    return RONDE_OK;
}

static void let_go(void *self, struct ronde_allocation *allocation)
{
    struct emulated_device *device = self;
    (void)allocation;
    device->counts.held--;
}

static enum ronde_status offer(void *self, const struct ronde_allocation *allocation,
                               struct ronde_share *out_share, struct ronde_error *error)
{
    struct emulated_device *device = self;
    const struct emulated_piece *piece = emulated_pieces_find(&device->pieces, allocation->start);
    memset(out_share, 0, sizeof *out_share);
    out_share->sharing = allocation->sharing;
    out_share->descriptor = -1;
    if (!piece || emulated_fails(device, EMULATED_OFFER))
        return ronde_fail(error, RONDE_DEVICE, "the driver refuses to export");
    if (allocation->sharing == RONDE_SHARING_DESCRIPTOR)
        out_share->descriptor = dup(piece->descriptor);
    else
        emulated_share_name(out_share, piece->descriptor);
    return RONDE_OK;
}

/*
 * The host's memory is accessible anyway; what is pinned must be unpinned. Whole pages alone, since a page is pinned once:
 * of two blocks on one page the second would be refused, or lose its pin with the first.
 */
static enum ronde_status pin(void *self, void *memory, uint64_t bytes, struct ronde_error *error)
{
    struct emulated_device *device = self;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (((uintptr_t)memory | bytes) % page != 0)
        return ronde_fail(error, RONDE_DEVICE, "the device pins whole pages, not %llu bytes",
                          (unsigned long long)bytes);
    if (emulated_fails(device, EMULATED_PIN))
        return ronde_fail(error, RONDE_DEVICE, "the device pins nothing");
    device->counts.live_blocks++;
    device->counts.pins++;
    return RONDE_OK;
}

static void unpin(void *self, void *memory, uint64_t bytes)
{
    struct emulated_device *device = self;
    (void)memory;
    (void)bytes;
    device->counts.live_blocks--;
}

/* Whether an address lies in a buffer of the device, or of one that it was joined with. */
static bool is_buffer(const struct emulated_device *device, const void *start)
{
    bool is_found = false;
    for (uint32_t d = 0; d < EMULATED_DEVICES_MAX; d++) {
        struct emulated_device *other = device->machine->devices[d];
        if (other && (other == device || device->is_joined[d]))
            is_found |= emulated_pieces_find(&other->pieces, start) != NULL;
    }
    return is_found;
}

static bool reaches(void *self, const void *start, uint64_t bytes)
{
    const struct emulated_device *device = self;
    const uintptr_t hidden = (uintptr_t)device->hidden;
    return (device->options.reaches_host || is_buffer(device, start)) &&
           ((uintptr_t)start > hidden || hidden - (uintptr_t)start >= bytes);
}

void emulated_memory_init(struct emulated_device *device)
{
    struct ronde_gpu *gpu = &device->gpu;
    device->memory = (struct ronde_mem){device_resize, device};
    gpu->memory = &device->memory;
    device->buffers = (struct ronde_mem){buffer_resize, device};
    gpu->buffers = device->options.is_guarded ? &device->memory : &device->buffers;
    gpu->hold = hold;
    gpu->let_go = let_go;
    gpu->offer = offer;
    gpu->join = join;
    gpu->is_exposed = is_exposed;
    gpu->settle = settle;
    gpu->share = share;
    gpu->unshare = unshare;
    gpu->attach = attach;
    gpu->detach = detach;
    gpu->pin = pin;
    gpu->unpin = unpin;
    gpu->reaches = reaches;
}
