/**
 * The step interpreter: the one piece of code that executes schedules, on CPUs and GPUs alike.
 *
 * It is resumable and never blocks: ronde_lane_poll executes at most one step and says whether it progressed, what it
 * waits for, or that the lane is done. Whoever drives lanes (one thread for all, a thread per rank, a GPU block per
 * lane) decides what to do while a lane waits. The driver owns the structs below; load fills them in (loaded.h).
 *
 * Free of libc. The five macros are the machine: C defaults stand here, a GPU defines its own before including this.
 *
 * Counters only grow, over all runs of a loaded program, so that nobody resets what another still polls. A lane's
 * counter tells how many of its steps are over. All lanes run the same number of pieces, so one number, `first_piece`
 * (pieces of all earlier runs), turns a step of this run into a counter value of any lane.
 */
#ifndef RONDE_ENGINE_INTERP_H
#define RONDE_ENGINE_INTERP_H

#include "ronde/cursor.h"
#include "ronde/split.h"

#include <stdint.h>

#ifndef RONDE_INTERP
/** What stands before every function. */
#define RONDE_INTERP static inline
/** Reads a counter; whatever was written before its release is visible afterwards. */
#define RONDE_ACQUIRE(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
/** Publishes a counter after everything written so far. */
#define RONDE_RELEASE(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
/** Copies bytes between places that do not overlap. */
#define RONDE_COPY(to, from, bytes) __builtin_memcpy((to), (from), (bytes))
/** to[i] = local[i] o received[i]; `to` may be either operand exactly. */
#define RONDE_COMBINE(frame, to, local, received, elements)                                        \
    (frame)->reduce((to), (local), (received), (elements))
#endif

/** A reduction over `count` elements: to[i] = local[i] o received[i], rounded to the element type. */
typedef void (*ronde_reduce_kernel)(void *to, const void *local, const void *received,
                                    uint64_t count);

/** A counter one side writes and others poll: alone on two cache lines, since CPUs prefetch lines in pairs. */
struct ronde_counter {
    uint64_t value;       /**< only grows */
    uint64_t padding[15]; /**< up to 128 bytes */
};

/** The shared part of a connection. */
struct ronde_fifo {
    struct ronde_counter posted; /**< messages ever sent; written by the sender */
    struct ronde_counter freed;  /**< messages ever consumed; written by the receiver */
};

/** One end of a connection, private to the lane that uses it. */
struct ronde_end {
    uint64_t *mine;         /**< the counter this end writes */
    const uint64_t *theirs; /**< the counter the other end writes */
    unsigned char *slots;   /**< depth slots of slot_stride bytes */
    uint64_t *lengths;      /**< bytes of the message in each slot, written by the sender */
    uint64_t count;         /**< value of *mine */
    uint64_t seen;          /**< value of *theirs when last read: spares a trip to the other core */
    uint64_t slot;          /**< next slot: count modulo depth, without the division */
    uint64_t padding;       /**< up to a cache line */
};

/** A dependency in the form that is polled. */
struct ronde_wait {
    uint32_t lane;  /**< whose counter */
    uint32_t after; /**< steps of that lane, from its first, that must be over in the same piece */
    uint32_t steps; /**< steps of that lane per piece */
};

/** What is the same for all lanes during a run. */
struct ronde_frame {
    uint64_t count;             /**< elements of a block */
    uint64_t first_piece;       /**< pieces of all earlier runs */
    uint64_t piece_count;       /**< pieces of this run */
    uint64_t piece_elements;    /**< elements of a full piece */
    uint64_t slot_stride;       /**< bytes from slot to slot */
    uint32_t depth;             /**< slots of a connection */
    uint32_t element_bytes;     /**< of the element type */
    ronde_reduce_kernel reduce; /**< of element type and operator */
    bool checks; /**< compare extents and message lengths: for schedules that nobody proved */
};

/** What the lanes of one (rank, channel) share. */
struct ronde_task {
    struct ronde_view view;           /**< its program */
    const struct ronde_frame *frame;  /**< of the run */
    struct ronde_end *ends;           /**< one per connection of the program */
    struct ronde_counter *progress;   /**< one per lane: steps over since load */
    const struct ronde_wait *waits;   /**< one per entry of program->dependencies */
    const struct ronde_extent *parts; /**< m entries: elements of each part of the channel's slice */
    unsigned char *base[RONDE_BUFFER_COUNT]; /**< the three memories */
    uint32_t chunks[RONDE_BUFFER_COUNT];     /**< chunks of each */
    uint64_t scratch_stride;                 /**< bytes from scratch chunk to scratch chunk */
    uint32_t first_lane;                     /**< index of its lane 0 among all lanes */
};

