/**
 * Connections between devices of a process without peer access: they lie in pinned memory of the host, which both access.
 * For kernels only the time differs: a message crosses the bus twice, and polling crosses it too.
 */
#ifndef RONDE_HW_CUDA_HOST_STAGING_H
#define RONDE_HW_CUDA_HOST_STAGING_H

#include "hw/cuda/device_program.h"

/** Memory of the host that all devices of the process use. */
struct ronde_pinned {
    unsigned char *block; /**< as allocated; NULL = none */
    unsigned char *start; /**< aligned to a pair of cache lines */
    uint64_t bytes;       /**< of block */
};

/** Memory of what one device receives through the host. */
struct ronde_host_staging {
    struct ronde_pinned counters;   /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_pinned regions[2]; /**< of slots, of lines */
    uint64_t lines_stride;          /**< geometry of the lines that were last cleared */
    uint32_t lines_depth;
};

/** All host-staged connections of a process. Zero it, then init. */
struct ronde_host_stagings {
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;         /**< pins, for all */
    uint32_t count;                      /**< of devices; 0 = nothing is staged */
    bool *is_host_staged;                /**< per pair of them */
    struct ronde_host_staging *stagings; /**< per device */
    struct ronde_remote_fifos *fifos;    /**< the same in the form of links.h */
    bool is_abandoned; /**< a run was: counters and lines are cleared before the next */
};

/**
 * `unreachable`: for each of `count` devices a row of `stride`, whether it cannot access the memory of each other; NULL =
 * all can. The caller calls fini also on failure. Errors: NO_MEMORY.
 */
enum ronde_status ronde_host_stagings_init(struct ronde_host_stagings *stagings,
                                           const bool *unreachable, uint32_t stride, uint32_t count,
                                           const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                           struct ronde_error *error);

/** Whether any connection is staged in the host. */
static inline bool ronde_host_stagings_exist(const struct ronde_host_stagings *stagings)
{
    return stagings->fifos != NULL;
}

/**
 * Allocates what the parts have prepared, one part per device, and clears what is new or left by an abandoned run.
 * Errors: NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_host_stagings_prepare(struct ronde_host_stagings *stagings,
                                              const struct ronde_device_program *parts,
                                              struct ronde_error *error);

/** Frees. */
void ronde_host_stagings_fini(struct ronde_host_stagings *stagings);

#endif
