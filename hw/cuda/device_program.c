/* A device's part of a program: memory, tables, starting. See device_program.h. */
#include "hw/cuda/device_program.h"

#include <string.h>

static const struct ronde_device_block no_block = {NULL, 0};

static void free_block(const struct ronde_gpu *gpu, struct ronde_device_block *block)
{
    ronde_mem_free(gpu->memory, block->start, block->bytes, 1);
    *block = no_block;
}

/* Makes a block hold at least so many bytes; its content is lost when it grows. */
static enum ronde_status reserve(const struct ronde_gpu *gpu, struct ronde_device_block *block,
                                 uint64_t bytes, struct ronde_error *error)
{
    if (block->start && bytes <= block->bytes)
        return RONDE_OK;
    free_block(gpu, block);
    block->start = gpu->memory->resize(gpu->memory->self, NULL, 0, bytes);
    block->bytes = block->start ? bytes : 0;
    return block->start ? RONDE_OK
                        : ronde_fail(error, RONDE_NO_MEMORY, "no memory on the device: %llu bytes",
                                     (unsigned long long)bytes);
}

/* Sends an image whose pointers have been translated. */
static enum ronde_status send(const struct ronde_device_program *part,
                              const struct ronde_image *image, struct ronde_error *error)
{
    return part->gpu->write(part->queue, image->device, image->block, image->bytes, error);
}

/* Flags of old lines would match those of the first messages after a restart of the counters. */
enum ronde_status ronde_device_program_clear_counters(struct ronde_device_program *part,
                                                      struct ronde_error *error)
{
    part->lines_start = NULL;
    RONDE_TRY(part->gpu->clear(part->queue, part->counters.start, part->counters.bytes, error));
    return part->gpu->clear(part->queue, part->progress.start, part->progress.bytes, error);
}

/* Everything on the device that depends on the schedule only. A single rank has no connection: one entry more. */
static enum ronde_status send_program(struct ronde_device_program *part, struct ronde_error *error)
{
    struct ronde_loaded *loaded = part->loaded;
    struct ronde_image *image = &part->program_image;
    RONDE_TRY(reserve(part->gpu, &part->counters,
                      (part->connections + 1) * sizeof(struct ronde_fifo), error));
    RONDE_TRY(reserve(part->gpu, &part->progress,
                      (loaded->counter_count + 1) * sizeof *loaded->progress, error));
    if (!ronde_flatten_program(loaded, part->mem, part->progress.start, image))
        return ronde_fail(error, RONDE_NO_MEMORY,
                          "no memory to load the schedule on a device: %u lanes",
                          loaded->lane_count);
    RONDE_TRY(reserve(part->gpu, &part->program_block, image->bytes, error));
    image->device = part->program_block.start;
    ronde_flatten_program_pointers(loaded, image);
    RONDE_TRY(send(part, image, error));
    return ronde_device_program_clear_counters(part, error);
}

/* Slots and lists of the lanes. */
static enum ronde_status make_lane_slots(struct ronde_device_program *part,
                                         const struct ronde_schedule *schedule,
                                         struct ronde_error *error)
{
    const uint32_t lanes = part->loaded->lane_count;
    struct ronde_flat_launch *flat = &part->flat;
    /* A single chunk needs no list. */
    flat->sorted_per_list = schedule->max_chunk_count > 1 ? schedule->max_chunk_count : 0;
    flat->lane_slots = ronde_mem_new(part->mem, lanes, sizeof *flat->lane_slots);
    flat->sorted = ronde_mem_new(part->mem, 2 * flat->sorted_per_list * lanes, sizeof *flat->sorted);
    return flat->lane_slots && flat->sorted
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule: %u lanes",
                            lanes);
}

enum ronde_status ronde_device_program_init(struct ronde_device_program *part,
                                            const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                            const struct ronde_numbering *numbering,
                                            struct ronde_staging ranks, struct ronde_error *error)
{
    const struct ronde_schedule *schedule = numbering->schedule;
    const uint32_t end_rank = ranks.first_rank + ranks.rank_count;
    part->gpu = gpu;
    part->mem = mem;
    part->staging = ranks;
    part->connections = ronde_numbering_first(numbering, schedule->ranks);
    part->first_number = ronde_numbering_first(numbering, ranks.first_rank);
    part->received = ronde_numbering_first(numbering, end_rank) - part->first_number;
    ronde_image_begin(&part->program_image, mem, NULL);
    ronde_image_begin(&part->launch_image, mem, NULL);
    RONDE_TRY(ronde_loaded_create_part(schedule, ranks.first_rank, ranks.rank_count, mem,
                                       &part->loaded, error));
    RONDE_TRY(gpu->open_queue(gpu->self, &part->queue, error));
    RONDE_TRY(ronde_staging_init(&part->staging, schedule, mem, gpu, error));
    part->loaded->data = gpu->memory;
    RONDE_TRY(make_lane_slots(part, schedule, error));
    return send_program(part, error);
}

