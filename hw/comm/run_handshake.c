/*
 * Handshake before data: whose records a run waits for.
 *
 * A rank consumes messages only of ranks that run the same, so it needs the records of those that send to it; eager
 * messages have its digest in their header (hw/shm/eager.h). Of ranks it only sends to it needs to verify, before the
 * end, that they ran the same. While a program repeats a launch that all have verified, it waits for those records some
 * runs later: the root of a series of small broadcasts need not stall until all ranks have begun the last one.
 */
#include "hw/comm/comm_parts.h"

#include "ronde/hw.h"

#include <stdio.h>

/* Empty sweeps before the records of eager senders are read: one whose run differs may never send a message. */
#define EAGER_SWEEPS 32u

/*
 * A rank whose own buffers are read waits for its readers in every run. Messages between hosts are not counted in runs.
 * Send copies are valid until all readers have read them.
 */
static uint32_t most_lead(const struct ronde_comm_program *program)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_frame *frame = &program->loaded->frame;
    const uint32_t lead = ronde_comm_lead(comm->ranks);
    if (comm->transport != RONDE_TRANSPORT_SHM || program->drive ||
        ronde_frame_awaits_readers(frame))
        return 0;
    return frame->copies_sends && lead > RONDE_SEND_COPY_RUNS - 2 ? RONDE_SEND_COPY_RUNS - 2 : lead;
}

/*
 * Of such ranks' records it reads one in so many: each costs the transfer of a cache line. A rank that ran something
 * else in between has detected that itself, as it compares every run with those that send to it.
 */
static uint32_t stride_of(const struct ronde_comm_program *program)
{
    return program->lead / 2 + 1;
}

/* Whether a rank that this one only sends to is verified up to the lead. */
static bool is_within_lead(const struct ronde_comm_program *program, const struct ronde_peer *peer)
{
    return peer->verified + program->lead >= program->handshake.sequence;
}

/* Switches to another program: records the last one still lacks are verified in the first run of this one. */
static void change_program(struct ronde_comm_program *program)
{
    struct ronde_comm *comm = program->comm;
    comm->unsettled = comm->previous;
    comm->previous = program;
    for (uint32_t n = 0; n < program->peer_count; n++)
        program->peers[n].verified = program->handshake.sequence - 1;
}

void ronde_run_handshake_begin(struct ronde_comm_program *program)
{
    const bool is_other = program->comm->previous != program;
    const bool may_lead =
        !is_other && !program->is_rearranged && program->handshake_digest == program->agreed_digest;
    if (is_other)
        change_program(program);
    program->lead = may_lead ? most_lead(program) : 0;
    program->agreed_digest = program->handshake_digest;
    program->doubted = NULL;
    program->sources_left = 0;
    program->others_left = 0;
    for (uint32_t n = 0; n < program->peer_count; n++) {
        struct ronde_peer *at = &program->peers[n];
        at->digest = program->digest;
        at->is_verified = !at->is_source && is_within_lead(program, at);
        program->sources_left += at->is_source;
        program->others_left += !at->is_source && !at->is_verified;
    }
}

bool ronde_run_handshake_is_complete(const struct ronde_comm_program *program)
{
    return program->sources_left == 0 && program->others_left == 0 && !program->doubted &&
           !program->comm->unsettled;
}

/* Checks the next wanted record of a rank; SAME also where none is wanted. */
static enum ronde_handshake_state catch_up(const struct ronde_comm_program *program,
                                           struct ronde_peer *at, struct ronde_error *why)
{
    const struct ronde_comm *comm = program->comm;
    const struct ronde_handshake *handshakes =
        &comm->local_handshakes[(size_t)comm->rank * RONDE_HANDSHAKES];
    const uint64_t last = program->handshake.sequence;
    const uint64_t stepped = at->verified + stride_of(program);
    const uint64_t next = stepped < last ? stepped : last;
    const struct ronde_handshake *mine =
        next == last ? &program->handshake : &handshakes[next % RONDE_HANDSHAKES];
    bool has_offers;
    if (at->verified == last)
        return RONDE_HANDSHAKE_SAME;
    const enum ronde_handshake_state state =
        ronde_handshake_check(comm, at->rank, mine, &has_offers, why);
    if (state == RONDE_HANDSHAKE_SAME)
        at->verified = next;
    return state;
}

