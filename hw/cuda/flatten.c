/* Which structs of a loaded schedule a device needs, and which pointers they hold. See device_program.h. */
#include "hw/cuda/device_program.h"

#include <stdlib.h>
#include <string.h>

/* Images of host memory for a device. */

/* A pair of cache lines; enough for all structs here. */
#define ALIGNMENT UINT64_C(128)

void ronde_image_begin(struct ronde_image *image, const struct ronde_mem *mem,
                       const struct ronde_image *leans_on)
{
    image->mem = mem;
    image->leans_on = leans_on;
    image->count = 0;
    image->bytes = 0;
    image->is_out_of_memory = false;
}

static void add_entry(struct ronde_image *image, struct ronde_image_entry entry)
{
    void *entries = image->entries;
    if (!ronde_mem_grow(image->mem, &entries, &image->capacity, image->count + 1,
                        sizeof *image->entries)) {
        image->is_out_of_memory = true;
        return;
    }
    image->entries = entries;
    image->entries[image->count++] = entry;
}

void ronde_image_add(struct ronde_image *image, const void *host, uint64_t count,
                     uint64_t element_bytes)
{
    if (host && count > 0)
        add_entry(image, (struct ronde_image_entry){host, count * element_bytes, 0, false});
}

/* Adds an object of the host that is at another address of the device, without copying it. */
static void map_image(struct ronde_image *image, const void *host, uint64_t bytes, void *device)
{
    if (host && bytes > 0)
        add_entry(image, (struct ronde_image_entry){host, bytes, (uintptr_t)device, true});
}

/* By address; of those that begin together the longest first. */
static int compare_entries(const void *left, const void *right)
{
    const struct ronde_image_entry *a = left;
    const struct ronde_image_entry *b = right;
    if (a->host != b->host)
        return (uintptr_t)a->host < (uintptr_t)b->host ? -1 : 1;
    return a->bytes < b->bytes ? 1 : a->bytes > b->bytes ? -1 : 0;
}

/* Joins entries that overlap, so that what shares memory on the host does so on the device. */
static void merge_entries(struct ronde_image *image)
{
    size_t kept = 0;
    for (size_t k = 0; k < image->count; k++) {
        const struct ronde_image_entry next = image->entries[k];
        struct ronde_image_entry *last = kept > 0 ? &image->entries[kept - 1] : NULL;
        const uint64_t gap = last ? (uintptr_t)next.host - (uintptr_t)last->host : 0;
        if (!last || gap >= last->bytes)
            image->entries[kept++] = next;
        else if (gap + next.bytes > last->bytes)
            last->bytes = gap + next.bytes;
    }
    image->count = kept;
}

/* Entries keep their offset within a line, so that what is aligned alike on the host is so on the device. */
static void place_entries(struct ronde_image *image)
{
    image->bytes = 0;
    for (size_t k = 0; k < image->count; k++) {
        struct ronde_image_entry *entry = &image->entries[k];
        if (entry->is_mapped)
            continue;
        entry->at = (image->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT +
                    (uintptr_t)entry->host % ALIGNMENT;
        image->bytes =
            (entry->at + entry->bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
    }
}

bool ronde_image_settle(struct ronde_image *image)
{
    if (image->count > 0)
        qsort(image->entries, image->count, sizeof *image->entries, compare_entries);
    merge_entries(image);
    place_entries(image);
    void *block = image->block;
    if (image->is_out_of_memory ||
        !ronde_mem_grow(image->mem, &block, &image->block_capacity, image->bytes, 1))
        return false;
    image->block = block;
    for (size_t k = 0; k < image->count; k++) {
        const struct ronde_image_entry *entry = &image->entries[k];
        if (!entry->is_mapped)
            memcpy(image->block + entry->at, entry->host, entry->bytes);
    }
    return true;
}

/* The entry that contains an address of the host, or NULL. */
static const struct ronde_image_entry *find(const struct ronde_image *image,
                                            const unsigned char *host)
{
    size_t low = 0;
    size_t high = image->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)image->entries[middle].host <= (uintptr_t)host)
            low = middle + 1;
        else
            high = middle;
    }
    const struct ronde_image_entry *entry = low > 0 ? &image->entries[low - 1] : NULL;
    return entry && (uintptr_t)host - (uintptr_t)entry->host < entry->bytes ? entry : NULL;
}

void *ronde_image_copy(const struct ronde_image *image, const void *host)
{
    const struct ronde_image_entry *entry = find(image, host);
    if (!entry || entry->is_mapped)
        return NULL;
    return image->block + entry->at + ((const unsigned char *)host - entry->host);
}

void *ronde_image_address(const struct ronde_image *image, const void *host)
{
    for (const struct ronde_image *in = image; in; in = in->leans_on) {
        const struct ronde_image_entry *entry = find(in, host);
        if (!entry)
            continue;
        const uint64_t skip = (uint64_t)((const unsigned char *)host - entry->host);
        return entry->is_mapped ? (void *)((uintptr_t)entry->at + skip)
                                : in->device + entry->at + skip;
    }
    return (void *)(uintptr_t)host;
}

