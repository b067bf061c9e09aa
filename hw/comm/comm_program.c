/*
 * Running schedules on a communicator. See comm_parts.h.
 *
 * A run begins locally: the rank publishes its handshake record and sends, and receives as soon as all ranks that send
 * to it have published an equal one. It ends when the lanes are done and every peer has published an equal one. So
 * no rank ever consumes a message of a run that differs from its own, and every rank of a mismatch fails in that run.
 */
#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_lane;
struct ronde_offer;

/* The transport maps or copies what another process offers. */
static const unsigned char *find_remote(const struct ronde_act *act,
                                        const struct ronde_offer *offer, unsigned char *place);
#define RONDE_REMOTE_READ(act, offer, place) find_remote((act), (offer), (place))

/* An offer of this process may be a copy. */
static const unsigned char *copy_offer(const struct ronde_act *act, const unsigned char *start,
                                       uint64_t bytes);
#define RONDE_SEND_COPY(act, start, bytes) copy_offer((act), (start), (bytes))

/* Nothing is received before the handshake. */
static bool may_poll(const struct ronde_lane *lane);
#define RONDE_MAY_POLL(lane) may_poll(lane)

/* The receiver is another process, whose offers have another address here. */
#include "hw/shm/direct_write.h"
#define RONDE_REMOTE_END(act) ronde_direct_write_remote_end(act)
#define RONDE_SEEN(act, offer) ronde_direct_write_seen((act), (offer))

#include "hw/p2p/state.h"
#include "hw/shm/eager.h"
#include "ronde/hw.h"

#include <sched.h>

/* The clock is read once in so many sweeps, which may be as short as a reading, until so many were empty in a row. */
#define SWEEPS_PER_CLOCK 32u
#define IDLE_SWEEPS 100u

/* Between two polls of the control channel. */
#define CHECK_NS 2e6

/* While lanes move, tagged messages are progressed only once in so many turns. */
#define TURNS_PER_MESSAGES 16u

static const unsigned char *find_remote(const struct ronde_act *act,
                                        const struct ronde_offer *offer, unsigned char *place)
{
    const struct ronde_task *task = act->lane->task;
    struct ronde_comm_program *program = task->frame->driver;
    const struct ronde_end *end = &task->ends[ronde_act_receive(act->step)];
    const uint32_t rank = program->loaded->ports[end - program->loaded->ends].peer;
    const uint64_t start = (uint64_t)(uintptr_t)offer->start;
    if ((start & RONDE_SEND_COPY_BIT) != 0)
        return program->send_copies.areas + (start ^ RONDE_SEND_COPY_BIT);
    act->lane->about = act->step->receive;
    return program->comm->wire->shared->find(program->comm, rank, offer, place, &program->unreached);
}

static const unsigned char *copy_offer(const struct ronde_act *act, const unsigned char *start,
                                       uint64_t bytes)
{
    return act->lane->task->frame->copies_sends ? ronde_send_copies_copy(act, start, bytes) : start;
}

enum ronde_status
ronde_comm_check_protocol(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                          const struct ronde_launch *launch, struct ronde_habits *io_habits,
                          struct ronde_error *error)
{
    if (comm->wire->shared && comm->wire->shared->is_readable(comm, schedule, launch, io_habits))
        return RONDE_OK;
    io_habits->farthest = RONDE_PROTOCOL_STAGED;
    if (launch->protocol <= RONDE_PROTOCOL_STAGED)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      comm->wire->shared
                          ? "launch: protocol %s, the system lets processes not read each "
                            "other's memory: take buffers from ronde_comm_mem"
                          : "launch: protocol %s, ranks over this transport cannot read each "
                            "other's buffers",
                      ronde_protocol_text(launch->protocol));
}

/* Whether this rank, in place, overwrites what it has offered, so that it waits for the readers. */
static bool overwrites(const struct ronde_loaded *loaded)
{
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        if (task->holds[1].first[task->view.program->step_count] > 0)
            return true;
    }
    return false;
}

/*
 * Slots of a launch that leaves their number open: all there are where they hold its messages, so that a rank that only
 * sends need not wait for those that receive; else the usual few, which stay in the caches. The same on all ranks.
 */
