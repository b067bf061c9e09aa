/* The emulated GPUs. See emulated_gpu.h. */
#include "support/emulated_gpu.h"

#include "hw/cuda/backend.h"
#include "hw/cuda/job.h"
#include "support/buffers.h"
#include "support/emulated_block.h"
#include "support/emulated_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Memory. ------------------------------------------------------------------------------------------------------ */

/* A piece of device memory, a whole number of pages. */
struct region {
    struct region *next;
    unsigned char *start;
    size_t bytes;
};

/* The most devices of a machine. */
#define DEVICES_MAX 8u

/* Devices that run side by side. */
struct machine {
    struct device *devices[DEVICES_MAX]; /* entries of closed ones are NULL */
    struct queue *queues;                /* of all devices */
};

/* A device. */
struct device {
    struct ronde_gpu gpu; /* must stand first */
    struct machine *machine;
    bool is_joined[DEVICES_MAX]; /* by place: those whose memory kernels here may touch */
    uint32_t place;              /* in the machine */
    struct ronde_mem memory;
    struct emulated_options options;
    struct emulated_counts counts;
    struct region *regions;
    const void *hidden;                /* a byte of the host it does not reach */
    struct emulated_named named;       /* what it shares under names */
    uint32_t refusals[EMULATED_CALLS]; /* calls until one fails; 0 = none does */
    uint64_t random;
    uint32_t run; /* its number decides what is left open */
};

/* What a turn of all blocks takes on the clock that runs are timed with. */
#define TURN_NS 1e6

/* What waits in a queue: a function of the host, or a run. */
struct item {
    void (*function)(void *self); /* NULL = a run */
    void *self;
    const struct ronde_job *job;
    uint32_t blocks;
};

/* The most items that wait. */
#define ITEMS_MAX 64u

/* A queue: what was enqueued last. */
struct queue {
    struct queue *next;
    struct device *device;
    struct emulated_block **blocks;
    uint32_t block_count;
    uint32_t words[2];
    bool is_busy;                 /* these blocks are not over */
    struct item items[ITEMS_MAX]; /* that follow, the next one first */
    uint32_t item_count;
    uint64_t turns; /* of the blocks that were started last */
};

static void protect_one(const struct device *device, int protection)
{
    for (const struct region *r = device->regions; device->options.is_guarded && r; r = r->next)
        mprotect(r->start, r->bytes, protection);
}

static void protect(const struct device *device, int protection)
{
    for (uint32_t d = 0; d < DEVICES_MAX; d++) {
        const struct device *other = device->machine->devices[d];
        if (other && (other == device || device->is_joined[d]))
            protect_one(other, protection);
    }
}

/* A device is at work between enter and leave: only then its memory, and that of devices it has joined, may be touched. */
static void enter(const struct device *device)
{
    protect(device, PROT_READ | PROT_WRITE);
}

static void leave(const struct device *device)
{
    protect(device, PROT_NONE);
}

static enum ronde_status join(void *self, void *other_self, struct ronde_error *error)
{
    struct device *device = self;
    const struct device *other = other_self;
    if (device->options.is_island || other->options.is_island)
        return ronde_fail(error, RONDE_UNAVAILABLE, "device %u does not reach device %u",
                          device->place, other->place);
    device->is_joined[other->place] = !device->options.forgets_to_join;
    return RONDE_OK;
}

static void where(void *self, char *out_bus, size_t bytes)
{
    const struct device *device = self;
    snprintf(out_bus, bytes, "%s", device->options.bus ? device->options.bus : "");
}

static bool is_exposed(void *self)
{
    const struct device *device = self;
    return !device->options.is_hidden;
}

static void settle(void *self)
{
    struct device *device = self;
    device->counts.settled++;
}

/* Threads have no current device here. */
static int enter_thread(void *self)
{
    (void)self;
    return 0;
}

static void leave_thread(void *self, int before)
{
    (void)self;
    (void)before;
}

