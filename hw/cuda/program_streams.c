/* Runs of a program in streams of the caller's. See program.h. */
#include "hw/cuda/program.h"

#include "hw/cuda/job.h"
#include "hw/cuda/registered.h"
#include "ronde/cuda.h"

enum ronde_status ronde_cuda_program_expect_streams(struct ronde_cuda_program *program,
                                                    const struct ronde_launch *launch,
                                                    struct ronde_error *error)
{
    program->proxy.failure = (struct ronde_error){.status = RONDE_OK};
    return ronde_cuda_program_has_proxy(program)
               ? ronde_cuda_progress_open(&program->proxy, launch, program->mem, &program->progress,
                                          error)
               : RONDE_OK;
}

/* Whether a device can use a buffer of a launch without tables. */
static bool reaches(const struct ronde_device_program *part, const struct ronde_schedule *schedule,
                    const struct ronde_launch *launch, bool is_input)
{
    void *const *const buffers = is_input ? launch->in : launch->out;
    const uint64_t blocks =
        is_input ? ronde_collective_in_blocks(schedule->collective, schedule->ranks)
                 : ronde_collective_out_blocks(schedule->collective, schedule->ranks);
    const uint64_t bytes = blocks * launch->count * ronde_dtype_bytes(launch->dtype);
    const void *const start = buffers ? buffers[part->staging.first_rank] : NULL;
    return !start || bytes == 0 || part->gpu->reaches(part->gpu->self, start, bytes);
}

enum ronde_status ronde_cuda_program_give(struct ronde_cuda_program *program,
                                          const struct ronde_launch *launch,
                                          struct ronde_error *error)
{
    struct ronde_device_program *part = &program->parts[0];
    const struct ronde_launch *last = &part->loaded->last;
    if (!program->is_prepared || program->part_count > 1 || part->staging.rank_count > 1 ||
        launch->in_blocks || launch->out_blocks || last->in_blocks || last->out_blocks ||
        launch->count != last->count || launch->dtype != last->dtype || launch->op != last->op)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "no launch of one rank was prepared that differs from this one in its "
                          "buffers alone");
    if (!reaches(part, program->schedule, launch, true) ||
        !reaches(part, program->schedule, launch, false))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a buffer is not memory of the device, which runs in a stream need");
    ronde_device_program_give(part, launch);
    ronde_device_program_offer(part, program->registry, launch);
    return RONDE_OK;
}

/* The progress thread awaits the end of a run that cannot begin, or whose end the stream cannot report: it fails. */
static void give_up(struct ronde_cuda_program *program, void *const *stream)
{
    struct ronde_device_program *part = &program->parts[0];
    uint32_t *const words = ronde_cuda_program_words(program);
    struct ronde_error ignored = {0};
    __atomic_store_n(&words[0], 1, __ATOMIC_RELEASE);
    __atomic_store_n(&words[1], RONDE_STOP_ABORT, __ATOMIC_RELEASE);
    if (part->gpu->call(part->queue, *stream, ronde_cuda_progress_end, program->progress,
                        &ignored) != RONDE_OK)
        ronde_cuda_progress_end(program->progress);
}

/* A run in a stream, between the calls that notify the progress thread. A communicator has one rank here: one part. */
static enum ronde_status enqueue_between(struct ronde_cuda_program *program, void *const *stream,
                                         struct ronde_error *error)
{
    struct ronde_device_program *part = &program->parts[0];
    const struct ronde_gpu *gpu = part->gpu;
    void *const progress = program->progress;
    RONDE_TRY(gpu->call(part->queue, *stream, ronde_cuda_progress_begin, progress, error));
    enum ronde_status status = ronde_device_program_start(part, stream, error);
    RONDE_THEN(status, gpu->call(part->queue, *stream, ronde_cuda_progress_end, progress, error));
    if (status != RONDE_OK)
        give_up(program, stream);
    return status;
}

/* Waits for the first kernels, in the caller's streams; in one that is captured nothing runs. */
static void await_streams(struct ronde_cuda_program *program, void *const *streams, uint32_t count)
{
    const uint64_t mark = ++program->marks;
    struct ronde_error ignored = {0};
    for (uint32_t p = 0; p < count; p++) {
        const struct ronde_device_program *part = &program->parts[p];
        bool is_past = false;
        bool is_captured = false;
        enum ronde_status status =
            part->gpu->is_captured(part->gpu->self, streams[p], &is_captured, &ignored);
        if (status == RONDE_OK && !is_captured)
            status = part->gpu->mark(part->queue, streams[p], mark, &ignored);
        while (status == RONDE_OK && !is_captured && !is_past)
            status = part->gpu->is_past(part->queue, mark, &is_past, &ignored);
    }
}

/* A graph may be replayed at any time: what is read in its runs stays mapped. */
static enum ronde_status keep_captured(const struct ronde_cuda_program *program,
                                       void *const *streams, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        const struct ronde_device_program *part = &program->parts[p];
        bool is_captured = false;
        if (part->given.readable == 0)
            continue;
        status = part->gpu->is_captured(part->gpu->self, streams[p], &is_captured, error);
        for (int k = 0; is_captured && k < 2; k++)
            ronde_registry_keep(program->registry, part->registered[k]);
    }
    return status;
}

enum ronde_status ronde_cuda_enqueue(void *self, void *const *streams, struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    uint32_t started;
    if (!program->is_prepared || (ronde_cuda_program_has_proxy(program) && !program->progress))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "no launch of the program was prepared");
    if (program->progress)
        return enqueue_between(program, streams, error);
    RONDE_TRY(keep_captured(program, streams, error));
    const enum ronde_status status =
        ronde_cuda_program_start_parts(program, streams, &started, error);
    if (status != RONDE_OK && program->part_count > 1) {
        await_streams(program, streams, started);
        ronde_cuda_program_abandon(program);
    }
    return status;
}

enum ronde_status ronde_cuda_mark(void *self, void *const *streams, uint64_t *out_mark,
                                  struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    *out_mark = ++program->marks;
    for (uint32_t p = 0; p < program->part_count; p++)
        RONDE_TRY(program->parts[p].gpu->mark(program->parts[p].queue, streams[p], *out_mark, error));
    return RONDE_OK;
}

enum ronde_status ronde_cuda_follow(void *self, void *const *streams, struct ronde_error *error)
{
    const struct ronde_cuda_program *program = self;
    for (uint32_t p = 0; p < program->part_count && program->marks > 0; p++)
        RONDE_TRY(program->parts[p].gpu->follow(program->parts[p].queue, streams[p], program->marks,
                                                error));
    return RONDE_OK;
}

enum ronde_status ronde_cuda_is_past(void *self, uint64_t mark, bool *out_past,
                                     struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    enum ronde_status status = RONDE_OK;
    struct ronde_error later = {0};
    *out_past = true;
    /* Check returns the error; it stops the kernels here. The progress thread sees failures itself. */
    if (!program->progress)
        (void)ronde_cuda_program_poll_peers(program, &later);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK && *out_past; p++)
        status = program->parts[p].gpu->is_past(program->parts[p].queue, mark, out_past, error);
    /* Messages of kernels that are over may still be on their way; those of later ones do not count. */
    if (program->progress && *out_past)
        *out_past = ronde_cuda_progress_has_moved(program->progress);
    return status;
}
