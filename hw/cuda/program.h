/**
 * A schedule loaded on a device, and the launch it was last prepared for.
 */
#ifndef RONDE_HW_CUDA_PROGRAM_H
#define RONDE_HW_CUDA_PROGRAM_H

#include "hw/cuda/flatten.h"
#include "hw/cuda/gpu.h"
#include "hw/cuda/staging.h"

/** Memory of the device that only grows. */
struct ronde_device_block {
    void *start;    /**< NULL while there is none */
    uint64_t bytes; /**< of it */
};

/** A loaded program. Zero it, then init. */
struct ronde_cuda_program {
    const struct ronde_gpu *gpu;
    const struct ronde_mem *mem;
    struct ronde_loaded *loaded;
    void *queue;
    struct ronde_counters counters;
    struct ronde_image program_image;
    struct ronde_device_block program_block;
    struct ronde_image launch_image;
    struct ronde_device_block launch_block;
    struct ronde_flat_launch flat;
    struct ronde_staging staging;
    const unsigned char *lines_start; /**< geometry of the lines that were last cleared */
    uint64_t lines_stride;
    uint32_t lines_depth;
    struct ronde_launch launch; /**< as the caller gave it, of the run under way */
    bool is_prepared;           /**< the launch image is on the device */
    bool is_running;            /**< between run and wait */
};

/** Loads. On failure the caller calls fini all the same. Errors: NO_MEMORY, UNSUPPORTED, DEVICE. */
enum ronde_status ronde_cuda_program_init(struct ronde_cuda_program *program,
                                          const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                          const struct ronde_schedule *schedule,
                                          struct ronde_error *error);

/** Frees. */
void ronde_cuda_program_fini(struct ronde_cuda_program *program);

/** Sets up a run of a launch whose pointers are the device's. Errors: NO_MEMORY, DEVICE, UNSUPPORTED. */
enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *launch,
                                             struct ronde_error *error);

/** Starts the kernel, in the caller's stream or NULL for the program's own queue. Errors: DEVICE, UNSUPPORTED. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *stream,
                                           struct ronde_error *error);

/** After the kernel: why it ended. Errors: TIMEOUT naming a lane and what it waits for; DEVICE. */
enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error);

#endif
