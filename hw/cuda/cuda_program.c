/* Programs on devices: preparing, starting, and the outcome of a run. See program.h. */
#include "hw/cuda/backend.h"
#include "hw/cuda/program.h"
#include "hw/cuda/registered.h"

#include <sched.h>

/* Between devices a message is pushed: stores cross a link without waiting, loads wait for a round trip. */
static const struct ronde_habits habits_of_one = {.slot_bytes = RONDE_CUDA_SLOT_BYTES,
                                                  .pull_from_bytes = {RONDE_CUDA_PULL_FROM_BYTES,
                                                                      RONDE_CUDA_PULL_FROM_BYTES},
                                                  .farthest = RONDE_PROTOCOL_PULL,
                                                  .stream_from_bytes = UINT64_MAX};
static const struct ronde_habits habits_of_several = {.slot_bytes = RONDE_CUDA_SLOT_BYTES,
                                                      .pull_from_bytes = {UINT64_MAX, UINT64_MAX},
                                                      .farthest = RONDE_PROTOCOL_PULL,
                                                      .stream_from_bytes = UINT64_MAX};

uint32_t *ronde_cuda_program_words(const struct ronde_cuda_program *program)
{
    return program->parts[0].gpu->words(program->parts[0].queue);
}

/* Whether some ranks are processes that can. */
static bool has_peers(const struct ronde_cuda_program *program)
{
    return program->peers.comm && program->peers.comm->transport != RONDE_TRANSPORT_UCX;
}

/* All devices' memory, at addresses of a part's device. */
static struct ronde_remote_fifos *fifos_of(const struct ronde_cuda_program *program, uint32_t part)
{
    return program->fifos + (size_t)part * program->rank_map.count;
}

static enum ronde_status init_part(struct ronde_cuda_program *program, uint32_t p,
                                   const struct ronde_gpu *gpu, struct ronde_error *error)
{
    const uint32_t *firsts = program->rank_map.firsts + program->rank_map.own;
    const struct ronde_staging ranks = {.first_rank = firsts[p],
                                        .rank_count = firsts[p + 1] - firsts[p]};
    program->parts[p].flat.job.mapped = ronde_registry_mapped(program->registry, gpu);
    return ronde_device_program_init(&program->parts[p], gpu, program->mem, &program->numbering,
                                     ranks, error);
}

/* Tables of parts and connections. */
static enum ronde_status init_tables(struct ronde_cuda_program *program,
                                     const struct ronde_cuda_place *place, struct ronde_error *error)
{
    const uint32_t parts = program->rank_map.own_count;
    program->part_count = parts;
    program->parts = ronde_mem_new(program->mem, parts, sizeof *program->parts);
    program->fifos = ronde_mem_new(program->mem, (size_t)parts * program->rank_map.count,
                                   sizeof *program->fifos);
    if (!program->parts || !program->fifos)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to load the schedule on %u devices",
                          parts);
    RONDE_TRY(ronde_host_stagings_init(&program->stagings, place->unreachable, place->gpu_count,
                                       parts, program->mem, place->gpus[0], error));
    return ronde_numbering_init(&program->numbering, program->schedule, program->mem, error);
}

static enum ronde_status init_parts(struct ronde_cuda_program *program,
                                    const struct ronde_cuda_place *place, struct ronde_error *error)
{
    RONDE_TRY(init_tables(program, place, error));
    for (uint32_t p = 0; p < program->part_count; p++)
        RONDE_TRY(init_part(program, p, place->gpus[p], error));
    /* No kernel may read a counter of another device before it is cleared. */
    return ronde_cuda_program_finish(program, NULL, error);
}

/* Fills the rank map. A communicator's program is one rank per process (proxy.h). */
static enum ronde_status fill_rank_map(struct ronde_cuda_program *program,
                                       const struct ronde_cuda_place *place,
                                       struct ronde_error *error)
{
    const struct ronde_comm *comm = place->comm;
    const uint32_t ranks = program->schedule->ranks;
    const struct ronde_process_share alone = {.ranks = ranks, .devices = place->gpu_count};
    program->rank_map.mem = program->mem;
    if (!comm)
        return ronde_rank_map_fill(&program->rank_map, &alone, 1, 0, ranks, error);
    if (ronde_cuda_program_has_proxy(program) && ranks > comm->ranks)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%u ranks in %u processes on several hosts: a process has several ranks "
                          "only where all are on one host",
                          ranks, comm->ranks);
    return ronde_rank_map_fill(&program->rank_map, place->shares, comm->ranks, comm->rank, ranks,
                               error);
}

