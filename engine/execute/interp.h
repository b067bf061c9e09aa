/**
 * The step interpreter: the one piece of code that executes schedules, on CPUs and GPUs alike.
 *
 * It is resumable and never blocks: ronde_lane_poll executes at most one step, or several that are joined, and returns whether
 * it progressed, what it waits for, or that the lane is done. The driver of the lanes (one thread
 * for all, a thread per rank, a GPU block per lane) decides what to do while a lane waits. Free of
 * libc; machine.h says what it runs on.
 *
 * Its parts are headers, since it is compiled into every executor, and each is included by the next alone: operand.h,
 * result.h, zero_copy.h, this one. stream.h and wide.h are parts of machine.h and reduce.h likewise.
 */
#ifndef RONDE_ENGINE_EXECUTE_INTERP_H
#define RONDE_ENGINE_EXECUTE_INTERP_H

#include "engine/execute/burst.h"
#include "engine/execute/zero_copy.h"

/** Records why a lane stopped. */
RONDE_INTERP enum ronde_poll ronde_lane_stop(struct ronde_lane *lane, enum ronde_poll poll,
                                             enum ronde_reason reason, uint32_t about)
{
    lane->reason = reason;
    lane->about = about;
    return poll;
}

/** Whether all dependencies of a step are over. */
RONDE_INTERP bool ronde_lane_is_released(struct ronde_lane *lane, const struct ronde_step *step)
{
    const struct ronde_task *task = lane->task;
    const uint64_t piece = task->frame->first_piece + lane->piece;
    for (uint32_t k = 0; k < step->dependency_count; k++) {
        const uint32_t index = step->first_dependency + k;
        const struct ronde_wait *wait = &task->waits[index];
        const uint64_t least = piece * wait->steps + wait->after;
        if (RONDE_ACQUIRE_FROM(task->frame, &task->progress[wait->lane].value, least) < least) {
            lane->about = index;
            return false;
        }
    }
    return true;
}

/** Whether all peers have read what a step of the lane overwrites. */
RONDE_INTERP bool ronde_lane_may_overwrite(struct ronde_lane *lane, uint32_t step)
{
    const uint64_t piece = lane->task->frame->first_piece + lane->piece;
    const uint32_t unread = ronde_task_unread(lane->task, step, piece, 0);
    if (unread != RONDE_NONE)
        lane->about = unread;
    return unread == RONDE_NONE;
}

/** Whether a message has arrived. What was seen may be less than what was received: lines arrive before their counter. */
RONDE_INTERP bool ronde_end_has_message(const struct ronde_frame *frame, struct ronde_end *end)
{
    (void)frame;
    if (end->seen <= end->count)
        end->seen = RONDE_POSTED(frame, end);
    return end->seen > end->count;
}

/** Whether a slot is free. A freed slot is credit, not ordering. */
RONDE_INTERP bool ronde_end_has_slot(const struct ronde_frame *frame, struct ronde_end *end)
{
    if (end->count - end->seen >= frame->depth)
        end->seen = RONDE_ACQUIRE_FROM(frame, end->theirs, end->count + 1 - frame->depth);
    return end->count - end->seen < frame->depth;
}

/** Publishes the current slot to the other side: posts a message or frees a slot. */
RONDE_INTERP void ronde_end_advance(const struct ronde_frame *frame, struct ronde_end *end)
{
    end->slot = end->slot + 1 == frame->depth ? 0 : end->slot + 1;
    end->count++;
    RONDE_RELEASE(frame, end->mine, end->count);
}

/** What a step adds to the operands of an item: the right one of those it combines, and the first step its left one too. */
RONDE_INTERP void ronde_joined_take(const struct ronde_act *act, uint32_t item,
                                    const struct ronde_segment *segment)
{
    const struct ronde_joined *joined = act->joined;
    const uint32_t op = act->step->op;
    const unsigned char **at = joined->operands + item * joined->per_item + joined->taken;
    if (joined->taken == 0 && ronde_op_is_in(op, RONDE_OPS_THAT_REDUCE))
        *at++ = ronde_op_is_in(op, RONDE_OPS_THAT_REREAD) ? segment->destination : segment->source;
    *at = ronde_op_is_in(op, RONDE_OPS_THAT_RECEIVE) ? segment->received : segment->source;
}