/* Status of a check: OK also while the record is absent; a mismatch, or a rank that has left, fails. */
static enum ronde_status status_of(const struct ronde_comm *comm, uint32_t rank,
                                   enum ronde_handshake_state state, struct ronde_error *why)
{
    if (state == RONDE_HANDSHAKE_OTHER)
        return why->status;
    if (state == RONDE_HANDSHAKE_ABSENT && ronde_control_has_left(comm->control, rank))
        return ronde_fail(why, RONDE_DEVICE, "rank %u has left the communicator", rank);
    return RONDE_OK;
}

/* Verifies the records that runs of an earlier program still lack. */
static enum ronde_status verify_unsettled(struct ronde_comm *comm, struct ronde_error *why)
{
    struct ronde_comm_program *unsettled = comm->unsettled;
    bool is_settled = true;
    for (uint32_t n = 0; n < unsettled->peer_count; n++) {
        struct ronde_peer *at = &unsettled->peers[n];
        if (at->is_source)
            continue;
        const enum ronde_handshake_state state = catch_up(unsettled, at, why);
        RONDE_TRY(status_of(comm, at->rank, state, why));
        is_settled &= at->verified == unsettled->handshake.sequence;
    }
    if (is_settled)
        comm->unsettled = NULL;
    return RONDE_OK;
}

/* Whether this rank reads a peer's record: an eager sender's digest in its messages stands for it. */
static bool needs_handshake(const struct ronde_comm_program *program, const struct ronde_peer *peer)
{
    const bool uses_digest = program->has_eager && !program->is_rearranged &&
                             program->doubted != peer && program->idle < EAGER_SWEEPS;
    return !peer->is_verified && !(peer->is_source && uses_digest);
}

/* Digest in the eager headers of a rank whose record differs from this one's in offers only. */
static uint64_t digest_of(const struct ronde_comm_program *program, bool has_offers)
{
    struct ronde_handshake handshake = program->handshake;
    handshake.offers = has_offers;
    return ronde_handshake_digest_in_run(ronde_handshake_digest(&handshake), handshake.sequence);
}

/* Checks the record of a rank that sends to this one. */
static enum ronde_status verify_source(struct ronde_comm_program *program, struct ronde_peer *at,
                                       struct ronde_error *why)
{
    bool has_offers = false;
    const enum ronde_handshake_state state =
        ronde_handshake_check(program->comm, at->rank, &program->handshake, &has_offers, why);
    if (state == RONDE_HANDSHAKE_SAME) {
        at->is_verified = true;
        at->digest = digest_of(program, has_offers);
        program->doubted = program->doubted == at ? NULL : program->doubted;
        program->loaded->frame.has_offers |= has_offers;
        program->sources_left--;
    }
    return status_of(program->comm, at->rank, state, why);
}

/* Checks the records of a rank that this one only sends to. */
static enum ronde_status verify_other(struct ronde_comm_program *program, struct ronde_peer *at,
                                      struct ronde_error *why)
{
    const enum ronde_handshake_state state = catch_up(program, at, why);
    if (is_within_lead(program, at)) {
        at->is_verified = true;
        program->others_left--;
    }
    return status_of(program->comm, at->rank, state, why);
}

enum ronde_status ronde_run_handshake_poll(struct ronde_comm_program *program,
                                           struct ronde_error *why)
{
    const struct ronde_comm *comm = program->comm;
    if (program->doubted && program->doubted->is_verified)
        return ronde_fail(
            why, RONDE_REJECTED,
            "ranks %u and %u disagree about what they run: %u has come to run %llu, %u "
            "sent it a message of another",
            comm->rank, program->doubted->rank, comm->rank,
            (unsigned long long)program->handshake.sequence, program->doubted->rank);
    if (comm->unsettled)
        RONDE_TRY(verify_unsettled(program->comm, why));
    for (uint32_t n = 0; n < program->peer_count; n++) {
        struct ronde_peer *at = &program->peers[n];
        if (needs_handshake(program, at))
            RONDE_TRY(at->is_source ? verify_source(program, at, why)
                                    : verify_other(program, at, why));
    }
    return RONDE_OK;
}

