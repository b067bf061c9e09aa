/* Shadows of the caller's buffers in a device's memory. See device_program.h. */
#include "hw/cuda/device_program.h"

#include <string.h>

/* The table of a rank's blocks, or NULL. */
static const struct ronde_blocks *blocks_of(const struct ronde_launch *launch, bool is_input,
                                            uint32_t rank)
{
    const struct ronde_blocks *blocks = is_input ? launch->in_blocks : launch->out_blocks;
    return blocks ? &blocks[rank] : NULL;
}

static void *buffer_of(const struct ronde_launch *launch, bool is_input, uint32_t rank)
{
    void *const *buffers = is_input ? launch->in : launch->out;
    return buffers ? buffers[rank] : NULL;
}

enum ronde_status ronde_staging_init(struct ronde_staging *staging,
                                     const struct ronde_schedule *schedule,
                                     const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                     struct ronde_error *error)
{
    const uint64_t ranks = schedule->ranks;
    staging->schedule = schedule;
    staging->mem = mem;
    staging->gpu = gpu;
    ronde_image_begin(&staging->image, mem, NULL);
    staging->pointer_count =
        ranks * (ronde_schedule_blocks(schedule, true) + ronde_schedule_blocks(schedule, false));
    staging->buffers = ronde_mem_new(mem, 3 * ranks, sizeof *staging->buffers);
    staging->pointers = ronde_mem_new(mem, staging->pointer_count, sizeof *staging->pointers);
    for (int k = 0; k < 2; k++)
        staging->blocks[k] = ronde_mem_new(mem, ranks, sizeof *staging->blocks[k]);
    if (!staging->buffers || !staging->pointers || !staging->blocks[0] || !staging->blocks[1])
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to stage the buffers of %u ranks",
                          schedule->ranks);
    return RONDE_OK;
}

void ronde_staging_fini(struct ronde_staging *staging)
{
    if (!staging->mem)
        return;
    const uint64_t ranks = staging->schedule->ranks;
    ronde_mem_free(staging->gpu->memory, staging->block, staging->block_bytes, 1);
    ronde_mem_free(staging->mem, staging->buffers, 3 * ranks, sizeof *staging->buffers);
    ronde_mem_free(staging->mem, staging->pointers, staging->pointer_count,
                   sizeof *staging->pointers);
    for (int k = 0; k < 2; k++)
        ronde_mem_free(staging->mem, staging->blocks[k], ranks, sizeof *staging->blocks[k]);
    ronde_image_fini(&staging->image);
}

/* Blocks with pointers are shadowed one by one; others keep their distances, so the buffer is shadowed as a whole. */
static void add_rank(struct ronde_staging *staging, const struct ronde_launch *launch,
                     bool is_input, uint32_t rank)
{
    const struct ronde_gpu *gpu = staging->gpu;
    const struct ronde_blocks *blocks = blocks_of(launch, is_input, rank);
    unsigned char *const buffer = buffer_of(launch, is_input, rank);
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < ronde_schedule_blocks(staging->schedule, is_input); b++) {
        const struct ronde_stretch block =
            ronde_launch_block(staging->schedule, launch, rank, is_input, b);
        if (block.bytes == 0)
            continue;
        if (blocks && blocks->pointers) {
            if (!gpu->reaches(gpu->self, block.start, block.bytes))
                ronde_image_add(&staging->image, block.start, block.bytes, 1);
        } else if ((uint64_t)(block.start - buffer) + block.bytes > bytes) {
            bytes = (uint64_t)(block.start - buffer) + block.bytes;
        }
    }
    if (bytes > 0 && !gpu->reaches(gpu->self, buffer, bytes))
        ronde_image_add(&staging->image, buffer, bytes, 1);
}