static uint32_t open_depth(const struct ronde_comm_program *program,
                           const struct ronde_launch *launch)
{
    const uint64_t pieces = ronde_piece_count(program->loaded->schedule, launch->count,
                                              ronde_dtype_bytes(launch->dtype), launch->slot_bytes);
    return pieces > program->usual_depth && pieces <= program->depth ? program->depth
                                                                     : program->usual_depth;
}

/* The slot of a launch that leaves it open: blocks that are longer than the usual one have the longest. The same on all ranks. */
static uint64_t open_slot_bytes(const struct ronde_comm_program *program,
                                const struct ronde_launch *launch)
{
    const uint64_t usual = program->usual_slot_bytes;
    return launch->count > usual / ronde_dtype_bytes(launch->dtype) ? program->slot_bytes : usual;
}

/* A launch with everything filled in, or why it cannot be. */
static enum ronde_status settle_launch(const struct ronde_comm_program *program,
                                       struct ronde_launch *launch, struct ronde_habits *habits,
                                       struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    const bool has_open_slots = launch->slot_bytes == 0;
    const bool has_open_depth = launch->depth == 0;
    launch->slot_bytes = has_open_slots ? program->usual_slot_bytes : launch->slot_bytes;
    launch->depth = has_open_depth ? program->usual_depth : launch->depth;
    if (launch->slot_bytes > program->slot_bytes || launch->depth > program->depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: slot_bytes %llu and depth %u, loaded for %llu and %u",
                          (unsigned long long)launch->slot_bytes, launch->depth,
                          (unsigned long long)program->slot_bytes, program->depth);
    enum ronde_status status =
        ronde_launch_check_rank(program->loaded->schedule, launch, comm->rank, error);
    if (status == RONDE_OK && has_open_slots)
        launch->slot_bytes = open_slot_bytes(program, launch);
    if (status == RONDE_OK && has_open_depth)
        launch->depth = open_depth(program, launch);
    RONDE_THEN(status,
               ronde_comm_check_protocol(comm, program->loaded->schedule, launch, habits, error));
    /* Oversubscribed, a reader may not be scheduled for long: a short run had better not wait for it at its end either. */
    if (!comm->is_oversubscribed && !overwrites(program->loaded))
        habits->pull_from_bytes[1] = habits->pull_from_bytes[0];
    if (status == RONDE_OK)
        ronde_direct_write_decide(program, launch, habits);
    return status;
}

/* Fills in the record's part that the launch decides. */
static void fill_handshake(struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    const enum ronde_collective collective = program->loaded->schedule->collective;
    struct ronde_handshake *handshake = &program->handshake;
    handshake->count = launch->count;
    handshake->slot_bytes = launch->slot_bytes;
    handshake->depth = program->loaded->frame.depth;
    handshake->dtype = launch->dtype;
    handshake->offers = program->loaded->frame.no_pull != 0;
    handshake->op = ronde_collective_traits(collective)->reduces ? launch->op : 0;
    program->handshake_digest = ronde_handshake_digest(handshake);
}

/* A failure already recorded; the control channel is polled for more only periodically. */
static enum ronde_status check_failure(struct ronde_comm *comm, double now_ns,
                                       struct ronde_error *error)
{
    return now_ns - comm->checked_ns < CHECK_NS ? ronde_control_known(comm->control, error)
                                                : ronde_comm_check(comm, now_ns, error);
}

static void reset_lanes(struct ronde_comm_program *program)
{
    program->lane_count = program->loaded->lane_count;
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        program->lanes[lane] = lane;
    /* A sender whose eager headers have this rank's digest offers exactly if this rank does. */
    program->loaded->frame.has_offers = program->has_eager && program->handshake.offers != 0;
}

/* Whether a launch is the last one again, which spares checking and preparing it: half of what a short run takes. */
static bool is_repeated(const struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    return program->may_repeat && ronde_launch_is_alike(launch, &program->launch) &&
           ronde_loaded_has_buffers(program->loaded, launch);
}

/*
 * Short messages are eager. Their slots are not the other messages', and all lengths share one stride: a run of another
 * short count continues on its connections where the last one ended.
 */
