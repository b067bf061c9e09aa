/*
 * Running schedules on a communicator. See ronde/comm.h.
 *
 * A run begins when this rank says so: it shows its card and sends, and receives as soon as all ranks that send to it
 * have shown the same. It ends when the lanes are done and every neighbour has shown the same. So no rank ever consumes a
 * message of a run it disagrees with, and every rank of a disagreement learns of it in that run.
 */
#include <stdint.h>

struct ronde_act;
struct ronde_offer;

/* What another process offers lies where the transport finds it. */
static const unsigned char *reach(const struct ronde_act *act, const struct ronde_offer *offer,
                                  unsigned char *place);
#define RONDE_REACH(act, offer, place) reach((act), (offer), (place))

/* What this process offers may be a copy. */
static const unsigned char *keep(const struct ronde_act *act, const unsigned char *start,
                                 uint64_t bytes);
#define RONDE_KEEP(act, start, bytes) keep((act), (start), (bytes))

/* Who receives is another process, and what it offers lies elsewhere in each. */
#include "hw/comm/push.h"
#define RONDE_TWIN(act) ronde_push_twin(act)
#define RONDE_SEEN(act, offer) ronde_push_seen((act), (offer))

#include "hw/comm/letters.h"
#include "ronde/hw.h"

#include <string.h>

/* Steps of one lane in a row, as in the cpu backend. */
#define BURST_STEPS 8u

/* The clock is read once in so many sweeps, which may be as short as a reading, until so many were fruitless in a row. */
#define SWEEPS_PER_CLOCK 32u
#define IDLE_SWEEPS 100u

/* Between two looks at the star. */
#define CHECK_NS 2e6

static const unsigned char *reach(const struct ronde_act *act, const struct ronde_offer *offer,
                                  unsigned char *place)
{
    const struct ronde_task *task = act->lane->task;
    struct ronde_comm_program *program = task->frame->driver;
    const struct ronde_end *end = &task->ends[ronde_act_receive(act->step)];
    const uint32_t rank = program->loaded->ports[end - program->loaded->ends].peer;
    const uint64_t start = (uint64_t)(uintptr_t)offer->start;
    if ((start & RONDE_KEPT_BIT) != 0)
        return program->keep.rooms + (start ^ RONDE_KEPT_BIT);
    act->lane->about = act->step->receive;
    return program->comm->wire->find(program->comm, rank, offer, place, &program->unreached);
}

static const unsigned char *keep(const struct ronde_act *act, const unsigned char *start,
                                 uint64_t bytes)
{
    return act->lane->task->frame->keeps ? ronde_keep_copy(act, start, bytes) : start;
}

enum ronde_status
ronde_comm_check_protocol(const struct ronde_comm *comm, const struct ronde_schedule *schedule,
                          const struct ronde_launch *launch, struct ronde_habits *io_habits,
                          struct ronde_error *error)
{
    if (comm->wire->is_readable && comm->wire->is_readable(comm, schedule, launch, io_habits))
        return RONDE_OK;
    io_habits->farthest = RONDE_PROTOCOL_STAGED;
    if (launch->protocol <= RONDE_PROTOCOL_STAGED)
        return RONDE_OK;
    return ronde_fail(error, RONDE_UNSUPPORTED,
                      comm->wire->is_readable
                          ? "launch: protocol %s, the system lets processes not read each "
                            "other's memory: take buffers from ronde_comm_mem"
                          : "launch: protocol %s, ranks over this transport cannot read each "
                            "other's buffers",
                      ronde_protocol_text(launch->protocol));
}

/* Whether this rank, in place, overwrites what it has offered, so that it waits for who reads it. */
static bool overwrites(const struct ronde_loaded *loaded)
{
    for (uint32_t t = 0; t < loaded->task_count; t++) {
        const struct ronde_task *task = &loaded->tasks[t];
        if (task->holds[1].first[task->view.program->step_count] > 0)
            return true;
    }
    return false;
}

/* A launch with everything filled in, or why it cannot be. */
static enum ronde_status settle_launch(const struct ronde_comm_program *program,
                                       struct ronde_launch *launch, struct ronde_habits *habits,
                                       struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    launch->slot_bytes = launch->slot_bytes ? launch->slot_bytes : program->slot_bytes;
    launch->depth = launch->depth ? launch->depth : program->depth;
    if (launch->slot_bytes > program->slot_bytes || launch->depth > program->depth)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "launch: slot_bytes %llu and depth %u, loaded for %llu and %u",
                          (unsigned long long)launch->slot_bytes, launch->depth,
                          (unsigned long long)program->slot_bytes, program->depth);
    enum ronde_status status =
        ronde_launch_check_rank(program->loaded->schedule, launch, comm->rank, error);
    if (status == RONDE_OK)
        status = ronde_comm_check_protocol(comm, program->loaded->schedule, launch, habits, error);
    /* A crowd, whose readers wait for their turn, had better not be waited for at the end of a short run either. */
    if (!comm->is_crowded && !overwrites(program->loaded))
        habits->pull_from_bytes[1] = habits->pull_from_bytes[0];
    if (status == RONDE_OK)
        ronde_push_settle(program, launch, habits);
    return status;
}

