/**
 * What lanes run on: counters, connections, tasks, and the operations a machine provides.
 *
 * The driver owns these structs; load fills them in (loaded.h). Free of libc. The macros are the machine: C defaults
 * stand here, a GPU defines its own before including interp.h.
 *
 * Counters only grow, over all runs of a loaded program, so that none is reset while a peer still polls it. A lane's
 * counter is the number of its steps that are over. All lanes run the same number of pieces, so one number,
 * `first_piece` (pieces of all earlier runs), turns a step of this run into a counter value of any lane.
 */
#ifndef RONDE_ENGINE_EXECUTE_MACHINE_H
#define RONDE_ENGINE_EXECUTE_MACHINE_H

#include "ronde/backend.h"
#include "ronde/cursor.h"
#include "ronde/split.h"

#include <stdint.h>

#ifndef RONDE_INTERP
#include "engine/execute/stream.h"
/**
 * What stands before every function: as one large one they are faster than with the compiler's own choice of what to
 * inline. Builds with sanitizers leave it that choice: each check once a function, not once a place it is inlined into.
 */
#ifndef RONDE_INTERP_INLINE
#define RONDE_INTERP_INLINE always_inline
#endif
#define RONDE_INTERP static inline __attribute__((RONDE_INTERP_INLINE))
/** What stands before functions that only long steps need, so that they do not slow short ones down. */
#define RONDE_INTERP_APART static __attribute__((noinline, unused))
/** Reads a counter; whatever was written before its release is visible afterwards. */
#define RONDE_ACQUIRE(frame, pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
/** What a step wrote must be visible before the counters released after it: a release does not wait for streams. */
#define RONDE_SETTLE(task) ((task)->frame->streams ? ronde_stream_settle() : (void)0)
/** Whether messages may be written where their receivers keep them. */
#define RONDE_PUSHES(frame) ((frame)->pushes)
/** Whether what no step reads again is written past the caches. */
#define RONDE_STREAMS(frame) ((frame)->streams)
/** Copies bytes past the caches between places that do not overlap. */
#define RONDE_STREAM(frame, to, from, bytes) (frame)->kernels.stream((to), (from), (bytes))
/** Publishes a counter after everything written so far. */
#define RONDE_RELEASE(frame, pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
/** Bytes of a slot that an item of so many bytes takes. */
#define RONDE_ITEM_STRIDE(frame, bytes) (bytes)
/** Announces which ends the step about to be executed uses; NULL where it uses none. */
#define RONDE_USE(frame, from, to) ((void)(frame))
/** Copies bytes between places that do not overlap. */
#define RONDE_COPY(frame, to, from, bytes) __builtin_memcpy((to), (from), (bytes))
/** to[i] = local[i] o received[i], divided by the ranks if `is_final`; `to` may be either operand exactly. */
#define RONDE_COMBINE(frame, to, local, received, elements, is_final)                              \
    ((frame)->kernels.combine((to), (local), (received), (elements)),                              \
     (is_final) ? (frame)->kernels.divide((to), (frame)->ranks, (elements)) : (void)0)
/** to[i] = raw[i] * factor; `to` may be `raw` exactly. */
#define RONDE_SCALE(frame, to, raw, factor, elements)                                              \
    (frame)->kernels.scale((to), (raw), (factor), (elements))
/** to[i] = (raw[i] * factor) + other[i], rounded twice; `to` may be either operand exactly. */
#define RONDE_SCALE_SUM(frame, to, raw, other, factor, elements)                                   \
    (frame)->kernels.scale_sum((to), (raw), (other), (factor), (elements))
/** to[i] = from[i] / ranks; `to` may be `from` exactly. */
#define RONDE_DIVIDE(frame, to, from, elements)                                                    \
    ((to) != (from) ? (void)__builtin_memcpy((to), (from), (elements) * (frame)->element_bytes)    \
                    : (void)0,                                                                     \
     (frame)->kernels.divide((to), (frame)->ranks, (elements)))
#endif

#ifndef RONDE_POSTED
/** Messages that have arrived at a receiving end, all runs together. */
#define RONDE_POSTED(frame, end) RONDE_ACQUIRE(frame, (end)->theirs)
/** Bytes of the message in the current slot of a receiving end. */
#define RONDE_LENGTH(frame, end) ((end)->lengths[(end)->slot])
/** Publishes the length of the message in the current slot of a sending end, once its data was written. */
#define RONDE_POST_LENGTH(frame, end, length) ((end)->lengths[(end)->slot] = (length))
#endif

#ifndef RONDE_ACQUIRE_FROM
/** The same for who waits until a counter reaches `least`: before that it orders nothing. */
#define RONDE_ACQUIRE_FROM(frame, pointer, least) RONDE_ACQUIRE(frame, pointer)
#endif

