/* Programs on devices: preparing, starting, and what became of a run. See program.h. */
#include "hw/cuda/program.h"

#include "hw/cuda/backend.h"

#include <string.h>

/* Between devices a message is pushed: stores cross a link without waiting, loads wait for the way there and back. */
static const struct ronde_habits habits_of_one = {RONDE_CUDA_SLOT_BYTES,
                                                  {RONDE_CUDA_PULL_FROM_BYTES,
                                                   RONDE_CUDA_PULL_FROM_BYTES},
                                                  RONDE_CUDA_LINES_UP_TO_BYTES};
static const struct ronde_habits habits_of_several = {RONDE_CUDA_SLOT_BYTES,
                                                      {UINT64_MAX, UINT64_MAX},
                                                      RONDE_CUDA_LINES_UP_TO_BYTES};

uint32_t *ronde_cuda_program_words(const struct ronde_cuda_program *program)
{
    return program->parts[0].gpu->words(program->parts[0].queue);
}

/* First rank of a part; part = part_count gives the end. */
static uint32_t first_rank(const struct ronde_cuda_program *program, uint32_t part)
{
    const uint64_t ranks = program->schedule->ranks;
    return (uint32_t)((part * ranks + program->part_count - 1) / program->part_count);
}

static enum ronde_status init_part(struct ronde_cuda_program *program, uint32_t p,
                                   const struct ronde_gpu *gpu, struct ronde_error *error)
{
    struct ronde_staging ranks = {.first_rank = first_rank(program, p)};
    ranks.rank_count = first_rank(program, p + 1) - ranks.first_rank;
    for (uint32_t r = 0; r < ranks.rank_count; r++)
        program->part_of[ranks.first_rank + r] = p;
    return ronde_cuda_part_init(&program->parts[p], gpu, program->mem, &program->numbering, ranks,
                                error);
}

enum ronde_status
ronde_cuda_program_init(struct ronde_cuda_program *program, const struct ronde_gpu *const *gpus,
                        uint32_t gpu_count, const struct ronde_mem *mem,
                        const struct ronde_schedule *schedule, struct ronde_error *error)
{
    const uint32_t parts = gpu_count < schedule->ranks ? gpu_count : schedule->ranks;
    program->mem = mem;
    program->schedule = schedule;
    program->part_count = parts;
    program->parts = ronde_mem_new(mem, parts, sizeof *program->parts);
    program->depots = ronde_mem_new(mem, parts, sizeof *program->depots);
    program->part_of = ronde_mem_new(mem, schedule->ranks, sizeof *program->part_of);
    if (!program->parts || !program->depots || !program->part_of)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule: %u ranks",
                          schedule->ranks);
    enum ronde_status status = ronde_numbering_init(&program->numbering, schedule, mem, error);
    for (uint32_t p = 0; p < parts && status == RONDE_OK; p++)
        status = init_part(program, p, gpus[p], error);
    /* No kernel may find a counter of another device that is not cleared yet. */
    return status == RONDE_OK ? ronde_cuda_program_finish(program, NULL, error) : status;
}

void ronde_cuda_program_fini(struct ronde_cuda_program *program)
{
    for (uint32_t p = 0; program->parts && p < program->part_count; p++)
        ronde_cuda_part_fini(&program->parts[p]);
    ronde_numbering_fini(&program->numbering);
    ronde_mem_free(program->mem, program->parts, program->part_count, sizeof *program->parts);
    ronde_mem_free(program->mem, program->depots, program->part_count, sizeof *program->depots);
    if (program->schedule)
        ronde_mem_free(program->mem, program->part_of, program->schedule->ranks,
                       sizeof *program->part_of);
}

/* Prepares every part by itself, its buffers staged. */
static enum ronde_status prepare_parts(struct ronde_cuda_program *program,
                                       const struct ronde_launch *launch, struct ronde_error *error)
{
    const struct ronde_habits *habits =
        program->part_count == 1 ? &habits_of_one : &habits_of_several;
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_cuda_part *part = &program->parts[p];
        struct ronde_launch staged;
        const bool was_dirty = part->loaded->is_dirty;
        status = ronde_staging_enter(&part->staging, launch, part->queue, &staged, error);
        if (status == RONDE_OK)
            status = ronde_loaded_prepare(part->loaded, &staged, habits, error);
        if (status == RONDE_OK && was_dirty)
            status = ronde_cuda_part_clear_counters(part, error);
    }
    return status;
}

/* Whether all parts read messages where they lie, or none does, and in which order: each knows its own buffers only. */
static bool agree(const struct ronde_cuda_program *program)
{
    const struct ronde_frame *first = &program->parts[0].loaded->frame;
    for (uint32_t p = 1; p < program->part_count; p++)
        if (program->parts[p].loaded->frame.no_pull != first->no_pull)
            return false;
    return true;
}

/* Every part makes room for what it receives, then all learn where that is. */
static enum ronde_status connect_parts(struct ronde_cuda_program *program, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_cuda_part *part = &program->parts[p];
        status = ronde_cuda_part_reserve(part, &part->loaded->frame, error);
        program->depots[p] = ronde_cuda_part_depot(part, &program->numbering);
    }
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        ronde_links_place(program->parts[p].loaded, &program->numbering, program->depots,
                          program->part_of);
    return status;
}