/* Writes down what the launch decides. */
static void fill_card(struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    const enum ronde_collective collective = program->loaded->schedule->collective;
    struct ronde_card *card = &program->card;
    card->count = launch->count;
    card->slot_bytes = launch->slot_bytes;
    card->depth = program->loaded->frame.depth;
    card->dtype = launch->dtype;
    card->offers = program->loaded->frame.no_pull != 0;
    card->op = ronde_collective_traits(collective)->reduces ? launch->op : 0;
    program->card_digest = ronde_card_digest(card);
}

/* What is looked after once in a while only, since it takes longer than a short run: where ranks are, and bad news. */
static enum ronde_status check(struct ronde_comm *comm, double now_ns, struct ronde_error *error)
{
    comm->checked_ns = now_ns;
    if (comm->wire->spread)
        comm->wire->spread(comm, now_ns);
    return ronde_star_check(comm->star, error);
}

/* Bad news that are known; the system is asked for more once in a while. */
static enum ronde_status look_around(struct ronde_comm *comm, double now_ns,
                                     struct ronde_error *error)
{
    return now_ns - comm->checked_ns < CHECK_NS ? ronde_star_known(comm->star, error)
                                                : check(comm, now_ns, error);
}

static void start_lanes(struct ronde_comm_program *program)
{
    program->lane_count = program->loaded->lane_count;
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        program->lanes[lane] = lane;
    /* Who sends letters that are believed by their digest offers exactly if this rank does. */
    program->loaded->frame.has_offers = program->has_letters && program->card.offers != 0;
}

/* Whether a launch is the last one again, which spares checking and preparing it: half of what a short run takes. */
static bool is_repeated(const struct ronde_comm_program *program, const struct ronde_launch *launch)
{
    return program->may_repeat && ronde_launch_is_alike(launch, &program->launch) &&
           ronde_loaded_has_buffers(program->loaded, launch);
}

/*
 * Short messages travel as letters. Their memory is not the other messages', and all lengths share one stride: a run of
 * another short count finds its connections as the last one left them.
 */
static void choose_letters(struct ronde_comm_program *program)
{
    const struct ronde_wire *wire = program->comm->wire;
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_frame *frame = &loaded->frame;
    const bool had_letters = program->has_letters;
    program->slot_stride = frame->slot_stride;
    program->slot_count = frame->depth;
    program->has_letters = wire->letters && !program->drive && frame->piece_count > 0 &&
                           frame->slot_stride <= RONDE_LETTER_BYTES;
    if (program->has_letters) {
        frame->slot_stride = RONDE_LETTER_STRIDE;
        frame->depth = ronde_letter_slots(loaded->schedule, frame->depth);
    }
    for (uint64_t e = 0; e < loaded->end_count; e++) {
        struct ronde_end *end = &loaded->ends[e];
        if (!program->neighbour_of[e])
            continue;
        if (program->has_letters || had_letters)
            end->slot = end->count % frame->depth;
        if (program->has_letters != had_letters)
            end->slots =
                program->has_letters
                    ? wire->letters(program, e)
                    : (unsigned char *)(end->lengths + ronde_lengths_stride(program->depth));
    }
}

/* Gets a launch ready that differs from the last one. */
static enum ronde_status prepare(struct ronde_comm_program *program,
                                 const struct ronde_launch *given, struct ronde_error *error)
{
    struct ronde_loaded *loaded = program->loaded;
    struct ronde_habits habits = {.slot_bytes = program->slot_bytes,
                                  .stream_from_bytes = program->comm->stream_from_bytes};
    const uint64_t old_stride = loaded->frame.slot_stride;
    const uint32_t old_depth = loaded->frame.depth;
    struct ronde_launch launch = *given;
    program->may_repeat = false;
    if (program->has_letters) {
        loaded->frame.slot_stride = program->slot_stride;
        loaded->frame.depth = program->slot_count;
    }
    enum ronde_status status = settle_launch(program, &launch, &habits, error);
    if (status == RONDE_OK)
        status = ronde_loaded_prepare(loaded, &launch, &habits, error);
    if (status == RONDE_OK) {
        choose_letters(program);
        program->is_rearranged |= ronde_keep_choose(program, &launch);
    }
    /* Also when there was no memory for more than the slots: the next run must not forget it. */
    program->is_rearranged |=
        old_stride != loaded->frame.slot_stride || old_depth != loaded->frame.depth;
    if (status != RONDE_OK)
        return status;
    for (uint64_t e = 0; program->drive && e < loaded->end_count; e++)
        loaded->ends[e].slot = loaded->ends[e].count % loaded->frame.depth;
    /* Blocks of other ranks are not known here: a message of the wrong length is found when it comes. */
    loaded->frame.checks = launch.in_blocks || launch.out_blocks;
    fill_card(program, &launch);
    status = ronde_push_prepare(program, error);
    if (status != RONDE_OK)
        return status;
    program->launch = *given;
    program->may_repeat = true;
    return RONDE_OK;
}

