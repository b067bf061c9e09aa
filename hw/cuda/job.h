/**
 * What a kernel is launched with: the host writes it (flatten.c), blocks read it (block.h).
 *
 * All pointers are addresses of the device. Compiled as C and as CUDA.
 */
#ifndef RONDE_HW_CUDA_JOB_H
#define RONDE_HW_CUDA_JOB_H

#include "engine/execute/machine.h"

/** Threads of a block that move data: with the deciding warp 16 warps, 4 per scheduler, so that each has 128 registers. */
#define RONDE_MOVER_THREADS 480u

/** Threads of a block: the movers, and before them a warp whose first thread decides what is moved. */
#define RONDE_BLOCK_THREADS (32u + RONDE_MOVER_THREADS)

/** Loads of each operand a mover has under way: 480 movers * 4 * 16 bytes are 30 KiB, what a multiprocessor has to have in
 * flight for its share of the memory's rate. */
#define RONDE_VECTORS_AT_ONCE 4u

/** Shared memory of a block in which it keeps what it polls; what does not fit stays in device memory. */
#define RONDE_ROOM_BYTES 32768u

/** Why blocks leave a run early; the first reason stands. */
enum ronde_stop {
    RONDE_STOP_NOT,    /**< the run goes on */
    RONDE_STOP_ABORT,  /**< abort was called */
    RONDE_STOP_TIMEOUT /**< the launch's limit is over */
};

/** A lane with its own copy of the task, so that the block that polls it may write both. */
struct ronde_lane_slot {
    struct ronde_lane lane; /**< written back with the step the lane has reached and what it waits for */
    struct ronde_task task; /**< its frame is the block's copy */
    uint64_t end_count;     /**< ends of the task */
};

/**
 * What a run may be given instead of what was prepared, and how others read its buffers: it comes with the kernel, so that it costs
 * nothing to change.
 */
struct ronde_given {
    unsigned char *in; /**< buffers of the one rank that the device has */
    unsigned char *out;
    uint64_t factor;      /**< the bytes of its factor */
    uint64_t timeout_ns;  /**< 0 = no limit */
    uint64_t is_given;    /**< 0 = all before is as it was prepared */
    uint64_t is_in_place; /**< how the buffers lie */
    uint64_t readable; /**< where ranks are in several processes: buffers that all can read, as bits by number */
    uint64_t shift[2]; /**< of input and output, if readable: from an address there to its reference */
};

/**
 * Memory that several processes have mapped has another address in each. What one of them offers to others is a reference: the
 * index of a mapping, alike in all processes, and behind it the place from its start.
 */
#define RONDE_REFERENCE_BITS 44u

/** A run on one device. Block b of B polls the lane slots floor(b*S/B) .. floor((b+1)*S/B)-1 in turn. */
struct ronde_job {
    const struct ronde_frame
        *frame; /**< of the run, but for first_piece, which is derived from the counters */
    struct ronde_lane_slot *lane_slots; /**< one per lane */
    uint32_t lane_slot_count;           /**< S */
    uint32_t block_count;               /**< B */
    const unsigned char *program; /**< the steps of all lanes and their tables, in one piece */
    uint64_t program_bytes;       /**< of it, whole words */
    uint64_t timeout_ns;          /**< 0 = no limit */
    const uint32_t *abort;        /**< in memory of the host: not 0 when the run has to end */
    uint32_t *stop; /**< in memory of the host: enum ronde_stop, written by the first block that stops */
    unsigned char *const *
        mapped; /**< by index: what references refer to; NULL = offers are addresses, which all ranks share */
};

#endif
