/**
 * What one device has of a program: some ranks that follow one another, their lanes, buffers and connections.
 */
#ifndef RONDE_HW_CUDA_PART_H
#define RONDE_HW_CUDA_PART_H

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
struct ronde_cuda_part {
    const struct ronde_gpu *gpu;
    const struct ronde_mem *mem;
    struct ronde_loaded *loaded;
    void *queue;
    uint64_t connections;  /**< of the whole schedule */
    uint64_t first_number; /**< of the first of those received here, */
    uint64_t received;     /**< and how many */
    bool is_guest;         /**< the three blocks below are parts of one that others share and own */
    struct ronde_device_block counters; /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_device_block progress; /**< a counter per lane */
    struct ronde_device_block slots;    /**< boxes of the connections received here */
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
enum ronde_status ronde_cuda_part_init(struct ronde_cuda_part *part, const struct ronde_gpu *gpu,
                                       const struct ronde_mem *mem,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_staging ranks, struct ronde_error *error);

/** Frees. */
void ronde_cuda_part_fini(struct ronde_cuda_part *part);

/** A fresh start: no message was ever sent, no step was ever made. Errors: DEVICE. */
enum ronde_status ronde_cuda_part_clear_counters(struct ronde_cuda_part *part,
                                                 struct ronde_error *error);

/** Makes room for the connections received here under a frame. Errors: NO_MEMORY. */
enum ronde_status ronde_cuda_part_reserve(struct ronde_cuda_part *part,
                                          const struct ronde_frame *frame,
                                          struct ronde_error *error);

/** Moves the memory of connections, before the first run, to a block that others share, of so many bytes. Errors: DEVICE. */
enum ronde_status ronde_cuda_part_move(struct ronde_cuda_part *part, const struct ronde_depot *to,
                                       uint64_t block_bytes, struct ronde_error *error);

/** Where others find the connections' memory of the part. */
struct ronde_depot ronde_cuda_part_depot(const struct ronde_cuda_part *part);

/**
 * Sends a run that was prepared, its connections placed, to the device. `words`: abort and stop of all parts.
 * Errors: NO_MEMORY, DEVICE, UNSUPPORTED.
 */
enum ronde_status ronde_cuda_part_send(struct ronde_cuda_part *part, uint32_t *words,
                                       uint64_t timeout_ns, struct ronde_error *error);

/** Starts the kernel, in the caller's stream or NULL for the part's own queue. Errors: DEVICE, UNSUPPORTED. */
enum ronde_status ronde_cuda_part_start(struct ronde_cuda_part *part, void *stream,
                                        struct ronde_error *error);

/** After a run that ended early: takes over how far each lane got. Errors: DEVICE. */
enum ronde_status ronde_cuda_part_read_lanes(struct ronde_cuda_part *part,
                                             struct ronde_error *error);

#endif
