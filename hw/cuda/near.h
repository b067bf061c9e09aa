/**
 * The processors that a device is near to: threads that serve it are best there, since what they poll and write crosses
 * no link between processors.
 */
#ifndef RONDE_HW_CUDA_NEAR_H
#define RONDE_HW_CUDA_NEAR_H

#include "hw/cuda/gpu.h"
#include "ronde/processors.h"

/** Those of them that the thread may use that looked. */
struct ronde_cuda_near {
    const struct ronde_mem *mem;
    struct ronde_processor *list;
    uint32_t capacity; /**< of list */
    uint32_t count;    /**< in it; 0 = nothing is known, or none of them may be used */
};

/** Looks for them. Owner: the caller forgets *out_near. Errors: NO_MEMORY; all else leaves an empty list. */
enum ronde_status ronde_cuda_near_find(const struct ronde_gpu *gpu, const struct ronde_mem *mem,
                                       struct ronde_cuda_near *out_near, struct ronde_error *error);

/** Keeps the calling thread to them, if there are any. */
void ronde_cuda_near_stay(const struct ronde_cuda_near *near);

/** Frees the list; zeroed is allowed. */
void ronde_cuda_near_forget(struct ronde_cuda_near *near);

#endif