enum ronde_status
ronde_cuda_program_init(struct ronde_cuda_program *program, const struct ronde_cuda_place *place,
                        const struct ronde_schedule *schedule, struct ronde_error *error)
{
    program->mem = place->mem;
    program->schedule = schedule;
    program->numbering.schedule = schedule;
    program->lines_up_to_bytes = place->lines_up_to_bytes;
    /* A process alone reads all in place already. */
    program->registry = place->comm && place->comm->ranks > 1 ? place->registry : NULL;
    program->peers.lines_up_to_bytes = place->lines_up_to_bytes;
    program->peers.comm = place->comm;
    program->peers.sharing = place->sharing;
    program->peers.has_registry = program->registry != NULL;
    program->peers.rank_map = &program->rank_map;
    enum ronde_status status = fill_rank_map(program, place, error);
    RONDE_THEN(status, init_parts(program, place, error));
    program->peers.parts = program->parts;
    program->must_disconnect = has_peers(program);
    if (has_peers(program))
        status = ronde_cuda_peers_connect(&program->peers, &program->numbering, program->fifos,
                                          status, error);
    return ronde_cuda_program_has_proxy(program)
               ? ronde_cuda_proxy_load(&program->proxy, place->comm, program->parts,
                                       place->gpu_direct, status, error)
               : status;
}

void ronde_cuda_program_fini(struct ronde_cuda_program *program)
{
    ronde_cuda_progress_close(program->progress);
    if (ronde_cuda_program_has_proxy(program))
        ronde_cuda_proxy_unload(&program->proxy);
    if (program->must_disconnect)
        ronde_cuda_peers_disconnect(&program->peers);
    for (uint32_t p = 0; program->parts && p < program->part_count; p++)
        ronde_device_program_fini(&program->parts[p]);
    ronde_host_stagings_fini(&program->stagings);
    ronde_numbering_fini(&program->numbering);
    ronde_mem_free(program->mem, program->parts, program->part_count, sizeof *program->parts);
    ronde_mem_free(program->mem, program->fifos,
                   (size_t)program->part_count * program->rank_map.count, sizeof *program->fifos);
    ronde_rank_map_free(&program->rank_map);
}

/* Whether a block of the caller's that its own device accesses without a shadow can be read by all the others. */
static bool is_open_to_all(const struct ronde_cuda_program *program, uint32_t owner,
                           struct ronde_stretch block)
{
    const struct ronde_gpu *gpu = program->parts[owner].gpu;
    if (block.bytes == 0 || !gpu->reaches(gpu->self, block.start, block.bytes))
        return true;
    for (uint32_t p = 0; p < program->part_count; p++) {
        const struct ronde_gpu *other = program->parts[p].gpu;
        if (p != owner && !other->reaches(other->self, block.start, block.bytes))
            return false;
    }
    return true;
}

/* Whether every device may read the buffers of ranks on every other. Shadows are readable by all. */
static bool are_buffers_open(const struct ronde_cuda_program *program,
                             const struct ronde_launch *launch)
{
    const struct ronde_schedule *schedule = program->schedule;
    const uint32_t *firsts = program->rank_map.firsts + program->rank_map.own;
    bool is_open = true;
    for (uint32_t p = 0; p < program->part_count; p++)
        for (uint32_t rank = firsts[p]; rank < firsts[p + 1]; rank++)
            for (int is_input = 0; is_input < 2; is_input++) {
                const uint32_t blocks = ronde_schedule_blocks(schedule, is_input != 0);
                for (uint32_t b = 0; b < blocks && is_open; b++)
                    is_open =
                        is_open_to_all(program, p,
                                       ronde_launch_block(schedule, launch, rank, is_input != 0, b));
            }
    return is_open;
}

/* Between processes large messages are read in place where buffers are registered, which kernels learn with each run. */
static struct ronde_habits habits_of(const struct ronde_cuda_program *program)
{
    struct ronde_habits habits =
        program->rank_map.count == 1 || program->registry ? habits_of_one : habits_of_several;
    habits.lines_up_to_bytes = program->lines_up_to_bytes;
    if (program->peers.comm)
        habits.slot_bytes = program->peers.slot_bytes;
    return habits;
}

/* Prepares every part by itself, its buffers staged. */
static enum ronde_status prepare_parts(struct ronde_cuda_program *program,
                                       const struct ronde_launch *launch, struct ronde_error *error)
{
    const struct ronde_habits habits = habits_of(program);
    const bool is_open = program->registry && are_buffers_open(program, launch);
    for (uint32_t p = 0; p < program->part_count; p++) {
        struct ronde_device_program *part = &program->parts[p];
        struct ronde_launch staged;
        const bool was_dirty = part->loaded->is_dirty;
        RONDE_TRY(ronde_staging_enter(&part->staging, launch, part->queue, &staged, error));
        RONDE_TRY(ronde_loaded_prepare(part->loaded, &staged, &habits, error));
        if (was_dirty)
            RONDE_TRY(ronde_device_program_clear_counters(part, error));
        ronde_device_program_offer(part, is_open ? program->registry : NULL, &staged);
    }
    return RONDE_OK;
}

