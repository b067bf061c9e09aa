/**
 * Messages that are not copied into slots: read where they lie (pull), or written where they are kept (push).
 *
 * Pull: the sender offers, and whoever overwrites what was offered waits until it was read. Push: a sender that reaches
 * the receiver's memory looks up the step that receives its message, as the receiver would, and writes there what it
 * computes, if the receiver's rank has no more use for what lies there. It never waits for that: if not, the message
 * travels otherwise. Lowering says which steps overwrite, and from when on a destination is free.
 *
 * Part of the step interpreter (interp.h). Free of libc.
 */
#ifndef RONDE_ENGINE_AIM_H
#define RONDE_ENGINE_AIM_H

#include "engine/result.h"

/**
 * The end on which somebody has yet to read what a step overwrites, or RONDE_NONE. What is being received from `reading`
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
        const uint64_t read = reading && reading->mine == freed ? reading->count + 1
                                                                : RONDE_ACQUIRE(task->frame, freed);
        if (read < piece * hold->messages + hold->after)
            return hold->end;
    }
    return RONDE_NONE;
}

/**
 * Whether a step sends by saying where its data lies. Only data that stays there may be: a send's source unless it is
 * scaled on the way, and what a step keeps of what it passes on; lowering has marked those that would deadlock.
 */
RONDE_INTERP bool ronde_act_may_offer(const struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    const struct ronde_task *task = act->lane->task;
    const uint32_t no_pull = task->frame->no_pull;
    if (no_pull == 0 || (step->flags & no_pull) != 0 || step->chunk_count == 0 ||
        task->ends[step->send].is_copied)
        return false;
    if (step->op == RONDE_STEP_SEND)
        return !ronde_act_heeds(act, RONDE_FLAG_RAW) && !ronde_act_heeds(act, RONDE_FLAG_FINAL);
    return step->op == RONDE_STEP_RCS || step->op == RONDE_STEP_RRCS;
}

/** The step that receives what a step sends, if its rank's memory can be reached and it only keeps the message. */
RONDE_INTERP const struct ronde_landing *ronde_act_landing(const struct ronde_act *act)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_twin *twin = RONDE_TWIN(act);
    if (!twin || !twin->task)
        return 0;
    const struct ronde_landings *there = twin->task->landings;
    const uint32_t message = task->landings->message[act->step - task->view.program->steps];
    const uint32_t entry = there->first[twin->connection] + message;
    if (entry >= there->first[twin->connection + 1] || there->entries[entry].step == RONDE_NONE)
        return 0;
    return &there->entries[entry];
}

/**
 * Whether the receiver's rank has no more use for what its step overwrites. What this step is receiving itself may be
 * overwritten as it is read, if there is no more of it than one chunk.
 */
RONDE_INTERP bool ronde_act_is_free(const struct ronde_act *act, const struct ronde_landing *landing,
                                    const struct ronde_end *from)
{
    const struct ronde_task *there = act->lane->task->twins[act->step->send].task;
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

/** Looks at the receiving step with the receiver's eyes: its task, its chunks, the sender's piece. */
RONDE_INTERP void ronde_aim_open(struct ronde_aim *aim, const struct ronde_act *act,
                                 const struct ronde_landing *landing)
{
    const struct ronde_twin *twin = &act->lane->task->twins[act->step->send];
    aim->lane = *act->lane;
    aim->lane.task = twin->task;
    aim->lane.sorted[0] = act->lane->sorted_there;
    const struct ronde_step *step = &twin->task->view.program->steps[landing->step];
    struct ronde_act there = {&aim->lane, step,  {0, 0}, {{0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0, 0,
                              0,          false, 0};
    there.buffer[0] = ronde_act_buffer(step, false);
    there.buffer[1] = RONDE_BUFFER_COUNT;
    ronde_act_open(&there);
    aim->act = there;
    aim->is_read = landing->is_read;
}

/** Where the receiver keeps an item. */
RONDE_INTERP_APART unsigned char *ronde_aim_place(const struct ronde_aim *aim, uint32_t item)
{
    return ronde_act_segment(&aim->act, item).destination;
}

/** Whether the offer a step reads and the place it writes to are the same memory, or have nothing in common. */
RONDE_INTERP bool ronde_aim_spares(const struct ronde_aim *aim, const struct ronde_act *act)
{
    const struct ronde_offer *offer = act->pulled;
    const uint64_t place = (uint64_t)(uintptr_t)ronde_aim_place(aim, 0);
    const uint64_t start = (uint64_t)(uintptr_t)RONDE_SEEN(act, offer);
    return place == start || place >= start + offer->bytes || place + offer->bytes <= start;
}

/** Whether a step writes its message where the receiver keeps it; then *aim says where. */
RONDE_INTERP_APART bool ronde_act_takes_aim(const struct ronde_act *act,
                                            const struct ronde_end *from, struct ronde_aim *aim)
{
    const struct ronde_step *step = act->step;
    /* An input that lies ready is read by whoever needs it, when it is needed. */
    const bool is_ready = step->op == RONDE_STEP_SEND && ronde_act_may_offer(act);
    if (is_ready || step->op == RONDE_STEP_RS || step->chunk_count == 0)
        return false;
    const struct ronde_landing *landing = ronde_act_landing(act);
    if (!landing || !ronde_act_is_free(act, landing, from))
        return false;
    ronde_aim_open(aim, act, landing);
    return !act->pulled || step->chunk_count > 1 || ronde_aim_spares(aim, act);
}

#endif
