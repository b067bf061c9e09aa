/** Traffic of a schedule. See proofs.h. */
#include "engine/execute/operation.h"
#include "proofs.h"

#include "ronde/cursor.h"
#include "ronde/ir.h"

#include <math.h>

/** Adds what one program does; all positions that run it do the same. */
static void add_program(const struct ronde_program *program, struct ronde_traffic *traffic)
{
    int ops = 0;
    bool has_output = false;
    for (uint32_t s = 0; s < program->step_count; s++) {
        const struct ronde_step *step = &program->steps[s];
        ops |= 1 << step->op;
        has_output |=
            ronde_op_is_in(step->op, RONDE_OPS_THAT_WRITE) && step->destination != RONDE_SCRATCH;
    }
    traffic->reduces |= (ops & RONDE_OPS_THAT_REDUCE) != 0;
    traffic->sends_results |= (ops & RONDE_OPS_THAT_SEND_RESULT) != 0;
    traffic->stores_messages |= (ops & RONDE_OPS_THAT_STORE) != 0;
    traffic->has_pure_senders |=
        (ops & RONDE_OPS_THAT_SEND) != 0 && (ops & RONDE_OPS_THAT_RECEIVE) == 0;
    traffic->has_pure_sources |= !has_output;
}

/** Whether all that a position sends goes the same way round as everything before it: +1 or -1, 0 while unknown. */
static bool follows_route(const struct ronde_view *view, int *io_way)
{
    const uint32_t ranks = view->schedule->ranks;
    for (uint32_t c = 0; c < view->program->connection_count; c++) {
        if (!view->program->connections[c].is_send)
            continue;
        const uint32_t peer = ronde_view_peer_position(view, c);
        const bool is_next = peer == ronde_add_modulo(view->position, 1, ranks);
        const bool is_previous = view->position == ronde_add_modulo(peer, 1, ranks);
        const int way = is_next ? 1 : -1;
        if ((!is_next && !is_previous) || way == -*io_way)
            return false;
        *io_way = way;
    }
    return true;
}

/** Whether ranks are in the default order: one after another, the root first. */
static bool has_plain_order(const struct ronde_schedule *schedule,
                            const struct ronde_channel *channel)
{
    const uint32_t root =
        ronde_collective_traits(schedule->collective)->has_root ? schedule->root : 0;
    for (uint32_t q = 0; channel->order && q < schedule->ranks; q++)
        if (channel->order[q] != ronde_add_modulo(q, root, schedule->ranks))
            return false;
    return true;
}

static bool is_route(const struct ronde_schedule *schedule)
{
    const bool is_symmetric = schedule->symmetry != RONDE_SYMMETRY_NONE;
    int way = 0;
    /* With two positions each is both neighbours of the other, so the direction is undefined. */
    if (schedule->collective == RONDE_SEND_RECV || schedule->ranks < 3)
        return false;
    for (uint32_t k = 0; k < schedule->channel_count; k++)
        if (!has_plain_order(schedule, &schedule->channels[k]))
            return false;
    for (uint32_t p = 0; p < (is_symmetric ? 1 : schedule->ranks); p++) {
        const struct ronde_view view = {
            .schedule = schedule,
            .channel = &schedule->channels[0],
            .program = &schedule->programs[is_symmetric ? 0 : schedule->program_of[p]],
            .rank = p,
            .position = p};
        if (!follows_route(&view, &way))
            return false;
    }
    return way != 0;
}

struct ronde_traffic ronde_traffic_of(const struct ronde_schedule *schedule)
{
    struct ronde_traffic traffic = {false, false, false, false, false, false};
    for (uint32_t i = 0; i < schedule->program_count; i++)
        add_program(&schedule->programs[i], &traffic);
    traffic.is_route = is_route(schedule);
    return traffic;
}

/* What the busiest rank of a schedule sends and receives. */

/** Chunks of all steps of a program. */
static struct ronde_volume chunks_of(const struct ronde_program *program)
{
    uint64_t sent = 0, received = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_step *step = &program->steps[i];
        sent += step->send != RONDE_NONE ? step->chunk_count : 0;
        received += step->receive != RONDE_NONE ? step->chunk_count : 0;
    }
    return (struct ronde_volume){(double)sent, (double)received};
}

/**
 * Blocks of a rank over all channels. Channels give a rank different positions (an inner node of one tree is a leaf of the
 * other), so the sum of their maxima would be too much.
 */
static struct ronde_volume volume_of(const struct ronde_schedule *schedule, uint32_t rank)
{
    struct ronde_volume volume = {0.0, 0.0};
    const double whole = (double)schedule->weight_total * schedule->chunks_per_block;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        const struct ronde_view view = ronde_view_open(schedule, k, rank);
        const struct ronde_volume chunks = chunks_of(view.program);
        volume.sent += chunks.sent * schedule->channels[k].weight;
        volume.received += chunks.received * schedule->channels[k].weight;
    }
    return (struct ronde_volume){volume.sent / whole, volume.received / whole};
}

struct ronde_volume ronde_schedule_volume(const struct ronde_schedule *schedule)
{
    struct ronde_volume most = {0.0, 0.0};
    /* Under symmetry every rank sends the same. */
    const uint32_t ranks = schedule->symmetry == RONDE_SYMMETRY_NONE ? schedule->ranks : 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        const struct ronde_volume volume = volume_of(schedule, rank);
        most.sent = fmax(most.sent, volume.sent);
        most.received = fmax(most.received, volume.received);
    }
    return most;
}