/** Computes an item of a step, or of all that are joined with it: these read what the first of them begins with. */
RONDE_INTERP void ronde_act_finish(struct ronde_act *act, uint32_t item,
                                   struct ronde_segment *segment)
{
    const struct ronde_frame *frame = act->lane->task->frame;
    struct ronde_joined *joined = act->joined;
    if (RONDE_PUSHES(frame) && act->target)
        act->sent = ronde_write_target_address(act->target, item);
    if (joined->per_item > 0) {
        joined->item = item;
        segment->source = (unsigned char *)(uintptr_t)joined->operands[item * joined->per_item];
    }
    if (segment->elements > 0)
        ronde_act_apply(act, segment);
    if (act->offered) {
        const uint64_t bytes = segment->elements * frame->element_bytes;
        const unsigned char *const start = ronde_op_is_in(act->step->op, RONDE_OPS_THAT_SEND_KEPT)
                                               ? segment->destination
                                               : segment->source;
        act->offered[item].start = RONDE_SEND_COPY(act, start, bytes);
        act->offered[item].bytes = bytes;
    }
}

/** Does all items of a step. */
RONDE_INTERP void ronde_act_items(struct ronde_act *act)
{
    const struct ronde_frame *frame = act->lane->task->frame;
    for (uint32_t item = 0; item < act->step->chunk_count; item++) {
        if (frame->checks) {
            act->lane->reason = ronde_act_fault(act, item);
            if (act->lane->reason != RONDE_REASON_NONE)
                return;
        }
        struct ronde_segment segment = ronde_act_segment(act, item);
        const uint64_t bytes = segment.elements * frame->element_bytes;
        /* A pull must not read beyond what was offered. */
        if (frame->checks && act->pulled && act->pulled[item].bytes != bytes) {
            act->lane->reason = RONDE_REASON_LENGTH;
            return;
        }
        if (act->pulled && segment.elements > 0) {
            segment.received = RONDE_REMOTE_READ(act, &act->pulled[item],
                                                 segment.source ? 0 : segment.destination);
            if (!segment.received) {
                act->lane->reason = RONDE_REASON_REMOTE_READ;
                return;
            }
        }
        if (act->has_landed)
            segment.received = segment.destination;
        if (act->joined->per_item > 0)
            ronde_joined_take(act, item, &segment);
        if (act->joined->is_last)
            ronde_act_finish(act, item, &segment);
        const uint64_t stride = RONDE_ITEM_STRIDE(frame, bytes);
        act->moved += stride;
        if (act->received)
            act->received += stride;
        if (act->sent)
            act->sent += stride;
    }
}

/** Passes a message on. That needs no operand: the length travels beside the slot. */
RONDE_INTERP void ronde_lane_pass(struct ronde_act *act, const struct ronde_end *from)
{
    if (!act->pulled) {
        act->moved = RONDE_LENGTH(act->lane->task->frame, from);
        ronde_act_copy(act, act->sent, act->received, act->moved);
        return;
    }
    for (uint32_t item = 0; item < act->step->chunk_count; item++) {
        const struct ronde_offer *offer = &act->pulled[item];
        unsigned char *const place = act->sent + act->moved;
        const unsigned char *start = offer->bytes > 0 ? RONDE_REMOTE_READ(act, offer, place) : place;
        if (!start) {
            act->lane->reason = RONDE_REASON_REMOTE_READ;
            return;
        }
        ronde_act_copy(act, place, start, offer->bytes);
        act->moved += offer->bytes;
    }
}