#ifndef RONDE_GAVE_UP
/** Whether the step that was executed last had to give up in the middle: a part of its message never came. */
#define RONDE_GAVE_UP(frame) ((void)(frame), false)
#endif

#ifndef RONDE_MAY_POLL
/** Whether a lane may execute its next step at all: a driver may hold it back for reasons of its own. */
#define RONDE_MAY_POLL(lane) true
#endif

#ifndef RONDE_IS_READABLE
/** Whether receivers can read a buffer of this rank (RONDE_IN ..) where it lies. */
#define RONDE_IS_READABLE(act, buffer) true
#endif

#ifndef RONDE_REMOTE_READ
/**
 * Where this process can read what an offer refers to; NULL if it cannot. `place` is where the data is about to be
 * copied, or NULL: a machine that has to fetch it puts it there at once.
 */
#define RONDE_REMOTE_READ(act, offer, place) ((offer)->start)
#endif

#ifndef RONDE_SEEN
/** Address in this process of what an offer refers to, to compare with places; NULL if it is not mapped here. */
#define RONDE_SEEN(act, offer) ((offer)->start)
#endif

#ifndef RONDE_REMOTE_END
/** The other end of the connection a step sends on; NULL if the receiver's memory is not to be written. */
#define RONDE_REMOTE_END(act)                                                                      \
    ((act)->lane->task->remote_ends ? &(act)->lane->task->remote_ends[(act)->step->send] : 0)
#endif

#ifndef RONDE_JOINED_ROOM
/** Declares `name`, room for the operands of joined steps. */
#define RONDE_JOINED_ROOM(frame, name) const unsigned char *name[RONDE_JOINED_OPERANDS]
#endif

#ifndef RONDE_SPREAD
/** Has what the step computes next written, together with `to`, to where the receivers of spread sends keep it; false: it is done here. */
#define RONDE_SPREAD(act, first, to) false
#endif

#ifndef RONDE_SEND_COPY
/** The address in an offer of an item at `start`; with copies_sends that of a copy which stays for the run. */
#define RONDE_SEND_COPY(act, start, bytes) (start)
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
    /** a copy past the caches, in order with later stores only after ronde_stream_settle */
    void (*stream)(void *to, const void *from, uint64_t bytes);
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
    uint64_t seen;          /**< value of *theirs when last read: spares a cache miss */
    uint64_t slot;          /**< next slot: count modulo depth, without the division */
    uint32_t lane;          /**< lane of the task that uses it */
    uint32_t is_copied;     /**< the other end cannot read this rank's memory: nothing is offered
                             here; fills the line */
};

/** A dependency in the form that is polled. */
struct ronde_wait {
    uint32_t lane;  /**< whose counter */
    uint32_t after; /**< steps of that lane, from its first, that must be over in the same piece */
    uint32_t steps; /**< steps of that lane per piece */
};

/** A message that must have been read before a step overwrites what was sent. */
struct ronde_hold {
    uint32_t end;      /**< the connection it was sent on */
    uint32_t after;    /**< messages of that connection, within one piece, up to and including it */
    uint32_t messages; /**< messages of that connection in a piece */
};

/** The holds of all steps of a program in one placement. */
struct ronde_holds {
    const uint32_t *first; /**< step_count + 1 entries: step s waits for first[s] .. first[s + 1] - 1 */
    const struct ronde_hold *entries; /**< step after step */
};

/** Where a message may be written by its sender: what the sender needs of the step that receives it. */
struct ronde_landing {
    uint32_t step; /**< of the receiver's program; RONDE_NONE = it combines, or it is unknown
                        when it may be written */
    bool is_read;  /**< a later step of the receiver reads it */
    struct ronde_wait free[2]; /**< out of place, in place: what must be over; lane RONDE_NONE = nothing */
};

/** The messages of a program, as both ends need them. */
struct ronde_landings {
    const uint32_t *message; /**< per step that sends: which message of its connection, within a piece */
    const uint32_t *first; /**< per connection it receives on, and one more: its first entry */
    const struct ronde_landing *entries; /**< connection after connection, message after message */
    const bool *is_read; /**< per step that writes: a later step of the rank reads it, in some placement */
};

/** The other end of a connection. */
struct ronde_remote_end {
    struct ronde_task *task; /**< the receiver's; NULL where its memory is not mapped, and at
                                  receiving ends */
    uint32_t connection;     /**< of the receiver's program */
};

/** A chunk of a message that is pulled: what the slot then holds instead of the data. */
struct ronde_offer {
    const unsigned char *start; /**< in the sender's memory */
    uint64_t bytes;             /**< of this piece */
};