/** Why a lane does not go on. */
enum ronde_reason {
    RONDE_REASON_NONE,       /**< it does */
    RONDE_REASON_DEPENDENCY, /**< waits for a step of another lane; `about` is an entry of dependencies */
    RONDE_REASON_MESSAGE, /**< waits for a message; `about` is a connection */
    RONDE_REASON_SLOT,    /**< waits for a free slot; `about` is a connection */
    RONDE_REASON_LENGTH,  /**< a message is longer or shorter than the step expects (checks only) */
    RONDE_REASON_EXTENT, /**< source and destination hold different numbers of elements (checks only) */
    RONDE_REASON_BUFFER /**< an operand lies in a buffer the caller did not give (checks only) */
};

/** A lane and how far it is. */
struct ronde_lane {
    struct ronde_task *task; /**< where it belongs */
    uint32_t index;          /**< lane of the task's program */
    uint32_t first;          /**< its first step */
    uint32_t end;            /**< one past its last step */
    uint32_t step;           /**< the step to execute next */
    uint64_t piece;          /**< of this run */
    uint64_t done;           /**< value of its progress counter */
    uint32_t *sorted[2]; /**< room for the chunks of a destination and of a source, max_chunk_count each */
    enum ronde_reason reason; /**< why the last poll did not progress */
    uint32_t about;           /**< what it is about */
    uint64_t padding[8];      /**< up to two cache lines: neighbours may belong to another thread */
};

/** What a poll found. */
enum ronde_poll {
    RONDE_POLL_PROGRESSED, /**< one step was executed */
    RONDE_POLL_BLOCKED,    /**< nothing could be done; lane->reason says what is missing */
    RONDE_POLL_DONE,       /**< all pieces are over */
    RONDE_POLL_WRONG       /**< the step contradicts its message or buffers (checks only) */
};

/** The chunks of an operand in message order. */
struct ronde_items {
    const uint32_t *sorted; /**< the list, or NULL when the two numbers say it */
    uint32_t first;         /**< chunk of the first item that has not wrapped */
    uint32_t wrapped; /**< items that wrapped around the end of the buffer: chunks 0 .. wrapped-1, sent first */
};

/** Source and destination of one item of a step. */
struct ronde_segment {
    unsigned char *source;      /**< NULL if the step has none */
    unsigned char *destination; /**< NULL if the step has none */
    uint64_t elements;          /**< of this piece */
};

/** A step that is being executed. */
struct ronde_act {
    struct ronde_lane *lane;       /**< by whom */
    const struct ronde_step *step; /**< what */
    uint32_t buffer[2];            /**< of destination and source, indexed by is_source */
    struct ronde_items items[2];   /**< the chunks of each */
    uint32_t rotation; /**< scratch only: by how much message order is rotated against position 0 */
    const unsigned char *received; /**< rest of the message in the received slot, or NULL */
    unsigned char *sent;           /**< rest of the slot to send, or NULL */
    uint64_t moved;                /**< bytes of each operand so far */
};

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
        if (RONDE_ACQUIRE(&task->progress[wait->lane].value) < piece * wait->steps + wait->after) {
            lane->about = index;
            return false;
        }
    }
    return true;
}

/** Whether a message has arrived. */
RONDE_INTERP bool ronde_end_has_message(struct ronde_end *end)
{
    if (end->seen == end->count)
        end->seen = RONDE_ACQUIRE(end->theirs);
    return end->seen > end->count;
}

/** Whether a slot is free. A freed slot is credit, not ordering. */
RONDE_INTERP bool ronde_end_has_slot(struct ronde_end *end, uint32_t depth)
{
    if (end->count - end->seen >= depth)
        end->seen = RONDE_ACQUIRE(end->theirs);
    return end->count - end->seen < depth;
}