/** Where messages are not always copied, finds out how this step's two travel. */
RONDE_INTERP void ronde_act_arrange(struct ronde_act *act, const struct ronde_end *from,
                                    struct ronde_write_target *target)
{
    const uint64_t length = from ? RONDE_LENGTH(act->lane->task->frame, from) : 0;
    act->has_landed = (length & RONDE_LENGTH_PUSHED) != 0;
    if ((length & RONDE_LENGTH_OFFERED) != 0)
        act->pulled = (const struct ronde_offer *)(const void *)act->received;
    if (!act->sent)
        return;
    if (act->lane->task->frame->spreads && (act->step->flags & RONDE_FLAG_SPREAD) != 0) {
        /* It lies where the receiver keeps it: the step that computed it wrote it there. */
        act->manner = RONDE_LENGTH_PUSHED;
        act->sent = 0;
    } else if (RONDE_PUSHES(act->lane->task->frame) && ronde_act_finds_target(act, from, target)) {
        act->manner = RONDE_LENGTH_PUSHED;
        act->target = target;
    } else if (ronde_act_may_offer(act)) {
        act->manner = RONDE_LENGTH_OFFERED;
        act->offered = (struct ronde_offer *)(void *)act->sent;
        act->sent = 0;
    }
}

/** The end a step consumes a message of, or NULL. */
RONDE_INTERP struct ronde_end *ronde_step_from(const struct ronde_task *task,
                                               const struct ronde_step *step)
{
    const uint32_t receive = ronde_act_receive(step);
    return receive == RONDE_NONE ? 0 : &task->ends[receive];
}

/** The end a step posts a message on, or NULL. */
RONDE_INTERP struct ronde_end *ronde_step_to(const struct ronde_task *task,
                                             const struct ronde_step *step)
{
    const uint32_t send = ronde_act_send(step);
    return send == RONDE_NONE ? 0 : &task->ends[send];
}

