/* The emulated GPUs: their queues, and the blocks that run in these. See emulated_gpu.h; emulated_memory.c is the rest. */
#include "support/buffers.h"
#include "support/emulated_block.h"
#include "support/emulated_device.h"

#include "hw/cuda/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a turn of all blocks takes on the clock that runs are timed with. */
#define TURN_NS 1e6

/* An item of a queue: a function of the host, or a run. */
struct item {
    void (*function)(void *self); /* NULL = a run */
    void *self;
    const struct ronde_job *job;
    struct ronde_given given;
    uint32_t blocks;
};

/* A queue: what was enqueued last. */
struct emulated_queue {
    struct emulated_queue *next;
    struct emulated_device *device;
    struct emulated_block **blocks;
    uint32_t block_count;
    uint32_t words[2];
    bool is_busy;       /* these blocks are not over */
    bool is_callers;    /* they, and the items, are in a stream of the caller's */
    struct item *items; /* that follow; of these the next one is */
    uint32_t next_item;
    uint32_t item_count;
    uint32_t item_capacity;
    uint64_t turns; /* of the blocks that were started last */
};

static void where(void *self, char *out_bus, size_t bytes)
{
    const struct emulated_device *device = self;
    snprintf(out_bus, bytes, "%s", device->options.bus ? device->options.bus : "");
}

/* Threads have no current device here. */
static struct ronde_gpu_before enter_thread(const void *self)
{
    (void)self;
    return (struct ronde_gpu_before){0};
}

static void leave_thread(const void *self, struct ronde_gpu_before before)
{
    (void)self;
    (void)before;
}

static enum ronde_status open_queue(void *self, void **out_queue, struct ronde_error *error)
{
    struct emulated_queue *queue = calloc(1, sizeof *queue);
    *out_queue = NULL;
    if (!queue)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a queue");
    queue->device = self;
    queue->next = queue->device->machine->queues;
    queue->device->machine->queues = queue;
    *out_queue = queue;
    return RONDE_OK;
}

static void free_blocks(struct emulated_queue *queue)
{
    for (uint32_t b = 0; b < queue->block_count; b++)
        free(queue->blocks[b]);
    free(queue->blocks);
    queue->blocks = NULL;
    queue->block_count = 0;
}

static void close_queue(void *self)
{
    struct emulated_queue *queue = self;
    struct emulated_queue **link = &queue->device->machine->queues;
    while (*link != queue)
        link = &(*link)->next;
    *link = queue->next;
    free_blocks(queue);
    free(queue->items);
    free(queue);
}

/* Left open, it is 1, 2, 3, 7 or plenty. */
static enum ronde_status resident_blocks(void *self, enum ronde_dtype dtype, uint32_t *out_blocks,
                                         struct ronde_error *error)
{
    static const uint32_t usual[] = {1, 2, 3, 7, 1024};
    const struct emulated_device *device = self;
    (void)dtype;
    (void)error;
    *out_blocks = device->options.resident > 0 ? device->options.resident : usual[device->run % 5];
    return RONDE_OK;
}

static enum ronde_status queue_write(void *self, void *to, const void *from, uint64_t bytes,
                                     struct ronde_error *error)
{
    const struct emulated_queue *queue = self;
    (void)error;
    queue->device->counts.writes++;
    emulated_enter(queue->device);
    memcpy(to, from, bytes);
    emulated_leave(queue->device);
    return RONDE_OK;
}

static enum ronde_status queue_read(void *self, void *to, const void *from, uint64_t bytes,
                                    struct ronde_error *error)
{
    const struct emulated_queue *queue = self;
    (void)error;
    emulated_enter(queue->device);
    memcpy(to, from, bytes);
    emulated_leave(queue->device);
    return RONDE_OK;
}

static enum ronde_status queue_clear(void *self, void *to, uint64_t bytes, struct ronde_error *error)
{
    const struct emulated_queue *queue = self;
    (void)error;
    emulated_enter(queue->device);
    memset(to, 0, bytes);
    emulated_leave(queue->device);
    return RONDE_OK;
}

static uint32_t *words(void *self)
{
    return ((struct emulated_queue *)self)->words;
}

static void note_launch(struct emulated_device *device, const struct ronde_job *job,
                        const struct ronde_given *given)
{
    device->counts.kernels++;
    device->counts.pulled_launches +=
        job->mapped && given->readable != 0 && job->frame->no_pull != 0;
    device->counts.lines_launches += job->frame->has_lines;
    device->counts.folded += job->block_count < job->lane_slot_count;
}

