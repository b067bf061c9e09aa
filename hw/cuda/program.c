/* Programs on devices: preparing, starting, and what became of a run. See program.h. */
#include "hw/cuda/program.h"

#include "hw/cuda/backend.h"

#include <sched.h>
#include <string.h>

/* Between devices a message is pushed: stores cross a link without waiting, loads wait for the way there and back. */
static const struct ronde_habits habits_of_one = {.slot_bytes = RONDE_CUDA_SLOT_BYTES,
                                                  .pull_from_bytes = {RONDE_CUDA_PULL_FROM_BYTES,
                                                                      RONDE_CUDA_PULL_FROM_BYTES},
                                                  .farthest = RONDE_PROTOCOL_PULL,
                                                  .stream_from_bytes = UINT64_MAX,
                                                  .lines_up_to_bytes = RONDE_CUDA_LINES_UP_TO_BYTES};
static const struct ronde_habits habits_of_several = {.slot_bytes = RONDE_CUDA_SLOT_BYTES,
                                                      .pull_from_bytes = {UINT64_MAX, UINT64_MAX},
                                                      .farthest = RONDE_PROTOCOL_PULL,
                                                      .stream_from_bytes = UINT64_MAX,
                                                      .lines_up_to_bytes =
                                                          RONDE_CUDA_LINES_UP_TO_BYTES};

uint32_t *ronde_cuda_program_words(const struct ronde_cuda_program *program)
{
    return program->parts[0].gpu->words(program->parts[0].queue);
}

/* Whether some ranks are processes that do not reach each other's devices. */
static bool has_proxy(const struct ronde_cuda_program *program)
{
    return program->peers.comm && program->peers.comm->transport != RONDE_TRANSPORT_PROC;
}

/* Whether some ranks are processes that do. */
static bool has_peers(const struct ronde_cuda_program *program)
{
    return program->peers.comm && program->peers.comm->transport != RONDE_TRANSPORT_UCX;
}

/* First rank of a part; part = part_count gives the end. */
static uint32_t first_rank(const struct ronde_cuda_program *program, uint32_t part)
{
    const uint64_t ranks = program->schedule->ranks;
    if (program->peers.comm)
        return program->peers.comm->rank + part;
    return (uint32_t)((part * ranks + program->part_count - 1) / program->part_count);
}

static enum ronde_status init_part(struct ronde_cuda_program *program, uint32_t p,
                                   const struct ronde_gpu *gpu, struct ronde_error *error)
{
    struct ronde_staging ranks = {.first_rank = first_rank(program, p)};
    ranks.rank_count = first_rank(program, p + 1) - ranks.first_rank;
    for (uint32_t r = ranks.first_rank; r < ranks.first_rank + ranks.rank_count; r++)
        program->depot_of[r] = program->peers.comm ? r : p;
    return ronde_cuda_part_init(&program->parts[p], gpu, program->mem, &program->numbering, ranks,
                                error);
}

/* Tables of ranks, parts and connections. */
static enum ronde_status init_tables(struct ronde_cuda_program *program, struct ronde_error *error)
{
    const uint32_t ranks = program->schedule->ranks;
    program->parts = ronde_mem_new(program->mem, program->part_count, sizeof *program->parts);
    program->depots = ronde_mem_new(program->mem, program->depot_count, sizeof *program->depots);
    program->depot_of = ronde_mem_new(program->mem, ranks, sizeof *program->depot_of);
    if (!program->parts || !program->depots || !program->depot_of)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule: %u ranks", ranks);
    for (uint32_t r = 0; program->peers.comm && r < ranks; r++)
        program->depot_of[r] = r;
    return ronde_numbering_init(&program->numbering, program->schedule, program->mem, error);
}

static enum ronde_status init_parts(struct ronde_cuda_program *program,
                                    const struct ronde_gpu *const *gpus, struct ronde_error *error)
{
    enum ronde_status status = init_tables(program, error);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        status = init_part(program, p, gpus[p], error);
    /* No kernel may find a counter of another device that is not cleared yet. */
    return status == RONDE_OK ? ronde_cuda_program_finish(program, NULL, error) : status;
}