/** Executes a step whose dependencies, message and slot are there, or brings what it adds to those it is joined with. */
RONDE_INTERP enum ronde_reason
ronde_lane_act(struct ronde_lane *lane, const struct ronde_step *step, const struct ronde_end *from,
               const struct ronde_end *to, struct ronde_joined *joined)
{
    const struct ronde_frame *frame = lane->task->frame;
    struct ronde_write_target target;
    struct ronde_act act = {lane, step,   {0, 0}, {{0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0, 0, 0, false,
                            0,    joined, 0};
    act.buffer[0] = ronde_act_buffer(step, false);
    act.buffer[1] = ronde_act_buffer(step, true);
    act.received = from ? from->slots + from->slot * frame->slot_stride : 0;
    act.sent = to ? to->slots + to->slot * frame->slot_stride : 0;
    lane->reason = RONDE_REASON_NONE;
    RONDE_USE(frame, from, to);
    if (frame->no_pull != 0 || frame->has_offers)
        ronde_act_arrange(&act, from, &target);
    if (ronde_op_is_in(step->op, RONDE_OPS_THAT_PASS)) {
        ronde_lane_pass(&act, from);
    } else if (step->chunk_count > 0 && ronde_op_is_in(step->op, RONDE_OPS_WITH_OPERAND)) {
        ronde_act_open(&act);
        ronde_act_items(&act);
    }
    /* What was written is junk in part: nobody may take it for a message. The last of joined steps writes. */
    if (joined->is_last && RONDE_GAVE_UP(frame))
        return lane->reason = RONDE_REASON_MESSAGE;
    if (to)
        RONDE_POST_LENGTH(frame, to, act.moved | act.manner);
    /* The receiver reads the length only of unproved schedules: it costs a cache line. */
    if (lane->reason == RONDE_REASON_NONE && frame->checks && from &&
        (RONDE_LENGTH(frame, from) & RONDE_LENGTH_BYTES) != act.moved)
        lane->reason = RONDE_REASON_LENGTH;
    return lane->reason;
}

/** Whether steps wait for readers: messages are read from the senders' buffers, and not from copies. */
RONDE_INTERP bool ronde_frame_awaits_readers(const struct ronde_frame *frame)
{
    return frame->no_pull != 0 && !frame->copies_sends;
}

/** A lane is done once all its messages were read: until then their memory is not the caller's again. */
RONDE_INTERP enum ronde_poll ronde_lane_drain(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    for (uint32_t k = lane->first; ronde_frame_awaits_readers(task->frame) && k < lane->end; k++) {
        const uint32_t send = ronde_act_send(&task->view.program->steps[k]);
        struct ronde_end *end = send == RONDE_NONE ? 0 : &task->ends[send];
        if (!end || end->is_copied)
            continue;
        if (end->seen < end->count)
            end->seen = RONDE_ACQUIRE_FROM(task->frame, end->theirs, end->count);
        if (end->seen < end->count)
            return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_READER, send);
    }
    return RONDE_POLL_DONE;
}

/** A step with the ends of its messages, which are looked up once. */
struct ronde_ended_step {
    const struct ronde_step *step;
    struct ronde_end *from; /**< or NULL */
    struct ronde_end *to;   /**< or NULL */
};

/** The k-th step of a lane from the one that comes next. */
RONDE_INTERP struct ronde_ended_step ronde_lane_step(const struct ronde_lane *lane, uint32_t k)
{
    const struct ronde_step *step = &lane->task->view.program->steps[lane->step + k];
    const struct ronde_ended_step ended = {step, ronde_step_from(lane->task, step),
                                           ronde_step_to(lane->task, step)};
    return ended;
}

/** Why a step of a lane cannot be executed yet; lane->about is what that is about. */
RONDE_INTERP enum ronde_reason ronde_lane_obstacle(struct ronde_lane *lane, uint32_t k,
                                                   struct ronde_ended_step ended)
{
    const struct ronde_frame *frame = lane->task->frame;
    if (!ronde_lane_is_released(lane, ended.step))
        return RONDE_REASON_DEPENDENCY;
    if (ended.from && !ronde_end_has_message(frame, ended.from)) {
        lane->about = ended.step->receive;
        return RONDE_REASON_MESSAGE;
    }
    if (ended.to && !ronde_end_has_slot(frame, ended.to)) {
        lane->about = ended.step->send;
        return RONDE_REASON_SLOT;
    }
    if (ronde_frame_awaits_readers(frame) && !ronde_lane_may_overwrite(lane, lane->step + k))
        return RONDE_REASON_READER;
    return RONDE_REASON_NONE;
}

/** Whether all operands of a step that could be executed can be read while those of others are. */
RONDE_INTERP bool ronde_lane_may_join(struct ronde_lane *lane, const struct ronde_step *step,
                                      const struct ronde_end *from, bool is_first)
{
    const struct ronde_frame *frame = lane->task->frame;
    const struct ronde_act act = {lane, step, {0, 0}, {{0, 0, 0}, {0, 0, 0}},
                                  0,    0,    0,      0,
                                  0,    0,    false,  0,
                                  0,    0};
    (void)act;
    /* The operator scales what is raw on the left alone. */
    if ((step->flags & frame->marks & RONDE_FLAG_RAW) != 0 &&
        !(is_first && ronde_op_is_in(step->op, RONDE_OPS_THAT_RECEIVE)))
        return false;
    if (!from || (frame->no_pull == 0 && !frame->has_offers) ||
        (RONDE_LENGTH(frame, from) & RONDE_LENGTH_OFFERED) == 0)
        return true;
    const struct ronde_offer *const offers =
        (const struct ronde_offer *)(const void *)(from->slots + from->slot * frame->slot_stride);
    for (uint32_t item = 0; item < step->chunk_count; item++)
        if (offers[item].bytes > 0 && !RONDE_SEEN(&act, &offers[item]))
            return false;
    return true;
}

/** Publishes that a step is over: its data was written before, and is visible. */
RONDE_INTERP void ronde_lane_advance(const struct ronde_frame *frame, struct ronde_ended_step ended)
{
    if (ended.from)
        ronde_end_advance(frame, ended.from);
    if (ended.to)
        ronde_end_advance(frame, ended.to);
}

/** Steps of a lane are over. */
RONDE_INTERP void ronde_lane_publish(struct ronde_lane *lane, uint32_t count)
{
    const struct ronde_task *task = lane->task;
    lane->done += count;
    RONDE_RELEASE(task->frame, &task->progress[lane->index].value, lane->done);
    lane->step += count;
    if (lane->step == lane->end) {
        lane->step = lane->first;
        lane->piece++;
    }
}

/**
 * Executes the next step of a lane if it can, and, with `joins`, as one with it those that are joined to it and could be executed
 * after it now: none has to wait for another. All bring their operands, the last computes the result.
 */
RONDE_INTERP enum ronde_poll ronde_lane_run(struct ronde_lane *lane, bool joins)
{
    const struct ronde_frame *frame = lane->task->frame;
    const uint32_t first_op = lane->task->view.program->steps[lane->step].op;
    RONDE_JOINED_ROOM(frame, room);
    struct ronde_joined joined = {room, 0, 0, 0, false, true};
    struct ronde_ended_step at;
    uint32_t count = 0;
    do {
        at = ronde_lane_step(lane, count);
        const enum ronde_reason reason = ronde_lane_obstacle(lane, count, at);
        if (reason != RONDE_REASON_NONE && count == 0)
            return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, reason, lane->about);
        if (joins && (reason != RONDE_REASON_NONE ||
                      !ronde_lane_may_join(lane, at.step, at.from, count == 0)))
            break;
        count++;
    } while (joins && (at.step->flags & RONDE_FLAG_JOINED) != 0);
    if (!joins || count == 0)
        count = 1;
    if (count > 1) {
        joined.per_item = count + ronde_op_is_in(first_op, RONDE_OPS_THAT_REDUCE);
        joined.is_raw = (ronde_lane_step(lane, 0).step->flags & frame->marks & RONDE_FLAG_RAW) != 0;
    }
    for (uint32_t k = 0; k < count; k++) {
        at = joins ? ronde_lane_step(lane, k) : at;
        joined.is_last = k + 1 == count;
        const enum ronde_reason wrong = ronde_lane_act(lane, at.step, at.from, at.to, &joined);
        if (wrong != RONDE_REASON_NONE)
            return ronde_lane_stop(lane, RONDE_POLL_WRONG, wrong, ronde_act_receive(at.step));
        joined.taken = k + 1 + joined.per_item - count;
    }
    RONDE_SETTLE(lane->task);
    for (uint32_t k = 0; k < count; k++)
        ronde_lane_advance(frame, joins ? ronde_lane_step(lane, k) : at);
    ronde_lane_publish(lane, count);
    return RONDE_POLL_PROGRESSED;
}