/* Opens all blocks; they are driven by is_over and finish. */
static bool open_blocks(struct emulated_queue *queue, const struct ronde_job *job,
                        const struct ronde_given *given, uint32_t blocks)
{
    struct emulated_device *device = queue->device;
    bool is_open = true;
    free_blocks(queue);
    queue->blocks = calloc(blocks, sizeof *queue->blocks);
    if (!queue->blocks)
        return false;
    queue->block_count = blocks;
    queue->is_busy = true;
    queue->turns = 0;
    device->run++;
    emulated_enter(device);
    note_launch(device, job, given);
    for (uint32_t b = 0; b < blocks; b++) {
        const struct emulated_options *options = &device->options;
        const uint32_t movers = options->movers > 0 ? options->movers : 1 + device->run % 5;
        queue->blocks[b] = emulated_block_open(job, given, b, movers, options->room_bytes);
        is_open = is_open && queue->blocks[b];
        device->counts.near_programs += is_open && emulated_block_has_program(queue->blocks[b]);
    }
    emulated_leave(device);
    return is_open;
}

/* Executes queued items, up to the end of the next run; false if that is not over. */
static bool advance(struct emulated_queue *queue)
{
    while (!queue->is_busy && queue->next_item < queue->item_count) {
        const struct item item = queue->items[queue->next_item++];
        if (item.function)
            item.function(item.self);
        else if (!open_blocks(queue, item.job, &item.given, item.blocks))
            return true;
    }
    return !queue->is_busy;
}

static enum ronde_status add_item(struct emulated_queue *queue, struct item item,
                                  struct ronde_error *error)
{
    if (queue->next_item == queue->item_count)
        queue->next_item = queue->item_count = 0;
    if (queue->item_count == queue->item_capacity) {
        const uint32_t capacity = 2 * queue->item_capacity + 8;
        struct item *items = realloc(queue->items, capacity * sizeof *items);
        if (!items)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u items", capacity);
        queue->items = items;
        queue->item_capacity = capacity;
    }
    queue->items[queue->item_count++] = item;
    return RONDE_OK;
}

/* A run that follows something in the same stream begins when that is over. */
static enum ronde_status start(void *self, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    struct emulated_queue *queue = self;
    (void)dtype;
    if (emulated_fails(queue->device, EMULATED_START))
        return ronde_fail(error, RONDE_DEVICE, "the device starts nothing");
    queue->device->counts.own_kernels += stream == NULL;
    queue->is_callers = stream != NULL;
    if (stream && (queue->is_busy || queue->next_item < queue->item_count))
        return add_item(queue, (struct item){NULL, NULL, job, *given, blocks}, error);
    return open_blocks(queue, job, given, blocks)
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u blocks", blocks);
}

static enum ronde_status call(void *self, void *stream, void (*function)(void *self),
                              void *function_self, struct ronde_error *error)
{
    struct emulated_queue *queue = self;
    (void)stream;
    queue->is_callers = true;
    return add_item(self, (struct item){function, function_self, NULL, {.is_given = 0}, 0}, error);
}

/* Every block has a turn, in an order of its own. */
static bool drive(struct emulated_queue *queue)
{
    bool is_over = true;
    if (!queue->is_busy)
        return advance(queue);
    emulated_enter(queue->device);
    for (uint32_t k = 0; k < queue->block_count; k++) {
        const uint64_t b = buffers_draw(&queue->device->random) % queue->block_count;
        (void)emulated_block_turn(queue->blocks[b]);
    }
    for (uint32_t b = 0; b < queue->block_count; b++)
        is_over = emulated_block_turn(queue->blocks[b]) && is_over;
    emulated_leave(queue->device);
    for (uint32_t b = 0; b < queue->block_count && is_over; b++) {
        const struct emulated_work work = emulated_block_work(queue->blocks[b]);
        queue->device->counts.moved_bytes += work.moved_bytes;
        queue->device->counts.commands += work.commands;
        queue->device->counts.waits += work.waits;
    }
    queue->turns++;
    queue->is_busy = !is_over;
    return is_over && advance(queue);
}

