/**
 * Results of a step: what is computed of an item, and where it goes: to memory, to a slot, or past the caches.
 *
 * Part of the step interpreter (interp.h). Free of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_RESULT_H
#define RONDE_ENGINE_EXECUTE_RESULT_H

#include "engine/execute/operand.h"

/** Copies unless the data is there already, which is how in-place runs skip copies. */
RONDE_INTERP void ronde_act_copy(const struct ronde_act *act, unsigned char *to,
                                 const unsigned char *from, uint64_t bytes)
{
    (void)act;
    if (to != from && bytes > 0)
        RONDE_COPY(act->lane->task->frame, to, from, bytes);
}

/** Whether the step carries a mark that the operator depends on. */
RONDE_INTERP bool ronde_act_heeds(const struct ronde_act *act, uint32_t mark)
{
    return (act->step->flags & act->lane->task->frame->marks & mark) != 0;
}

/**
 * Moves the local operand on alone: premul_sum scales one that is raw and avg divides one that is final, even onto
 * itself. No step writes a place twice: a message of lines is read as soon as it is written.
 */
RONDE_INTERP void ronde_act_take(const struct ronde_act *act, unsigned char *to,
                                 const unsigned char *from, uint64_t elements)
{
    const struct ronde_task *task = act->lane->task;
    if (ronde_act_heeds(act, RONDE_FLAG_RAW))
        RONDE_SCALE(task->frame, to, from, &task->factor, elements);
    else if (ronde_act_heeds(act, RONDE_FLAG_FINAL))
        RONDE_DIVIDE(task->frame, to, from, elements);
    else
        ronde_act_copy(act, to, from, elements * task->frame->element_bytes);
}

/**
 * Combines the operand that the marks are about, a step's source, with another one. `to` <- source o other, but for
 * `reduce`, whose source is the second operand: sums commute, and no other operator depends on marks.
 */
RONDE_INTERP void ronde_act_combine(const struct ronde_act *act, unsigned char *to,
                                    const unsigned char *source, const unsigned char *other,
                                    uint64_t elements)
{
    const struct ronde_task *task = act->lane->task;
    const bool is_final = ronde_act_heeds(act, RONDE_FLAG_FINAL);
    if (ronde_act_heeds(act, RONDE_FLAG_RAW))
        RONDE_SCALE_SUM(task->frame, to, source, other, &task->factor, elements);
    else if (ronde_op_is_in(act->step->op, RONDE_OPS_THAT_REREAD))
        RONDE_COMBINE(task->frame, to, other, source, elements, is_final);
    else
        RONDE_COMBINE(task->frame, to, source, other, elements, is_final);
}

#ifndef RONDE_JOIN
/** Bytes of each operand that are combined before the next: what has been so far stays in the first-level cache. */
#define RONDE_JOIN_BLOCK 4096u

/** Combines the operands of joined steps, from left to right. `to` may be one of them exactly. */
RONDE_INTERP_APART void ronde_act_join(const struct ronde_act *act, unsigned char *to,
                                       uint64_t skipped, uint64_t elements)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_joined *joined = act->joined;
    const unsigned char *const *operands =
        joined->operands + (uint64_t)joined->item * joined->per_item;
    const uint64_t most = RONDE_JOIN_BLOCK / task->frame->element_bytes;
    const bool is_final = ronde_act_heeds(act, RONDE_FLAG_FINAL);
    unsigned char so_far[RONDE_JOIN_BLOCK] __attribute__((aligned(RONDE_STREAM_LINE)));
    while (elements > 0) {
        const uint64_t count = elements < most ? elements : most;
        const unsigned char *left = operands[0] + skipped;
        for (uint32_t k = 1; k < joined->per_item; k++) {
            const bool is_last = k + 1 == joined->per_item;
            unsigned char *const into = is_last ? to : so_far;
            const unsigned char *const right = operands[k] + skipped;
            if (k == 1 && joined->is_raw)
                RONDE_SCALE_SUM(task->frame, into, left, right, &task->factor, count);
            else
                RONDE_COMBINE(task->frame, into, left, right, count, is_last && is_final);
            left = so_far;
        }
        to += count * task->frame->element_bytes;
        skipped += count * task->frame->element_bytes;
        elements -= count;
    }
}

/** The same on the machine at hand. */
#define RONDE_JOIN(act, to, skipped, elements) ronde_act_join((act), (to), (skipped), (elements))
#endif

/** Computes what a step passes on or keeps of one item. */
RONDE_INTERP void ronde_act_compute(const struct ronde_act *act, unsigned char *to,
                                    const struct ronde_segment *from, uint64_t elements)
{
    const uint32_t op = act->step->op;
    const bool receives = ronde_op_is_in(op, RONDE_OPS_THAT_RECEIVE);
    if (act->joined->per_item > 0)
        RONDE_JOIN(act, to, from->skipped, elements);
    else if (ronde_op_is_in(op, RONDE_OPS_THAT_REDUCE))
        ronde_act_combine(act, to, from->source, receives ? from->received : from->destination,
                          elements);
    else if (receives)
        ronde_act_copy(act, to, from->received, elements * act->lane->task->frame->element_bytes);
    else
        ronde_act_take(act, to, from->source, elements);
}

