/** Traffic of a schedule. See traffic.h. */
#include "engine/prove/traffic.h"

#include "engine/execute/operation.h"

#include "ronde/cursor.h"

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