static void choose_eager(struct ronde_comm_program *program)
{
    const struct ronde_wire *wire = program->comm->wire;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_frame *frame = &loaded->frame;
    const bool had_eager = program->has_eager;
    program->slot_stride = frame->slot_stride;
    program->slot_count = frame->depth;
    program->has_eager = wire->eager && !program->drive && frame->piece_count > 0 &&
                         frame->slot_stride <= RONDE_EAGER_BYTES;
    if (program->has_eager) {
        frame->slot_stride = RONDE_EAGER_STRIDE;
        frame->depth = ronde_eager_slots(loaded->schedule, frame->depth);
    }
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (!program->peer_of[e])
            continue;
        if (program->has_eager || had_eager)
            end->slot = end->count % frame->depth;
        if (program->has_eager != had_eager)
            end->slots =
                program->has_eager
                    ? wire->eager(program, e)
                    : (unsigned char *)(end->lengths + ronde_lengths_stride(program->depth));
    }
}

/* Prepares a launch that differs from the last one. */
static enum ronde_status prepare(struct ronde_comm_program *program,
                                 const struct ronde_launch *requested, struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_habits habits = {.slot_bytes = program->slot_bytes,
                                  .stream_from_bytes = program->comm->stream_from_bytes,
                                  .join_from_bytes = RONDE_JOIN_FROM_BYTES};
    const uint64_t old_stride = loaded->frame.slot_stride;
    const uint32_t old_depth = loaded->frame.depth;
    struct ronde_launch launch = *requested;
    program->may_repeat = false;
    if (program->has_eager) {
        loaded->frame.slot_stride = program->slot_stride;
        loaded->frame.depth = program->slot_count;
    }
    ronde_send_copies_undo(program);
    enum ronde_status status = settle_launch(program, &launch, &habits, error);
    RONDE_THEN(status, ronde_loaded_prepare(loaded, &launch, &habits, error));
    if (status == RONDE_OK) {
        choose_eager(program);
        program->is_rearranged |= ronde_send_copies_choose(program, &launch);
    }
    /* Set also where memory ran out after the slots were rearranged: the next run must see it. */
    program->is_rearranged |=
        old_stride != loaded->frame.slot_stride || old_depth != loaded->frame.depth;
    if (status != RONDE_OK)
        return status;
    for (uint64_t e = 0; program->drive && e < loaded->end_count; e++)
        loaded->ends[e].slot = loaded->ends[e].count % loaded->frame.depth;
    /* Lengths of other ranks' blocks are not known here: a wrong length is detected when the message arrives. */
    loaded->frame.checks = launch.in_blocks || launch.out_blocks;
    fill_handshake(program, &launch);
    status = ronde_direct_write_prepare(program, error);
    if (status != RONDE_OK)
        return status;
    program->launch = *requested;
    program->may_repeat = true;
    return RONDE_OK;
}

enum ronde_status ronde_comm_run(struct ronde_comm_program *program,
                                 const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    const double start_ns = ronde_clock_ns();
    enum ronde_status status = ronde_comm_check_process(comm, error);
    RONDE_THEN(status, check_failure(comm, start_ns, error));
    if (status == RONDE_OK && comm->is_running)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "a run of the communicator is not over");
    if (status == RONDE_OK && is_repeated(program, launch))
        ronde_loaded_repeat(program->loaded);
    else
        RONDE_THEN(status, prepare(program, launch, error));
    if (status != RONDE_OK)
        return status;
    comm->is_running = true;
    program->handshake.sequence = ++comm->sequence;
    program->digest = ronde_handshake_digest_in_run(program->handshake_digest, comm->sequence);
    program->is_running = true;
    program->is_over = false;
    program->idle = 0;
    program->sweeps = 0;
    program->checked_sweeps = 0;
    program->start_ns = start_ns;
    program->moved_ns = start_ns;
    program->deadline_ns = launch->timeout_ns > 0 ? start_ns + (double)launch->timeout_ns : 0;
    ronde_send_copies_next_run(program);
    reset_lanes(program);
    ronde_run_handshake_begin(program);
    comm->wire->announce(program, &program->handshake);
    return RONDE_OK;
}

/* Fails the run, and with it the communicator. */
static enum ronde_status fail_run(struct ronde_comm_program *program, const struct ronde_error *why,
                                  struct ronde_error *error)
{
    ronde_control_alarm(program->comm->control, why);
    return ronde_control_check(program->comm->control, error);
}

/*
 * A message that cannot be read may come from a rank that has received an alarm before this one: for
 * RONDE_CONTROL_GRACE_NS an alarm on the control channel takes precedence.
 */
static enum ronde_status fail_run_late(struct ronde_comm_program *program,
                                       const struct ronde_error *why, struct ronde_error *error)
{
    RONDE_TRY(ronde_control_linger(program->comm->control, RONDE_CONTROL_GRACE_NS, error));
    return fail_run(program, why, error);
}

