/**
 * Connections between devices of a process that do not reach each other's memory: they lie in pinned memory of the host,
 * which both reach. Kernels see no difference but in time: a message crosses the bus twice, and waiting crosses it too.
 */
#ifndef RONDE_HW_CUDA_BRIDGE_H
#define RONDE_HW_CUDA_BRIDGE_H

#include "hw/cuda/part.h"

/** Memory of the host that all devices of the process use. */
struct ronde_pinned {
    unsigned char *block; /**< as allocated; NULL = none */
    unsigned char *start; /**< aligned to a pair of cache lines */
    uint64_t bytes;       /**< of block */
};

/** What one device receives over bridges. */
struct ronde_bridge {
    struct ronde_pinned counters; /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_pinned boxes[2]; /**< of slots, of lines */
    uint64_t lines_stride;        /**< geometry of the lines that were last cleared */
    uint32_t lines_depth;
};

/** All bridges of a process. Zero it, then init. */
struct ronde_bridges {
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;  /**< pins, for all */
    uint32_t count;               /**< of devices; 0 = there is no bridge */
    bool *is_bridged;             /**< per pair of them */
    struct ronde_bridge *bridges; /**< per device */
    struct ronde_depot *depots;   /**< the same as links.h wants them */
    bool is_abandoned;            /**< a run was: counters and lines start again */
};

/**
 * `strangers`: for each of `count` devices a row of `stride`, whether it does not use the memory of each other; NULL = all
 * do. The caller calls fini also on failure. Errors: NO_MEMORY.
 */
enum ronde_status ronde_bridges_init(struct ronde_bridges *bridges, const bool *strangers,
                                     uint32_t stride, uint32_t count, const struct ronde_mem *mem,
                                     const struct ronde_gpu *gpu, struct ronde_error *error);

/** Whether there is any. */
static inline bool ronde_bridges_exist(const struct ronde_bridges *bridges)
{
    return bridges->depots != NULL;
}

/**
 * Makes room for what the parts have prepared, one part per device, and clears what is new or left by an abandoned run.
 * Errors: NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_bridges_prepare(struct ronde_bridges *bridges,
                                        const struct ronde_cuda_part *parts,
                                        struct ronde_error *error);

/** Frees. */
void ronde_bridges_fini(struct ronde_bridges *bridges);

#endif
