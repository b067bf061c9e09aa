/**
 * Which results are spread: written, by the step that computes them, to where all receivers keep them.
 *
 * A send whose source is the result of a step need not be read by its receiver if that step writes it to the receiver's
 * output as well. What it would overwrite there must be over when the step is executed, however early that is. Known to
 * be over is what comes before a message that the receiver has sent, and the step's lane has received by then: the
 * *credit*. So a send is spread where, in either placement and for every position,
 *
 *   - its source, one chunk of the output, was written last by a step that receives and combines, the spreading step;
 *   - the receiver keeps the message as the same chunk of its output, by a step that stores it as it comes;
 *   - the spreading step, or an earlier one of its lane, receives a message of that very rank, sent by a step which is
 *     the last of the rank's own to touch that chunk, or comes after it in its lane;
 *   - no other send of that rank may be read there until the chunk is overwritten.
 *
 * docs/reference/proofs.md says why this suffices.
 */
#include "finish.h"

#include "engine/prove/accesses.h"

#include <string.h>

/** The end of a connection that a step sends or receives on. */
static uint32_t end_of(const struct ronde_step *step, bool is_send)
{
    const int ops = is_send ? RONDE_OPS_THAT_SEND : RONDE_OPS_THAT_RECEIVE;
    if (!ronde_op_is_in(step->op, ops))
        return RONDE_NONE;
    return is_send ? step->send : step->receive;
}

/** The step at the other end of a step's message, in the peer's program. */
static uint32_t step_there(const struct ronde_model *model, const struct ronde_view *view,
                           const struct ronde_view *peer, uint32_t step, bool is_send)
{
    const struct ronde_step *steps = view->program->steps;
    const uint32_t actor = model->is_quotient ? 0 : view->position;
    const uint32_t actor_there = model->is_quotient ? 0 : peer->position;
    const uint32_t end = end_of(&steps[step], is_send);
    const uint32_t end_there =
        model->partner[model->end_base[actor] + end] - model->end_base[actor_there];
    uint32_t messages = 0;
    for (uint32_t s = 0; s <= step; s++)
        messages += end_of(&steps[s], is_send) == end;
    for (uint32_t s = 0; s < peer->program->step_count; s++)
        if (end_of(&peer->program->steps[s], !is_send) == end_there && --messages == 0)
            return s;
    return RONDE_NONE;
}

/** Whether all of a rank's own accesses to what `receiver` overwrites are over once `credit` is, or are that step's. */
static bool is_over(const struct ronde_program *program, uint32_t receiver, uint32_t credit,
                    int in_place)
{
    const uint32_t post = program->lowering[receiver].post_step[in_place];
    if (post != RONDE_NONE &&
        (post > credit || ronde_program_lane(program, post) != ronde_program_lane(program, credit)))
        return false;
    for (uint32_t s = 0; s < program->step_count; s++)
        if (s != credit && program->lowering[s].reuse_step[in_place] == receiver)
            return false;
    return true;
}

/** Whether the message `credit` sends lets its receiver write for `receiver`. */
static bool gives_credit(const struct ronde_program *program, uint32_t receiver, uint32_t credit)
{
    return credit != RONDE_NONE && program->steps[credit].chunk_count == 1 &&
           ronde_op_is_in(program->steps[credit].op, RONDE_OPS_THAT_SEND_SOURCE) &&
           is_over(program, receiver, credit, 0) && is_over(program, receiver, credit, 1);
}

/** The chunk of the output that a step of one chunk has as an operand, or RONDE_NONE. */
static uint32_t output_chunk(const struct ronde_view *view, uint32_t index, bool is_source)
{
    const struct ronde_step *step = &view->program->steps[index];
    if (step->chunk_count != 1 || (is_source ? step->source : step->destination) != RONDE_OUT)
        return RONDE_NONE;
    const uint32_t chunks = ronde_schedule_chunks(view->schedule, view->program, RONDE_OUT);
    return ronde_view_item(view, step, is_source, chunks, 0);
}

