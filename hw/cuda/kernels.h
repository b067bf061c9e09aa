/**
 * The kernels, one per element type, as the runtime's C interface takes them. Compiled by nvcc from kernel_<type>.cu.
 */
#ifndef RONDE_HW_CUDA_KERNELS_H
#define RONDE_HW_CUDA_KERNELS_H

#include "ronde/collective.h"

/** One function per type: its kernel. */
#define RONDE_KERNEL_FUNCTION(dtype, text, bytes) const void *ronde_cuda_kernel_##dtype(void);
RONDE_DTYPE_LIST(RONDE_KERNEL_FUNCTION)
#undef RONDE_KERNEL_FUNCTION

/** The kernel of a type, which is in range. */
static inline const void *ronde_cuda_kernel(enum ronde_dtype dtype)
{
#define RONDE_KERNEL_POINTER(dtype, text, bytes) ronde_cuda_kernel_##dtype,
    const void *(*const kernels[])(void) = {RONDE_DTYPE_LIST(RONDE_KERNEL_POINTER)};
#undef RONDE_KERNEL_POINTER
    return kernels[dtype]();
}

#endif