void ronde_image_fini(struct ronde_image *image)
{
    ronde_mem_free(image->mem, image->entries, image->capacity, sizeof *image->entries);
    ronde_mem_free(image->mem, image->block, image->block_capacity, 1);
}

static void add_program(struct ronde_image *image, const struct ronde_program *program)
{
    ronde_image_add(image, program->steps, program->step_count, sizeof *program->steps);
    ronde_image_add(image, program->ranges, program->range_count, sizeof *program->ranges);
    ronde_image_add(image, program->scratch_part, program->step_count,
                    sizeof *program->scratch_part);
    ronde_image_add(image, program->scratch_parts, program->scratch_parts_count,
                    sizeof *program->scratch_parts);
    ronde_image_add(image, program->spread, program->step_count, sizeof *program->spread);
}

/* What tasks of one program share; they are added with the first task that has them. */
static void add_polled(struct ronde_image *image, const struct ronde_task *task)
{
    const struct ronde_program *program = task->view.program;
    ronde_image_add(image, task->waits, program->dependency_count, sizeof *task->waits);
    ronde_image_add(image, task->holds, 2, sizeof *task->holds);
    for (int in_place = 0; in_place < 2; in_place++) {
        const struct ronde_holds *holds = &task->holds[in_place];
        ronde_image_add(image, holds->first, (uint64_t)program->step_count + 1,
                        sizeof *holds->first);
        ronde_image_add(image, holds->entries, holds->first[program->step_count],
                        sizeof *holds->entries);
    }
}

/* The first task of every program. */
static bool add_all_polled(const struct ronde_loaded *loaded, struct ronde_image *image)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    bool *is_added = ronde_mem_new(image->mem, schedule->program_count, sizeof *is_added);
    if (!is_added)
        return false;
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const ptrdiff_t program = loaded->tasks[t].view.program - schedule->programs;
        if (!is_added[program])
            add_polled(image, &loaded->tasks[t]);
        is_added[program] = true;
    }
    ronde_mem_free(image->mem, is_added, schedule->program_count, sizeof *is_added);
    return true;
}

bool ronde_flatten_program(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                           void *progress, struct ronde_image *image)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    ronde_image_begin(image, mem, NULL);
    ronde_image_add(image, schedule, 1, sizeof *schedule);
    ronde_image_add(image, schedule->channels, schedule->channel_count, sizeof *schedule->channels);
    for (uint32_t c = 0; c < schedule->channel_count; c++) {
        const struct ronde_channel *channel = &schedule->channels[c];
        ronde_image_add(image, channel->order, schedule->ranks, sizeof *channel->order);
        ronde_image_add(image, channel->position_of, schedule->ranks, sizeof *channel->position_of);
    }
    ronde_image_add(image, schedule->programs, schedule->program_count, sizeof *schedule->programs);
    for (uint32_t p = 0; p < schedule->program_count; p++)
        add_program(image, &schedule->programs[p]);
    map_image(image, loaded->progress, loaded->counter_count * sizeof *loaded->progress, progress);
    return add_all_polled(loaded, image) && ronde_image_settle(image);
}

/* Translates a pointer that lies in a copy. */
#define TRANSLATE(image, field) ((field) = ronde_image_address((image), (field)))

static void translate_program(struct ronde_image *image, const struct ronde_program *program)
{
    struct ronde_program *copy = ronde_image_copy(image, program);
    TRANSLATE(image, copy->steps);
    TRANSLATE(image, copy->ranges);
    TRANSLATE(image, copy->scratch_part);
    TRANSLATE(image, copy->scratch_parts);
    TRANSLATE(image, copy->spread);
}

static void translate_channel(struct ronde_image *image, const struct ronde_channel *channel)
{
    struct ronde_channel *copy = ronde_image_copy(image, channel);
    TRANSLATE(image, copy->order);
    TRANSLATE(image, copy->position_of);
}

static void translate_holds(struct ronde_image *image, const struct ronde_holds *holds)
{
    struct ronde_holds *copies = ronde_image_copy(image, holds);
    for (int in_place = 0; in_place < 2; in_place++) {
        copies[in_place].first = ronde_image_address(image, holds[in_place].first);
        copies[in_place].entries = ronde_image_address(image, holds[in_place].entries);
    }
}

void ronde_flatten_program_pointers(const struct ronde_loaded *loaded, struct ronde_image *image)
{
    const struct ronde_schedule *schedule = loaded->schedule;
    struct ronde_schedule *copy = ronde_image_copy(image, schedule);
    TRANSLATE(image, copy->channels);
    TRANSLATE(image, copy->programs);
    for (uint32_t c = 0; c < schedule->channel_count; c++)
        translate_channel(image, &schedule->channels[c]);
    for (uint32_t p = 0; p < schedule->program_count; p++)
        translate_program(image, &schedule->programs[p]);
    for (uint32_t t = 0; t < loaded->task_count; t++)
        translate_holds(image, loaded->tasks[t].holds);
}

