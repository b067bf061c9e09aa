/**
 * A block of a GPU as a driver of the step interpreter: one thread polls lanes, all others move the data.
 *
 * The deciding thread runs engine/execute/interp.h. Whenever a step copies or combines, it writes a command and issues it:
 * the movers execute it together, each every so-many-th element, and the interpreter continues when they are done. Waiting
 * occupies only the deciding thread, since movers wait at a barrier. Polling never blocks, so a block may run any lanes
 * in any order and never waits for itself.
 *
 * Compiled twice: into the CUDA kernels (device.h), and as C for the CPU, where tests run, sanitise and fuzz the same
 * source. The including file defines first, through its port:
 *
 *   RONDE_INTERP                 what stands before every function
 *   RONDE_PORT_ISSUE(block)      all movers execute block->command, once; what was written before is visible to them
 *   RONDE_PORT_NOW(block)        a clock, in ns
 *   RONDE_PORT_ACQUIRE(pointer)  reads a counter of 8 bytes that another block writes
 *   RONDE_PORT_SET(pointer, v)   writes such a counter, in order after RONDE_PORT_FENCE
 *   RONDE_PORT_FENCE()           all that the block has written is visible before the counters set from now on
 *   RONDE_PORT_PEEK(pointer)     reads 4 bytes that the host or another block may write at any time
 *   RONDE_PORT_POKE(pointer, v)  writes such bytes
 *   RONDE_PORT_LOAD_LINE(address), RONDE_PORT_STORE_LINE(address, line)   16 bytes, each half of them at once
 *   RONDE_PORT_LOAD(address), RONDE_PORT_STORE(address, vector)           16 aligned bytes
 *   RONDE_BYTES(to, from, bytes)  memcpy of a constant length; RONDE_UNROLL  before a loop of constant length,
 *   RONDE_ROLLED  before one whose body is to be compiled once
 */
#ifndef RONDE_HW_CUDA_BLOCK_H
#define RONDE_HW_CUDA_BLOCK_H

#define RONDE_INTERP_APART RONDE_INTERP
#define RONDE_ACQUIRE(frame, pointer) RONDE_PORT_ACQUIRE(pointer)
#define RONDE_SETTLE(task) ronde_block_settle(task)
/* A lane has no addresses of other ranks' buffers, and its stores do not displace what other ranks have cached. */
#define RONDE_PUSHES(frame) ((void)(frame), false)
#define RONDE_STREAMS(frame) ((void)(frame), false)
#define RONDE_STREAM(frame, to, from, bytes) RONDE_COPY((frame), (to), (from), (bytes))
#define RONDE_RELEASE(frame, pointer, value) RONDE_PORT_SET((pointer), (value))
#define RONDE_POSTED(frame, end) ronde_block_posted((frame), (end))
#define RONDE_LENGTH(frame, end) ronde_block_length((frame), (end))
#define RONDE_POST_LENGTH(frame, end, length) ronde_block_write_length((frame), (end), (length))
#define RONDE_ITEM_STRIDE(frame, bytes) ronde_block_stride((frame), (bytes))
#define RONDE_USE(frame, from, to) ronde_block_use((frame), (from), (to))
#define RONDE_COPY(frame, to, from, bytes)                                                         \
    ronde_block_issue((frame), RONDE_MOVE_COPY, (to), (from), 0, (bytes) / (frame)->element_bytes, \
                      0)
#define RONDE_COMBINE(frame, to, local, received, elements, is_final)                              \
    ronde_block_issue((frame), ronde_block_operator((frame), (is_final)), (to), (local),           \
                      (received), (elements), (uint64_t)(frame)->op)
#define RONDE_SCALE(frame, to, raw, factor, elements)                                              \
    ronde_block_issue((frame), RONDE_MOVE_SCALE, (to), (raw), 0, (elements), *(factor))
