/* Shadows of the caller's buffers in a device's memory. See device_program.h. */
#include "hw/cuda/device_program.h"

#include <string.h>

/* One side of a launch: the inputs or the outputs of all ranks. */
struct side {
    void *const *buffers;
    const struct ronde_blocks *blocks; /* per rank, or NULL */
    uint32_t block_count;
    uint64_t count;
    uint32_t element_bytes;
};

static struct side side_of(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                           bool is_out)
{
    struct side side;
    side.buffers = is_out ? launch->out : launch->in;
    side.blocks = is_out ? launch->out_blocks : launch->in_blocks;
    side.block_count = is_out ? ronde_collective_out_blocks(schedule->collective, schedule->ranks)
                              : ronde_collective_in_blocks(schedule->collective, schedule->ranks);
    side.count = launch->count;
    side.element_bytes = ronde_dtype_bytes(launch->dtype);
    return side;
}

/* Bytes of a block of a rank. */
static uint64_t block_bytes(const struct side *side, uint32_t rank, uint32_t block)
{
    const struct ronde_blocks *blocks = side->blocks ? &side->blocks[rank] : NULL;
    return (blocks && blocks->counts ? blocks->counts[block] : side->count) * side->element_bytes;
}

/* Whether a rank's blocks have pointers of their own. */
static bool has_pointers(const struct side *side, uint32_t rank)
{
    return side->blocks && side->blocks[rank].pointers;
}

/* Bytes from the start of a rank's buffer to a block. */
static uint64_t block_offset(const struct side *side, uint32_t rank, uint32_t block)
{
    const struct ronde_blocks *blocks = side->blocks ? &side->blocks[rank] : NULL;
    return (blocks && blocks->offsets ? blocks->offsets[block] : block * side->count) *
           side->element_bytes;
}

/* Where a block of a rank begins; NULL if it has no memory. */
static unsigned char *block_start(const struct side *side, uint32_t rank, uint32_t block)
{
    if (has_pointers(side, rank))
        return side->blocks[rank].pointers[block];
    unsigned char *const buffer = side->buffers ? side->buffers[rank] : NULL;
    return buffer ? buffer + block_offset(side, rank, block) : NULL;
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
        ranks * (ronde_collective_in_blocks(schedule->collective, schedule->ranks) +
                 ronde_collective_out_blocks(schedule->collective, schedule->ranks));
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
static void add_rank(struct ronde_staging *staging, const struct side *side, uint32_t rank)
{
    const struct ronde_gpu *gpu = staging->gpu;
    unsigned char *const buffer = side->buffers ? side->buffers[rank] : NULL;
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < side->block_count; b++) {
        const uint64_t length = block_bytes(side, rank, b);
        const unsigned char *const start = block_start(side, rank, b);
        if (has_pointers(side, rank)) {
            if (start && !gpu->reaches(gpu->self, start, length))
                ronde_image_add(&staging->image, start, length, 1);
        } else if (length > 0 && block_offset(side, rank, b) + length > bytes) {
            bytes = block_offset(side, rank, b) + length;
        }
    }
    if (buffer && bytes > 0 && !gpu->reaches(gpu->self, buffer, bytes))
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
static void translate_rank(struct ronde_staging *staging, const struct side *side, bool is_out,
                           uint32_t rank, void **pointers)
{
    const struct ronde_image *image = &staging->image;
    void *const buffer = side->buffers ? side->buffers[rank] : NULL;
    staging->buffers[is_out ? staging->schedule->ranks + rank : rank] =
        buffer ? ronde_image_address(image, buffer) : NULL;
    if (!side->blocks)
        return;
    staging->blocks[is_out][rank] = side->blocks[rank];
    if (!has_pointers(side, rank))
        return;
    staging->blocks[is_out][rank].pointers = pointers;
    for (uint32_t b = 0; b < side->block_count; b++) {
        void *const start = side->blocks[rank].pointers[b];
        pointers[b] = start ? ronde_image_address(image, start) : NULL;
    }
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
    for (int is_out = 0; is_out < 2; is_out++) {
        const struct side side = side_of(staging->schedule, launch, is_out != 0);
        for (uint32_t rank = first; rank < end; rank++)
            add_rank(staging, &side, rank);
    }
    const enum ronde_status status = send(staging, queue, error);
    if (status != RONDE_OK)
        return status;
    for (int is_out = 0; is_out < 2; is_out++) {
        const struct side side = side_of(staging->schedule, launch, is_out != 0);
        for (uint32_t rank = first; rank < end; rank++, pointers += side.block_count)
            translate_rank(staging, &side, is_out != 0, rank, pointers);
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
    struct side side = side_of(staging->schedule, launch, true);
    side.buffers = launch->out ? staging->buffers + 2 * (size_t)staging->schedule->ranks : NULL;
    if (image->bytes == 0)
        return RONDE_OK;
    const enum ronde_status status =
        staging->gpu->read(queue, image->block, staging->block, image->bytes, error);
    const uint32_t end = staging->first_rank + staging->rank_count;
    for (uint32_t rank = staging->first_rank; rank < end && status == RONDE_OK; rank++) {
        for (uint32_t b = 0; b < side.block_count; b++) {
            unsigned char *const start = block_start(&side, rank, b);
            const unsigned char *const shadow = start ? ronde_image_copy(image, start) : NULL;
            if (shadow)
                memcpy(start, shadow, block_bytes(&side, rank, b));
        }
    }
    return status;
}