static enum ronde_status fail_step(struct ronde_comm_program *program,
                                   const struct ronde_lane *lane, struct ronde_error *error)
{
    char text[RONDE_LANE_TEXT_BYTES];
    struct ronde_error why = {0};
    if (lane->reason == RONDE_REASON_REMOTE_READ)
        return fail_run_late(program, &program->unreached, error);
    ronde_lane_describe(lane, text);
    (void)ronde_fail(&why, RONDE_REJECTED, "%s", text);
    return fail_run(program, &why, error);
}

/* Before the senders' records are verified a lane may only send; eager messages are checked one by one. */
static bool may_poll(const struct ronde_lane *lane)
{
    const struct ronde_comm_program *program = lane->task->frame->driver;
    const struct ronde_program *steps = lane->task->view.program;
    if (lane->task->frame->copies_sends && !ronde_send_copies_may_copy(program, lane))
        return false;
    return program->sources_left == 0 || program->has_eager ||
           lane->piece == lane->task->frame->piece_count ||
           ronde_act_receive(&steps->steps[lane->step]) == RONDE_NONE;
}

/* Polls every lane once; drops those that are done. */
static enum ronde_status sweep(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error)
{
    uint32_t left = 0;
    for (uint32_t k = 0; k < program->lane_count; k++) {
        struct ronde_lane *lane = &program->loaded->lanes[program->lanes[k]];
        const enum ronde_poll poll = ronde_lane_burst(lane, io_moved);
        if (poll == RONDE_POLL_WRONG)
            return fail_step(program, lane, error);
        if (poll != RONDE_POLL_DONE)
            program->lanes[left++] = program->lanes[k];
    }
    program->lane_count = left;
    return RONDE_OK;
}

/* Lanes that run elsewhere. */
static enum ronde_status drive(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error)
{
    struct ronde_error why = {0};
    return program->drive(program, io_moved, &why) == RONDE_OK ? RONDE_OK
                                                               : fail_run(program, &why, error);
}

/* The time limit, and alarms. */
static enum ronde_status watch(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    if (++program->sweeps % SWEEPS_PER_CLOCK != 0 && !comm->is_oversubscribed &&
        program->idle < IDLE_SWEEPS)
        return RONDE_OK;
    const double now_ns = ronde_clock_ns();
    if (now_ns - comm->checked_ns < CHECK_NS)
        return RONDE_OK;
    if (program->idle < program->sweeps - program->checked_sweeps)
        program->moved_ns = now_ns;
    program->checked_sweeps = program->sweeps;
    RONDE_TRY(ronde_comm_check(comm, now_ns, error));
    /* One whose time was over before it began, behind others, had no time of its own. */
    if (program->deadline_ns > 0 && now_ns > program->deadline_ns)
        return ronde_control_timed_out(comm->control,
                                       program->deadline_ns > program->start_ns
                                           ? program->deadline_ns - program->start_ns
                                           : 0,
                                       error);
    return RONDE_OK;
}

/* Handshake, lanes, messages. */
static enum ronde_status move(struct ronde_comm_program *program, bool *out_moved, bool *out_done,
                              struct ronde_error *error)
{
    bool has_moved = false;
    bool is_quiet = false;
    struct ronde_error why;
    enum ronde_status status = RONDE_OK;
    /* Only the status is cleared, which ronde_fail tests; clearing all of it would take as long as a turn. */
    why.status = RONDE_OK;
    if (!ronde_run_handshake_is_complete(program) &&
        ronde_run_handshake_poll(program, &why) != RONDE_OK)
        status = fail_run(program, &why, error);
    /* Slots that lie elsewhere than before: no rank may still be reading the old ones. */
    const bool is_open = !program->is_rearranged || ronde_run_handshake_is_complete(program);
    if (status == RONDE_OK && is_open)
        status =
            program->drive ? drive(program, &has_moved, error) : sweep(program, &has_moved, error);
    if (status == RONDE_OK && (!has_moved || program->sweeps % TURNS_PER_MESSAGES == 0))
        has_moved |= ronde_p2p_progress_pending(program->comm);
    if (status == RONDE_OK &&
        program->comm->wire->poll(program, &has_moved, &is_quiet, &why) != RONDE_OK)
        status = fail_run_late(program, &why, error);
    *out_moved = has_moved;
    *out_done = status == RONDE_OK && is_open && program->lane_count == 0 &&
                ronde_run_handshake_is_complete(program) && is_quiet;
    return status;
}

