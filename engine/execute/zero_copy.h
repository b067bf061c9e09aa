/**
 * Messages that are not copied into slots: read where they lie (pull), or written where they are kept (push).
 *
 * Pull: the sender posts an offer (address and length), and a step that overwrites what was offered waits until it was
 * read. Push: a sender that maps the receiver's memory looks up the step that receives its message and writes its
 * result to that step's destination, if the receiver's rank no longer needs what is stored there. It never waits for
 * that: if not, the message is pulled or staged. Lowering found which steps overwrite, and from when on a destination
 * is free.
 *
 * Part of the step interpreter (interp.h). Free of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_ZERO_COPY_H
#define RONDE_ENGINE_EXECUTE_ZERO_COPY_H

#include "engine/execute/result.h"

/**
 * The end on which a peer has yet to read what a step overwrites, or RONDE_NONE. What is being received from `reading`
 * counts as read; NULL = nothing is.
 */
RONDE_INTERP uint32_t ronde_task_unread(const struct ronde_task *task, uint32_t step,
                                        uint64_t piece, const struct ronde_end *reading)
{
    const struct ronde_holds *holds = &task->holds[task->frame->is_in_place];
    for (uint32_t k = holds->first[step]; k < holds->first[step + 1]; k++) {
        const struct ronde_hold *hold = &holds->entries[k];
        if (task->ends[hold->end].is_copied)
            continue;
        const uint64_t *const freed = task->ends[hold->end].theirs;
        const uint64_t least = piece * hold->messages + hold->after;
        const uint64_t read = reading && reading->mine == freed
                                  ? reading->count + 1
                                  : RONDE_ACQUIRE_FROM(task->frame, freed, least);
        if (read < least)
            return hold->end;
    }
    return RONDE_NONE;
}

/**
 * Whether a step sends by offering the address of its data. Only data that stays there may be: a send's source unless
 * it is scaled on the way, and what a step keeps of what it passes on; lowering has marked those that would deadlock.
 */
RONDE_INTERP bool ronde_act_may_offer(const struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    const struct ronde_task *task = act->lane->task;
    const uint32_t no_pull = task->frame->no_pull;
    if (no_pull == 0 || (step->flags & no_pull) != 0 || step->chunk_count == 0 ||
        task->ends[step->send].is_copied)
        return false;
    if (ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_SOURCE))
        return RONDE_IS_READABLE(act, act->buffer[1]) && !ronde_act_heeds(act, RONDE_FLAG_RAW) &&
               !ronde_act_heeds(act, RONDE_FLAG_FINAL);
    return ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_KEPT) &&
           RONDE_IS_READABLE(act, act->buffer[0]);
}

/** The step that receives what a step sends, if its rank's memory can be reached and it only keeps the message. */
RONDE_INTERP const struct ronde_landing *ronde_act_landing(const struct ronde_act *act)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_remote_end *remote_end = RONDE_REMOTE_END(act);
    if (!remote_end || !remote_end->task)
        return 0;
    const struct ronde_landings *there = remote_end->task->landings;
    const uint32_t message = task->landings->message[act->step - task->view.program->steps];
    const uint32_t entry = there->first[remote_end->connection] + message;
    if (entry >= there->first[remote_end->connection + 1] ||
        there->entries[entry].step == RONDE_NONE)
        return 0;
    return &there->entries[entry];
}

/**
 * Whether the receiver's rank no longer needs what its step overwrites. What this step is receiving
 * itself may be overwritten as it is read, if there is no more of it than one chunk.
 */
RONDE_INTERP bool ronde_act_is_free(const struct ronde_act *act, const struct ronde_landing *landing,
                                    const struct ronde_end *from)
{
    const struct ronde_task *there = act->lane->task->remote_ends[act->step->send].task;
    const struct ronde_frame *frame = act->lane->task->frame;
    /* The receiver may run in place where the sender does not. */
    const struct ronde_wait *after = &landing->free[there->frame->is_in_place];
    const uint64_t piece = frame->first_piece + act->lane->piece;
    if (after->lane != RONDE_NONE && RONDE_ACQUIRE(frame, &there->progress[after->lane].value) <
                                         piece * after->steps + after->after)
        return false;
    const struct ronde_end *const reading = act->step->chunk_count == 1 ? from : 0;
    return ronde_task_unread(there, landing->step, piece, reading) == RONDE_NONE;
}

/** Resolves the receiving step as the receiver does: its task, its chunks, the sender's piece. */
RONDE_INTERP void ronde_write_target_open(struct ronde_write_target *target,
                                          const struct ronde_act *act,
                                          const struct ronde_landing *landing)
{
    const struct ronde_remote_end *remote_end = &act->lane->task->remote_ends[act->step->send];
    target->lane = *act->lane;
    target->lane.task = remote_end->task;
    target->lane.sorted[0] = act->lane->sorted_there;
    const struct ronde_step *step = &remote_end->task->view.program->steps[landing->step];
    struct ronde_act there = {
        &target->lane, step, {0, 0}, {{0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0, 0, 0, false, 0, 0, 0};
    there.buffer[0] = ronde_act_buffer(step, false);
    there.buffer[1] = RONDE_BUFFER_COUNT;
    ronde_act_open(&there);
    target->act = there;
    target->is_read = landing->is_read;
}

/** Where the receiver keeps an item. */
RONDE_INTERP_APART unsigned char *
ronde_write_target_address(const struct ronde_write_target *target, uint32_t item)
{
    return ronde_act_segment(&target->act, item).destination;
}

/** Whether the offer a step reads and the place it writes to are the same memory, or have nothing in common. */
RONDE_INTERP bool ronde_write_target_spares(const struct ronde_write_target *target,
                                            const struct ronde_act *act)
{
    const struct ronde_offer *offer = act->pulled;
    const uint64_t place = (uint64_t)(uintptr_t)ronde_write_target_address(target, 0);
    const uint64_t start = (uint64_t)(uintptr_t)RONDE_SEEN(act, offer);
    return place == start || place >= start + offer->bytes || place + offer->bytes <= start;
}

/** Whether a step writes its message where the receiver keeps it; then *aim says where. */
RONDE_INTERP_APART bool ronde_act_finds_target(const struct ronde_act *act,
                                               const struct ronde_end *from,
                                               struct ronde_write_target *target)
{
    const struct ronde_step *step = act->step;
    /* An unmodified input stays in place: the receiver reads it when it needs it. */
    const bool is_ready =
        ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND_SOURCE) && ronde_act_may_offer(act);
    if (is_ready || ronde_op_is_in(step->op, RONDE_OPS_THAT_PASS) || step->chunk_count == 0)
        return false;
    const struct ronde_landing *landing = ronde_act_landing(act);
    if (!landing || !ronde_act_is_free(act, landing, from))
        return false;
    ronde_write_target_open(target, act, landing);
    return !act->pulled || step->chunk_count > 1 || ronde_write_target_spares(target, act);
}

#endif