/** Where the result of a step lies already, or NULL if it has to be computed. */
RONDE_INTERP const unsigned char *ronde_act_unchanged(const struct ronde_act *act,
                                                      const struct ronde_segment *from)
{
    const uint32_t op = act->step->op;
    if (ronde_op_is_in(op, RONDE_OPS_THAT_REDUCE))
        return 0;
    if (ronde_op_is_in(op, RONDE_OPS_THAT_RECEIVE))
        return from->received;
    if (ronde_act_heeds(act, RONDE_FLAG_RAW) || ronde_act_heeds(act, RONDE_FLAG_FINAL))
        return 0;
    return from->source;
}

/** Whether the receiver reads what a step keeps, or a later step of the rank does. */
RONDE_INTERP bool ronde_act_is_read(const struct ronde_act *act)
{
    const struct ronde_task *task = act->lane->task;
    return act->offered || task->landings->is_read[act->step - task->view.program->steps];
}

/**
 * Does one item whose result is not read soon, in one of its places or in both, or goes to other ranks' outputs: block by
 * block, computed in the first- level cache and written past the others. The operands may be the places
 * themselves, exactly.
 */
RONDE_INTERP_APART void ronde_act_stream(const struct ronde_act *act,
                                         const struct ronde_segment *segment,
                                         const struct ronde_places *places)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_frame *frame = task->frame;
    unsigned char bounce[RONDE_STREAM_BLOCK] __attribute__((aligned(RONDE_STREAM_LINE)));
    struct ronde_segment left = *segment;
    unsigned char *to = places->to;
    unsigned char *also = places->also;
    uint64_t block = RONDE_STREAM_BLOCK - (uint64_t)(uintptr_t)to % RONDE_STREAM_LINE;
    while (left.elements > 0) {
        const uint64_t most = block / frame->element_bytes;
        const uint64_t elements = left.elements < most ? left.elements : most;
        const uint64_t bytes = elements * frame->element_bytes;
        unsigned char *const into = places->streams_to ? bounce : to;
        const unsigned char *result = ronde_act_unchanged(act, &left);
        if (!result || !places->streams_to) {
            ronde_act_compute(act, into, &left, elements);
            result = into;
        }
        if (places->streams_to)
            RONDE_STREAM(frame, to, result, bytes);
        if (also && places->streams_also)
            RONDE_STREAM(frame, also, result, bytes);
        else if (also)
            ronde_act_copy(act, also, result, bytes);
        for (uint32_t send = places->spread; send != RONDE_NONE;
             send = task->view.program->spread[send]) {
            unsigned char *const there = ronde_task_spread_to(task, send, to);
            /* In place it has just been read there. */
            if (RONDE_STREAMS(frame) && !frame->is_in_place)
                RONDE_STREAM(frame, there, result, bytes);
            else
                RONDE_COPY(frame, there, result, bytes);
        }
        ronde_segment_skip(&left, elements, bytes);
        to += bytes;
        also += also ? bytes : 0;
        block = RONDE_STREAM_BLOCK;
    }
}

/** Does one item whose result goes to other ranks' outputs; false: it is to be done as any other, and movers take that over. */
RONDE_INTERP_APART bool ronde_act_spread(const struct ronde_act *act,
                                         const struct ronde_segment *segment)
{
    const struct ronde_program *program = act->lane->task->view.program;
    unsigned char *const to = segment->destination;
    const struct ronde_places places = {to, 0,
                                        RONDE_STREAMS(act->lane->task->frame) &&
                                            to != segment->source && to != segment->received,
                                        false, program->spread[act->step - program->steps]};
    if (places.spread == RONDE_NONE || RONDE_SPREAD(act, places.spread, to))
        return false;
    ronde_act_stream(act, segment, &places);
    return true;
}

/** Does one item: computes it into its first place, and copies it from there into the others. */
RONDE_INTERP void ronde_act_apply(const struct ronde_act *act, const struct ronde_segment *segment)
{
    const struct ronde_frame *frame = act->lane->task->frame;
    const bool keeps = act->buffer[0] != RONDE_BUFFER_COUNT;
    struct ronde_places places = {keeps ? segment->destination : act->sent, keeps ? act->sent : 0,
                                  false, false, RONDE_NONE};
    if (!places.to)
        return;
    if (frame->spreads && keeps && act->lane->task->view.program->spread &&
        ronde_act_spread(act, segment))
        return;
    if (RONDE_STREAMS(frame)) {
        const bool streams_sent = act->target && !act->target->is_read;
        places.streams_to = keeps ? !ronde_act_is_read(act) : streams_sent;
        places.streams_also = keeps && streams_sent;
    }
    /* What was read from the very same place is in the caches; and a copy onto itself is no access: others may read. */
    places.streams_to &= places.to != segment->source && places.to != segment->received;
    places.streams_also &= places.also != segment->received;
    if (places.streams_to || places.streams_also) {
        ronde_act_stream(act, segment, &places);
        return;
    }
    ronde_act_compute(act, places.to, segment, segment->elements);
    if (places.also)
        ronde_act_copy(act, places.also, places.to, segment->elements * frame->element_bytes);
}

#endif