enum ronde_status ronde_comm_run(struct ronde_comm_program *program,
                                 const struct ronde_launch *launch, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    const double start_ns = ronde_clock_ns();
    enum ronde_status status = look_around(comm, start_ns, error);
    if (status == RONDE_OK && comm->is_running)
        status = ronde_fail(error, RONDE_BAD_ARGUMENT, "a run of the communicator is not over");
    if (status == RONDE_OK && is_repeated(program, launch))
        ronde_loaded_repeat(program->loaded);
    else if (status == RONDE_OK)
        status = prepare(program, launch, error);
    if (status != RONDE_OK)
        return status;
    comm->is_running = true;
    program->card.sequence = ++comm->sequence;
    program->digest = ronde_card_digest_in_run(program->card_digest, comm->sequence);
    program->is_running = true;
    program->is_over = false;
    program->idle = 0;
    program->sweeps = 0;
    program->checked_sweeps = 0;
    program->start_ns = start_ns;
    program->moved_ns = start_ns;
    program->deadline_ns = launch->timeout_ns > 0 ? start_ns + (double)launch->timeout_ns : 0;
    ronde_keep_turn(program);
    start_lanes(program);
    ronde_agreement_begin(program);
    comm->wire->tell(program, &program->card);
    return RONDE_OK;
}

/* The run is given up, and with it the communicator. */
static enum ronde_status give_up(struct ronde_comm_program *program, const struct ronde_error *why,
                                 struct ronde_error *error)
{
    ronde_star_alarm(program->comm->star, why);
    return ronde_star_check(program->comm->star, error);
}

/*
 * A message that cannot be had may be what a rank leaves behind that has heard of another's end before this one has: for
 * a while it is the star that says what happened.
 */
static enum ronde_status give_up_late(struct ronde_comm_program *program,
                                      const struct ronde_error *why, struct ronde_error *error)
{
    const enum ronde_status status =
        ronde_star_linger(program->comm->star, RONDE_STAR_GRACE_NS, error);
    return status == RONDE_OK ? give_up(program, why, error) : status;
}

static enum ronde_status fail_step(struct ronde_comm_program *program,
                                   const struct ronde_lane *lane, struct ronde_error *error)
{
    char text[RONDE_LANE_TEXT_BYTES];
    struct ronde_error why = {0};
    if (lane->reason == RONDE_REASON_REACH)
        return give_up_late(program, &program->unreached, error);
    ronde_lane_describe(lane, text);
    (void)ronde_fail(&why, RONDE_REJECTED, "%s", text);
    return give_up(program, &why, error);
}

/* Before the senders have shown the same card a lane may send, and no more; letters are checked one by one. */
static bool may_poll(const struct ronde_comm_program *program, const struct ronde_lane *lane)
{
    const struct ronde_program *steps = lane->task->view.program;
    return program->sources_left == 0 || program->has_letters ||
           lane->piece == lane->task->frame->piece_count ||
           ronde_act_receive(&steps->steps[lane->step]) == RONDE_NONE;
}

/* Lets a lane go on while it can, but not for ever. */
static enum ronde_poll poll_burst(const struct ronde_comm_program *program, struct ronde_lane *lane,
                                  bool *io_moved)
{
    enum ronde_poll poll = RONDE_POLL_PROGRESSED;
    for (uint32_t step = 0; step < BURST_STEPS && poll == RONDE_POLL_PROGRESSED; step++) {
        if (!may_poll(program, lane))
            return RONDE_POLL_BLOCKED;
        poll = ronde_lane_poll(lane);
        *io_moved |= poll == RONDE_POLL_PROGRESSED;
    }
    return poll;
}

/* Polls every lane once; those that are done leave. */
static enum ronde_status sweep(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error)
{
    uint32_t kept = 0;
    for (uint32_t k = 0; k < program->lane_count; k++) {
        struct ronde_lane *lane = &program->loaded->lanes[program->lanes[k]];
        const enum ronde_poll poll = poll_burst(program, lane, io_moved);
        if (poll == RONDE_POLL_WRONG)
            return fail_step(program, lane, error);
        if (poll != RONDE_POLL_DONE)
            program->lanes[kept++] = program->lanes[k];
    }
    program->lane_count = kept;
    return RONDE_OK;
}