/* Sends what was prepared; where there are several devices, no kernel may start before all is there. */
static enum ronde_status send_parts(struct ronde_cuda_program *program, uint64_t timeout_ns,
                                    struct ronde_error *error)
{
    uint32_t *const words = ronde_cuda_program_words(program);
    enum ronde_status status = RONDE_OK;
    __atomic_store_n(&words[0], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], RONDE_STOP_NOT, __ATOMIC_RELAXED);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        status = ronde_cuda_part_send(&program->parts[p], words, timeout_ns, error);
    return status == RONDE_OK && program->part_count > 1
               ? ronde_cuda_program_finish(program, NULL, error)
               : status;
}

enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *launch,
                                             struct ronde_error *error)
{
    struct ronde_launch staged = *launch;
    program->is_prepared = false;
    enum ronde_status status = prepare_parts(program, launch, error);
    if (status == RONDE_OK && !agree(program)) {
        staged.protocol = RONDE_PROTOCOL_STAGED;
        status = prepare_parts(program, &staged, error);
    }
    if (status == RONDE_OK)
        status = connect_parts(program, error);
    if (status == RONDE_OK)
        status = send_parts(program, launch->timeout_ns, error);
    program->is_prepared = status == RONDE_OK;
    return status;
}

uint64_t ronde_cuda_program_staged_bytes(const struct ronde_cuda_program *program)
{
    uint64_t bytes = 0;
    for (uint32_t p = 0; p < program->part_count; p++)
        bytes += program->parts[p].staging.image.bytes;
    return bytes;
}

/* A kernel whose peers could not start is told to stop, or it would wait for them. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *const *streams,
                                           struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        status = ronde_cuda_part_start(&program->parts[p], streams ? streams[p] : NULL, error);
    if (status == RONDE_OK || program->part_count == 1)
        return status;
    __atomic_store_n(&ronde_cuda_program_words(program)[0], 1, __ATOMIC_RELEASE);
    (void)ronde_cuda_program_finish(program, NULL, NULL);
    ronde_cuda_program_abandon(program);
    return status;
}

void ronde_cuda_program_abandon(struct ronde_cuda_program *program)
{
    for (uint32_t p = 0; p < program->part_count; p++)
        ronde_loaded_finish(program->parts[p].loaded, false);
    program->is_prepared = false;
}

enum ronde_status ronde_cuda_program_is_over(struct ronde_cuda_program *program, bool *out_over,
                                             struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    *out_over = true;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK && *out_over; p++)
        status = program->parts[p].gpu->is_over(program->parts[p].queue, out_over, error);
    return status;
}

enum ronde_status ronde_cuda_program_finish(struct ronde_cuda_program *program,
                                            double *out_elapsed_ns, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    double longest_ns = 0;
    for (uint32_t p = 0; p < program->part_count; p++) {
        double elapsed_ns = 0;
        struct ronde_error why = {0};
        const struct ronde_cuda_part *part = &program->parts[p];
        /* Also after a failure: nothing may be under way when this returns. */
        const enum ronde_status ended =
            part->gpu->finish(part->queue, out_elapsed_ns ? &elapsed_ns : NULL, &why);
        if (ended != RONDE_OK && status == RONDE_OK)
            status = ronde_fail(error, ended, "%s", why.message);
        longest_ns = elapsed_ns > longest_ns ? elapsed_ns : longest_ns;
    }
    if (out_elapsed_ns)
        *out_elapsed_ns = longest_ns;
    return status;
}

/* A lane that can say what it waits for, of any part. */
static const struct ronde_lane *find_blocked(const struct ronde_cuda_program *program)
{
    const struct ronde_lane *found = NULL;
    for (uint32_t p = 0; p < program->part_count; p++) {
        const struct ronde_lane *lane = ronde_loaded_blocked(program->parts[p].loaded);
        if (lane && (!found || (found->reason == RONDE_REASON_NONE)))
            found = lane;
    }
    return found;
}

/* The error of a run that was stopped. */
static enum ronde_status fail_stopped(struct ronde_cuda_program *program, uint32_t stop,
                                      struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        status = ronde_cuda_part_read_lanes(&program->parts[p], error);
    if (status != RONDE_OK)
        return status;
    char text[RONDE_LANE_TEXT_BYTES] = "all lanes were done";
    const struct ronde_lane *lane = find_blocked(program);
    if (lane)
        ronde_lane_describe(lane, text);
    if (stop == RONDE_STOP_ABORT)
        return ronde_fail(error, RONDE_TIMEOUT, "the run was aborted; %s", text);
    return ronde_fail(error, RONDE_TIMEOUT, "the run took longer than %llu ns; %s",
                      (unsigned long long)program->parts[0].flat.job.timeout_ns, text);
}

enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error)
{
    const uint32_t stop = __atomic_load_n(&ronde_cuda_program_words(program)[1], __ATOMIC_ACQUIRE);
    if (stop != RONDE_STOP_NOT) {
        ronde_cuda_program_abandon(program);
        return fail_stopped(program, stop, error);
    }
    for (uint32_t p = 0; p < program->part_count; p++)
        ronde_loaded_finish(program->parts[p].loaded, true);
    return RONDE_OK;
}

enum ronde_status ronde_cuda_program_unstage(struct ronde_cuda_program *program,
                                             struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_cuda_part *part = &program->parts[p];
        status = ronde_staging_leave(&part->staging, &program->launch, part->queue, error);
    }
    return status;
}
