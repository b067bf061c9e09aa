/**
 * A block of a GPU as a driver of the step interpreter: one thread polls lanes, all others move the data.
 *
 * The deciding thread runs engine/execute/interp.h. Whenever a step copies or combines, it writes a command and issues it:
 * the movers execute it together, each every so-many-th element, and the interpreter continues when they are done. Waiting
 * occupies only the deciding thread, since movers wait at a barrier. Polling never blocks, so a block may run any lanes
 * in any order and never waits for itself.
 *
 * The deciding thread looks ahead: while the movers are at work it finds the next step that could be executed, of any of its
 * lanes, and writes that step's command beside theirs. One barrier then ends the one command and begins the other, and what
 * the first completes is published while the movers are at the second. Only where no step can follow it waits for them.
 *
 * Compiled twice: into the CUDA kernels (device.h), and as C for the CPU, where tests run, sanitise and fuzz the same
 * source. The including file defines first, through its port:
 *
 *   RONDE_INTERP                 what stands before every function; RONDE_PORT_ONCE before one that is compiled once and called
 *   RONDE_PORT_BARRIER(block)    all movers are done with the command before, whose results are visible, and take the
 *                                other of block->commands; what was written before is visible to them
 *   RONDE_PORT_NOW(block)        a clock, in ns
 *   RONDE_PORT_ACQUIRE(pointer)  reads a counter of 8 bytes that another block writes; RONDE_PORT_POLL(pointer)
 *                                the same, without order
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
#define RONDE_ACQUIRE_FROM(frame, pointer, least) ronde_block_acquire_from((pointer), (least))
#define RONDE_SETTLE(task) ronde_block_settle(task)
/* Whether a receiver is done with a place is not looked up, and stores do not displace what other ranks have cached. */
#define RONDE_PUSHES(frame) ((void)(frame), false)
#define RONDE_STREAMS(frame) ((void)(frame), false)
#define RONDE_STREAM(frame, to, from, bytes) RONDE_COPY((frame), (to), (from), (bytes))
#define RONDE_RELEASE(frame, pointer, value) ronde_block_release((frame), (pointer), (value))
#define RONDE_POSTED(frame, end) ronde_block_posted((frame), (end))
#define RONDE_LENGTH(frame, end) ronde_block_length((frame), (end))
#define RONDE_POST_LENGTH(frame, end, length) ronde_block_write_length((frame), (end), (length))
#define RONDE_ITEM_STRIDE(frame, bytes) ronde_block_stride((frame), (bytes))
#define RONDE_USE(frame, from, to) ronde_block_use((frame), (from), (to))
#define RONDE_IS_READABLE(act, buffer) ronde_block_is_readable((act)->lane->task->frame, (buffer))
#define RONDE_SEND_COPY(act, start, bytes) ronde_block_refer((act), (start))
#define RONDE_REMOTE_READ(act, offer, place) ronde_block_find((act), (offer))
#define RONDE_GAVE_UP(frame) ronde_block_is_junk(ronde_block_of(frame))
#define RONDE_MAY_POLL(lane) (ronde_block_of((lane)->task->frame)->gave_up == 0)
#define RONDE_COPY(frame, to, from, bytes)                                                         \
    ronde_block_issue((frame), RONDE_MOVE_COPY, (to), (from), 0,                                   \
                      (bytes) >> ronde_block_element_shift(frame), 0)
#define RONDE_COMBINE(frame, to, local, received, elements, is_final)                              \
    ronde_block_issue((frame), ronde_block_operator((frame), (is_final)), (to), (local),           \
                      (received), (elements), (uint64_t)(frame)->op)
#define RONDE_SCALE(frame, to, raw, factor, elements)                                              \
    ronde_block_issue((frame), RONDE_MOVE_SCALE, (to), (raw), 0, (elements), *(factor))