/* Lanes that run elsewhere. */
static enum ronde_status drive(struct ronde_comm_program *program, bool *io_moved,
                               struct ronde_error *error)
{
    struct ronde_error why = {0};
    return program->drive(program, io_moved, &why) == RONDE_OK ? RONDE_OK
                                                               : give_up(program, &why, error);
}

/* The time limit, and bad news. */
static enum ronde_status watch(struct ronde_comm_program *program, struct ronde_error *error)
{
    struct ronde_comm *comm = program->comm;
    if (++program->sweeps % SWEEPS_PER_CLOCK != 0 && !comm->is_crowded && program->idle < IDLE_SWEEPS)
        return RONDE_OK;
    const double now_ns = ronde_clock_ns();
    if (now_ns - comm->checked_ns < CHECK_NS)
        return RONDE_OK;
    if (program->idle < program->sweeps - program->checked_sweeps)
        program->moved_ns = now_ns;
    program->checked_sweeps = program->sweeps;
    const enum ronde_status status = check(comm, now_ns, error);
    if (status == RONDE_OK && program->deadline_ns > 0 && now_ns > program->deadline_ns)
        return ronde_star_late(comm->star, program->deadline_ns - program->start_ns, error);
    return status;
}

/* One turn of a run: cards, lanes, messages, the clock. */
static enum ronde_status take_turn(struct ronde_comm_program *program, bool *out_done,
                                   struct ronde_error *error)
{
    bool has_moved = false;
    bool is_quiet = false;
    struct ronde_error why;
    enum ronde_status status = RONDE_OK;
    /* The first failure counts, so this is empty; to clear all of it would take as long as a turn. */
    why.status = RONDE_OK;
    if (!ronde_agreement_is_reached(program) && ronde_agreement_seek(program, &why) != RONDE_OK)
        status = give_up(program, &why, error);
    /* Slots that lie elsewhere than before: nobody may still be reading the old ones. */
    const bool is_open = !program->is_rearranged || ronde_agreement_is_reached(program);
    if (status == RONDE_OK && is_open)
        status =
            program->drive ? drive(program, &has_moved, error) : sweep(program, &has_moved, error);
    if (status == RONDE_OK &&
        program->comm->wire->poll(program, &has_moved, &is_quiet, &why) != RONDE_OK)
        status = give_up_late(program, &why, error);
    program->idle = has_moved ? 0 : program->idle + 1;
    *out_done = status == RONDE_OK && is_open && program->lane_count == 0 &&
                ronde_agreement_is_reached(program) && is_quiet;
    return status == RONDE_OK && !*out_done ? watch(program, error) : status;
}

/*
 * Everything was read that this rank was offered, but was it what had been offered? A rank whose run fails takes its
 * memory back at once, and says so before.
 */
static enum ronde_status check_sources(struct ronde_comm_program *program, struct ronde_error *error)
{
    const struct ronde_comm *comm = program->comm;
    for (uint32_t n = 0; program->loaded->frame.has_offers && n < program->neighbour_count; n++) {
        const struct ronde_neighbour *at = &program->neighbours[n];
        struct ronde_error why = {0};
        if (!at->is_source || !comm->wire->has_withdrawn(comm, at->rank))
            continue;
        (void)ronde_fail(&why, RONDE_DEVICE, "rank %u has given the run up", at->rank);
        return give_up_late(program, &why, error);
    }
    return RONDE_OK;
}

/* Ends a run, well or not. */
static void finish(struct ronde_comm_program *program, bool is_complete)
{
    if (!is_complete && program->loaded->frame.no_pull != 0)
        program->comm->wire->withdraw(program->comm);
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
    ronde_star_alarm(program->comm->star, &why);
    finish(program, false);
}

enum ronde_status ronde_comm_test(struct ronde_comm_program *program, bool *out_done,
                                  struct ronde_error *error)
{
    *out_done = program->is_over;
    if (program->is_over)
        return RONDE_OK;
    if (!program->is_running) {
        const enum ronde_status status = ronde_star_check(program->comm->star, error);
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
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && !is_done) {
        status = ronde_comm_test(program, &is_done, error);
        if (status == RONDE_OK && !is_done && program->idle > 0)
            program->comm->wire->rest(program, program->idle);
    }
    if (status != RONDE_OK)
        return status;
    program->is_over = false;
    out_result->elapsed_ns = program->end_ns - program->start_ns;
    out_result->protocol = ronde_loaded_protocol(program->loaded);
    out_result->is_virtual = false;
    return RONDE_OK;
}