static void *take_region(struct device *device, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct region *region = malloc(sizeof *region);
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
    leave(device);
    return region->start;
}

static void free_region(struct device *device, void *start)
{
    for (struct region **link = &device->regions; *link; link = &(*link)->next) {
        struct region *region = *link;
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
static bool fails(struct device *device, enum emulated_call call)
{
    return device->refusals[call] > 0 && --device->refusals[call] == 0;
}

/* Guarded memory comes in pages of its own; unguarded memory from malloc, whose bounds the sanitizers watch. */
static void *device_resize(void *self, void *old, size_t old_bytes, size_t new_bytes)
{
    struct device *device = self;
    (void)old_bytes;
    if (new_bytes > 0 && fails(device, EMULATED_MEMORY))
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

/* ---- Memory of several processes. ----------------------------------------------------------------------------------- */

static enum ronde_status share(void *self, enum ronde_sharing sharing, uint64_t bytes,
                               void **out_block, struct ronde_share *out_share,
                               struct ronde_error *error)
{
    struct device *device = self;
    const struct emulated_options *options = &device->options;
    *out_block = NULL;
    if (fails(device, EMULATED_SHARE))
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
    struct device *device = self;
    (void)sharing;
    emulated_share_drop(&device->named, block, bytes);
    device->counts.live_blocks--;
}

static enum ronde_status attach(void *self, const struct ronde_share *from, uint64_t bytes,
                                void **out_block, struct ronde_error *error)
{
    struct device *device = self;
    *out_block = NULL;
    if (fails(device, EMULATED_ATTACH))
        return ronde_fail(error, RONDE_DEVICE, "the driver refuses to import");
    const enum ronde_status status = emulated_share_map(from, bytes, out_block, error);
    device->counts.live_blocks += status == RONDE_OK;
    device->counts.attached += status == RONDE_OK;
    return status;
}

static void detach(void *self, enum ronde_sharing sharing, void *block, uint64_t bytes)
{
    struct device *device = self;
    (void)sharing;
    emulated_share_unmap(block, bytes);
    device->counts.live_blocks--;
}

/* The host's memory is reached anyway; what is pinned must be let go. */
static enum ronde_status pin(void *self, void *memory, uint64_t bytes, struct ronde_error *error)
{
    struct device *device = self;
    (void)memory;
    (void)bytes;
    if (fails(device, EMULATED_PIN))
        return ronde_fail(error, RONDE_DEVICE, "the device pins nothing");
    device->counts.live_blocks++;
    device->counts.pins++;
    return RONDE_OK;
}

static void unpin(void *self, void *memory, uint64_t bytes)
{
    struct device *device = self;
    (void)memory;
    (void)bytes;
    device->counts.live_blocks--;
}

/* ---- Queues. ------------------------------------------------------------------------------------------------------ */

static enum ronde_status open_queue(void *self, void **out_queue, struct ronde_error *error)
{
    struct queue *queue = calloc(1, sizeof *queue);
    *out_queue = NULL;
    if (!queue)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a queue");
    queue->device = self;
    queue->next = queue->device->machine->queues;
    queue->device->machine->queues = queue;
    *out_queue = queue;
    return RONDE_OK;
}

static void free_blocks(struct queue *queue)
{
    for (uint32_t b = 0; b < queue->block_count; b++)
        free(queue->blocks[b]);
    free(queue->blocks);
    queue->blocks = NULL;
    queue->block_count = 0;
}

static void close_queue(void *self)
{
    struct queue *queue = self;
    struct queue **link = &queue->device->machine->queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    free_blocks(queue);
    free(queue);
}

static bool reaches(void *self, const void *start, uint64_t bytes)
{
    const struct device *device = self;
    const uintptr_t hidden = (uintptr_t)device->hidden;
    return device->options.reaches_host &&
           ((uintptr_t)start > hidden || hidden - (uintptr_t)start >= bytes);
}

/* Left open, it is 1, 2, 3, 7 or plenty. */
static enum ronde_status resident_blocks(void *self, enum ronde_dtype dtype, uint32_t *out_blocks,
                                         struct ronde_error *error)
{
    static const uint32_t usual[] = {1, 2, 3, 7, 1024};
    const struct device *device = self;
    (void)dtype;
    (void)error;
    *out_blocks = device->options.resident > 0 ? device->options.resident : usual[device->run % 5];
    return RONDE_OK;
}

static enum ronde_status queue_write(void *self, void *to, const void *from, uint64_t bytes,
                                     struct ronde_error *error)
{
    const struct queue *queue = self;
    (void)error;
    queue->device->counts.writes++;
    enter(queue->device);
    memcpy(to, from, bytes);
    leave(queue->device);
    return RONDE_OK;
}

static enum ronde_status queue_read(void *self, void *to, const void *from, uint64_t bytes,
                                    struct ronde_error *error)
{
    const struct queue *queue = self;
    (void)error;
    enter(queue->device);
    memcpy(to, from, bytes);
    leave(queue->device);
    return RONDE_OK;
}

static enum ronde_status queue_clear(void *self, void *to, uint64_t bytes, struct ronde_error *error)
{
    const struct queue *queue = self;
    (void)error;
    enter(queue->device);
    memset(to, 0, bytes);
    leave(queue->device);
    return RONDE_OK;
}

static uint32_t *words(void *self)
{
    return ((struct queue *)self)->words;
}

static void note_launch(struct device *device, const struct ronde_job *job)
{
    device->counts.kernels++;
    device->counts.lines_launches += job->frame->has_lines;
    device->counts.folded += job->block_count < job->seat_count;
}

/* Opens all blocks; they are driven by is_over and finish. */
static bool open_blocks(struct queue *queue, const struct ronde_job *job, uint32_t blocks)
{
    struct device *device = queue->device;
    bool is_open = true;
    free_blocks(queue);
    queue->blocks = calloc(blocks, sizeof *queue->blocks);
    if (!queue->blocks)
        return false;
    queue->block_count = blocks;
    queue->is_busy = true;
    queue->turns = 0;
    device->run++;
    enter(device);
    note_launch(device, job);
    for (uint32_t b = 0; b < blocks; b++) {
        const struct emulated_options *options = &device->options;
        const uint32_t movers = options->movers > 0 ? options->movers : 1 + device->run % 5;
        queue->blocks[b] = emulated_block_open(job, b, movers, options->room_bytes);
        is_open = is_open && queue->blocks[b];
    }
    leave(device);
    return is_open;
}

/* Comes to what waits, up to the end of the next run; false if that is not over. */
static bool advance(struct queue *queue)
{
    while (!queue->is_busy && queue->item_count > 0) {
        const struct item item = queue->items[0];
        queue->item_count--;
        memmove(queue->items, queue->items + 1, queue->item_count * sizeof item);
        if (item.function)
            item.function(item.self);
        else if (!open_blocks(queue, item.job, item.blocks))
            return true;
    }
    return !queue->is_busy;
}

static enum ronde_status add_item(struct queue *queue, struct item item, struct ronde_error *error)
{
    if (queue->item_count == ITEMS_MAX)
        return ronde_fail(error, RONDE_NO_MEMORY, "no room for more than %u items", ITEMS_MAX);
    queue->items[queue->item_count++] = item;
    return RONDE_OK;
}

/* A run that follows something in the same stream begins when that is over. */
static enum ronde_status start(void *self, void *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, uint32_t blocks,
                               struct ronde_error *error)
{
    struct queue *queue = self;
    (void)dtype;
    if (stream && (queue->is_busy || queue->item_count > 0))
        return add_item(queue, (struct item){NULL, NULL, job, blocks}, error);
    return open_blocks(queue, job, blocks)
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u blocks", blocks);
}

static enum ronde_status call(void *self, void *stream, void (*function)(void *self),
                              void *function_self, struct ronde_error *error)
{
    (void)stream;
    return add_item(self, (struct item){function, function_self, NULL, 0}, error);
}

/* Every block has a turn, in an order of its own. */
static bool drive(struct queue *queue)
{
    bool is_over = true;
    if (!queue->is_busy)
        return advance(queue);
    enter(queue->device);
    for (uint32_t k = 0; k < queue->block_count; k++) {
        const uint64_t b = buffers_draw(&queue->device->random) % queue->block_count;
        (void)emulated_block_turn(queue->blocks[b]);
    }
    for (uint32_t b = 0; b < queue->block_count; b++)
        is_over = emulated_block_turn(queue->blocks[b]) && is_over;
    leave(queue->device);
    queue->turns++;
    queue->is_busy = !is_over;
    return is_over && advance(queue);
}

/* Kernels of all devices wait for each other, so all of them go on, but some are faster than others. */
static bool drive_all(struct queue *queue)
{
    for (struct queue *other = queue->device->machine->queues; other; other = other->next)
        if (other != queue && buffers_draw(&queue->device->random) % 4 == 0)
            (void)drive(other);
    return drive(queue);
}

static enum ronde_status is_over(void *self, bool *out_over, struct ronde_error *error)
{
    (void)error;
    *out_over = drive_all(self);
    return RONDE_OK;
}

static enum ronde_status finish(void *self, double *out_elapsed_ns, struct ronde_error *error)
{
    struct queue *queue = self;
    (void)error;
    while (!drive_all(queue))
        continue;
    /* Long enough that whoever measures for a certain time is soon done. */
    if (out_elapsed_ns)
        *out_elapsed_ns = TURN_NS * (double)queue->turns;
    return RONDE_OK;
}

/* A device in a machine that has room for it. */
static const struct ronde_gpu *open_in(struct machine *machine,
                                       const struct emulated_options *options)
{
    struct device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    while (machine->devices[device->place])
        device->place++;
    machine->devices[device->place] = device;
    device->machine = machine;
    device->options = *options;
    device->random = 1 + device->place;
    device->memory = (struct ronde_mem){device_resize, device};
    device->gpu = (struct ronde_gpu){.memory = &device->memory,
                                     .buffers = &device->memory,
                                     .self = device,
                                     .where = where,
                                     .is_exposed = is_exposed,
                                     .settle = settle,
                                     .enter = enter_thread,
                                     .leave = leave_thread,
                                     .join = join,
                                     .share = share,
                                     .unshare = unshare,
                                     .attach = attach,
                                     .detach = detach,
                                     .pin = pin,
                                     .unpin = unpin,
                                     .open_queue = open_queue,
                                     .close_queue = close_queue,
                                     .reaches = reaches,
                                     .resident_blocks = resident_blocks,
                                     .write = queue_write,
                                     .read = queue_read,
                                     .clear = queue_clear,
                                     .words = words,
                                     .start = start,
                                     .call = call,
                                     .is_over = is_over,
                                     .finish = finish};
    return &device->gpu;
}

const struct ronde_gpu *emulated_gpu_open(const struct emulated_options *options)
{
    struct machine *machine = calloc(1, sizeof *machine);
    const struct ronde_gpu *gpu = machine ? open_in(machine, options) : NULL;
    if (!gpu)
        free(machine);
    return gpu;
}

const struct ronde_gpu *emulated_gpu_open_beside(const struct ronde_gpu *gpu,
                                                 const struct emulated_options *options)
{
    return open_in(((const struct device *)(const void *)gpu)->machine, options);
}

void emulated_gpu_hide(const struct ronde_gpu *gpu, const void *byte)
{
    ((struct device *)(uintptr_t)gpu)->hidden = byte;
}

void emulated_gpu_refuse(const struct ronde_gpu *gpu, enum emulated_call call, uint32_t which)
{
    ((struct device *)(uintptr_t)gpu)->refusals[call] = which;
}

struct emulated_counts emulated_gpu_counts(const struct ronde_gpu *gpu)
{
    return ((const struct device *)(const void *)gpu)->counts;
}

void emulated_gpu_close(const struct ronde_gpu *gpu)
{
    struct device *device = (void *)(uintptr_t)gpu;
    struct machine *machine = device->machine;
    bool is_last = true;
    machine->devices[device->place] = NULL;
    for (uint32_t d = 0; d < DEVICES_MAX; d++)
        is_last = is_last && !machine->devices[d];
    if (is_last)
        free(machine);
    free(device);
}

/* ---- The backend. ------------------------------------------------------------------------------------------------- */

/* On how many devices programs run, in turn. */
static const uint32_t device_counts[] = {1, 2, 4};

#define COUNTS (sizeof device_counts / sizeof device_counts[0])

/* Devices of one machine, and the cuda backend on the first of them. */
struct emulated {
    const struct ronde_gpu *gpus[4];
    void *selves[COUNTS];
    uint32_t loads;
};

static enum ronde_status emulated_probe(struct ronde_machine *out_machine,
                                        struct ronde_error *why_not)
{
    (void)why_not;
    memset(out_machine, 0, sizeof *out_machine);
    out_machine->max_ranks = RONDE_MAX_RANKS;
    out_machine->default_slot_bytes = RONDE_CUDA_SLOT_BYTES;
    return RONDE_OK;
}

static void emulated_close(void *self)
{
    struct emulated *emulated = self;
    if (!emulated)
        return;
    for (size_t c = 0; c < COUNTS; c++)
        ronde_cuda_close_on(emulated->selves[c]);
    for (size_t g = 0; g < 4; g++)
        if (emulated->gpus[g])
            emulated_gpu_close(emulated->gpus[g]);
    free(emulated);
}

static enum ronde_status emulated_open(const struct ronde_machine *machine,
                                       const struct ronde_mem *mem, void **out_self,
                                       struct ronde_error *error)
{
    /* Large enough for a few seats of few connections, so that both kinds occur. */
    const struct emulated_options options = {.room_bytes = 2000};
    struct emulated *emulated = calloc(1, sizeof *emulated);
    enum ronde_status status = emulated ? RONDE_OK : RONDE_NO_MEMORY;
    (void)machine;
    *out_self = NULL;
    for (size_t g = 0; g < 4 && status == RONDE_OK; g++) {
        emulated->gpus[g] = g == 0 ? emulated_gpu_open(&options)
                                   : emulated_gpu_open_beside(emulated->gpus[0], &options);
        status = emulated->gpus[g] ? RONDE_OK : RONDE_NO_MEMORY;
    }
    for (size_t c = 0; c < COUNTS && status == RONDE_OK; c++)
        status = ronde_cuda_open_on(emulated->gpus, device_counts[c], NULL, mem,
                                    &emulated->selves[c], error);
    if (status != RONDE_OK) {
        emulated_close(emulated);
        return ronde_fail(error, status, "no memory for emulated devices");
    }
    *out_self = emulated;
    return RONDE_OK;
}

static enum ronde_status emulated_supports(void *self, const struct ronde_schedule *schedule,
                                           const struct ronde_launch *launch,
                                           struct ronde_error *why_not)
{
    const struct emulated *emulated = self;
    return ronde_cuda_supports(emulated->selves[COUNTS - 1], schedule, launch, why_not);
}

static enum ronde_status emulated_load(void *self, const struct ronde_schedule *schedule,
                                       void **out_program, struct ronde_error *error)
{
    struct emulated *emulated = self;
    return ronde_cuda_load(emulated->selves[emulated->loads++ % COUNTS], schedule, out_program,
                           error);
}

const struct ronde_backend emulated_backend = {
    .name = "cuda, emulated",
    .probe = emulated_probe,
    .open = emulated_open,
    .supports = emulated_supports,
    .load = emulated_load,
    .run = ronde_cuda_run,
    .test = ronde_cuda_test,
    .wait = ronde_cuda_wait,
    .abort = ronde_cuda_abort,
    .unload = ronde_cuda_unload,
    .close = emulated_close,
};
