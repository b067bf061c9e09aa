/**
 * What the files that call CUDA's runtime share: runtime.c and runtime_memory.c.
 */
#ifndef RONDE_HW_CUDA_RUNTIME_H
#define RONDE_HW_CUDA_RUNTIME_H

#include "hw/cuda/vmm.h"

#include <cuda_runtime_api.h>

/** An open device. */
struct ronde_device {
    struct ronde_gpu gpu; /**< must stand first */
    struct ronde_mem memory;
    struct ronde_mem buffers;
    const struct ronde_mem *mem;
    int number;                 /**< among the visible */
    uint32_t processors;        /**< multiprocessors */
    struct ronde_vmm *vmm;      /**< memory by handles; NULL = there is none */
    struct ronde_error why_not; /**< then */
};

/** A thread's current device belongs to the caller: it is set for a call, */
static inline int ronde_device_enter(const struct ronde_device *device)
{
    int before = device->number;
    (void)cudaGetDevice(&before);
    if (before != device->number)
        (void)cudaSetDevice(device->number);
    return before;
}

/** and set back after it. */
static inline void ronde_device_leave(const struct ronde_device *device, int before)
{
    if (before != device->number)
        (void)cudaSetDevice(before);
}

/** Turns a failure of the runtime into an error. The runtime keeps some failures, which are cleared here. */
enum ronde_status ronde_device_check(cudaError_t result, const char *what,
                                     struct ronde_error *error);

/** Prepares a device's memory, once its number is known, and fills in the calls of gpu.h that are about memory. NO_MEMORY. */
enum ronde_status ronde_device_open_memory(struct ronde_device *device, struct ronde_error *error);

/** Ends that. */
void ronde_device_close_memory(struct ronde_device *device);

#endif
