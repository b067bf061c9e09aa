/**
 * One device's part of a program: some consecutive ranks, their lanes, buffers and connections.
 */
#ifndef RONDE_HW_CUDA_DEVICE_PROGRAM_H
#define RONDE_HW_CUDA_DEVICE_PROGRAM_H

#include "hw/cuda/flatten.h"
#include "hw/cuda/gpu.h"
#include "hw/cuda/links.h"
#include "hw/cuda/staging.h"

/** Memory of the device that only grows. */
struct ronde_device_block {
    void *start;    /**< NULL while there is none */
    uint64_t bytes; /**< of it */
};

/** A program's part on a device. Zero it, then init. */
struct ronde_device_program {
    const struct ronde_gpu *gpu;
    const struct ronde_mem *mem;
    struct ronde_loaded *loaded;
    void *queue;
    uint64_t connections;  /**< of the whole schedule */
    uint64_t first_number; /**< of the first of those received here, */
    uint64_t received;     /**< and how many */
    bool is_incoming; /**< counters, slots and lines are parts of a block that peers.h owns and shares */
    struct ronde_device_block counters; /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_device_block progress; /**< a counter per lane */
    struct ronde_device_block slots;    /**< regions of the connections received here */
    struct ronde_device_block lines;    /**< likewise, of lines */
    struct ronde_image program_image;
    struct ronde_device_block program_block;
    struct ronde_image launch_image;
    struct ronde_device_block launch_block;
    struct ronde_flat_launch flat;
    struct ronde_staging staging;
    const void *lines_start; /**< geometry of the lines that were last cleared */
    uint64_t lines_stride;
    uint32_t lines_depth;
};

/** Loads ranks on a device. The caller calls fini also on failure. Errors: NO_MEMORY, UNSUPPORTED, DEVICE. */
enum ronde_status ronde_device_program_init(struct ronde_device_program *part,
                                            const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                            const struct ronde_numbering *numbering,
                                            struct ronde_staging ranks, struct ronde_error *error);

/** Frees. */
void ronde_device_program_fini(struct ronde_device_program *part);

/** Sets counters back to the start: no message sent, no step made. Errors: DEVICE. */
enum ronde_status ronde_device_program_clear_counters(struct ronde_device_program *part,
                                                      struct ronde_error *error);

/** Makes room for the connections received here under a frame. Errors: NO_MEMORY. */
enum ronde_status ronde_device_program_reserve(struct ronde_device_program *part,
                                               const struct ronde_frame *frame,
                                               struct ronde_error *error);

/** Moves the memory of connections, before the first run, to a shared block of `block_bytes` bytes. Errors: DEVICE. */
enum ronde_status ronde_device_program_move(struct ronde_device_program *part,
                                            const struct ronde_remote_fifos *to,
                                            uint64_t block_bytes, struct ronde_error *error);

/** Addresses of the memory of the part's connections. */
struct ronde_remote_fifos ronde_device_program_fifos(const struct ronde_device_program *part);

/**
 * Sends a run that was prepared, its connections placed, to the device. `words`: abort and stop of all parts.
 * Errors: NO_MEMORY, DEVICE, UNSUPPORTED.
 */
enum ronde_status ronde_device_program_send(struct ronde_device_program *part, uint32_t *words,
                                            uint64_t timeout_ns, struct ronde_error *error);

/** Starts the kernel, in the caller's stream or NULL for the part's own queue. Errors: DEVICE, UNSUPPORTED. */
enum ronde_status ronde_device_program_start(struct ronde_device_program *part, void *stream,
                                             struct ronde_error *error);

/** After a run that ended early: reads back how far each lane got. Errors: DEVICE. */
enum ronde_status ronde_device_program_read_lanes(struct ronde_device_program *part,
                                                  struct ronde_error *error);

#endif
