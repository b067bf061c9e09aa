/**
 * Operands of a step: which chunks they are, where those lie, how much of them is in a piece.
 *
 * Part of the step interpreter (interp.h). Free of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_OPERAND_H
#define RONDE_ENGINE_EXECUTE_OPERAND_H

#include "engine/execute/operation.h"
#include "machine.h"

/** Buffer a step reads or writes, or RONDE_BUFFER_COUNT. */
RONDE_INTERP uint32_t ronde_act_buffer(const struct ronde_step *step, bool is_source)
{
    const int ops = is_source ? RONDE_OPS_WITH_SOURCE : RONDE_OPS_THAT_WRITE;
    if (!ronde_op_is_in(step->op, ops))
        return RONDE_BUFFER_COUNT;
    return is_source ? step->source : step->destination;
}

/** Connection a step consumes a message of, or RONDE_NONE. */
RONDE_INTERP uint32_t ronde_act_receive(const struct ronde_step *step)
{
    return ronde_op_is_in(step->op, RONDE_OPS_THAT_RECEIVE) ? step->receive : RONDE_NONE;
}

/** Connection a step posts a message on, or RONDE_NONE. */
RONDE_INTERP uint32_t ronde_act_send(const struct ronde_step *step)
{
    return ronde_op_is_in(step->op, RONDE_OPS_THAT_SEND) ? step->send : RONDE_NONE;
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

/**
 * Elements of an item, over all pieces: given by an operand in `in` or `out`, else by what the
 * prover found in scratch.
 */
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
    segment.received = act->received;
    segment.elements = piece.count;
    segment.skipped = 0;
    return segment;
}

/** Goes on by so many elements and bytes. */
RONDE_INTERP void ronde_segment_skip(struct ronde_segment *segment, uint64_t elements,
                                     uint64_t bytes)
{
    segment->elements -= elements;
    segment->skipped += bytes;
    segment->source += segment->source ? bytes : 0;
    segment->destination += segment->destination ? bytes : 0;
    segment->received += segment->received ? bytes : 0;
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

/** Finds the chunks of a step. */
RONDE_INTERP void ronde_act_open(struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    if (act->buffer[0] < RONDE_BUFFER_COUNT)
        act->items[0] = ronde_items_open(act->lane, step, act->buffer[0], false);
    if (act->buffer[1] < RONDE_BUFFER_COUNT)
        act->items[1] = ronde_items_open(act->lane, step, act->buffer[1], true);
    if (step->chunk_count > 1 && !ronde_buffer_has_parts(act->buffer[0]) &&
        !ronde_buffer_has_parts(act->buffer[1]))
        act->rotation = ronde_act_rotation(act->lane, step);
}

#endif
