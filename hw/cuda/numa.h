/**
 * The processors of a device's NUMA node: threads that serve it should run there, since what they poll and write then
 * crosses no link between sockets.
 */
#ifndef RONDE_HW_CUDA_NUMA_H
#define RONDE_HW_CUDA_NUMA_H

#include "hw/cuda/gpu.h"
#include "ronde/processors.h"

/** Those of them that the calling thread may use. */
struct ronde_cuda_numa {
    const struct ronde_mem *mem;
    struct ronde_processor *list;
    uint32_t capacity; /**< of list */
    uint32_t count;    /**< in it; 0 = unknown, or none of them may be used */
};

/** Finds them. Owner: the caller frees *out_numa. Errors: NO_MEMORY; all else leaves an empty list. */
enum ronde_status ronde_cuda_numa_find(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                       struct ronde_cuda_numa *out_numa, struct ronde_error *error);

/** Binds the calling thread to them, if there are any. */
void ronde_cuda_numa_bind(const struct ronde_cuda_numa *numa);

/** Frees the list; zeroed is allowed. */
void ronde_cuda_numa_free(struct ronde_cuda_numa *numa);

#endif