#ifndef RONDE_RUN_JOINED
/** The same, so that short steps are not slowed down. */
RONDE_INTERP_APART enum ronde_poll ronde_lane_run_joined(struct ronde_lane *lane)
{
    return ronde_lane_run(lane, true);
}

/** Executes what it can of a lane's next steps, which `joins` says are to be executed as one. */
#define RONDE_RUN_JOINED(lane, joins)                                                              \
    ((joins) ? ronde_lane_run_joined(lane) : ronde_lane_run((lane), false))
#endif

/** Executes the next step of a lane if it can, and those joined to it that it can. Never blocks. */
RONDE_INTERP enum ronde_poll ronde_lane_poll(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    if (lane->piece == task->frame->piece_count)
        return ronde_lane_drain(lane);
    const uint32_t flags = task->view.program->steps[lane->step].flags;
    const bool joins =
        (flags & RONDE_FLAG_JOINED) != 0 && task->frame->joins && !task->frame->checks;
    return RONDE_RUN_JOINED(lane, joins);
}

/** Lets a lane go on while it can, but not for ever. *io_moved becomes true if it executed a step. */
RONDE_INTERP enum ronde_poll ronde_lane_burst(struct ronde_lane *lane, bool *io_moved)
{
    enum ronde_poll poll = RONDE_POLL_PROGRESSED;
    for (uint32_t k = 0; k < RONDE_BURST_STEPS && poll == RONDE_POLL_PROGRESSED; k++) {
        if (!RONDE_MAY_POLL(lane))
            return RONDE_POLL_BLOCKED;
        poll = ronde_lane_poll(lane);
        *io_moved |= poll == RONDE_POLL_PROGRESSED;
    }
    return poll;
}

#endif