/* The tables of one buffer of one rank; which of them there are is the caller's choice. */
static void add_blocks(struct ronde_image *image, const struct ronde_blocks *blocks, uint64_t count)
{
    if (!blocks)
        return;
    ronde_image_add(image, blocks, 1, sizeof *blocks);
    ronde_image_add(image, blocks->counts, count, sizeof *blocks->counts);
    ronde_image_add(image, blocks->offsets, count, sizeof *blocks->offsets);
    ronde_image_add(image, blocks->pointers, count, sizeof *blocks->pointers);
}

/* Blocks of a task's input or output. */
static uint64_t block_count(const struct ronde_task *task, int buffer)
{
    return task->chunks[buffer] / task->view.schedule->chunks_per_block;
}

bool ronde_flatten_launch(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                          const struct ronde_image *program, struct ronde_flat_launch *launch,
                          struct ronde_image *image)
{
    for (uint32_t l = 0; l < loaded->lane_count; l++) {
        launch->lane_slots[l].lane = loaded->lanes[l];
        launch->lane_slots[l].task = *loaded->lanes[l].task;
        launch->lane_slots[l].end_count = loaded->lanes[l].task->view.program->connection_count;
    }
    launch->job.frame = &loaded->frame;
    launch->job.lane_slots = launch->lane_slots;
    launch->job.lane_slot_count = loaded->lane_count;
    ronde_image_begin(image, mem, program);
    ronde_image_add(image, &launch->job, 1, sizeof launch->job);
    ronde_image_add(image, &loaded->frame, 1, sizeof loaded->frame);
    ronde_image_add(image, launch->lane_slots, loaded->lane_count, sizeof *launch->lane_slots);
    ronde_image_add(image, launch->sorted, 2 * launch->sorted_per_list * loaded->lane_count,
                    sizeof *launch->sorted);
    ronde_image_add(image, loaded->ends, loaded->end_count, sizeof *loaded->ends);
    if (loaded->frame.spreads) {
        ronde_image_add(image, loaded->remote_ends, loaded->end_count, sizeof *loaded->remote_ends);
        ronde_image_add(image, loaded->tasks, loaded->task_count, sizeof *loaded->tasks);
    }
    ronde_image_add(image, loaded->parts,
                    (uint64_t)loaded->schedule->channel_count * loaded->schedule->chunks_per_block,
                    sizeof *loaded->parts);
    /* The channels of a rank share its tables. */
    for (uint32_t t = 0; t < loaded->task_count; t += loaded->schedule->channel_count)
        for (int buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++)
            add_blocks(image, loaded->tasks[t].blocks[buffer],
                       block_count(&loaded->tasks[t], buffer));
    return ronde_image_settle(image);
}

static void translate_blocks(struct ronde_image *image, const struct ronde_blocks *blocks)
{
    struct ronde_blocks *copy = blocks ? ronde_image_copy(image, blocks) : NULL;
    if (!copy)
        return;
    copy->counts = ronde_image_address(image, blocks->counts);
    copy->offsets = ronde_image_address(image, blocks->offsets);
    copy->pointers = ronde_image_address(image, blocks->pointers);
}

/* The frame stays untranslated: the block that runs the lane slot sets it. */
static void translate_task(struct ronde_image *image, struct ronde_task *copy)
{
    TRANSLATE(image, copy->view.schedule);
    TRANSLATE(image, copy->view.channel);
    TRANSLATE(image, copy->view.program);
    TRANSLATE(image, copy->ends);
    TRANSLATE(image, copy->progress);
    TRANSLATE(image, copy->waits);
    TRANSLATE(image, copy->holds);
    TRANSLATE(image, copy->parts);
    TRANSLATE(image, copy->remote_ends);
    TRANSLATE(image, copy->blocks[RONDE_IN]);
    TRANSLATE(image, copy->blocks[RONDE_OUT]);
}

/* Lane, task and lists of a lane slot. */
static void translate_lane_slot(const struct ronde_flat_launch *launch, struct ronde_image *image,
                                uint64_t index)
{
    struct ronde_lane_slot *copy = ronde_image_copy(image, &launch->lane_slots[index]);
    translate_task(image, &copy->task);
    for (uint64_t k = 0; k < 2 && launch->sorted_per_list > 0; k++)
        copy->lane.sorted[k] =
            ronde_image_address(image, launch->sorted + (2 * index + k) * launch->sorted_per_list);
}

void ronde_flatten_launch_pointers(const struct ronde_loaded *loaded,
                                   const struct ronde_flat_launch *launch, struct ronde_image *image)
{
    struct ronde_job *job = ronde_image_copy(image, &launch->job);
    TRANSLATE(image, job->frame);
    TRANSLATE(image, job->lane_slots);
    for (uint64_t l = 0; l < loaded->lane_count; l++)
        translate_lane_slot(launch, image, l);
    for (uint64_t e = 0; e < loaded->end_count && loaded->frame.spreads; e++) {
        struct ronde_remote_end *copy = ronde_image_copy(image, &loaded->remote_ends[e]);
        TRANSLATE(image, copy->task);
    }
    for (uint32_t t = 0; t < loaded->task_count; t += loaded->schedule->channel_count)
        for (int buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++)
            translate_blocks(image, loaded->tasks[t].blocks[buffer]);
}