/*
 * Whether a run ends well although a rank was lost: that may have ended its program, and have left here what the run
 * still needs, or with a rank that passes it on.
 */
static bool ends_without(struct ronde_comm_program *program)
{
    const double until_ns = ronde_clock_ns() + RONDE_CONTROL_GRACE_NS;
    struct ronde_error ignored = {0};
    bool is_done = false;
    while (!is_done && ronde_clock_ns() < until_ns) {
        bool has_moved = false;
        if (move(program, &has_moved, &is_done, &ignored) != RONDE_OK)
            return false;
        if (!has_moved)
            sched_yield();
    }
    return is_done;
}

/* One turn of a run, and the clock. */
static enum ronde_status take_turn(struct ronde_comm_program *program, bool *out_done,
                                   struct ronde_error *error)
{
    bool has_moved = false;
    struct ronde_error why;
    RONDE_TRY(move(program, &has_moved, out_done, error));
    program->idle = has_moved ? 0 : program->idle + 1;
    if (*out_done)
        return RONDE_OK;
    why.status = RONDE_OK;
    const enum ronde_status status = watch(program, &why);
    if (status == RONDE_DEVICE)
        *out_done = ends_without(program);
    return status == RONDE_OK || *out_done ? RONDE_OK : ronde_fail(error, status, "%s", why.message);
}

/*
 * All offers to this rank have been read, but were they still valid? A rank whose run fails may reuse its memory at
 * once, and withdraws its offers before.
 */
static enum ronde_status check_sources(struct ronde_comm_program *program, struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    for (uint32_t n = 0; program->loaded->frame.has_offers && n < program->peer_count; n++) {
        const struct ronde_peer *at = &program->peers[n];
        struct ronde_error why = {0};
        if (!at->is_source || !comm->wire->shared->has_withdrawn(comm, at->rank))
            continue;
        (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has given the run up", at->rank);
        return fail_run_late(program, &why, error);
    }
    return RONDE_OK;
}

/* Ends a run, well or not. */
static void finish(struct ronde_comm_program *program, bool is_complete)
{
    if (!is_complete && program->loaded->frame.no_pull != 0)
        program->comm->wire->shared->withdraw(program->comm);
    program->end_ns = ronde_clock_ns();
    program->is_running = false;
    program->is_over = is_complete;
    program->is_rearranged = false;
    program->comm->is_running = false;
    ronde_loaded_finish(program->loaded, is_complete);
}

void ronde_comm_abandon(struct ronde_comm_program *program)
{
    struct ronde_error why = {0};
    if (!program->is_running)
        return;
    (void)ronde_fail(&why, RONDE_TIMEOUT, "rank %u unloaded a program that was running",
                     program->comm->rank);
    ronde_control_alarm(program->comm->control, &why);
    finish(program, false);
}

enum ronde_status ronde_comm_test(struct ronde_comm_program *program, bool *out_done,
                                  struct ronde_error *error)
{
    *out_done = program->is_over;
    if (program->is_over)
        return RONDE_OK;
    if (ronde_comm_is_foreign(program->comm))
        return ronde_comm_check_process(program->comm, error);
    if (!program->is_running) {
        const enum ronde_status status = ronde_control_check(program->comm->control, error);
        return status != RONDE_OK
                   ? status
                   : ronde_fail(error, RONDE_BAD_ARGUMENT, "the program is not running");
    }
    enum ronde_status status = take_turn(program, out_done, error);
    if (*out_done)
        status = check_sources(program, error);
    *out_done = *out_done && status == RONDE_OK;
    if (status != RONDE_OK || *out_done)
        finish(program, status == RONDE_OK);
    return status;
}

enum ronde_status ronde_comm_wait(struct ronde_comm_program *program,
                                  struct ronde_result *out_result, struct ronde_error *error)
{
    bool is_done = false;
    while (!is_done) {
        RONDE_TRY(ronde_comm_test(program, &is_done, error));
        if (!is_done && program->idle > 0)
            ronde_comm_rest(program->comm, program->idle);
    }
    program->is_over = false;
    out_result->elapsed_ns = program->end_ns - program->start_ns;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    out_result->is_virtual = false;
    return RONDE_OK;
}
