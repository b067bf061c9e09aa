/**
 * The step interpreter: the one piece of code that executes schedules, on CPUs and GPUs alike.
 *
 * It is resumable and never blocks: ronde_lane_poll executes at most one step and says whether it progressed, what it
 * waits for, or that the lane is done. Whoever drives lanes (one thread for all, a thread per rank, a GPU block per
 * lane) decides what to do while a lane waits. The driver owns the structs below; load fills them in (loaded.h).
 *
 * Free of libc. The macros are the machine: C defaults stand here, a GPU defines its own before including this.
 *
 * Counters only grow, over all runs of a loaded program, so that nobody resets what another still polls. A lane's
 * counter tells how many of its steps are over. All lanes run the same number of pieces, so one number, `first_piece`
 * (pieces of all earlier runs), turns a step of this run into a counter value of any lane.
 */
#ifndef RONDE_ENGINE_INTERP_H
#define RONDE_ENGINE_INTERP_H

#include "ronde/backend.h"
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
    (frame)->kernels.combine((to), (local), (received), (elements))
/** to[i] = raw[i] * factor; `to` may be `raw` exactly. */
#define RONDE_SCALE(frame, to, raw, factor, elements)                                              \
    (frame)->kernels.scale((to), (raw), (factor), (elements))
/** to[i] = (raw[i] * factor) + other[i], rounded twice; `to` may be either operand exactly. */
#define RONDE_SCALE_SUM(frame, to, raw, other, factor, elements)                                   \
    (frame)->kernels.scale_sum((to), (raw), (other), (factor), (elements))
/** to[i] = to[i] / ranks. */
#define RONDE_DIVIDE(frame, to, elements) (frame)->kernels.divide((to), (frame)->ranks, (elements))
#endif

/** A reduction over `count` elements: to[i] = local[i] o received[i], rounded to the element type. */
typedef void (*ronde_combine_kernel)(void *to, const void *local, const void *received,
                                     uint64_t count);