#define RONDE_SCALE_SUM(frame, to, raw, other, factor, elements)                                   \
    ronde_block_issue((frame), RONDE_MOVE_SCALE_SUM, (to), (raw), (other), (elements), *(factor))
#define RONDE_DIVIDE(frame, to, from, elements)                                                    \
    ronde_block_issue((frame), RONDE_MOVE_QUOTIENT, (to), (from), 0, (elements), 0)

#include "hw/cuda/job.h"

#include <stddef.h>

/** What movers do with every element: from x of operand a and y of operand b to the result. */
enum ronde_move {
    RONDE_MOVE_COPY,         /**< x */
    RONDE_MOVE_SUM,          /**< x + y */
    RONDE_MOVE_PROD,         /**< x * y */
    RONDE_MOVE_MIN,          /**< the lesser */
    RONDE_MOVE_MAX,          /**< the greater */
    RONDE_MOVE_SUM_QUOTIENT, /**< (x + y) / ranks */
    RONDE_MOVE_SCALE,        /**< x * factor */
    RONDE_MOVE_SCALE_SUM,    /**< (x * factor) + y */
    RONDE_MOVE_QUOTIENT,     /**< x / ranks */
    RONDE_MOVE_BITS,         /**< x & y, x | y or x ^ y, selected by `factor` */
    RONDE_MOVE_END           /**< nothing: the movers end */
};

/** What the movers do next. */
struct ronde_block_command {
    enum ronde_move move;   /**< with each element */
    uint32_t ranks;         /**< what quotients divide by */
    uint32_t flags[2];      /**< of lines that are read, written */
    unsigned char *to;      /**< may be an operand exactly */
    const unsigned char *a; /**< first operand */
    const unsigned char *b; /**< second operand, or NULL */
    uint64_t elements;      /**< of each */
    uint64_t factor;        /**< its bytes; of RONDE_MOVE_BITS the operator, an enum ronde_op */
};

/** One of the threads that move. */
struct ronde_mover {
    uint32_t thread;  /**< 0 .. threads-1 */
    uint32_t threads; /**< of the block */
};

/** Bytes that are moved at once, as memory and the widest instructions have them. */
struct ronde_vector {
    uint32_t word[4]; /**< of any element type */
};

/** Lines of each operand a mover loads before it waits for one: 4 KiB of data are 512 lines, a mover and a bit more. */
#define RONDE_LINES_AT_ONCE 2u

/** A running block. */
struct ronde_block {
    struct ronde_frame frame; /**< must stand first: ronde_block_of finds the block by it */
    struct ronde_block_command command;
    const struct ronde_job *job;
    struct ronde_lane_slot *lane_slots; /**< those it polls, in shared memory if they fit */
    uint32_t first;                     /**< its first lane slot among all */
    uint32_t lane_slot_count;
    uint64_t deadline_ns; /**< 0 = none */
    uint32_t turns;       /**< since it began */
    uint32_t room_used;   /**< bytes of shared memory that hold something */
    uint32_t room_bytes;  /**< bytes of it */
    unsigned char *room;  /**< shared memory, aligned to 16 bytes */
};

/** Turns between two checks whether a block has to stop: the flag lies in the host's memory, a microsecond away. */
#define RONDE_TURNS_PER_CHECK 1024u

/** A word of four bytes of data and the flag that identifies its message, twice. */
struct ronde_line {
    uint32_t data[2]; /**< where the message has ended: 0 */
    uint32_t flag[2]; /**< of each word: they may arrive one by one */
};

/** The block that a frame belongs to. */
RONDE_INTERP struct ronde_block *ronde_block_of(const struct ronde_frame *frame)
{
    return (struct ronde_block *)(void *)(uintptr_t)frame;
}

