/**
 * The kernels: one plain loop per element type and operation.
 *
 * `to` may be an operand exactly and overlaps none otherwise, so every index is independent; the pragma says so, since
 * `restrict` would be a lie. What an operator does is elements.h's. Include this in one file only: two compilations may
 * order the operands of a NaN sum differently.
 */
#ifndef RONDE_ENGINE_REDUCE_H
#define RONDE_ENGINE_REDUCE_H

#include "engine/elements.h"
#include "engine/half_x86.h"
#include "engine/interp.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#define RONDE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RONDE_INDEPENDENT _Pragma("GCC ivdep")
#endif

/** The loop that combines two operands of one element type by one operator. */
#define RONDE_COMBINE_KERNEL(dtype, op)                                                            \
    static void ronde_kernel_##op##_##dtype(void *to, const void *local, const void *received,     \
                                            uint64_t count)                                        \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)local;               \
        const ronde_element_##dtype *const b = (const ronde_element_##dtype *)received;            \
        RONDE_INDEPENDENT                                                                          \
        for (uint64_t i = 0; i < count; i++)                                                       \
            t[i] = ronde_##op##_##dtype(a[i], b[i]);                                               \
    }

/** The loops of premul_sum: a raw operand times the rank's factor, and that plus another operand. */
#define RONDE_SCALE_KERNELS(dtype)                                                                 \
    static void ronde_kernel_scale_##dtype(void *to, const void *raw, const void *factor,          \
                                           uint64_t count)                                         \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)raw;                 \
        ronde_element_##dtype f;                                                                   \
        __builtin_memcpy(&f, factor, sizeof f);                                                    \
        RONDE_INDEPENDENT                                                                          \
        for (uint64_t i = 0; i < count; i++)                                                       \
            t[i] = ronde_PROD_##dtype(a[i], f);                                                    \
    }                                                                                              \
    static void ronde_kernel_scale_sum_##dtype(void *to, const void *raw, const void *other,       \
                                               const void *factor, uint64_t count)                 \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)raw;                 \
        const ronde_element_##dtype *const b = (const ronde_element_##dtype *)other;               \
        ronde_element_##dtype f;                                                                   \
        __builtin_memcpy(&f, factor, sizeof f);                                                    \
        RONDE_INDEPENDENT                                                                          \
        for (uint64_t i = 0; i < count; i++)                                                       \
            t[i] = ronde_SUM_##dtype(ronde_PROD_##dtype(a[i], f), b[i]);                           \
    }

/** The loop of avg on complete results, in place. */
#define RONDE_DIVIDE_KERNEL(dtype)                                                                 \
    static void ronde_kernel_divide_##dtype(void *to, uint32_t ranks, uint64_t count)              \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        RONDE_INDEPENDENT                                                                          \
        for (uint64_t i = 0; i < count; i++)                                                       \
            t[i] = ronde_QUOTIENT_##dtype(t[i], ranks);                                            \
    }

/** The loops of one element type. */
#define RONDE_KERNELS(dtype, text, bytes)                                                          \
    RONDE_COMBINE_KERNEL(dtype, SUM)                                                               \
    RONDE_COMBINE_KERNEL(dtype, PROD)                                                              \
    RONDE_COMBINE_KERNEL(dtype, MIN)                                                               \
    RONDE_COMBINE_KERNEL(dtype, MAX)                                                               \
    RONDE_SCALE_KERNELS(dtype)                                                                     \
    RONDE_DIVIDE_KERNEL(dtype)
RONDE_DTYPE_LIST(RONDE_KERNELS)
#undef RONDE_KERNELS

_Static_assert(RONDE_OP_COUNT == 6, "a new operator needs a kernel above and a column below");

/** The kernels of an element type and operator, both in range; avg and premul_sum combine as sum. */
static inline struct ronde_kernels ronde_kernels_find(enum ronde_dtype dtype, enum ronde_op op)
{
#define RONDE_KERNEL_ROW(dtype, text, bytes)                                                       \
    [RONDE_##dtype] = {                                                                            \
        [RONDE_SUM] = ronde_kernel_SUM_##dtype, [RONDE_PROD] = ronde_kernel_PROD_##dtype,          \
        [RONDE_MIN] = ronde_kernel_MIN_##dtype, [RONDE_MAX] = ronde_kernel_MAX_##dtype,            \
        [RONDE_AVG] = ronde_kernel_SUM_##dtype, [RONDE_PREMUL_SUM] = ronde_kernel_SUM_##dtype},
    static const ronde_combine_kernel combine[RONDE_DTYPE_COUNT][RONDE_OP_COUNT] = {
        RONDE_DTYPE_LIST(RONDE_KERNEL_ROW)};
#undef RONDE_KERNEL_ROW
#define RONDE_KERNEL_ROW(dtype, text, bytes)                                                       \
    [RONDE_##dtype] = {NULL, ronde_kernel_scale_##dtype, ronde_kernel_scale_sum_##dtype,           \
                       ronde_kernel_divide_##dtype, NULL},
    static const struct ronde_kernels others[RONDE_DTYPE_COUNT] = {
        RONDE_DTYPE_LIST(RONDE_KERNEL_ROW)};
#undef RONDE_KERNEL_ROW
    struct ronde_kernels kernels = others[dtype];
    const char *unused;
    kernels.combine = combine[dtype][op];
    kernels.stream = ronde_stream_find(&unused);
    ronde_x86_replace(&kernels, dtype, op);
    return kernels;
}

#endif
