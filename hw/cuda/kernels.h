/**
 * The kernels, one per width of elements, as the runtime's C interface takes them. Compiled by nvcc from kernel_<bytes>.cu,
 * which is why runtime.c, compiled as C, needs their declarations; a fake runtime of the tests has others in their place.
 */
#ifndef RONDE_HW_CUDA_KERNELS_H
#define RONDE_HW_CUDA_KERNELS_H

#include "ronde/collective.h"

/** One function per width: its kernel. */
const void *ronde_cuda_kernel_1(void);
const void *ronde_cuda_kernel_2(void); /**< as above */
const void *ronde_cuda_kernel_4(void); /**< as above */
const void *ronde_cuda_kernel_8(void); /**< as above */

/** The kernel of a type, which is in range. */
static inline const void *ronde_cuda_kernel(enum ronde_dtype dtype)
{
    switch (dtype) {
#define RONDE_KERNEL_CASE(type, text, bytes)                                                       \
    case RONDE_##type:                                                                             \
        return ronde_cuda_kernel_##bytes();
        RONDE_DTYPE_LIST(RONDE_KERNEL_CASE)
#undef RONDE_KERNEL_CASE
    case RONDE_DTYPE_COUNT:
        break;
    }
    return 0;
}

#endif