#define RONDE_SCALE_SUM(frame, to, raw, other, factor, elements)                                   \
    ronde_block_issue((frame), RONDE_MOVE_SCALE_SUM, (to), (raw), (other), (elements), *(factor))
#define RONDE_DIVIDE(frame, to, from, elements)                                                    \
    ronde_block_issue((frame), RONDE_MOVE_QUOTIENT, (to), (from), 0, (elements), 0)
/* One copy of the interpreter's code serves all steps. */
#define RONDE_RUN_JOINED(lane, joins) ronde_lane_run((lane), (joins))
#define RONDE_JOINED_ROOM(frame, name)                                                             \
    const unsigned char **const name =                                                             \
        ronde_block_of(frame)->steps[ronde_block_of(frame)->step].operands
#define RONDE_JOIN(act, to, skipped, elements)                                                     \
    ((void)(skipped), ronde_block_join((act)->lane->task, (act)->joined,                           \
                                       ronde_act_heeds((act), RONDE_FLAG_FINAL), (to), (elements)))
#define RONDE_SPREAD(act, first, to) (ronde_block_spread((act)->lane->task, (first), (to)), true)

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
    RONDE_MOVE_NONE,         /**< nothing */
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
    const unsigned char *const *more; /**< operands of joined steps beside the first two, in order */
    uint32_t more_count, also_count;  /**< of them, and of what follows; in plain memory alone */
    unsigned char **also;             /**< where else the result goes; may be an operand exactly */
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

/** What a step, or several that are joined, needs until the movers are done with it. */
struct ronde_block_step {
    const unsigned char *operands[RONDE_JOINED_OPERANDS]; /**< of joined steps */
    unsigned char *also[RONDE_JOINED_OPERANDS];           /**< where a result is spread to */
    /** Not 0 there: what the step, or one joined with it, reads is not its sender's any more. */
    const uint64_t *withdrawn[RONDE_JOINED_OPERANDS];
    uint32_t withdrawn_count; /**< words to look at after the step */
};

/** A counter to set when the movers are done. */
struct ronde_block_release {
    uint64_t *pointer;
    uint64_t value;
};