/* Kernels of all devices wait for each other, so all of them advance, but some faster than others. */
static bool drive_all(struct emulated_queue *queue)
{
    for (struct emulated_queue *other = queue->device->machine->queues; other; other = other->next)
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

/* What is in streams of the caller's is not waited for. */
static enum ronde_status finish(void *self, double *out_elapsed_ns, struct ronde_error *error)
{
    struct emulated_queue *queue = self;
    (void)error;
    while (!queue->is_callers && !drive_all(queue))
        continue;
    /* Long enough that measuring for a given time takes few runs. */
    if (out_elapsed_ns)
        *out_elapsed_ns = TURN_NS * (double)queue->turns;
    return RONDE_OK;
}

static enum ronde_status is_captured(void *self, void *stream, bool *out_captured,
                                     struct ronde_error *error)
{
    (void)self;
    (void)stream;
    (void)error;
    *out_captured = false;
    return RONDE_OK;
}

/* What a stream has is in the queue; here a queue's runs wait for no other's, and all marks are the last one. */
static enum ronde_status mark(void *self, void *stream, uint64_t number, struct ronde_error *error)
{
    (void)self;
    (void)stream;
    (void)number;
    (void)error;
    return RONDE_OK;
}

static enum ronde_status is_past(void *self, uint64_t number, bool *out_past,
                                 struct ronde_error *error)
{
    (void)number;
    return is_over(self, out_past, error);
}

/* A device in a machine that has room for it. */
static const struct ronde_gpu *open_in(struct emulated_machine *machine,
                                       const struct emulated_options *options)
{
    struct emulated_device *device = calloc(1, sizeof *device);
    if (!device)
        return NULL;
    while (machine->devices[device->place])
        device->place++;
    machine->devices[device->place] = device;
    device->machine = machine;
    device->options = *options;
    device->random = 1 + device->place;
    device->gpu = (struct ronde_gpu){.self = device,
                                     .where = where,
                                     .enter = enter_thread,
                                     .leave = leave_thread,
                                     .open_queue = open_queue,
                                     .close_queue = close_queue,
                                     .resident_blocks = resident_blocks,
                                     .write = queue_write,
                                     .read = queue_read,
                                     .clear = queue_clear,
                                     .words = words,
                                     .start = start,
                                     .call = call,
                                     .is_captured = is_captured,
                                     .mark = mark,
                                     .follow = mark,
                                     .is_past = is_past,
                                     .is_over = is_over,
                                     .finish = finish};
    emulated_memory_init(device);
    return &device->gpu;
}

const struct ronde_gpu *emulated_gpu_open(const struct emulated_options *options)
{
    struct emulated_machine *machine = calloc(1, sizeof *machine);
    const struct ronde_gpu *gpu = machine ? open_in(machine, options) : NULL;
    if (!gpu)
        free(machine);
    return gpu;
}

const struct ronde_gpu *emulated_gpu_open_beside(const struct ronde_gpu *gpu,
                                                 const struct emulated_options *options)
{
    return open_in(((const struct emulated_device *)(const void *)gpu)->machine, options);
}

void emulated_gpu_hide(const struct ronde_gpu *gpu, const void *byte)
{
    ((struct emulated_device *)(uintptr_t)gpu)->hidden = byte;
}

void emulated_gpu_wish(const struct ronde_gpu *gpu, void *address)
{
    ((struct emulated_device *)(uintptr_t)gpu)->wish = address;
}

void emulated_gpu_refuse(const struct ronde_gpu *gpu, enum emulated_call call, uint32_t which)
{
    ((struct emulated_device *)(uintptr_t)gpu)->refusals[call] = which;
}

struct emulated_counts emulated_gpu_counts(const struct ronde_gpu *gpu)
{
    const struct emulated_device *device = (const void *)gpu;
    struct emulated_counts counts = device->counts;
    for (const struct emulated_queue *queue = device->machine->queues; queue; queue = queue->next)
        counts.running += queue->device == device && queue->is_busy;
    return counts;
}

void emulated_gpu_close(const struct ronde_gpu *gpu)
{
    struct emulated_device *device = (void *)(uintptr_t)gpu;
    struct emulated_machine *machine = device->machine;
    bool is_last = true;
    machine->devices[device->place] = NULL;
    for (uint32_t d = 0; d < EMULATED_DEVICES_MAX; d++)
        is_last = is_last && !machine->devices[d];
    if (is_last)
        free(machine);
    free(device);
}