/** Bit of a slot's length: the slot holds offers. */
#define RONDE_LENGTH_OFFERED ((uint64_t)1 << 63)

/** Bit of a slot's length: the data is at the receiver's destination already. */
#define RONDE_LENGTH_PUSHED ((uint64_t)1 << 62)

/** The bytes of a length. */
#define RONDE_LENGTH_BYTES (RONDE_LENGTH_PUSHED - 1)

/** Bytes that are computed before they are streamed: they stay in the first-level cache, and among the loads in flight. */
#define RONDE_STREAM_BLOCK 1024u

/** Blocks end at multiples of this, so that streams fill whole cache lines. */
#define RONDE_STREAM_LINE 64u

/**
 * Slots made of lines: words of four bytes of data, each followed by a flag of four bytes, the number of the message
 * they belong to. Data and flag arrive together, so no counter has to be waited for; the price is half the bandwidth.
 *
 * The address of a place in such a slot has this bit set and counts bytes of data: the word of data byte d lies at
 * 2 * (address - bit), so that the interpreter adds lengths to it as to any other. A message is headed by a line of its
 * own, two words that hold its length, and its items begin at whole lines.
 */
#define RONDE_LINES_BIT ((uint64_t)1 << 62)

/** Bytes of data in a line: two words. */
#define RONDE_LINE_DATA_BYTES 8u

/** What is the same for all lanes during a run. */
struct ronde_frame {
    uint64_t count;          /**< elements of a block, or of the longest */
    uint64_t first_piece;    /**< pieces of all earlier runs */
    uint64_t piece_count;    /**< pieces of this run */
    uint64_t piece_elements; /**< elements of a full piece */
    uint64_t slot_stride;    /**< bytes from slot to slot */
    uint32_t depth;          /**< slots of a connection */
    uint32_t element_bytes;  /**< of the element type */
    uint32_t ranks;          /**< what avg divides by */
    uint32_t marks; /**< the mark the operator depends on: RONDE_FLAG_RAW, RONDE_FLAG_FINAL or 0 */
    uint32_t no_pull; /**< step flag that forbids reading a send in place, under this placement; 0 = all are copied */
    bool copies_sends; /**< what is offered are copies that stay: no step waits for readers; only with
                     no_pull */
    bool has_offers;   /**< ranks that are not loaded here may offer messages, whatever this rank
                          does */
    bool is_in_place; /**< which of the lowered placements this is, where sends are read in place */
    bool pushes; /**< messages are written where they are kept, where that is free; only with no_pull */
    bool streams; /**< what no step reads again is written past the caches */
    bool joins;   /**< joined steps are executed as one */
    bool spreads; /**< results are written to where all receivers keep them; all ranks are loaded here */
    bool has_lines;         /**< slots are made of lines; only with habits that ask for it */
    enum ronde_dtype dtype; /**< what the kernels below are of, for machines that cannot call them */
    enum ronde_op op;       /**< where nothing is reduced: sum; of bool: band, bor or bxor */
    struct ronde_kernels kernels; /**< of element type and operator */
    bool checks;  /**< compare extents and message lengths: for unproved schedules */
    void *driver; /**< the driver's own, for what it makes of the macros above */
};

/** What the lanes of one (rank, channel) share. */
struct ronde_task {
    struct ronde_view view;                     /**< its program */
    const struct ronde_frame *frame;            /**< of the run */
    struct ronde_end *ends;                     /**< one per connection of the program */
    struct ronde_counter *progress;             /**< one per lane: steps over since load */
    const struct ronde_wait *waits;             /**< one per entry of program->dependencies */
    const struct ronde_holds *holds;            /**< of its program: out of place, in place */
    const struct ronde_landings *landings;      /**< of its program */
    const struct ronde_remote_end *remote_ends; /**< one per end; NULL where no rank writes to
                                                     another's memory */
    const struct ronde_extent *parts; /**< m entries: elements of each part of the channel's slice */
    unsigned char *base[RONDE_BUFFER_COUNT]; /**< the three memories */
    uint32_t chunks[RONDE_BUFFER_COUNT];     /**< chunks of each */
    uint64_t scratch_stride;                 /**< bytes from scratch chunk to scratch chunk */
    const struct ronde_blocks
        *blocks[2];         /**< of input and output; NULL = blocks of `count`, one after another */
    uint64_t weight_before; /**< of the channels before its own */
    uint64_t factor;        /**< premul_sum: the bytes of the rank's factor */
    uint32_t first_lane;    /**< index of its lane 0 among all lanes */
};

