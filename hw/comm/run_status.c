/*
 * This rank's report for a stall diagnosis (control_channel.h): which rank its run waits for, by handshake records and
 * lanes.
 */
#include "hw/comm/comm.h"

#include "ronde/hw.h"

#include <stdio.h>

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