void ronde_run_handshake_drop(struct ronde_comm_program *program)
{
    struct ronde_comm *comm = program->comm;
    if (comm->previous == program)
        comm->previous = NULL;
    if (comm->unsettled == program)
        comm->unsettled = NULL;
}

/* This rank's report for a stall diagnosis (control_channel.h): which rank its run waits for, by handshake records
 * and lanes. */

_Static_assert(sizeof((struct ronde_report *)0)->reason >= RONDE_LANE_TEXT_BYTES / 2,
               "most of a lane's description has room");

/* A peer whose record this run, or an unsettled program before it, still lacks; RONDE_NONE if there is none. */
static uint32_t find_unbegun(const struct ronde_comm_program *program)
{
    const struct ronde_comm_program *unsettled = program->comm->unsettled;
    for (uint32_t n = 0; n < program->peer_count; n++)
        if (!program->peers[n].is_verified)
            return program->peers[n].rank;
    for (uint32_t n = 0; unsettled && n < unsettled->peer_count; n++)
        if (!unsettled->peers[n].is_source &&
            unsettled->peers[n].verified != unsettled->handshake.sequence)
            return unsettled->peers[n].rank;
    return RONDE_NONE;
}

/* The rank that a lane waits for; RONDE_NONE where it waits for another lane or not at all. */
static uint32_t awaited_peer(const struct ronde_lane *lane)
{
    if (lane->reason != RONDE_REASON_MESSAGE && lane->reason != RONDE_REASON_SLOT &&
        lane->reason != RONDE_REASON_READER)
        return RONDE_NONE;
    const struct ronde_view *view = &lane->task->view;
    return lane->about < view->program->connection_count ? ronde_view_peer(view, lane->about)
                                                         : RONDE_NONE;
}

/* Of lanes that are not done one that waits for a rank, else the first; NULL if all are done. */
static const struct ronde_lane *find_lane(const struct ronde_comm_program *program)
{
    const struct ronde_lane *found = NULL;
    for (uint32_t k = 0; k < program->lane_count; k++) {
        const struct ronde_lane *lane = &program->loaded->lanes[program->lanes[k]];
        if (awaited_peer(lane) != RONDE_NONE)
            return lane;
        found = found ? found : lane;
    }
    return found;
}

/* What the run waits for. */
static void fill_run_report(const struct ronde_comm_program *program, struct ronde_report *out)
{
    char text[RONDE_LANE_TEXT_BYTES];
    const struct ronde_lane *lane = find_lane(program);
    const uint32_t unbegun = find_unbegun(program);
    if (unbegun != RONDE_NONE) {
        out->waits_for = unbegun;
        out->is_unbegun = 1;
        snprintf(out->reason, sizeof out->reason,
                 "rank %u waits for rank %u, which has not begun it", program->comm->rank, unbegun);
    } else if (!lane) {
        out->waits_for = RONDE_SILENT_RANK;
        snprintf(out->reason, sizeof out->reason, "messages of rank %u have not left it",
                 program->comm->rank);
    } else if (program->drive) {
        out->waits_for = RONDE_UNKNOWN_RANK;
        snprintf(out->reason, sizeof out->reason, "rank %u waits for its device",
                 program->comm->rank);
    } else {
        out->waits_for = awaited_peer(lane);
        ronde_lane_describe(lane, text);
        snprintf(out->reason, sizeof out->reason, "%.190s", text);
    }
}

void ronde_comm_describe_run(void *self, struct ronde_report *out)
{
    const struct ronde_comm *comm = self;
    const struct ronde_comm_program *program = comm->previous;
    out->run = comm->sequence;
    if (!comm->is_running || !program)
        return;
    const struct ronde_schedule *schedule = program->loaded->schedule;
    out->activity = RONDE_ACTIVITY_RUN;
    out->still_ns = (uint64_t)(ronde_clock_ns() - program->moved_ns);
    snprintf(out->name, sizeof out->name, "%s %.64s", ronde_collective_text(schedule->collective),
             schedule->algorithm);
    fill_run_report(program, out);
}