/** A running block. */
struct ronde_block {
    struct ronde_frame frame; /**< must stand first: ronde_block_of finds the block by it */
    struct ronde_block_command commands[2]; /**< one is the movers', one is written; they take them in turn */
    struct ronde_block_step steps[2]; /**< the same */
    uint32_t at;                      /**< the command that is written */
    uint32_t step;                    /**< the step that is resolved */
    bool looks_ahead;                 /**< steps are resolved while the movers are at work */
    bool is_at_work;                  /**< the movers may be */
    bool has_issued;                  /**< the step that is resolved has issued a command */
    bool defers;                      /**< counters are set when the movers are done */
    struct ronde_lane *lane;          /**< that is polled */
    struct ronde_lane *before_lane;   /**< of the step before, if deferred: where that was then */
    uint64_t before_piece;
    uint32_t before_step;
    uint32_t release_count;
    struct ronde_block_release releases[RONDE_JOINED_OPERANDS + 2]; /**< of the step before, if deferred */
    const struct ronde_job *job;
    struct ronde_given given;
    struct ronde_lane_slot *lane_slots; /**< those it polls, in shared memory if they fit */
    uint32_t first;                     /**< its first lane slot among all */
    uint32_t lane_slot_count;
    uint64_t deadline_ns; /**< 0 = none */
    uint32_t turns;       /**< since it began */
    uint32_t gave_up; /**< not 0: a mover did not get what it waited for, and the run has to end */
    uint32_t room_bytes;          /**< bytes of shared memory */
    bool is_shared;               /**< the lane slots are there */
    uint64_t program_bytes;       /**< of the job's program */
    const unsigned char *program; /**< it */
    struct ronde_view view;       /**< of the first lane, as it was sent */
    unsigned char *room;          /**< shared memory, aligned to 16 bytes */
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

/** Reads a counter: in order with what was written before it was set, once it has reached what is waited for. */
RONDE_INTERP uint64_t ronde_block_acquire_from(const uint64_t *pointer, uint64_t least)
{
    const uint64_t value = RONDE_PORT_POLL(pointer);
    return value < least ? value : RONDE_PORT_ACQUIRE(pointer);
}

/** Binary logarithm of the bytes of an element, 1, 2, 4 or 8: a division would take longer than the rest of a step. */
RONDE_INTERP uint32_t ronde_block_element_shift(const struct ronde_frame *frame)
{
    return (frame->element_bytes >> 1) - (frame->element_bytes >> 3);
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

/** Number of messages that have arrived: with lines, found by polling the head line of the next one. */
RONDE_INTERP uint64_t ronde_block_posted(const struct ronde_frame *frame,
                                         const struct ronde_end *end)
{
    if (!frame->has_lines)
        return ronde_block_acquire_from(end->theirs, end->count + 1);
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
    struct ronde_block *block = ronde_block_of(frame);
    struct ronde_block_command *command = &block->commands[block->at];
    command->flags[0] = from ? ronde_line_flag(from->count) : 0;
    command->flags[1] = to ? ronde_line_flag(to->count) : 0;
}

/** Whether all receivers can read a buffer; scratch is another process's own. */
RONDE_INTERP bool ronde_block_is_readable(const struct ronde_frame *frame, uint32_t buffer)
{
    const struct ronde_block *block = ronde_block_of(frame);
    return !block->job->mapped || (block->given.readable >> buffer & 1) != 0;
}

/** What an offer of this rank holds: an address, or a reference. */
RONDE_INTERP const unsigned char *ronde_block_refer(const struct ronde_act *act,
                                                    const unsigned char *start)
{
    const struct ronde_block *block = ronde_block_of(act->lane->task->frame);
    /* Sent is what a step keeps; a step that keeps nothing sends its source. */
    const uint32_t buffer = act->buffer[0] != RONDE_BUFFER_COUNT ? act->buffer[0] : act->buffer[1];
    const uint64_t shift =
        buffer == RONDE_OUT ? block->given.shift[RONDE_OUT] : block->given.shift[RONDE_IN];
    return block->job->mapped ? (const unsigned char *)((uint64_t)(uintptr_t)start + shift) : start;
}

/** Where this device reads what was offered. The counter of a sender that gives up says so in its next word. */
RONDE_INTERP const unsigned char *ronde_block_find(const struct ronde_act *act,
                                                   const struct ronde_offer *offer)
{
    struct ronde_block *block = ronde_block_of(act->lane->task->frame);
    const uint64_t reference = (uint64_t)(uintptr_t)offer->start;
    if (!block->job->mapped)
        return offer->start;
    struct ronde_block_step *step = &block->steps[block->step];
    const uint64_t *const withdrawn = act->lane->task->ends[act->step->receive].theirs + 1;
    if (step->withdrawn_count == 0 || step->withdrawn[step->withdrawn_count - 1] != withdrawn)
        step->withdrawn[step->withdrawn_count++] = withdrawn;
    return block->job->mapped[reference >> RONDE_REFERENCE_BITS] +
           (reference & ((UINT64_C(1) << RONDE_REFERENCE_BITS) - 1));
}

/**
 * Whether a step that the movers are done with, or one joined with it, gave up: a part of its message never came, or what it read in
 * place was withdrawn. A sender withdraws before its buffers are its caller's again, so what was read before this look is valid; and
 * it was read, as the movers have used it before their barrier.
 */
RONDE_INTERP bool ronde_block_gives_up(struct ronde_block *block, struct ronde_block_step *step)
{
    for (uint32_t k = 0; k < step->withdrawn_count; k++)
        if (RONDE_PORT_POLL(step->withdrawn[k]) != 0) {
            RONDE_PORT_POKE(block->job->stop, RONDE_STOP_ABORT);
            block->gave_up = 1;
        }
    step->withdrawn_count = 0;
    return block->gave_up != 0;
}

/** Whether a step that was issued is known to have given up: of one that the movers are still at, later. */
RONDE_INTERP bool ronde_block_is_junk(struct ronde_block *block)
{
    return block->looks_ahead ? block->gave_up != 0
                              : ronde_block_gives_up(block, &block->steps[block->step]);
}

/** Publishes the step before the one that is resolved, which the movers are done with. */
RONDE_PORT_ONCE void ronde_block_complete(struct ronde_block *block)
{
    if (block->release_count == 0)
        return;
    if (!ronde_block_gives_up(block, &block->steps[block->step ^ 1])) {
        RONDE_PORT_FENCE();
        RONDE_ROLLED
        for (uint32_t k = 0; k < block->release_count; k++)
            RONDE_PORT_SET(block->releases[k].pointer, block->releases[k].value);
    } else {
        /* What the error says of it. */
        struct ronde_lane *lane = block->before_lane;
        lane->step = block->before_step;
        lane->piece = block->before_piece;
        lane->reason = RONDE_REASON_MESSAGE;
        lane->about = lane->task->view.program->steps[lane->step].receive;
    }
    block->release_count = 0;
}

/** Waits until the movers are done with what they are at, and hands them the command that was written. */
RONDE_INTERP void ronde_block_hand(struct ronde_block *block, enum ronde_move move)
{
    block->commands[block->at].move = move;
    RONDE_PORT_BARRIER(block);
    block->at ^= 1;
    block->commands[block->at].more_count = 0;
    block->commands[block->at].also_count = 0;
    ronde_block_complete(block);
}

/** Waits until the movers are done. */
RONDE_INTERP void ronde_block_await(struct ronde_block *block)
{
    if (block->is_at_work)
        ronde_block_hand(block, RONDE_MOVE_NONE);
    block->is_at_work = false;
}

/**
 * A step was resolved. Where the movers are still at it, it is over later. Else its writes become visible: data in lines needs no
 * fence; what the step keeps is read by other lanes only where there are any, and by other blocks only after the run.
 */
RONDE_INTERP void ronde_block_settle(const struct ronde_task *task)
{
    struct ronde_block *block = ronde_block_of(task->frame);
    block->defers = block->looks_ahead && block->has_issued;
    block->has_issued = false;
    if (block->defers) {
        block->step ^= 1;
        block->before_lane = block->lane;
        block->before_piece = block->lane->piece;
        block->before_step = block->lane->step;
        return;
    }
    ronde_block_await(block);
    if (!task->frame->has_lines || task->view.program->lane_count > 1)
        RONDE_PORT_FENCE();
}

/** Sets a counter now, or when the movers are done with the step. */
RONDE_INTERP void ronde_block_release(const struct ronde_frame *frame, uint64_t *pointer,
                                      uint64_t value)
{
    struct ronde_block *block = ronde_block_of(frame);
    const struct ronde_block_release release = {pointer, value};
    if (block->defers)
        block->releases[block->release_count++] = release;
    else
        RONDE_PORT_SET(pointer, value);
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

/** Issues a command to all movers; none once they gave up. Without looking ahead, waits until they have executed it. */
RONDE_INTERP void ronde_block_issue(const struct ronde_frame *frame, enum ronde_move move,
                                    unsigned char *to, const unsigned char *a,
                                    const unsigned char *b, uint64_t elements, uint64_t factor)
{
    struct ronde_block *block = ronde_block_of(frame);
    struct ronde_block_command *command = &block->commands[block->at];
    if (block->gave_up != 0)
        return;
    command->ranks = frame->ranks;
    command->to = to;
    command->a = a;
    command->b = b;
    command->elements = elements;
    command->factor = factor;
    block->has_issued = true;
    block->is_at_work = block->looks_ahead;
    bool is_handed = false;
    RONDE_ROLLED
    do {
        ronde_block_hand(block, is_handed ? RONDE_MOVE_NONE : move);
        is_handed = !is_handed;
    } while (is_handed && !block->looks_ahead);
}

/** Combines the operands of joined steps: the movers keep what has been so far in registers. */
RONDE_INTERP void ronde_block_join(const struct ronde_task *task, const struct ronde_joined *joined,
                                   bool is_final, unsigned char *to, uint64_t elements)
{
    const struct ronde_frame *frame = task->frame;
    struct ronde_block *block = ronde_block_of(frame);
    struct ronde_block_command *command = &block->commands[block->at];
    const unsigned char *const *operands = joined->operands + joined->item * joined->per_item;
    command->more = operands + 2;
    command->more_count = joined->per_item - 2;
    ronde_block_issue(frame,
                      joined->is_raw ? RONDE_MOVE_SCALE_SUM : ronde_block_operator(frame, is_final),
                      to, operands[0], operands[1], elements,
                      joined->is_raw ? task->factor : (uint64_t)frame->op);
}

/** Has the movers write the result of the step's command to other ranks' outputs as well. */
RONDE_INTERP void ronde_block_spread(const struct ronde_task *task, uint32_t send, unsigned char *to)
{
    struct ronde_block *block = ronde_block_of(task->frame);
    struct ronde_block_command *command = &block->commands[block->at];
    command->also = block->steps[block->step].also;
    RONDE_ROLLED
    for (; send != RONDE_NONE; send = task->view.program->spread[send])
        command->also[command->also_count++] = ronde_task_spread_to(task, send, to);
}

#include "engine/execute/interp.h"
#include "hw/cuda/block_begin.h"

/** Polls every lane once. Returns whether the block's part of the run is over. */
RONDE_INTERP bool ronde_block_turn(struct ronde_block *block)
{
    bool is_over = true, has_moved = false, goes_on = false;
    for (uint32_t k = 0; k < block->lane_slot_count; k++) {
        block->lane = &block->lane_slots[k].lane;
        const enum ronde_poll poll = ronde_lane_burst(block->lane, &has_moved);
        is_over &= poll == RONDE_POLL_DONE;
        goes_on |= poll == RONDE_POLL_PROGRESSED;
    }
    block->turns++;
    const bool ends = is_over || block->gave_up != 0 ||
                      (block->turns % RONDE_TURNS_PER_CHECK == 0 && ronde_block_must_stop(block));
    if (ends || !goes_on)
        ronde_block_await(block);
    return ends;
}

/** After a run that ended early: what is offered and not read yet must not be read any more. */
RONDE_INTERP void ronde_block_withdraw(const struct ronde_lane_slot *lane_slot)
{
    RONDE_ROLLED
    for (uint32_t c = 0; c < lane_slot->end_count; c++) {
        const struct ronde_end *end = &lane_slot->task.ends[c];
        if (end->lane == lane_slot->lane.index && end->mine)
            RONDE_PORT_SET(end->mine + 1, 1);
    }
}

/** Ends the block's part of a run: writes back, for the host, how far each lane got and what it waits for. */
RONDE_INTERP void ronde_block_close(struct ronde_block *block)
{
    const bool withdraws = block->frame.no_pull != 0 && block->job->mapped &&
                           RONDE_PORT_PEEK(block->job->stop) != RONDE_STOP_NOT;
    for (uint32_t k = 0; withdraws && k < block->lane_slot_count; k++)
        ronde_block_withdraw(&block->lane_slots[k]);
    for (uint32_t k = 0; k < block->lane_slot_count; k++) {
        const struct ronde_lane *lane = &block->lane_slots[k].lane;
        struct ronde_lane *back = &block->job->lane_slots[block->first + k].lane;
        back->step = lane->step;
        back->piece = lane->piece;
        back->reason = lane->reason;
        back->about = lane->about;
    }
    block->commands[block->at].move = RONDE_MOVE_END;
}

#endif