/* Whether all parts read messages in place, or none does: each decides by its own buffers only. */
static bool agree(const struct ronde_cuda_program *program)
{
    const struct ronde_frame *first = &program->parts[0].loaded->frame;
    for (uint32_t p = 1; p < program->part_count; p++)
        if (program->parts[p].loaded->frame.no_pull != first->no_pull)
            return false;
    return true;
}

/* Every part allocates memory for what it receives. */
static enum ronde_status reserve_parts(struct ronde_cuda_program *program, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        struct ronde_device_program *part = &program->parts[p];
        status = ronde_device_program_reserve(part, &part->loaded->frame, error);
        for (uint32_t q = 0; q < program->part_count; q++)
            fifos_of(program, q)[program->rank_map.own + p] = ronde_device_program_fifos(part);
    }
    return status;
}

/* Sets the addresses of all ends' connections. */
static enum ronde_status connect_parts(struct ronde_cuda_program *program, struct ronde_error *error)
{
    const struct ronde_host_stagings *stagings = &program->stagings;
    struct ronde_device_links links = {.rank_map = &program->rank_map, .stagings = stagings->fifos};
    /* Processes have allocated them while connecting. */
    enum ronde_status status = program->peers.comm ? RONDE_OK : reserve_parts(program, error);
    RONDE_THEN(status, ronde_host_stagings_prepare(&program->stagings, program->parts, error));
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++) {
        links.fifos = fifos_of(program, p);
        if (stagings->fifos)
            links.is_host_staged = stagings->is_host_staged + (size_t)p * stagings->count;
        ronde_links_place(program->parts[p].loaded, &program->numbering, &links);
    }
    if (ronde_cuda_program_has_proxy(program))
        ronde_cuda_proxy_place(&program->proxy);
    return status;
}

/* Sends what was prepared; with several devices, no kernel may start before all of it has arrived. */
static enum ronde_status send_parts(struct ronde_cuda_program *program, uint64_t timeout_ns,
                                    struct ronde_error *error)
{
    uint32_t *const words = ronde_cuda_program_words(program);
    enum ronde_status status = RONDE_OK;
    __atomic_store_n(&words[0], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], RONDE_STOP_NOT, __ATOMIC_RELAXED);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK; p++)
        status = ronde_device_program_send(&program->parts[p], words, timeout_ns, error);
    return status == RONDE_OK && program->rank_map.count > 1
               ? ronde_cuda_program_finish(program, NULL, error)
               : status;
}

static enum ronde_status prepare(struct ronde_cuda_program *program,
                                 const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_launch staged = *launch;
    if (ronde_host_stagings_exist(&program->stagings) && launch->protocol > RONDE_PROTOCOL_STAGED)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "launch: protocol %s, devices behind a bridge share slots, not buffers",
                          ronde_protocol_text(launch->protocol));
    RONDE_TRY(prepare_parts(program, launch, error));
    if (!program->registry && (!agree(program) || (program->parts[0].loaded->frame.no_pull != 0 &&
                                                   !are_buffers_open(program, launch)))) {
        staged.protocol = RONDE_PROTOCOL_STAGED;
        RONDE_TRY(prepare_parts(program, &staged, error));
    }
    RONDE_TRY(connect_parts(program, error));
    return send_parts(program, launch->timeout_ns, error);
}

enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *requested,
                                             struct ronde_error *error)
{
    struct ronde_launch launch = *requested;
    struct ronde_cuda_peers *peers = &program->peers;
    enum ronde_status status = RONDE_OK;
    program->is_prepared = false;
    ronde_cuda_progress_close(program->progress);
    program->progress = NULL;
    if (ronde_cuda_program_has_proxy(program)) {
        launch = ronde_cuda_proxy_settle(&program->proxy, requested);
        program->proxy.words = ronde_cuda_program_words(program);
    }
    if (has_peers(program))
        status = ronde_cuda_peers_settle(peers, &launch, error);
    RONDE_THEN(status, prepare(program, &launch, error));
    /* Also after a failure: the others wait for this rank's status. Without shared memory a communicator's run sends it. */
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

enum ronde_status ronde_cuda_program_start_parts(struct ronde_cuda_program *program,
                                                 void *const *streams, uint32_t *out_started,
                                                 struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    *out_started = 0;
    while (*out_started < program->part_count && status == RONDE_OK) {
        const uint32_t p = *out_started;
        status = ronde_device_program_start(&program->parts[p], streams ? &streams[p] : NULL, error);
        *out_started += status == RONDE_OK;
    }
    /* A kernel whose peers could not start is stopped, or it would wait for them. */
    if (status != RONDE_OK && program->part_count > 1)
        __atomic_store_n(&ronde_cuda_program_words(program)[0], 1, __ATOMIC_RELEASE);
    return status;
}

enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program,
                                           struct ronde_error *error)
{
    uint32_t started;
    if (ronde_cuda_program_has_proxy(program))
        return ronde_cuda_proxy_run(&program->proxy, &program->launch, error);
    const enum ronde_status status = ronde_cuda_program_start_parts(program, NULL, &started, error);
    if (status != RONDE_OK && program->part_count > 1) {
        (void)ronde_cuda_program_finish(program, NULL, NULL);
        ronde_cuda_program_abandon(program);
    }
    return status;
}

void ronde_cuda_program_abandon(struct ronde_cuda_program *program)
{
    for (uint32_t p = 0; p < program->part_count; p++)
        ronde_loaded_finish(program->parts[p].loaded, false);
    program->stagings.is_abandoned = true;
    program->is_prepared = false;
}

/* A failure in another process stops the kernels here; their outcome is read when they are over. */
enum ronde_status ronde_cuda_program_poll_peers(struct ronde_cuda_program *program,
                                                struct ronde_error *error)
{
    if (!program->peers.comm)
        return RONDE_OK;
    /* The communicator is in use by the progress thread, which detects failures itself. */
    if (program->progress) {
        ronde_cuda_progress_await(program->progress);
        return RONDE_OK;
    }
    const enum ronde_status status = ronde_cuda_peers_check(&program->peers, error);
    if (status != RONDE_OK)
        __atomic_store_n(&ronde_cuda_program_words(program)[0], 1, __ATOMIC_RELEASE);
    return status;
}

enum ronde_status ronde_cuda_test(void *self, bool *out_over, struct ronde_error *error)
{
    struct ronde_cuda_program *program = self;
    enum ronde_status status = RONDE_OK;
    struct ronde_error later = {0};
    *out_over = true;
    if (program->progress) {
        const struct ronde_device_program *part = program->parts;
        status = part->gpu->is_over(part->queue, out_over, error);
        *out_over = *out_over && ronde_cuda_progress_is_idle(program->progress);
        return status;
    }
    if (ronde_cuda_program_has_proxy(program))
        return ronde_cuda_proxy_test(&program->proxy, out_over, error);
    /* Wait returns the error. */
    (void)ronde_cuda_program_poll_peers(program, &later);
    for (uint32_t p = 0; p < program->part_count && status == RONDE_OK && *out_over; p++)
        status = program->parts[p].gpu->is_over(program->parts[p].queue, out_over, error);
    return status;
}

/* Other processes may be lost at any time, so this polls the control channel too instead of blocking. */
static void await(struct ronde_cuda_program *program)
{
    bool is_over = false;
    struct ronde_error later = {0};
    while (!is_over && ronde_cuda_test(program, &is_over, &later) == RONDE_OK)
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
        const struct ronde_device_program *part = &program->parts[p];
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

/* A lane of any part, preferably one whose wait reason is known. */
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
    for (uint32_t p = 0; p < program->part_count; p++)
        RONDE_TRY(ronde_device_program_read_lanes(&program->parts[p], error));
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
    struct ronde_error received_error = {0};
    if (failure->status != RONDE_OK) {
        ronde_cuda_program_abandon(program);
        return ronde_fail(error, failure->status, "%s", failure->message);
    }
    const enum ronde_status status = own_outcome(program, &own);
    if (status == RONDE_OK)
        return RONDE_OK;
    if (program->peers.comm) {
        /* An error received from another process comes first: it may be why this one ended. */
        ronde_control_alarm(program->peers.comm->control, &own);
        const enum ronde_status received =
            ronde_control_check(program->peers.comm->control, &received_error);
        if (received != RONDE_OK)
            return ronde_fail(error, received, "%s", received_error.message);
    }
    return ronde_fail(error, status, "%s", own.message);
}

enum ronde_status ronde_cuda_program_unstage(struct ronde_cuda_program *program,
                                             struct ronde_error *error)
{
    for (uint32_t p = 0; p < program->part_count; p++) {
        struct ronde_device_program *part = &program->parts[p];
        RONDE_TRY(ronde_staging_leave(&part->staging, &program->launch, part->queue, error));
    }
    return RONDE_OK;
}