enum ronde_status
ronde_cuda_program_init(struct ronde_cuda_program *program, const struct ronde_cuda_place *place,
                        const struct ronde_schedule *schedule, struct ronde_error *error)
{
    struct ronde_comm *comm = place->comm;
    program->mem = place->mem;
    program->schedule = schedule;
    program->numbering.schedule = schedule;
    if (comm && comm->ranks != schedule->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the schedule is for %u ranks, the communicator has %u", schedule->ranks,
                          comm->ranks);
    program->peers.comm = comm;
    program->peers.gpu = place->gpus[0];
    program->part_count = place->gpu_count < schedule->ranks ? place->gpu_count : schedule->ranks;
    program->depot_count = comm ? schedule->ranks : program->part_count;
    enum ronde_status status = init_parts(program, place->gpus, error);
    if (has_peers(program))
        status = ronde_cuda_peers_meet(&program->peers, program->parts, &program->numbering,
                                       program->depots, status, error);
    return has_proxy(program)
               ? ronde_cuda_proxy_load(&program->proxy, comm, program->parts, status, error)
               : status;
}

void ronde_cuda_program_fini(struct ronde_cuda_program *program)
{
    ronde_cuda_courier_close(program->courier);
    if (has_proxy(program))
        ronde_cuda_proxy_unload(&program->proxy);
    if (has_peers(program))
        ronde_cuda_peers_leave(&program->peers);
    for (uint32_t p = 0; program->parts && p < program->part_count; p++)
        ronde_cuda_part_fini(&program->parts[p]);
    ronde_numbering_fini(&program->numbering);
    ronde_mem_free(program->mem, program->parts, program->part_count, sizeof *program->parts);
    ronde_mem_free(program->mem, program->depots, program->depot_count, sizeof *program->depots);
    ronde_mem_free(program->mem, program->depot_of, program->schedule->ranks,
                   sizeof *program->depot_of);
}

/* Prepares every part by itself, its buffers staged. */
static enum ronde_status prepare_parts(struct ronde_cuda_program *program,
                                       const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_habits habits = program->depot_count == 1 ? habits_of_one : habits_of_several;
    enum ronde_status status = RONDE_OK;
    if (program->peers.comm)
        habits.slot_bytes = program->peers.slot_bytes;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_cuda_part *part = &program->parts[p];
        struct ronde_launch staged;
        const bool was_dirty = part->loaded->is_dirty;
        status = ronde_staging_enter(&part->staging, launch, part->queue, &staged, error);
        if (status == RONDE_OK)
            status = ronde_loaded_prepare(part->loaded, &staged, &habits, error);
        if (status == RONDE_OK && was_dirty)
            status = ronde_cuda_part_clear_counters(part, error);
    }
    return status;
}

/* Whether all parts read messages where they lie, or none does: each knows its own buffers only. */
static bool agree(const struct ronde_cuda_program *program)
{
    const struct ronde_frame *first = &program->parts[0].loaded->frame;
    for (uint32_t p = 1; p < program->part_count; p++)
        if (program->parts[p].loaded->frame.no_pull != first->no_pull)
            return false;
    return true;
}

/* Every part makes room for what it receives, then all learn where that is; processes have done so when they met. */
static enum ronde_status connect_parts(struct ronde_cuda_program *program, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; !program->peers.comm && p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_cuda_part *part = &program->parts[p];
        status = ronde_cuda_part_reserve(part, &part->loaded->frame, error);
        program->depots[p] = ronde_cuda_part_depot(part, &program->numbering);
    }
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        ronde_links_place(program->parts[p].loaded, &program->numbering, program->depots,
                          program->depot_of);
    if (has_proxy(program))
        ronde_cuda_proxy_place(&program->proxy);
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
    return status == RONDE_OK && program->depot_count > 1
               ? ronde_cuda_program_finish(program, NULL, error)
               : status;
}

static enum ronde_status prepare(struct ronde_cuda_program *program,
                                 const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_launch staged = *launch;
    enum ronde_status status = prepare_parts(program, launch, error);
    if (status == RONDE_OK && !agree(program)) {
        staged.protocol = RONDE_PROTOCOL_STAGED;
        status = prepare_parts(program, &staged, error);
    }
    if (status == RONDE_OK)
        status = connect_parts(program, error);
    return status == RONDE_OK ? send_parts(program, launch->timeout_ns, error) : status;
}

enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *given,
                                             struct ronde_error *error)
{
    struct ronde_launch launch = *given;
    struct ronde_cuda_peers *peers = &program->peers;
    enum ronde_status status = RONDE_OK;
    program->is_prepared = false;
    ronde_cuda_courier_close(program->courier);
    program->courier = NULL;
    if (has_proxy(program)) {
        launch = ronde_cuda_proxy_settle(&program->proxy, given);
        program->proxy.words = ronde_cuda_program_words(program);
    }
    if (has_peers(program))
        status = ronde_cuda_peers_settle(peers, &launch, error);
    if (status == RONDE_OK)
        status = prepare(program, &launch, error);
    /* Also after a failure: the others wait to hear of it. Without shared memory a communicator's run sees to that. */
    if (has_peers(program))
        status = ronde_cuda_peers_agree(peers, program->schedule, &launch, status, error);
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

enum ronde_status ronde_cuda_program_expect_streams(struct ronde_cuda_program *program,
                                                    const struct ronde_launch *launch,
                                                    struct ronde_error *error)
{
    program->proxy.failure = (struct ronde_error){.status = RONDE_OK};
    return has_proxy(program) ? ronde_cuda_courier_open(&program->proxy, launch, program->mem,
                                                        &program->courier, error)
                              : RONDE_OK;
}

/* A run in a stream, between the calls that tell the courier of it. A communicator has one rank here: one part. */
static enum ronde_status enqueue(struct ronde_cuda_program *program, void *stream,
                                 struct ronde_error *error)
{
    struct ronde_cuda_part *part = &program->parts[0];
    const struct ronde_gpu *gpu = part->gpu;
    void *const courier = program->courier;
    enum ronde_status status =
        gpu->call(part->queue, stream, ronde_cuda_courier_begin, courier, error);
    if (status == RONDE_OK)
        status = ronde_cuda_part_start(part, stream, error);
    return status == RONDE_OK
               ? gpu->call(part->queue, stream, ronde_cuda_courier_end, courier, error)
               : status;
}

/* A kernel whose peers could not start is told to stop, or it would wait for them. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *const *streams,
                                           struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (program->courier && streams)
        return enqueue(program, streams[0], error);
    if (has_proxy(program))
        return ronde_cuda_proxy_run(&program->proxy, &program->launch, error);
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

/* Bad news of other processes end the kernels here; what has become of them is seen when they are over. */
enum ronde_status ronde_cuda_program_listen(struct ronde_cuda_program *program,
                                            struct ronde_error *error)
{
    if (!program->peers.comm)
        return RONDE_OK;
    /* Meanwhile the communicator is the courier's, who listens. */
    if (program->courier) {
        ronde_cuda_courier_await(program->courier);
        return RONDE_OK;
    }
    const enum ronde_status status = ronde_cuda_peers_check(&program->peers, error);
    if (status != RONDE_OK)
        __atomic_store_n(&ronde_cuda_program_words(program)[0], 1, __ATOMIC_RELEASE);
    return status;
}

enum ronde_status ronde_cuda_program_is_over(struct ronde_cuda_program *program, bool *out_over,
                                             struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    struct ronde_error later = {0};
    *out_over = true;
    if (program->courier) {
        const struct ronde_cuda_part *part = program->parts;
        status = part->gpu->is_over(part->queue, out_over, error);
        *out_over = *out_over && ronde_cuda_courier_is_idle(program->courier);
        return status;
    }
    if (has_proxy(program))
        return ronde_cuda_proxy_test(&program->proxy, out_over, error);
    /* Wait says what the news are. */
    (void)ronde_cuda_program_listen(program, &later);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK && *out_over; p++)
        status = program->parts[p].gpu->is_over(program->parts[p].queue, out_over, error);
    return status;
}

/* Other processes may be lost at any time, so nothing may block here that does not hear of it. */
static void await(struct ronde_cuda_program *program)
{
    bool is_over = false;
    struct ronde_error later = {0};
    while (!is_over && ronde_cuda_program_is_over(program, &is_over, &later) == RONDE_OK)
        sched_yield();
}

enum ronde_status ronde_cuda_program_finish(struct ronde_cuda_program *program,
                                            double *out_elapsed_ns, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    double longest_ns = 0;
    if (program->peers.comm)
        await(program);
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

/* Why the kernels of this process ended. */
static enum ronde_status own_outcome(struct ronde_cuda_program *program, struct ronde_error *error)
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

enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error)
{
    const struct ronde_error *failure = &program->proxy.failure;
    struct ronde_error own = {0};
    struct ronde_error news = {0};
    if (failure->status != RONDE_OK) {
        ronde_cuda_program_abandon(program);
        return ronde_fail(error, failure->status, "%s", failure->message);
    }
    const enum ronde_status status = own_outcome(program, &own);
    if (status == RONDE_OK)
        return RONDE_OK;
    if (program->peers.comm) {
        /* What another process has said comes first: this one may have ended because of it. */
        ronde_cuda_peers_alarm(&program->peers, &own);
        const enum ronde_status heard = ronde_star_check(program->peers.comm->star, &news);
        if (heard != RONDE_OK)
            return ronde_fail(error, heard, "%s", news.message);
    }
    return ronde_fail(error, status, "%s", own.message);
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