/** Whether a rank may spread what `send` sends, as far as its receiver goes. */
static bool may_spread(const struct ronde_model *model, uint32_t actor, uint32_t send)
{
    const struct ronde_view view = ronde_model_view(model, actor);
    const struct ronde_program *program = view.program;
    const uint32_t by = program->spread[send];
    struct ronde_view peer = view;
    peer.position = ronde_view_peer_position(&view, program->steps[send].send);
    peer.rank = ronde_channel_rank(peer.channel, peer.position);
    if (!model->is_quotient)
        peer = ronde_model_view(model, peer.position);
    const uint32_t receiver = step_there(model, &view, &peer, send, true);
    if (receiver == RONDE_NONE ||
        !ronde_op_is_in(peer.program->steps[receiver].op, RONDE_OPS_THAT_STORE) ||
        output_chunk(&peer, receiver, false) != output_chunk(&view, send, true))
        return false;
    for (uint32_t s = program->lane_first[ronde_program_lane(program, by)]; s <= by; s++) {
        const uint32_t end = end_of(&program->steps[s], false);
        if (end != RONDE_NONE && ronde_view_peer_position(&view, end) == peer.position &&
            gives_credit(peer.program, receiver, step_there(model, &view, &peer, s, false)))
            return true;
    }
    return false;
}

/** Whether the program alone allows the step that a send's source comes from to spread it. */
static bool is_result(const struct ronde_program *program, uint32_t send)
{
    const uint32_t by = program->spread[send];
    const struct ronde_step *step = &program->steps[send];
    const int ops = RONDE_OPS_THAT_RECEIVE & RONDE_OPS_THAT_REDUCE & ~RONDE_OPS_THAT_SEND;
    return by < RONDE_NEVER && ronde_op_is_in(program->steps[by].op, ops) &&
           program->steps[by].chunk_count == 1 && program->steps[by].destination == RONDE_OUT &&
           step->source == RONDE_OUT && (step->flags & (RONDE_FLAG_RAW | RONDE_FLAG_FINAL)) == 0;
}

/** Drops what the program alone forbids, and steps with more sends than a pass may write to. */
static void propose(struct ronde_program *program, uint32_t *count)
{
    memset(count, 0, program->step_count * sizeof *count);
    for (uint32_t s = 0; s < program->step_count; s++) {
        if (!is_result(program, s))
            program->spread[s] = RONDE_NONE;
        else
            count[program->spread[s]]++;
    }
    for (uint32_t s = 0; s < program->step_count; s++)
        if (program->spread[s] != RONDE_NONE && count[program->spread[s]] > RONDE_JOINED_OPERANDS)
            program->spread[s] = RONDE_NONE;
}

/** Turns the spreading step of each send into lists: of its first send by step, and of the next by send. */
static void link_sends(struct ronde_program *program)
{
    bool has_any = false;
    for (uint32_t s = program->step_count; s-- > 0;) {
        const uint32_t by = program->spread[s];
        if (!ronde_op_is_in(program->steps[s].op, RONDE_OPS_THAT_SEND_SOURCE) || by == RONDE_NONE)
            continue;
        program->spread[s] = program->spread[by];
        program->spread[by] = s;
        program->steps[s].flags |= RONDE_FLAG_SPREAD;
        has_any = true;
    }
    if (!has_any)
        program->spread = NULL;
}

void ronde_spread_note(struct ronde_program *program, uint32_t send, uint32_t writer)
{
    uint32_t *by = &program->spread[send];
    if (program->steps[send].chunk_count == 1)
        *by = *by == RONDE_NEVER || *by == writer ? writer : RONDE_NONE;
}

void ronde_spread_find(struct ronde_schedule *schedule, const struct ronde_model *model,
                       uint32_t *const *rooms)
{
    for (uint32_t i = 0; i < schedule->program_count; i++)
        propose(&schedule->programs[i], rooms[i]);
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        struct ronde_program *program =
            &schedule->programs[ronde_model_view(model, actor).program - schedule->programs];
        for (uint32_t s = 0; s < program->step_count; s++)
            if (program->spread[s] != RONDE_NONE && !may_spread(model, actor, s))
                program->spread[s] = RONDE_NONE;
    }
    for (uint32_t i = 0; i < schedule->program_count; i++)
        link_sends(&schedule->programs[i]);
}