void ronde_device_program_fini(struct ronde_device_program *part)
{
    const struct ronde_gpu *gpu = part->gpu;
    const struct ronde_loaded *loaded = part->loaded;
    struct ronde_flat_launch *flat = &part->flat;
    if (!gpu)
        return;
    if (part->queue)
        gpu->close_queue(part->queue);
    ronde_staging_fini(&part->staging);
    if (!part->is_incoming) {
        free_block(gpu, &part->counters);
        free_block(gpu, &part->slots);
        free_block(gpu, &part->lines);
    }
    free_block(gpu, &part->progress);
    free_block(gpu, &part->program_block);
    free_block(gpu, &part->launch_block);
    ronde_image_fini(&part->program_image);
    ronde_image_fini(&part->launch_image);
    if (loaded) {
        ronde_mem_free(part->mem, flat->lane_slots, loaded->lane_count, sizeof *flat->lane_slots);
        ronde_mem_free(part->mem, flat->sorted, 2 * flat->sorted_per_list * loaded->lane_count,
                       sizeof *flat->sorted);
    }
    ronde_loaded_destroy(part->loaded);
}

enum ronde_status ronde_device_program_reserve(struct ronde_device_program *part,
                                               const struct ronde_frame *frame,
                                               struct ronde_error *error)
{
    const ronde_wide bytes = (ronde_wide)ronde_shm_region_length(frame) * part->received;
    if (bytes > SIZE_MAX)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for slots of %llu bytes",
                          (unsigned long long)frame->slot_stride);
    return reserve(part->gpu, frame->has_lines ? &part->lines : &part->slots, (uint64_t)bytes + 1,
                   error);
}

enum ronde_status ronde_device_program_move(struct ronde_device_program *part,
                                            const struct ronde_remote_fifos *to,
                                            uint64_t block_bytes, struct ronde_error *error)
{
    const uint64_t before_lines = (uint64_t)(to->lines - to->counters);
    const uint64_t before_slots = (uint64_t)(to->slots - to->counters);
    free_block(part->gpu, &part->counters);
    part->is_incoming = true;
    part->counters = (struct ronde_device_block){to->counters, before_slots};
    part->slots = (struct ronde_device_block){to->slots, before_lines - before_slots};
    part->lines = (struct ronde_device_block){to->lines, block_bytes - before_lines};
    RONDE_TRY(ronde_device_program_clear_counters(part, error));
    /* The others may set counters as soon as they have the block's address, so it must be clear by then. */
    return part->gpu->finish(part->queue, NULL, error);
}

struct ronde_remote_fifos ronde_device_program_fifos(const struct ronde_device_program *part)
{
    return (struct ronde_remote_fifos){part->counters.start, part->slots.start, part->lines.start,
                                       part->first_number};
}

/*
 * Lines hold flags of earlier messages or, after other uses, arbitrary bytes: whenever they move they are cleared. With
 * one geometry flags only grow.
 */
static enum ronde_status clear_lines(struct ronde_device_program *part, struct ronde_error *error)
{
    const struct ronde_frame *frame = &part->loaded->frame;
    if (!frame->has_lines ||
        (part->lines_start == part->lines.start && part->lines_stride == frame->slot_stride &&
         part->lines_depth == frame->depth))
        return RONDE_OK;
    part->lines_start = part->lines.start;
    part->lines_stride = frame->slot_stride;
    part->lines_depth = frame->depth;
    return part->gpu->clear(part->queue, part->lines.start, part->lines.bytes, error);
}

/* One block per lane while all of them are guaranteed to be resident, else several lanes per block. */
static enum ronde_status fold(struct ronde_device_program *part, struct ronde_error *error)
{
    const struct ronde_loaded *loaded = part->loaded;
    uint32_t resident;
    RONDE_TRY(part->gpu->resident_blocks(part->gpu->self, loaded->frame.dtype, &resident, error));
    if (resident == 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "no block of %u threads and %u bytes of shared memory fits the device",
                          RONDE_BLOCK_THREADS, RONDE_ROOM_BYTES);
    part->flat.job.block_count = loaded->lane_count < resident ? loaded->lane_count : resident;
    return RONDE_OK;
}

/* Everything on the device that depends on the launch. */
static enum ronde_status send_launch(struct ronde_device_program *part, struct ronde_error *error)
{
    struct ronde_image *image = &part->launch_image;
    if (!ronde_flatten_launch(part->loaded, part->mem, &part->program_image, &part->flat, image))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to launch: %u lanes",
                          part->loaded->lane_count);
    RONDE_TRY(reserve(part->gpu, &part->launch_block, image->bytes, error));
    image->device = part->launch_block.start;
    ronde_flatten_launch_pointers(part->loaded, &part->flat, image);
    return send(part, image, error);
}

