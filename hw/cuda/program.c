/* Programs on a device: memory, preparing, starting, and what became of a run. See program.h. */
#include "hw/cuda/program.h"

#include "hw/cuda/backend.h"

#include <string.h>

static const struct ronde_habits habits = {RONDE_CUDA_SLOT_BYTES,
                                           {RONDE_CUDA_PULL_FROM_BYTES, RONDE_CUDA_PULL_FROM_BYTES},
                                           RONDE_CUDA_LINES_UP_TO_BYTES};

static void *device_new(const struct ronde_gpu *gpu, uint64_t bytes)
{
    return gpu->memory->resize(gpu->memory->self, NULL, 0, bytes);
}

/* Makes a block hold at least so much; its content is lost when it grows. */
static enum ronde_status reserve(const struct ronde_gpu *gpu, struct ronde_device_block *block,
                                 uint64_t bytes, struct ronde_error *error)
{
    if (block->start && bytes <= block->bytes)
        return RONDE_OK;
    ronde_mem_free(gpu->memory, block->start, block->bytes, 1);
    block->start = device_new(gpu, bytes);
    block->bytes = block->start ? bytes : 0;
    return block->start ? RONDE_OK
                        : ronde_fail(error, RONDE_NO_MEMORY, "no memory on the device: %llu bytes",
                                     (unsigned long long)bytes);
}

/* Sends an image whose pointers have been translated. */
static enum ronde_status send(struct ronde_cuda_program *program, const struct ronde_image *image,
                              struct ronde_error *error)
{
    return program->gpu->write(program->queue, image->device, image->block, image->bytes, error);
}

/* One more than there are: a single rank has no connection, and no memory is what a device has run out of. */
static uint64_t fifo_bytes(const struct ronde_loaded *loaded)
{
    return (loaded->fifo_count + 1) * sizeof *loaded->fifos;
}

static uint64_t progress_bytes(const struct ronde_loaded *loaded)
{
    return (loaded->counter_count + 1) * sizeof *loaded->progress;
}

/* A fresh start: no message was ever sent, no step was ever made. Old lines would be taken for the first ones. */
static enum ronde_status clear_counters(struct ronde_cuda_program *program,
                                        struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    const struct ronde_gpu *gpu = program->gpu;
    program->lines_start = NULL;
    enum ronde_status status =
        gpu->clear(program->queue, program->counters.fifos, fifo_bytes(loaded), error);
    if (status == RONDE_OK)
        status =
            gpu->clear(program->queue, program->counters.progress, progress_bytes(loaded), error);
    return status;
}

/* Everything on the device that depends on the schedule only. */
static enum ronde_status send_program(struct ronde_cuda_program *program, struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_image *image = &program->program_image;
    program->counters.fifos = device_new(program->gpu, fifo_bytes(loaded));
    program->counters.progress = device_new(program->gpu, progress_bytes(loaded));
    if (!program->counters.fifos || !program->counters.progress ||
        !ronde_flatten_program(loaded, program->mem, &program->counters, image))
        return ronde_fail(error, RONDE_NO_MEMORY,
                          "no memory to load the schedule on a device: %llu lanes",
                          (unsigned long long)loaded->lane_count);
    enum ronde_status status = reserve(program->gpu, &program->program_block, image->bytes, error);
    if (status != RONDE_OK)
        return status;
    image->device = program->program_block.start;
    ronde_flatten_program_pointers(loaded, image);
    status = send(program, image, error);
    return status == RONDE_OK ? clear_counters(program, error) : status;
}

enum ronde_status ronde_cuda_program_init(struct ronde_cuda_program *program,
                                          const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                          const struct ronde_schedule *schedule,
                                          struct ronde_error *error)
{
    program->gpu = gpu;
    program->mem = mem;
    ronde_image_begin(&program->program_image, mem, NULL);
    ronde_image_begin(&program->launch_image, mem, NULL);
    enum ronde_status status = ronde_loaded_create(schedule, mem, &program->loaded, error);
    if (status == RONDE_OK)
        status = gpu->open_queue(gpu->self, &program->queue, error);
    if (status == RONDE_OK)
        status = ronde_staging_init(&program->staging, schedule, mem, gpu, error);
    if (status != RONDE_OK)
        return status;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_flat_launch *flat = &program->flat;
    loaded->data = gpu->memory;
    /* A single chunk needs no list. */
    flat->sorted_per_list = schedule->max_chunk_count > 1 ? schedule->max_chunk_count : 0;
    flat->seats = ronde_mem_new(mem, loaded->lane_count, sizeof *flat->seats);
    flat->sorted =
        ronde_mem_new(mem, 2 * flat->sorted_per_list * loaded->lane_count, sizeof *flat->sorted);
    if (!flat->seats || !flat->sorted)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule: %u lanes",
                          loaded->lane_count);
    return send_program(program, error);
}

void ronde_cuda_program_fini(struct ronde_cuda_program *program)
{
    const struct ronde_gpu *gpu = program->gpu;
    const struct ronde_loaded *loaded = program->loaded;
    struct ronde_flat_launch *flat = &program->flat;
    if (program->queue)
        gpu->close_queue(program->queue);
    ronde_staging_fini(&program->staging);
    ronde_mem_free(gpu->memory, program->program_block.start, program->program_block.bytes, 1);
    ronde_mem_free(gpu->memory, program->launch_block.start, program->launch_block.bytes, 1);
    ronde_image_fini(&program->program_image);
    ronde_image_fini(&program->launch_image);
    if (loaded) {
        ronde_mem_free(gpu->memory, program->counters.fifos, fifo_bytes(loaded), 1);
        ronde_mem_free(gpu->memory, program->counters.progress, progress_bytes(loaded), 1);
        ronde_mem_free(program->mem, flat->seats, loaded->lane_count, sizeof *flat->seats);
        ronde_mem_free(program->mem, flat->sorted, 2 * flat->sorted_per_list * loaded->lane_count,
                       sizeof *flat->sorted);
    }
    ronde_loaded_destroy(program->loaded);
}

