/**
 * The step interpreter: the one piece of code that executes schedules, on CPUs and GPUs alike.
 *
 * It is resumable and never blocks: ronde_lane_poll executes at most one step and says whether it progressed, what it
 * waits for, or that the lane is done. Whoever drives lanes (one thread for all, a thread per rank, a GPU block per
 * lane) decides what to do while a lane waits. Free of libc; machine.h says what it runs on.
 */
#ifndef RONDE_ENGINE_INTERP_H
#define RONDE_ENGINE_INTERP_H

#include "engine/machine.h"

/** Operations by what they do, a bit each: the operation decides which fields of a step mean something. */
#define RONDE_BIT_SOURCE(name, text, source, receives, reduces, sends, writes)                     \
    | ((source) << RONDE_STEP_##name)
#define RONDE_BIT_RECEIVES(name, text, source, receives, reduces, sends, writes)                   \
    | ((receives) << RONDE_STEP_##name)
#define RONDE_BIT_SENDS(name, text, source, receives, reduces, sends, writes)                      \
    | ((sends) << RONDE_STEP_##name)
#define RONDE_BIT_WRITES(name, text, source, receives, reduces, sends, writes)                     \
    | ((writes) << RONDE_STEP_##name)
enum ronde_op_bits {
    RONDE_OPS_WITH_SOURCE = 0 RONDE_STEP_LIST(RONDE_BIT_SOURCE),
    RONDE_OPS_THAT_RECEIVE = 0 RONDE_STEP_LIST(RONDE_BIT_RECEIVES),
    RONDE_OPS_THAT_SEND = 0 RONDE_STEP_LIST(RONDE_BIT_SENDS),
    RONDE_OPS_THAT_WRITE = 0 RONDE_STEP_LIST(RONDE_BIT_WRITES)
};
#undef RONDE_BIT_SOURCE
#undef RONDE_BIT_RECEIVES
#undef RONDE_BIT_SENDS
#undef RONDE_BIT_WRITES

/** Buffer a step reads or writes, or RONDE_BUFFER_COUNT. */
RONDE_INTERP uint32_t ronde_act_buffer(const struct ronde_step *step, bool is_source)
{
    const int ops = is_source ? RONDE_OPS_WITH_SOURCE : RONDE_OPS_THAT_WRITE;
    if ((ops >> step->op & 1) == 0)
        return RONDE_BUFFER_COUNT;
    return is_source ? step->source : step->destination;
}

/** Connection a step consumes a message of, or RONDE_NONE. */
RONDE_INTERP uint32_t ronde_act_receive(const struct ronde_step *step)
{
    return (RONDE_OPS_THAT_RECEIVE >> step->op & 1) != 0 ? step->receive : RONDE_NONE;
}

/** Connection a step posts a message on, or RONDE_NONE. */
RONDE_INTERP uint32_t ronde_act_send(const struct ronde_step *step)
{
    return (RONDE_OPS_THAT_SEND >> step->op & 1) != 0 ? step->send : RONDE_NONE;
}

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
        if (RONDE_ACQUIRE(task->frame, &task->progress[wait->lane].value) <
            piece * wait->steps + wait->after) {
            lane->about = index;
            return false;
        }
    }
    return true;
}

/** Whether everybody has read what the lane's next step overwrites. */
RONDE_INTERP bool ronde_lane_may_overwrite(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    const struct ronde_holds *holds = &task->holds[task->frame->is_in_place];
    const uint64_t piece = task->frame->first_piece + lane->piece;
    for (uint32_t k = holds->first[lane->step]; k < holds->first[lane->step + 1]; k++) {
        const struct ronde_hold *hold = &holds->entries[k];
        if (RONDE_ACQUIRE(task->frame, task->ends[hold->end].theirs) <
            piece * hold->messages + hold->after) {
            lane->about = hold->end;
            return false;
        }
    }
    return true;
}

/** Whether a message has arrived. */
RONDE_INTERP bool ronde_end_has_message(const struct ronde_frame *frame, struct ronde_end *end)
{
    (void)frame;
    if (end->seen == end->count)
        end->seen = RONDE_POSTED(frame, end);
    return end->seen > end->count;
}

/** Whether a slot is free. A freed slot is credit, not ordering. */
RONDE_INTERP bool ronde_end_has_slot(const struct ronde_frame *frame, struct ronde_end *end)
{
    if (end->count - end->seen >= frame->depth)
        end->seen = RONDE_ACQUIRE(frame, end->theirs);
    return end->count - end->seen < frame->depth;
}

/** Hands the current slot to the other side: posts a message or frees a slot. */
RONDE_INTERP void ronde_end_advance(const struct ronde_frame *frame, struct ronde_end *end)
{
    end->slot = end->slot + 1 == frame->depth ? 0 : end->slot + 1;
    end->count++;
    RONDE_RELEASE(frame, end->mine, end->count);
}

/** Whether this position's chunks of a buffer are those of position 0, each further on by the same number. */
RONDE_INTERP bool ronde_view_is_cyclic(const struct ronde_view *view, uint32_t buffer)
{
    const struct ronde_schedule *schedule = view->schedule;
    return schedule->symmetry == RONDE_SYMMETRY_NONE || !schedule->rotates[buffer] ||
           (schedule->symmetry == RONDE_SYMMETRY_ROTATE && schedule->shape_count < 2);
}

/** The chunks of a step's source or destination in `buffer`; the step has at least one. */
RONDE_INTERP struct ronde_items ronde_items_open(struct ronde_lane *lane,
                                                 const struct ronde_step *step, uint32_t buffer,
                                                 bool is_source)
{
    const struct ronde_view *view = &lane->task->view;
    const uint32_t chunks = lane->task->chunks[buffer];
    const bool is_range =
        (step->flags & (is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE)) != 0;
    const bool is_reordered = view->channel->order && buffer != RONDE_SCRATCH &&
                              chunks != view->schedule->chunks_per_block;
    struct ronde_items items = {0, 0, 0};
    /* Adding keeps contiguous chunks contiguous modulo the buffer, so most operands need no list. */
    if (step->chunk_count == 1 || (!is_range && !is_reordered && step->chunk_count <= chunks &&
                                   ronde_view_is_cyclic(view, buffer))) {
        items.first = ronde_view_item(view, step, is_source, chunks, 0);
        if (step->chunk_count > chunks - items.first)
            items.wrapped = step->chunk_count - (chunks - items.first);
        return items;
    }
    ronde_view_chunks(view, step, is_source, chunks, lane->sorted[is_source]);
    items.sorted = lane->sorted[is_source];
    return items;
}

/** Chunk of the item-th item in message order. */
RONDE_INTERP uint32_t ronde_items_chunk(const struct ronde_items *items, uint32_t item)
{
    if (items->sorted)
        return items->sorted[item];
    return item < items->wrapped ? item : items->first + (item - items->wrapped);
}

/** Whether an operand names elements by itself; scratch chunks only hold what was put there. */
RONDE_INTERP bool ronde_buffer_has_parts(uint32_t buffer)
{
    return buffer == RONDE_IN || buffer == RONDE_OUT;
}

/** Items whose scratch chunk wrapped when the program was shifted to this position: these now come first. */
RONDE_INTERP uint32_t ronde_act_rotation(const struct ronde_lane *lane,
                                         const struct ronde_step *step)
{
    const struct ronde_view *view = &lane->task->view;
    const bool is_source = ronde_act_buffer(step, true) == RONDE_SCRATCH;
    const bool is_range =
        (step->flags & (is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE)) != 0;
    const uint32_t first = is_source ? step->source_chunk : step->destination_chunk;
    const uint32_t chunks = lane->task->chunks[RONDE_SCRATCH];
    uint32_t wrapped = 0;
    for (uint32_t item = 0; item < step->chunk_count; item++) {
        const uint32_t stored = ronde_operand_item(view->program, is_range, first, chunks, item);
        wrapped += ronde_view_shift(view, RONDE_SCRATCH, chunks, stored) < stored;
    }
    return wrapped == step->chunk_count ? 0 : wrapped;
}

/** Place that an item in scratch had in position 0's message, found among all of them: only xor and shapes need it. */
RONDE_INTERP uint32_t ronde_act_stored_place(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_view *view = &act->lane->task->view;
    const struct ronde_step *step = act->step;
    const bool is_source = act->buffer[1] == RONDE_SCRATCH;
    const bool is_range =
        (step->flags & (is_source ? RONDE_FLAG_SOURCE_RANGE : RONDE_FLAG_DESTINATION_RANGE)) != 0;
    const uint32_t first = is_source ? step->source_chunk : step->destination_chunk;
    const uint32_t chunks = act->lane->task->chunks[RONDE_SCRATCH];
    /* Not indexed by a variable: the step being executed then stays in a GPU's registers. */
    const uint32_t chunk = is_source ? ronde_items_chunk(&act->items[1], item)
                                     : ronde_items_chunk(&act->items[0], item);
    uint32_t stored = 0;
    for (uint32_t k = 0; k < step->chunk_count; k++) {
        stored = ronde_operand_item(view->program, is_range, first, chunks, k);
        if (ronde_view_shift(view, RONDE_SCRATCH, chunks, stored) == chunk)
            break;
    }
    uint32_t place = 0;
    for (uint32_t k = 0; k < step->chunk_count; k++)
        place += ronde_operand_item(view->program, is_range, first, chunks, k) < stored;
    return place;
}

/** Place that an item of a step in scratch had in position 0's message. */
RONDE_INTERP uint32_t ronde_act_first_place(const struct ronde_act *act, uint32_t item)
{
    const uint32_t count = act->step->chunk_count;
    if (count > 1 && !ronde_view_is_cyclic(&act->lane->task->view, RONDE_SCRATCH))
        return ronde_act_stored_place(act, item);
    return act->rotation == 0 ? item : (item + count - act->rotation) % count;
}

/** Part of the block that an item of a step holds whose operands lie in scratch only, as the prover found it. */
RONDE_INTERP uint32_t ronde_act_scratch_part(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_program *program = task->view.program;
    const uint32_t part = program->scratch_parts[program->scratch_part[act->step - program->steps] +
                                                 ronde_act_first_place(act, item)];
    const uint32_t parts = task->view.schedule->chunks_per_block;
    /* Collectives of one block rotate its parts with the position; a block per rank keeps its parts. */
    return task->chunks[RONDE_IN] == parts ? ronde_view_shift(&task->view, RONDE_IN, parts, part)
                                           : part;
}

/** Elements of a chunk of the input or output, from the start of its block. */
RONDE_INTERP struct ronde_extent ronde_task_extent(const struct ronde_task *task, uint32_t buffer,
                                                   uint32_t chunk)
{
    const struct ronde_view *view = &task->view;
    const uint32_t parts = view->schedule->chunks_per_block;
    if (!task->blocks[buffer] || !task->blocks[buffer]->counts)
        return task->parts[chunk % parts];
    const struct ronde_slice slice =
        ronde_slice_between(view->schedule, task->weight_before, view->channel->weight,
                            task->blocks[buffer]->counts[chunk / parts], task->frame->element_bytes);
    return ronde_slice_chunk(&slice, chunk % parts);
}

/** Where a block of the input or output begins; NULL if it has no memory. */
RONDE_INTERP unsigned char *ronde_task_block(const struct ronde_task *task, uint32_t buffer,
                                             uint32_t block)
{
    const struct ronde_blocks *blocks = task->blocks[buffer];
    if (blocks && blocks->pointers)
        return (unsigned char *)blocks->pointers[block];
    if (!task->base[buffer])
        return 0;
    const uint64_t element =
        blocks && blocks->offsets ? blocks->offsets[block] : block * task->frame->count;
    return task->base[buffer] + element * task->frame->element_bytes;
}

/** Where an item of an operand lies, over all pieces. */
struct ronde_span {
    unsigned char *start; /**< NULL if there is no such operand, or no memory */
    uint64_t elements;    /**< 0 in scratch, whose chunks hold what was put there */
};

/** Finds an item of an operand. */
RONDE_INTERP struct ronde_span ronde_act_span(const struct ronde_act *act, bool is_source,
                                              uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    const uint32_t buffer = act->buffer[is_source];
    struct ronde_span span = {0, 0};
    if (buffer == RONDE_BUFFER_COUNT)
        return span;
    const uint32_t chunk = ronde_items_chunk(&act->items[is_source], item);
    if (buffer == RONDE_SCRATCH) {
        span.start = task->base[buffer] + chunk * task->scratch_stride;
        return span;
    }
    const struct ronde_extent extent = ronde_task_extent(task, buffer, chunk);
    unsigned char *const block =
        ronde_task_block(task, buffer, chunk / task->view.schedule->chunks_per_block);
    span.start = block ? block + extent.first * task->frame->element_bytes : 0;
    span.elements = extent.count;
    return span;
}

/** Elements of an item, over all pieces: an operand in `in` or `out` says it, else what the prover saw in scratch. */
RONDE_INTERP uint64_t ronde_act_elements(const struct ronde_act *act, uint32_t item,
                                         const struct ronde_span *source,
                                         const struct ronde_span *destination)
{
    if (ronde_buffer_has_parts(act->buffer[1]))
        return source->elements;
    if (ronde_buffer_has_parts(act->buffer[0]))
        return destination->elements;
    return act->lane->task->parts[ronde_act_scratch_part(act, item)].count;
}

/** Source, destination and length of an item in the lane's piece. */
RONDE_INTERP struct ronde_segment ronde_act_segment(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_frame *frame = act->lane->task->frame;
    const struct ronde_span source = ronde_act_span(act, true, item);
    const struct ronde_span destination = ronde_act_span(act, false, item);
    const struct ronde_extent whole = {0, ronde_act_elements(act, item, &source, &destination)};
    const struct ronde_extent piece =
        ronde_extent_piece(whole, act->lane->piece, frame->piece_elements);
    const uint64_t skip = piece.first * frame->element_bytes;
    struct ronde_segment segment;
    segment.source = source.start ? source.start + skip : 0;
    segment.destination = destination.start ? destination.start + skip : 0;
    segment.elements = piece.count;
    return segment;
}

/** What a proof would have excluded: an operand without memory, or two operands of different lengths. */
RONDE_INTERP enum ronde_reason ronde_act_fault(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_span source = ronde_act_span(act, true, item);
    const struct ronde_span destination = ronde_act_span(act, false, item);
    const uint64_t elements = ronde_act_elements(act, item, &source, &destination);
    if (elements > 0 && ((act->buffer[1] != RONDE_BUFFER_COUNT && !source.start) ||
                         (act->buffer[0] != RONDE_BUFFER_COUNT && !destination.start)))
        return RONDE_REASON_BUFFER;
    if (!ronde_buffer_has_parts(act->buffer[1]) || !ronde_buffer_has_parts(act->buffer[0]))
        return RONDE_REASON_NONE;
    return source.elements == destination.elements ? RONDE_REASON_NONE : RONDE_REASON_EXTENT;
}

/** Copies unless the data is there already, which is how in-place runs skip copies. */
RONDE_INTERP void ronde_act_copy(const struct ronde_act *act, unsigned char *to,
                                 const unsigned char *from, uint64_t bytes)
{
    (void)act;
    if (to != from && bytes > 0)
        RONDE_COPY(act->lane->task->frame, to, from, bytes);
}

/** Whether the step carries a mark that the operator heeds. */
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
 * `reduce`, whose source is the second operand: sums commute, and no other operator heeds marks.
 */
RONDE_INTERP void ronde_act_combine(const struct ronde_act *act, unsigned char *to,
                                    const unsigned char *source, const unsigned char *other,
                                    uint64_t elements)
{
    const struct ronde_task *task = act->lane->task;
    const bool is_final = ronde_act_heeds(act, RONDE_FLAG_FINAL);
    if (ronde_act_heeds(act, RONDE_FLAG_RAW))
        RONDE_SCALE_SUM(task->frame, to, source, other, &task->factor, elements);
    else if (act->step->op == RONDE_STEP_REDUCE)
        RONDE_COMBINE(task->frame, to, other, source, elements, is_final);
    else
        RONDE_COMBINE(task->frame, to, source, other, elements, is_final);
}

/** Moves and combines one item. */
RONDE_INTERP void ronde_act_apply(const struct ronde_act *act, const struct ronde_segment *segment)
{
    const uint64_t elements = segment->elements;
    const uint64_t bytes = elements * act->lane->task->frame->element_bytes;
    unsigned char *const destination = segment->destination;
    switch ((enum ronde_step_op)act->step->op) {
    case RONDE_STEP_SEND:
        if (!act->offered)
            ronde_act_take(act, act->sent, segment->source, elements);
        break;
    case RONDE_STEP_RECV:
        ronde_act_copy(act, destination, act->received, bytes);
        break;
    case RONDE_STEP_RCS:
        if (!act->offered)
            ronde_act_copy(act, act->sent, act->received, bytes);
        ronde_act_copy(act, destination, act->received, bytes);
        break;
    case RONDE_STEP_RRC:
        ronde_act_combine(act, destination, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRS:
        ronde_act_combine(act, act->sent, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRCS:
        ronde_act_combine(act, destination, segment->source, act->received, elements);
        if (!act->offered)
            ronde_act_copy(act, act->sent, destination, bytes);
        break;
    case RONDE_STEP_COPY:
        ronde_act_take(act, destination, segment->source, elements);
        break;
    case RONDE_STEP_REDUCE:
        ronde_act_combine(act, destination, segment->source, destination, elements);
        break;
    case RONDE_STEP_RS:
    case RONDE_STEP_NOP:
    case RONDE_STEP_OP_COUNT:
        break;
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
        const struct ronde_segment segment = ronde_act_segment(act, item);
        const uint64_t bytes = segment.elements * frame->element_bytes;
        if (act->pulled)
            act->received = act->pulled[item].start;
        if (segment.elements > 0)
            ronde_act_apply(act, &segment);
        if (act->offered) {
            act->offered[item].start =
                act->step->op == RONDE_STEP_SEND ? segment.source : segment.destination;
            act->offered[item].bytes = bytes;
        }
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
        ronde_act_copy(act, act->sent + act->moved, act->pulled[item].start,
                       act->pulled[item].bytes);
        act->moved += act->pulled[item].bytes;
    }
}

/**
 * Whether a step sends by saying where its data lies. Only data that stays there may be: a send's source unless it is
 * scaled on the way, and what a step keeps of what it passes on; lowering has marked those that would deadlock.
 */
RONDE_INTERP bool ronde_act_may_offer(const struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    if ((step->flags & act->lane->task->frame->no_pull) != 0 || step->chunk_count == 0)
        return false;
    if (step->op == RONDE_STEP_SEND)
        return !ronde_act_heeds(act, RONDE_FLAG_RAW) && !ronde_act_heeds(act, RONDE_FLAG_FINAL);
    return step->op == RONDE_STEP_RCS || step->op == RONDE_STEP_RRCS;
}

/** Where messages are read in place, finds out which of the two this step's are. */
RONDE_INTERP void ronde_act_arrange(struct ronde_act *act, const struct ronde_end *from)
{
    if (from && (RONDE_LENGTH(act->lane->task->frame, from) & RONDE_LENGTH_OFFERED) != 0)
        act->pulled = (const struct ronde_offer *)(const void *)act->received;
    if (act->sent && ronde_act_may_offer(act)) {
        act->offered = (struct ronde_offer *)(void *)act->sent;
        act->sent = 0;
    }
}

/** Finds the chunks of a step and does all its items. */
RONDE_INTERP void ronde_lane_move(struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    if (act->buffer[0] < RONDE_BUFFER_COUNT)
        act->items[0] = ronde_items_open(act->lane, step, act->buffer[0], false);
    if (act->buffer[1] < RONDE_BUFFER_COUNT)
        act->items[1] = ronde_items_open(act->lane, step, act->buffer[1], true);
    if (step->chunk_count > 1 && !ronde_buffer_has_parts(act->buffer[0]) &&
        !ronde_buffer_has_parts(act->buffer[1]))
        act->rotation = ronde_act_rotation(act->lane, step);
    ronde_act_items(act);
}

/** Executes a step whose dependencies, message and slot are there. */
RONDE_INTERP enum ronde_reason ronde_lane_act(struct ronde_lane *lane, const struct ronde_step *step,
                                              const struct ronde_end *from,
                                              const struct ronde_end *to)
{
    const struct ronde_frame *frame = lane->task->frame;
    struct ronde_act act = {lane, step, {0, 0}, {{0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0, 0, 0};
    act.buffer[0] = ronde_act_buffer(step, false);
    act.buffer[1] = ronde_act_buffer(step, true);
    act.received = from ? from->slots + from->slot * frame->slot_stride : 0;
    act.sent = to ? to->slots + to->slot * frame->slot_stride : 0;
    lane->reason = RONDE_REASON_NONE;
    RONDE_USE(frame, from, to);
    if (frame->no_pull != 0)
        ronde_act_arrange(&act, from);
    if (step->op == RONDE_STEP_RS)
        ronde_lane_pass(&act, from);
    else if (step->chunk_count > 0 && step->op != RONDE_STEP_NOP)
        ronde_lane_move(&act);
    if (to)
        RONDE_TELL_LENGTH(frame, to, act.moved | (act.offered ? RONDE_LENGTH_OFFERED : 0));
    /* The receiver reads the length only if it does not trust the schedule: it costs a cache line. */
    if (lane->reason == RONDE_REASON_NONE && frame->checks && from &&
        (RONDE_LENGTH(frame, from) & ~RONDE_LENGTH_OFFERED) != act.moved)
        lane->reason = RONDE_REASON_LENGTH;
    return lane->reason;
}

/** Publishes a step that is over: its data was written before. */
RONDE_INTERP void ronde_lane_publish(struct ronde_lane *lane, struct ronde_end *from,
                                     struct ronde_end *to)
{
    const struct ronde_task *task = lane->task;
    RONDE_SETTLE(task);
    if (from)
        ronde_end_advance(task->frame, from);
    if (to)
        ronde_end_advance(task->frame, to);
    lane->done++;
    RONDE_RELEASE(task->frame, &task->progress[lane->index].value, lane->done);
    lane->step++;
    if (lane->step == lane->end) {
        lane->step = lane->first;
        lane->piece++;
    }
}

/** A lane is done once all its messages were read: until then their memory is not the caller's again. */
RONDE_INTERP enum ronde_poll ronde_lane_drain(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    for (uint32_t k = lane->first; task->frame->no_pull != 0 && k < lane->end; k++) {
        const uint32_t send = ronde_act_send(&task->view.program->steps[k]);
        struct ronde_end *end = send == RONDE_NONE ? 0 : &task->ends[send];
        if (end && end->seen < end->count)
            end->seen = RONDE_ACQUIRE(task->frame, end->theirs);
        if (end && end->seen < end->count)
            return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_READER, send);
    }
    return RONDE_POLL_DONE;
}

/** Executes the next step of a lane if it can. Never blocks. */
RONDE_INTERP enum ronde_poll ronde_lane_poll(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    if (lane->piece == task->frame->piece_count)
        return ronde_lane_drain(lane);
    const struct ronde_step *step = &task->view.program->steps[lane->step];
    const uint32_t receive = ronde_act_receive(step);
    const uint32_t send = ronde_act_send(step);
    struct ronde_end *from = receive == RONDE_NONE ? 0 : &task->ends[receive];
    struct ronde_end *to = send == RONDE_NONE ? 0 : &task->ends[send];
    if (!ronde_lane_is_released(lane, step))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_DEPENDENCY, lane->about);
    if (from && !ronde_end_has_message(task->frame, from))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_MESSAGE, receive);
    if (to && !ronde_end_has_slot(task->frame, to))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_SLOT, send);
    if (task->frame->no_pull != 0 && !ronde_lane_may_overwrite(lane))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_READER, lane->about);
    const enum ronde_reason wrong = ronde_lane_act(lane, step, from, to);
    if (wrong != RONDE_REASON_NONE)
        return ronde_lane_stop(lane, RONDE_POLL_WRONG, wrong, receive);
    ronde_lane_publish(lane, from, to);
    return RONDE_POLL_PROGRESSED;
}

#endif