/** Whether the run has to end early, for any reason; sets job->stop for the other blocks. */
RONDE_INTERP bool ronde_block_must_stop(const struct ronde_block *block)
{
    const struct ronde_job *job = block->job;
    if (RONDE_PORT_PEEK(job->stop) != RONDE_STOP_NOT)
        return true;
    const bool is_aborted = RONDE_PORT_PEEK(job->abort) != 0;
    const bool is_late = block->deadline_ns > 0 && RONDE_PORT_NOW(block) > block->deadline_ns;
    if (is_aborted)
        RONDE_PORT_POKE(job->stop, RONDE_STOP_ABORT);
    else if (is_late)
        RONDE_PORT_POKE(job->stop, RONDE_STOP_TIMEOUT);
    return is_aborted || is_late;
}

/** The block whose movers execute a command. */
RONDE_INTERP const struct ronde_block *ronde_command_block(const struct ronde_block_command *command)
{
    const unsigned char *const at = (const unsigned char *)(const void *)command;
    return (const struct ronde_block *)(const void *)(at - offsetof(struct ronde_block, command));
}

/** Flag of the lines of the message after the first `count` of a connection. Never 0, which cleared lines hold. */
RONDE_INTERP uint32_t ronde_line_flag(uint64_t count)
{
    return (uint32_t)(count % UINT32_MAX) + 1;
}

/** Where the line of a place in a slot lies. */
RONDE_INTERP unsigned char *ronde_line_address(const unsigned char *place)
{
    return (unsigned char *)(uintptr_t)(2 * ((uint64_t)(uintptr_t)place & ~RONDE_LINES_BIT));
}

/** Whether a place lies in lines. */
RONDE_INTERP bool ronde_place_has_lines(const unsigned char *place)
{
    return ((uint64_t)(uintptr_t)place & RONDE_LINES_BIT) != 0;
}

/** The line that heads the message in an end's current slot. */
RONDE_INTERP unsigned char *ronde_end_header(const struct ronde_frame *frame,
                                             const struct ronde_end *end)
{
    const unsigned char *const slot = end->slots + end->slot * frame->slot_stride;
    return ronde_line_address(slot - RONDE_LINE_DATA_BYTES);
}

/**
 * Makes a step's writes visible. Data in lines needs no fence; what the step keeps is read by other lanes only where
 * there are any, and by other blocks only after the run.
 */
RONDE_INTERP void ronde_block_settle(const struct ronde_task *task)
{
    if (!task->frame->has_lines || task->view.program->lane_count > 1)
        RONDE_PORT_FENCE();
}

/** Number of messages that have arrived: with lines, found by polling the head line of the next one. */
RONDE_INTERP uint64_t ronde_block_posted(const struct ronde_frame *frame,
                                         const struct ronde_end *end)
{
    if (!frame->has_lines)
        return RONDE_PORT_ACQUIRE(end->theirs);
    const struct ronde_line line = RONDE_PORT_LOAD_LINE(ronde_end_header(frame, end));
    const uint32_t flag = ronde_line_flag(end->count);
    return end->count + (line.flag[0] == flag && line.flag[1] == flag);
}

/** Bytes of the message that has arrived. */
RONDE_INTERP uint64_t ronde_block_length(const struct ronde_frame *frame,
                                         const struct ronde_end *end)
{
    if (!frame->has_lines)
        return end->lengths[end->slot];
    const struct ronde_line line = RONDE_PORT_LOAD_LINE(ronde_end_header(frame, end));
    return (uint64_t)line.data[1] << 32 | line.data[0];
}

/** Writes the message's length; with lines, this posts the message. */
RONDE_INTERP void ronde_block_write_length(const struct ronde_frame *frame,
                                           const struct ronde_end *end, uint64_t length)
{
    if (!frame->has_lines) {
        end->lengths[end->slot] = length;
        return;
    }
    const uint32_t flag = ronde_line_flag(end->count);
    const struct ronde_line line = {{(uint32_t)length, (uint32_t)(length >> 32)}, {flag, flag}};
    RONDE_PORT_STORE_LINE(ronde_end_header(frame, end), line);
}

