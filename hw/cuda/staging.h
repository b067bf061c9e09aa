/**
 * Buffers of the caller's that the device cannot access: they get a shadow in its memory for the run.
 *
 * What overlaps or is aligned alike on the host is so in the shadow, so that in-place launches stay in place.
 */
#ifndef RONDE_HW_CUDA_STAGING_H
#define RONDE_HW_CUDA_STAGING_H

#include "hw/cuda/gpu.h"
#include "hw/cuda/image.h"

/** The shadows of a program's launches on one device. Zero it, then set the ranks and init. */
struct ronde_staging {
    const struct ronde_schedule *schedule;
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;
    uint32_t first_rank;      /**< whose buffers the device needs: these */
    uint32_t rank_count;      /**< and no others, though tables below have room for all */
    struct ronde_image image; /**< of the caller's buffers */
    void *block;              /**< on the device */
    uint64_t block_bytes;     /**< of it */
    void **buffers; /**< per rank: inputs on the device, outputs there, outputs of the caller's */
    struct ronde_blocks *blocks[2]; /**< per rank: the same tables with pointers on the device */
    void **pointers;                /**< of those tables */
    uint64_t pointer_count;         /**< entries there are */
};

/** Takes the memory that depends on the schedule only. Errors: NO_MEMORY. */
enum ronde_status ronde_staging_init(struct ronde_staging *staging,
                                     const struct ronde_schedule *schedule,
                                     const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                     struct ronde_error *error);

/**
 * Turns a launch into one whose pointers the device can use, and copies inputs into the shadows. *out_launch is valid
 * until the next call. Errors: NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_staging_enter(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_launch *out_launch, struct ronde_error *error);

/** Copies the outputs of the launch back to the caller. Errors: DEVICE. */
enum ronde_status ronde_staging_leave(struct ronde_staging *staging,
                                      const struct ronde_launch *launch, void *queue,
                                      struct ronde_error *error);

/** Frees. */
void ronde_staging_fini(struct ronde_staging *staging);

#endif