enum ronde_status ronde_device_program_send(struct ronde_device_program *part, uint32_t *words,
                                            uint64_t timeout_ns, struct ronde_error *error)
{
    part->flat.job.abort = &words[0];
    part->flat.job.stop = &words[1];
    part->flat.job.timeout_ns = timeout_ns;
    part->flat.job.program = part->program_block.start;
    part->flat.job.program_bytes = part->program_image.bytes;
    part->given.is_given = 0;
    RONDE_TRY(clear_lines(part, error));
    RONDE_TRY(fold(part, error));
    return send_launch(part, error);
}

void ronde_device_program_give(struct ronde_device_program *part, const struct ronde_launch *launch)
{
    const uint32_t rank = part->staging.first_rank;
    const size_t bytes = part->loaded->frame.element_bytes;
    part->given = (struct ronde_given){.in = launch->in ? launch->in[rank] : NULL,
                                       .out = launch->out ? launch->out[rank] : NULL,
                                       .timeout_ns = launch->timeout_ns,
                                       .is_given = 1};
    if (launch->factors)
        memcpy(&part->given.factor, (const unsigned char *)launch->factors + rank * bytes, bytes);
}

/* Adds a block of a rank to what is known of all; false if others cannot read it, or not by the same shift. */
static bool add_readable(const struct ronde_registry *registry, struct ronde_stretch block,
                         struct ronde_readable *io_found)
{
    if (block.bytes == 0)
        return true;
    const struct ronde_readable now = ronde_registry_find(registry, block.start, block.bytes);
    const bool fits =
        now.registration && (!io_found->registration || io_found->registration == now.registration);
    *io_found = now;
    return fits;
}

/* Where others find the inputs or outputs of all ranks here: all in one place, as one number is added to an address there. */
static struct ronde_readable find_readable(const struct ronde_device_program *part,
                                           const struct ronde_registry *registry,
                                           const struct ronde_launch *launch, bool is_input)
{
    const struct ronde_staging *ranks = &part->staging;
    const bool has_tables = is_input ? launch->in_blocks != NULL : launch->out_blocks != NULL;
    const uint32_t blocks = ronde_schedule_blocks(ranks->schedule, is_input);
    struct ronde_readable found = {NULL, 0};
    for (uint32_t k = 0; k < ranks->rank_count; k++)
        for (uint32_t b = 0; b < blocks; b += has_tables ? 1 : blocks) {
            struct ronde_stretch block =
                ronde_launch_block(ranks->schedule, launch, ranks->first_rank + k, is_input, b);
            block.bytes *= has_tables ? 1 : blocks;
            if (!add_readable(registry, block, &found))
                return (struct ronde_readable){NULL, 0};
        }
    return found;
}

void ronde_device_program_offer(struct ronde_device_program *part,
                                const struct ronde_registry *registry,
                                const struct ronde_launch *launch)
{
    const bool may_offer = part->loaded->frame.no_pull != 0;
    part->given.readable = 0;
    part->given.is_in_place = ronde_loaded_placement(part->loaded, launch) == RONDE_BUFFERS_IN;
    for (uint32_t buffer = RONDE_IN; buffer <= RONDE_OUT; buffer++) {
        const struct ronde_readable found =
            may_offer ? find_readable(part, registry, launch, buffer == RONDE_IN)
                      : (struct ronde_readable){NULL, 0};
        part->registered[buffer] = found.registration;
        part->given.shift[buffer] = found.shift;
        part->given.readable |= (uint64_t)(found.registration != NULL) << buffer;
    }
}

enum ronde_status ronde_device_program_start(struct ronde_device_program *part, void *const *stream,
                                             struct ronde_error *error)
{
    const struct ronde_job *job = ronde_image_address(&part->launch_image, &part->flat.job);
    return part->gpu->start(part->queue, stream, part->loaded->frame.dtype, job, &part->given,
                            part->flat.job.block_count, error);
}

enum ronde_status ronde_device_program_read_lanes(struct ronde_device_program *part,
                                                  struct ronde_error *error)
{
    struct ronde_loaded *loaded = part->loaded;
    struct ronde_lane_slot *lane_slots = part->flat.lane_slots;
    RONDE_TRY(part->gpu->read(part->queue, lane_slots,
                              ronde_image_address(&part->launch_image, lane_slots),
                              loaded->lane_count * sizeof *lane_slots, error));
    for (uint32_t l = 0; l < loaded->lane_count; l++) {
        loaded->lanes[l].step = lane_slots[l].lane.step;
        loaded->lanes[l].piece = lane_slots[l].lane.piece;
        loaded->lanes[l].reason = lane_slots[l].lane.reason;
        loaded->lanes[l].about = lane_slots[l].lane.about;
    }
    return RONDE_OK;
}