/** Bytes of data an item takes in a slot. */
RONDE_INTERP uint64_t ronde_block_stride(const struct ronde_frame *frame, uint64_t bytes)
{
    const uint64_t lines = (bytes + RONDE_LINE_DATA_BYTES - 1) / RONDE_LINE_DATA_BYTES;
    return frame->has_lines ? lines * RONDE_LINE_DATA_BYTES : bytes;
}

/** Sets the flags that the lines of this step are read and written with. */
RONDE_INTERP void ronde_block_use(const struct ronde_frame *frame, const struct ronde_end *from,
                                  const struct ronde_end *to)
{
    struct ronde_block_command *command = &ronde_block_of(frame)->command;
    command->flags[0] = from ? ronde_line_flag(from->count) : 0;
    command->flags[1] = to ? ronde_line_flag(to->count) : 0;
}

/** What combining is under this frame's operator. */
RONDE_INTERP enum ronde_move ronde_block_operator(const struct ronde_frame *frame, bool is_final)
{
    if (is_final)
        return RONDE_MOVE_SUM_QUOTIENT;
    switch (frame->op) {
    case RONDE_PROD:
        return RONDE_MOVE_PROD;
    case RONDE_MIN:
        return RONDE_MOVE_MIN;
    case RONDE_MAX:
        return RONDE_MOVE_MAX;
    case RONDE_BAND:
    case RONDE_BOR:
    case RONDE_BXOR:
        return RONDE_MOVE_BITS;
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
    case RONDE_OP_COUNT:
        break;
    }
    return RONDE_MOVE_SUM;
}

/** Issues a command to all movers, and waits until they have executed it. */
RONDE_INTERP void ronde_block_issue(const struct ronde_frame *frame, enum ronde_move move,
                                    unsigned char *to, const unsigned char *a,
                                    const unsigned char *b, uint64_t elements, uint64_t factor)
{
    struct ronde_block *block = ronde_block_of(frame);
    block->command.move = move;
    block->command.ranks = frame->ranks;
    block->command.to = to;
    block->command.a = a;
    block->command.b = b;
    block->command.elements = elements;
    block->command.factor = factor;
    RONDE_PORT_ISSUE(block);
}

#include "engine/execute/interp.h"

/** Copies words of 8 bytes, which all structs here consist of. */
RONDE_INTERP void ronde_block_copy_words(void *to, const void *from, uint64_t bytes)
{
    for (uint64_t k = 0; k < bytes / sizeof(uint64_t); k++)
        ((uint64_t *)to)[k] = ((const uint64_t *)from)[k];
}

/** A copy in shared memory of something that is polled often, or the original where there is no room. */
RONDE_INTERP void *ronde_block_to_shared(struct ronde_block *block, void *from, uint64_t bytes)
{
    if (bytes > block->room_bytes - block->room_used)
        return from;
    void *const kept = block->room + block->room_used;
    ronde_block_copy_words(kept, from, bytes);
    block->room_used += (uint32_t)((bytes + 15) / 16 * 16);
    return kept;
}

/**
 * Resets a lane to its first step: the same launch may run any number of times without the host. Only counters
 * outlive a run; all other state is derived from them.
 */
RONDE_INTERP void ronde_block_start_lane(struct ronde_block *block,
                                         struct ronde_lane_slot *lane_slot)
{
    struct ronde_lane *lane = &lane_slot->lane;
    struct ronde_task *task = &lane_slot->task;
    const uint64_t steps = lane->end - lane->first;
    lane->task = task;
    task->frame = &block->frame;
    lane->step = lane->first;
    lane->piece = steps > 0 ? 0 : block->frame.piece_count;
    lane->reason = RONDE_REASON_NONE;
    lane->done = task->progress[lane->index].value;
    if (steps > 0)
        block->frame.first_piece = lane->done / steps;
    for (uint32_t c = 0; c < task->view.program->connection_count; c++) {
        struct ronde_end *end = &task->ends[c];
        if (end->lane != lane->index || !end->mine)
            continue;
        /*
         * Messages of an earlier run may still be unread on another device, whose run need not be over. Messages that
         * have arrived already are polled for when they are needed.
         */
        const uint64_t theirs = RONDE_PORT_ACQUIRE(end->theirs);
        end->count = *end->mine;
        end->seen = theirs < end->count ? theirs : end->count;
        end->slot = end->count % block->frame.depth;
    }
}