/** The loops over elements of one type, each rounding every result to that type. */
struct ronde_kernels {
    ronde_combine_kernel combine; /**< of the operator; avg and premul_sum combine as sum */
    /** premul_sum: to[i] = raw[i] * *factor */
    void (*scale)(void *to, const void *raw, const void *factor, uint64_t count);
    /** premul_sum: to[i] = raw[i] * *factor + other[i] */
    void (*scale_sum)(void *to, const void *raw, const void *other, const void *factor,
                      uint64_t count);
    /** avg: to[i] = to[i] / ranks */
    void (*divide)(void *to, uint32_t ranks, uint64_t count);
};

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
    uint64_t count;             /**< elements of a block, or of the longest */
    uint64_t first_piece;       /**< pieces of all earlier runs */
    uint64_t piece_count;       /**< pieces of this run */
    uint64_t piece_elements;    /**< elements of a full piece */
    uint64_t slot_stride;       /**< bytes from slot to slot */
    uint32_t depth;             /**< slots of a connection */
    uint32_t element_bytes;     /**< of the element type */
    uint32_t ranks;             /**< what avg divides by */
    uint32_t marks; /**< the mark the operator heeds: RONDE_FLAG_RAW, RONDE_FLAG_FINAL or 0 */
    struct ronde_kernels kernels; /**< of element type and operator */
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
    const struct ronde_blocks *blocks[2]; /**< of input and output; NULL = blocks of `count`, one after another */
    uint64_t weight_before; /**< of the channels before its own */
    uint64_t factor;        /**< premul_sum: the bytes of the rank's factor */
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
    const uint32_t chunk = ronde_items_chunk(&act->items[is_source], item);
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
    const uint32_t part =
        program->scratch_parts[program->scratch_part[act->step - program->steps] +
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
    const struct ronde_slice slice = ronde_slice_between(
        view->schedule, task->weight_before, view->channel->weight,
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

/** Where an operand's item begins in this piece; `skip` elements of its chunk belong to earlier pieces. */
RONDE_INTERP unsigned char *ronde_act_address(const struct ronde_act *act, bool is_source,
                                              uint32_t item, uint64_t skip)
{
    const struct ronde_task *task = act->lane->task;
    const uint64_t element_bytes = task->frame->element_bytes;
    const uint32_t buffer = act->buffer[is_source];
    if (buffer == RONDE_BUFFER_COUNT)
        return 0;
    const uint32_t chunk = ronde_items_chunk(&act->items[is_source], item);
    if (buffer == RONDE_SCRATCH)
        return task->base[buffer] + chunk * task->scratch_stride + skip * element_bytes;
    unsigned char *const block =
        ronde_task_block(task, buffer, chunk / task->view.schedule->chunks_per_block);
    const uint64_t element = ronde_task_extent(task, buffer, chunk).first + skip;
    return block ? block + element * element_bytes : 0;
}

/** Elements of an item, over all pieces: an operand in `in` or `out` says it, else what the prover saw in scratch. */
RONDE_INTERP uint64_t ronde_act_elements(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    for (int is_source = 1; is_source >= 0; is_source--) {
        const uint32_t buffer = act->buffer[is_source];
        if (ronde_buffer_has_parts(buffer))
            return ronde_task_extent(task, buffer, ronde_items_chunk(&act->items[is_source], item))
                .count;
    }
    return task->parts[ronde_act_scratch_part(act, item)].count;
}

/** Source, destination and length of an item in the lane's piece. */
RONDE_INTERP struct ronde_segment ronde_act_segment(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_extent whole = {0, ronde_act_elements(act, item)};
    const struct ronde_extent piece = ronde_extent_piece(
        whole, act->lane->piece, act->lane->task->frame->piece_elements);
    struct ronde_segment segment;
    segment.source = ronde_act_address(act, true, item, piece.first);
    segment.destination = ronde_act_address(act, false, item, piece.first);
    segment.elements = piece.count;
    return segment;
}

/** Whether an operand's item has elements but no memory. */
RONDE_INTERP bool ronde_act_lacks(const struct ronde_act *act, bool is_source, uint32_t item)
{
    const uint32_t buffer = act->buffer[is_source];
    return buffer != RONDE_BUFFER_COUNT && ronde_act_elements(act, item) > 0 &&
           !ronde_act_address(act, is_source, item, 0);
}

/** What a proof would have excluded: an operand without memory, or two operands of different lengths. */
RONDE_INTERP enum ronde_reason ronde_act_fault(const struct ronde_act *act, uint32_t item)
{
    const struct ronde_task *task = act->lane->task;
    if (ronde_act_lacks(act, true, item) || ronde_act_lacks(act, false, item))
        return RONDE_REASON_BUFFER;
    if (!ronde_buffer_has_parts(act->buffer[1]) || !ronde_buffer_has_parts(act->buffer[0]))
        return RONDE_REASON_NONE;
    const uint32_t from = ronde_items_chunk(&act->items[1], item);
    const uint32_t to = ronde_items_chunk(&act->items[0], item);
    return ronde_task_extent(task, act->buffer[1], from).count ==
                   ronde_task_extent(task, act->buffer[0], to).count
               ? RONDE_REASON_NONE
               : RONDE_REASON_EXTENT;
}

/** Copies unless the data is there already, which is how in-place runs skip copies. */
RONDE_INTERP void ronde_act_copy(unsigned char *to, const unsigned char *from, uint64_t bytes)
{
    if (to != from && bytes > 0)
        RONDE_COPY(to, from, bytes);
}

/** Whether the step carries a mark that the operator heeds. */
RONDE_INTERP bool ronde_act_heeds(const struct ronde_act *act, uint32_t mark)
{
    return (act->step->flags & act->lane->task->frame->marks & mark) != 0;
}

/** Finishes a result that is complete: avg divides it. */
RONDE_INTERP void ronde_act_complete(const struct ronde_act *act, unsigned char *to,
                                     uint64_t elements)
{
    if (ronde_act_heeds(act, RONDE_FLAG_FINAL))
        RONDE_DIVIDE(act->lane->task->frame, to, elements);
}

/** Moves the local operand on alone: premul_sum scales one that is raw, even onto itself. */
RONDE_INTERP void ronde_act_take(const struct ronde_act *act, unsigned char *to,
                                 const unsigned char *from, uint64_t elements)
{
    const struct ronde_task *task = act->lane->task;
    if (ronde_act_heeds(act, RONDE_FLAG_RAW))
        RONDE_SCALE(task->frame, to, from, &task->factor, elements);
    else
        ronde_act_copy(to, from, elements * task->frame->element_bytes);
    ronde_act_complete(act, to, elements);
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
    if (ronde_act_heeds(act, RONDE_FLAG_RAW))
        RONDE_SCALE_SUM(task->frame, to, source, other, &task->factor, elements);
    else if (act->step->op == RONDE_STEP_REDUCE)
        RONDE_COMBINE(task->frame, to, other, source, elements);
    else
        RONDE_COMBINE(task->frame, to, source, other, elements);
    ronde_act_complete(act, to, elements);
}

/** Moves and combines one item. */
RONDE_INTERP void ronde_act_apply(const struct ronde_act *act, const struct ronde_segment *segment)
{
    const uint64_t elements = segment->elements;
    const uint64_t bytes = elements * act->lane->task->frame->element_bytes;
    unsigned char *const destination = segment->destination;
    switch ((enum ronde_step_op)act->step->op) {
    case RONDE_STEP_SEND:
        ronde_act_take(act, act->sent, segment->source, elements);
        break;
    case RONDE_STEP_RECV:
        ronde_act_copy(destination, act->received, bytes);
        break;
    case RONDE_STEP_RCS:
        ronde_act_copy(act->sent, act->received, bytes);
        ronde_act_copy(destination, act->received, bytes);
        break;
    case RONDE_STEP_RRC:
        ronde_act_combine(act, destination, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRS:
        ronde_act_combine(act, act->sent, segment->source, act->received, elements);
        break;
    case RONDE_STEP_RRCS:
        ronde_act_combine(act, act->sent, segment->source, act->received, elements);
        ronde_act_copy(destination, act->sent, bytes);
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
        if (segment.elements > 0)
            ronde_act_apply(act, &segment);
        act->moved += bytes;
        if (act->received)
            act->received += bytes;
        if (act->sent)
            act->sent += bytes;
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