/** Hands the current slot to the other side: posts a message or frees a slot. */
RONDE_INTERP void ronde_end_advance(struct ronde_end *end, uint32_t depth)
{
    end->slot = end->slot + 1 == depth ? 0 : end->slot + 1;
    end->count++;
    RONDE_RELEASE(end->mine, end->count);
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
    /* Shifting keeps contiguous chunks contiguous modulo the buffer, so most operands need no list. */
    if (step->chunk_count == 1 || (!is_range && !is_reordered && step->chunk_count <= chunks)) {
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

/** Part of the block that an item of a step holds whose operands lie in scratch only, as the prover found it. */
RONDE_INTERP uint32_t ronde_act_scratch_part(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_program *program = task->view.program;
    const uint32_t count = act->step->chunk_count;
    const uint32_t at = act->rotation == 0 ? item : (item + count - act->rotation) % count;
    const uint32_t part =
        program->scratch_parts[program->scratch_part[act->step - program->steps] + at];
    const uint32_t parts = task->view.schedule->chunks_per_block;
    /* Collectives of one block rotate its parts with the position; a block per rank keeps its parts. */
    return task->chunks[RONDE_IN] == parts ? ronde_view_shift(&task->view, RONDE_IN, parts, part)
                                           : part;
}

/** Part of the block that an item of a step moves. */
RONDE_INTERP uint32_t ronde_act_part(const struct ronde_act *act, uint32_t item)
{
    const uint32_t parts = act->lane->task->view.schedule->chunks_per_block;
    if (ronde_buffer_has_parts(act->buffer[1]))
        return ronde_items_chunk(&act->items[1], item) % parts;
    if (ronde_buffer_has_parts(act->buffer[0]))
        return ronde_items_chunk(&act->items[0], item) % parts;
    return ronde_act_scratch_part(act, item);
}

/** Where an operand's item begins in this piece; `skip` elements of its chunk belong to earlier pieces. */
RONDE_INTERP unsigned char *ronde_act_address(const struct ronde_act *act, bool is_source,
                                              uint32_t item, uint64_t skip)
{
    const struct ronde_task *task = act->lane->task;
    const struct ronde_frame *frame = task->frame;
    const uint32_t buffer = act->buffer[is_source];
    if (buffer == RONDE_BUFFER_COUNT || !task->base[buffer])
        return 0;
    const uint32_t chunk = ronde_items_chunk(&act->items[is_source], item);
    if (buffer == RONDE_SCRATCH)
        return task->base[buffer] + chunk * task->scratch_stride + skip * frame->element_bytes;
    const uint32_t parts = task->view.schedule->chunks_per_block;
    const uint64_t element = chunk / parts * frame->count + task->parts[chunk % parts].first + skip;
    return task->base[buffer] + element * frame->element_bytes;
}

/** Source, destination and length of an item in the lane's piece. */
RONDE_INTERP struct ronde_segment ronde_act_segment(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    struct ronde_extent whole = task->parts[ronde_act_part(act, item)];
    whole.first = 0;
    const struct ronde_extent piece =
        ronde_extent_piece(whole, act->lane->piece, task->frame->piece_elements);
    struct ronde_segment segment;
    segment.source = ronde_act_address(act, true, item, piece.first);
    segment.destination = ronde_act_address(act, false, item, piece.first);
    segment.elements = piece.count;
    return segment;
}

/** What a proof would have excluded: an operand without memory, or two operands of different lengths. */
RONDE_INTERP enum ronde_reason ronde_act_fault(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    const uint32_t source = act->buffer[1];
    const uint32_t destination = act->buffer[0];
    if ((source != RONDE_BUFFER_COUNT && !task->base[source]) ||
        (destination != RONDE_BUFFER_COUNT && !task->base[destination]))
        return RONDE_REASON_BUFFER;
    if (!ronde_buffer_has_parts(source) || !ronde_buffer_has_parts(destination))
        return RONDE_REASON_NONE;
    const uint32_t parts = task->view.schedule->chunks_per_block;
    const uint32_t from = ronde_items_chunk(&act->items[1], item) % parts;
    const uint32_t to = ronde_items_chunk(&act->items[0], item) % parts;
    return task->parts[from].count == task->parts[to].count ? RONDE_REASON_NONE
                                                            : RONDE_REASON_EXTENT;
}

/** Copies unless the data is there already, which is how in-place runs skip copies. */
RONDE_INTERP void ronde_act_copy(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    if (to != from && bytes > 0)
        RONDE_COPY(to, from, bytes);
}

/** Moves and combines one item. */
RONDE_INTERP void ronde_act_apply(const struct ronde_act *act, const struct ronde_segment *segment)
{
    const struct ronde_frame *frame = act->lane->task->frame;
    const uint64_t elements = segment->elements;
    const uint64_t bytes = elements * frame->element_bytes;
    switch ((enum ronde_step_op)act->step->op) {
    case RONDE_STEP_SEND:
        ronde_act_copy(act->sent, segment->source, bytes);
        break;
    case RONDE_STEP_RECV:
        ronde_act_copy(segment->destination, act->received, bytes);
        break;
    case RONDE_STEP_RCS:
        ronde_act_copy(act->sent, act->received, bytes);
        ronde_act_copy(segment->destination, act->received, bytes);
        break;
    case RONDE_STEP_RRC:
        RONDE_COMBINE(frame, segment->destination, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRS:
        RONDE_COMBINE(frame, act->sent, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRCS:
        RONDE_COMBINE(frame, act->sent, segment->source, act->received, elements);
        ronde_act_copy(segment->destination, act->sent, bytes);
        break;
    case RONDE_STEP_COPY:
        ronde_act_copy(segment->destination, segment->source, bytes);
        break;
    case RONDE_STEP_REDUCE:
        RONDE_COMBINE(frame, segment->destination, segment->destination, segment->source, elements);
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
        if (segment.elements > 0)
            ronde_act_apply(act, &segment);
        act->moved += bytes;
        act->received += act->received ? bytes : 0;
        act->sent += act->sent ? bytes : 0;
    }
}

/** Passes a message on. That needs no operand: the length travels beside the slot. */
RONDE_INTERP void ronde_lane_pass(struct ronde_act *act, const struct ronde_end *from)
{
    act->moved = from->lengths[from->slot];
    ronde_act_copy(act->sent, act->received, act->moved);
}

/** Finds the chunks of a step and does all its items. */
RONDE_INTERP void ronde_lane_move(struct ronde_act *act)
{
    const struct ronde_step *step = act->step;
    for (int is_source = 0; is_source < 2; is_source++) {
        const uint32_t buffer = act->buffer[is_source];
        if (buffer < RONDE_BUFFER_COUNT)
            act->items[is_source] = ronde_items_open(act->lane, step, buffer, is_source != 0);
    }
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
    struct ronde_act act = {lane, step, {0, 0}, {{0, 0, 0}, {0, 0, 0}}, 0, 0, 0, 0};
    act.buffer[0] = ronde_act_buffer(step, false);
    act.buffer[1] = ronde_act_buffer(step, true);
    act.received = from ? from->slots + from->slot * frame->slot_stride : 0;
    act.sent = to ? to->slots + to->slot * frame->slot_stride : 0;
    lane->reason = RONDE_REASON_NONE;
    if (step->op == RONDE_STEP_RS)
        ronde_lane_pass(&act, from);
    else if (step->chunk_count > 0 && step->op != RONDE_STEP_NOP)
        ronde_lane_move(&act);
    if (to)
        to->lengths[to->slot] = act.moved;
    /* The receiver reads the length only if it does not trust the schedule: it costs a cache line. */
    if (lane->reason == RONDE_REASON_NONE && frame->checks && from &&
        from->lengths[from->slot] != act.moved)
        lane->reason = RONDE_REASON_LENGTH;
    return lane->reason;
}

/** Publishes a step that is over: its data was written before. */
RONDE_INTERP void ronde_lane_publish(struct ronde_lane *lane, struct ronde_end *from,
                                     struct ronde_end *to)
{
    const struct ronde_task *task = lane->task;
    if (from)
        ronde_end_advance(from, task->frame->depth);
    if (to)
        ronde_end_advance(to, task->frame->depth);
    lane->done++;
    RONDE_RELEASE(&task->progress[lane->index].value, lane->done);
    lane->step++;
    if (lane->step == lane->end) {
        lane->step = lane->first;
        lane->piece++;
    }
}

/** Executes the next step of a lane if it can. Never blocks. */
RONDE_INTERP enum ronde_poll ronde_lane_poll(struct ronde_lane *lane)
{
    const struct ronde_task *task = lane->task;
    if (lane->piece == task->frame->piece_count)
        return RONDE_POLL_DONE;
    const struct ronde_step *step = &task->view.program->steps[lane->step];
    const uint32_t receive = ronde_act_receive(step);
    const uint32_t send = ronde_act_send(step);
    struct ronde_end *from = receive == RONDE_NONE ? 0 : &task->ends[receive];
    struct ronde_end *to = send == RONDE_NONE ? 0 : &task->ends[send];
    if (!ronde_lane_is_released(lane, step))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_DEPENDENCY, lane->about);
    if (from && !ronde_end_has_message(from))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_MESSAGE, receive);
    if (to && !ronde_end_has_slot(to, task->frame->depth))
        return ronde_lane_stop(lane, RONDE_POLL_BLOCKED, RONDE_REASON_SLOT, send);
    const enum ronde_reason wrong = ronde_lane_act(lane, step, from, to);
    if (wrong != RONDE_REASON_NONE)
        return ronde_lane_stop(lane, RONDE_POLL_WRONG, wrong, receive);
    ronde_lane_publish(lane, from, to);
    return RONDE_POLL_PROGRESSED;
}

#endif