/**
 * Copies as much as possible of what a lane polls into shared memory. A lane slot that stays in device memory serves the
 * next run too, and must not point into shared memory, which will be another block's by then.
 */
RONDE_INTERP void ronde_block_take_lane_slot(struct ronde_block *block,
                                             struct ronde_lane_slot *lane_slot)
{
    struct ronde_view *view = &lane_slot->task.view;
    const struct ronde_program *program = view->program;
    if (block->lane_slots != block->job->lane_slots + block->first)
        lane_slot->task.ends = (struct ronde_end *)ronde_block_to_shared(
            block, lane_slot->task.ends, program->connection_count * sizeof(struct ronde_end));
    ronde_block_start_lane(block, lane_slot);
}

/** Begins a run: block `index` of the job's. */
RONDE_INTERP void ronde_block_open(struct ronde_block *block, const struct ronde_job *job,
                                   uint32_t index, unsigned char *room, uint32_t room_bytes)
{
    /* Loaded early: what follows overlaps the latency of the host's memory. */
    const uint32_t stop = RONDE_PORT_PEEK(job->stop);
    ronde_block_copy_words(&block->frame, job->frame, sizeof block->frame);
    block->job = job;
    block->room = room;
    block->room_bytes = room_bytes;
    block->room_used = 0;
    block->turns = 0;
    block->first = (uint32_t)((uint64_t)index * job->lane_slot_count / job->block_count);
    const uint64_t end = ((uint64_t)index + 1) * job->lane_slot_count / job->block_count;
    block->lane_slot_count = (uint32_t)end - block->first;
    block->lane_slots = (struct ronde_lane_slot *)ronde_block_to_shared(
        block, job->lane_slots + block->first, block->lane_slot_count * sizeof *block->lane_slots);
    /* Runs queued behind a stopped one send nothing: peers still in that run would read the messages as that run's. */
    if (stop != RONDE_STOP_NOT)
        block->lane_slot_count = 0;
    for (uint32_t k = 0; k < block->lane_slot_count; k++)
        ronde_block_take_lane_slot(block, &block->lane_slots[k]);
    block->deadline_ns = job->timeout_ns > 0 ? RONDE_PORT_NOW(block) + job->timeout_ns : 0;
}

/** Polls every lane once. Returns whether the block's part of the run is over. */
RONDE_INTERP bool ronde_block_turn(struct ronde_block *block)
{
    bool is_over = true, has_moved = false;
    for (uint32_t k = 0; k < block->lane_slot_count; k++)
        is_over &= ronde_lane_burst(&block->lane_slots[k].lane, &has_moved) == RONDE_POLL_DONE;
    block->turns++;
    return is_over || (block->turns % RONDE_TURNS_PER_CHECK == 0 && ronde_block_must_stop(block));
}

/** Ends the block's part of a run: writes back, for the host, how far each lane got and what it waits for. */
RONDE_INTERP void ronde_block_close(struct ronde_block *block)
{
    for (uint32_t k = 0; k < block->lane_slot_count; k++) {
        const struct ronde_lane *lane = &block->lane_slots[k].lane;
        struct ronde_lane *back = &block->job->lane_slots[block->first + k].lane;
        back->step = lane->step;
        back->piece = lane->piece;
        back->reason = lane->reason;
        back->about = lane->about;
    }
    block->command.move = RONDE_MOVE_END;
}

#endif
