/**
 * What the two files that call CUDA's runtime share: runtime.c (devices, streams, launches) and runtime_memory.c. As one
 * file they would be too long.
 */
#ifndef RONDE_HW_CUDA_RUNTIME_H
#define RONDE_HW_CUDA_RUNTIME_H

#include "hw/cuda/driver.h"
#include "hw/cuda/vmm.h"

#include <cuda_runtime_api.h>

/** An open device. */
struct ronde_device {
    struct ronde_gpu gpu; /**< must stand first */
    struct ronde_mem memory;
    struct ronde_mem buffers;
    const struct ronde_mem *mem;
    int number;          /**< among the visible */
    int handle;          /**< the driver's name for it */
    void *context;       /**< its primary one, which the runtime uses; NULL = not open */
    uint32_t processors; /**< multiprocessors */
    struct ronde_driver driver;
    struct ronde_vmm *vmm;      /**< memory by handles; NULL = there is none */
    struct ronde_error why_not; /**< then */
};

/**
 * A thread's current device belongs to the caller: it is set for a call, by its context. cudaSetDevice would not do: a thread
 * that has chosen none seems to have chosen GPU 0, and to set that back makes a context there, half a GiB in every
 * process. While inside, the thread may make calls that would end a capture which another thread has begun.
 */
static inline struct ronde_gpu_before ronde_device_enter(const void *self)
{
    const struct ronde_device *device = self;
    struct ronde_gpu_before before = {0};
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    (void)device->driver.current(&before.context);
    if (before.context != device->context)
        (void)device->driver.set_current(device->context);
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    before.capture_mode = (int)mode;
    return before;
}

/** and set back after it. */
static inline void ronde_device_leave(const void *self, struct ronde_gpu_before before)
{
    const struct ronde_device *device = self;
    enum cudaStreamCaptureMode mode = (enum cudaStreamCaptureMode)before.capture_mode;
    (void)cudaThreadExchangeStreamCaptureMode(&mode);
    if (before.context != device->context)
        (void)device->driver.set_current(before.context);
}

/** Turns a failure of the runtime into an error. The runtime keeps some failures, which are cleared here. */
enum ronde_status ronde_device_check(cudaError_t result, const char *what,
                                     struct ronde_error *error);

/** Prepares a device's memory, once its number is known, and fills in the calls of gpu.h that are about memory. NO_MEMORY. */
enum ronde_status ronde_device_open_memory(struct ronde_device *device, struct ronde_error *error);

#endif