/*
 * Lines hold flags of earlier messages, or nothing that was ever meant as a flag: whenever they move they are cleared.
 * Under one geometry flags only grow.
 */
static enum ronde_status clear_lines(struct ronde_cuda_program *program, struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    const struct ronde_frame *frame = &loaded->frame;
    if (!frame->has_lines ||
        (program->lines_start == loaded->lines.start &&
         program->lines_stride == frame->slot_stride && program->lines_depth == frame->depth))
        return RONDE_OK;
    program->lines_start = loaded->lines.start;
    program->lines_stride = frame->slot_stride;
    program->lines_depth = frame->depth;
    return program->gpu->clear(program->queue, loaded->lines.block, loaded->lines.bytes, error);
}

/* One block per lane while they are sure to run at once, else several lanes per block. */
static enum ronde_status fold(struct ronde_cuda_program *program, struct ronde_error *error)
{
    const struct ronde_loaded *loaded = program->loaded;
    uint32_t resident;
    const enum ronde_status status =
        program->gpu->resident_blocks(program->gpu->self, loaded->frame.dtype, &resident, error);
    if (status != RONDE_OK)
        return status;
    if (resident == 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "no block of %u threads and %u bytes of shared memory fits the device",
                          RONDE_BLOCK_THREADS, RONDE_ROOM_BYTES);
    program->flat.job.block_count = loaded->lane_count < resident ? loaded->lane_count : resident;
    return RONDE_OK;
}

/* Everything on the device that depends on the launch. */
static enum ronde_status send_launch(struct ronde_cuda_program *program, struct ronde_error *error)
{
    struct ronde_image *image = &program->launch_image;
    uint32_t *const words = program->gpu->words(program->queue);
    program->flat.job.abort = &words[0];
    program->flat.job.stop = &words[1];
    if (!ronde_flatten_launch(program->loaded, program->mem, &program->program_image,
                              &program->flat, image))
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to launch: %u lanes",
                          program->loaded->lane_count);
    const enum ronde_status status =
        reserve(program->gpu, &program->launch_block, image->bytes, error);
    if (status != RONDE_OK)
        return status;
    image->device = program->launch_block.start;
    ronde_flatten_launch_pointers(program->loaded, &program->flat, image);
    return send(program, image, error);
}

enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *launch,
                                             struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    uint32_t *const words = program->gpu->words(program->queue);
    const bool was_dirty = loaded->is_dirty;
    program->is_prepared = false;
    enum ronde_status status = ronde_loaded_prepare(loaded, launch, &habits, error);
    if (status == RONDE_OK && was_dirty)
        status = clear_counters(program, error);
    if (status == RONDE_OK)
        status = clear_lines(program, error);
    if (status == RONDE_OK)
        status = fold(program, error);
    program->flat.job.timeout_ns = launch->timeout_ns;
    __atomic_store_n(&words[0], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], RONDE_STOP_NOT, __ATOMIC_RELAXED);
    if (status == RONDE_OK)
        status = send_launch(program, error);
    program->is_prepared = status == RONDE_OK;
    return status;
}

enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *stream,
                                           struct ronde_error *error)
{
    const struct ronde_job *job = ronde_image_address(&program->launch_image, &program->flat.job);
    return program->gpu->start(program->queue, stream, program->loaded->frame.dtype, job,
                               program->flat.job.block_count, error);
}

/* Takes over how far each lane got. */
static enum ronde_status read_lanes(struct ronde_cuda_program *program, struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_seat *seats = program->flat.seats;
    const enum ronde_status status =
        program->gpu->read(program->queue, seats, ronde_image_address(&program->launch_image, seats),
                           loaded->lane_count * sizeof *seats, error);
    for (uint32_t l = 0; l < loaded->lane_count && status == RONDE_OK; l++) {
        loaded->lanes[l].step = seats[l].lane.step;
        loaded->lanes[l].piece = seats[l].lane.piece;
        loaded->lanes[l].reason = seats[l].lane.reason;
        loaded->lanes[l].about = seats[l].lane.about;
    }
    return status;
}

enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error)
{
    const uint32_t stop = __atomic_load_n(&program->gpu->words(program->queue)[1], __ATOMIC_ACQUIRE);
    ronde_loaded_finish(program->loaded, stop == RONDE_STOP_NOT);
    if (stop == RONDE_STOP_NOT)
        return RONDE_OK;
    program->is_prepared = false;
    const enum ronde_status status = read_lanes(program, error);
    if (status != RONDE_OK)
        return status;
    char text[RONDE_LANE_TEXT_BYTES] = "all lanes were done";
    const struct ronde_lane *lane = ronde_loaded_blocked(program->loaded);
    if (lane)
        ronde_lane_describe(lane, text);
    if (stop == RONDE_STOP_ABORT)
        return ronde_fail(error, RONDE_TIMEOUT, "the run was aborted; %s", text);
    return ronde_fail(error, RONDE_TIMEOUT, "the run took longer than %llu ns; %s",
                      (unsigned long long)program->flat.job.timeout_ns, text);
}