/* Makes room on the device and sends the shadows. */
static enum ronde_status send(struct ronde_staging *staging, void *queue, struct ronde_error *error)
{
    struct ronde_image *image = &staging->image;
    const struct ronde_gpu *gpu = staging->gpu;
    if (!ronde_image_settle(image))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to stage %llu bytes",
                          (unsigned long long)image->bytes);
    if (image->bytes > staging->block_bytes) {
        ronde_mem_free(gpu->memory, staging->block, staging->block_bytes, 1);
        staging->block = gpu->memory->resize(gpu->memory->self, NULL, 0, image->bytes);
        staging->block_bytes = staging->block ? image->bytes : 0;
        if (!staging->block)
            return ronde_fail(error, RONDE_NO_MEMORY, "no memory on the device to stage %llu bytes",
                              (unsigned long long)image->bytes);
    }
    image->device = staging->block;
    return image->bytes == 0 ? RONDE_OK
                             : gpu->write(queue, staging->block, image->block, image->bytes, error);
}

/* A rank's pointers as the device has them. */
static void translate_rank(struct ronde_staging *staging, const struct ronde_launch *launch,
                           bool is_input, uint32_t rank, void **pointers)
{
    const struct ronde_image *image = &staging->image;
    const struct ronde_blocks *blocks = blocks_of(launch, is_input, rank);
    struct ronde_blocks *own = &staging->blocks[!is_input][rank];
    void *const buffer = buffer_of(launch, is_input, rank);
    staging->buffers[is_input ? rank : staging->schedule->ranks + rank] =
        buffer ? ronde_image_address(image, buffer) : NULL;
    if (!blocks)
        return;
    *own = *blocks;
    if (!blocks->pointers)
        return;
    own->pointers = pointers;
    for (uint32_t b = 0; b < ronde_schedule_blocks(staging->schedule, is_input); b++)
        pointers[b] = blocks->pointers[b] ? ronde_image_address(image, blocks->pointers[b]) : NULL;
}

enum ronde_status ronde_staging_enter(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_launch *out_launch, struct ronde_error *error)
{
    const uint32_t ranks = staging->schedule->ranks;
    const uint32_t first = staging->first_rank;
    const uint32_t end = first + staging->rank_count;
    void **pointers = staging->pointers;
    ronde_image_begin(&staging->image, staging->mem, NULL);
    for (int is_out = 0; is_out < 2; is_out++)
        for (uint32_t rank = first; rank < end; rank++)
            add_rank(staging, launch, is_out == 0, rank);
    RONDE_TRY(send(staging, queue, error));
    for (int is_out = 0; is_out < 2; is_out++)
        for (uint32_t rank = first; rank < end; rank++) {
            translate_rank(staging, launch, is_out == 0, rank, pointers);
            pointers += ronde_schedule_blocks(staging->schedule, is_out == 0);
        }
    /* Copied: the caller's array of outputs may be freed before the run is over. */
    if (launch->out)
        memcpy(staging->buffers + 2 * (size_t)ranks, launch->out, ranks * sizeof *launch->out);
    *out_launch = *launch;
    out_launch->in = launch->in ? staging->buffers : NULL;
    out_launch->out = launch->out ? staging->buffers + ranks : NULL;
    out_launch->in_blocks = launch->in_blocks ? staging->blocks[0] : NULL;
    out_launch->out_blocks = launch->out_blocks ? staging->blocks[1] : NULL;
    return RONDE_OK;
}

enum ronde_status ronde_staging_leave(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_error *error)
{
    struct ronde_image *image = &staging->image;
    struct ronde_launch own = *launch;
    own.out = launch->out ? staging->buffers + 2 * (size_t)staging->schedule->ranks : NULL;
    if (image->bytes == 0)
        return RONDE_OK;
    RONDE_TRY(staging->gpu->read(queue, image->block, staging->block, image->bytes, error));
    const uint32_t end = staging->first_rank + staging->rank_count;
    for (uint32_t rank = staging->first_rank; rank < end; rank++)
        for (uint32_t b = 0; b < ronde_schedule_blocks(staging->schedule, false); b++) {
            const struct ronde_stretch block =
                ronde_launch_block(staging->schedule, &own, rank, false, b);
            const unsigned char *const shadow =
                block.start ? ronde_image_copy(image, block.start) : NULL;
            if (shadow)
                memcpy(block.start, shadow, block.bytes);
        }
    return RONDE_OK;
}