/** Why a lane does not go on. */
enum ronde_reason {
    RONDE_REASON_NONE,       /**< it does */
    RONDE_REASON_DEPENDENCY, /**< waits for a step of another lane; `about` is an entry of dependencies */
    RONDE_REASON_MESSAGE, /**< waits for a message; `about` is a connection */
    RONDE_REASON_SLOT,    /**< waits for a free slot; `about` is a connection */
    RONDE_REASON_READER,  /**< waits until a message it sent was read; `about` is a connection */
    RONDE_REASON_REMOTE_READ, /**< a message lies where this process cannot read; `about` is a connection */
    RONDE_REASON_LENGTH, /**< a message is longer or shorter than the step expects (checks only) */
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
    uint32_t *sorted_there;   /**< the same for a destination at the other end of a connection */
    enum ronde_reason reason; /**< why the last poll did not progress */
    uint32_t about;           /**< what it is about */
    uint64_t padding[7];      /**< up to two cache lines: neighbours may belong to another thread */
};

/** What a poll found. */
enum ronde_poll {
    RONDE_POLL_PROGRESSED, /**< one step was executed */
    RONDE_POLL_BLOCKED,    /**< nothing could be done; lane->reason says what is missing */
    RONDE_POLL_DONE,       /**< all pieces are over */
    RONDE_POLL_WRONG /**< the step contradicts its message or buffers (checks only), or cannot read it */
};

/** The chunks of an operand in message order. */
struct ronde_items {
    const uint32_t *sorted; /**< the list, or NULL when the two numbers say it */
    uint32_t first;         /**< chunk of the first item that has not wrapped */
    uint32_t wrapped; /**< items that wrapped around the end of the buffer: chunks 0 .. wrapped-1, sent first */
};

/** Operands of one item of a step. */
struct ronde_segment {
    unsigned char *source;         /**< NULL if the step has none */
    unsigned char *destination;    /**< NULL if the step has none */
    const unsigned char *received; /**< what came in; NULL if nothing did */
    uint64_t elements;             /**< of this piece */
    uint64_t skipped;              /**< bytes before these */
};

/** Operands of joined steps that are executed as one. */
struct ronde_joined {
    const unsigned char *
        *operands; /**< item after item, those of an item in the order in which they are combined */
    uint32_t per_item; /**< operands of an item; 0: a step alone */
    uint32_t taken; /**< operands of an item that the steps before the one at work have brought */
    uint32_t item;  /**< whose result is computed */
    bool is_raw;    /**< the operator heeds that the first operand is raw */
    bool is_last;   /**< the step at work is the last: it computes the result */
};

/** Where the result of an item goes. */
struct ronde_places {
    unsigned char *to;   /**< NULL: nowhere, its data is offered where it lies */
    unsigned char *also; /**< or NULL */
    bool streams_to;     /**< past the caches */
    bool streams_also;   /**< past the caches */
    uint32_t spread;     /**< the first send to whose receiver's place it goes too, or RONDE_NONE */
};

/** A step that is being executed. */
struct ronde_act {
    struct ronde_lane *lane;       /**< that executes it */
    const struct ronde_step *step; /**< what */
    uint32_t buffer[2];            /**< of destination and source, indexed by is_source */
    struct ronde_items items[2];   /**< the chunks of each */
    uint32_t rotation; /**< scratch only: by how much message order is rotated against position 0 */
    const unsigned char *received;    /**< rest of the message in the received slot, or NULL */
    unsigned char *sent;              /**< rest of the slot to send, or NULL */
    const struct ronde_offer *pulled; /**< the received slot where it holds offers, or NULL */
    struct ronde_offer *offered;      /**< the slot to send where it gets offers, or NULL */
    const struct ronde_write_target
        *target;     /**< where the receiver keeps what is sent, if it is written there, or NULL */
    bool has_landed; /**< the received message lies at the destination already */
    uint64_t moved;  /**< bytes of each operand so far */
    struct ronde_joined *joined; /**< the steps it is one of; NULL for a receiver's step */
    uint64_t manner;             /**< how what is sent travels, as bits of its length */
};

/** A step of the receiver, as the sender resolves it to write to its destination. */
struct ronde_write_target {
    struct ronde_act act; /**< the receiving step; only its destination means something */
    struct ronde_lane lane; /**< a stand-in for the receiver's lane: its task and the sender's piece */
    bool is_read;           /**< a later step of the receiver reads what is written */
};

/** Where the receiver of a spread send keeps what the sender keeps at `to`: as the same chunk of its output. */
RONDE_INTERP unsigned char *ronde_task_spread_to(const struct ronde_task *task, uint32_t send,
                                                 const unsigned char *to)
{
    const uint32_t end = task->view.program->steps[send].send;
    return task->remote_ends[end].task->base[RONDE_OUT] + (to - task->base[RONDE_OUT]);
}

#endif
