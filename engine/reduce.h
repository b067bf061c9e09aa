/**
 * The kernels of one level of instructions: one loop per element type and operation. A file of its own includes this
 * for each level (kernels_plain.c and its neighbours) and is compiled for it.
 *
 * `to` may be an operand exactly and overlaps none otherwise, so every index is independent; the pragma says so, since
 * `restrict` would be a lie. What an operator does is elements.h's, what it does to vectors of narrow types wide.h's.
 * Two levels may order the operands of a NaN sum differently.
 */
#ifndef RONDE_ENGINE_REDUCE_H
#define RONDE_ENGINE_REDUCE_H

#include "engine/kernels.h"
#include "engine/wide.h"

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

/** A loop over whole packs of a narrow type, then over the elements that are left: t[i] = a[i] o b[i], o f. */
#define RONDE_WIDE_LOOP(dtype, op, factor, element)                                                \
    uint64_t i = 0;                                                                                \
    const uint64_t step = sizeof(ronde_wide_pack_##dtype) / sizeof *t;                             \
    for (; count - i >= step; i += step) {                                                         \
        ronde_wide_pack_##dtype x;                                                                 \
        ronde_wide_pack_##dtype y;                                                                 \
        __builtin_memcpy(&x, a + i, sizeof x);                                                     \
        __builtin_memcpy(&y, b + i, sizeof y);                                                     \
        x = ronde_wide_##op##_##dtype(x, y, (factor));                                             \
        __builtin_memcpy(t + i, &x, sizeof x);                                                     \
    }                                                                                              \
    for (; i < count; i++)                                                                         \
        t[i] = (element);

/** The loop that combines two operands of a narrow type. */
#define RONDE_WIDE_COMBINE_KERNEL(dtype, op)                                                       \
    static void ronde_kernel_##op##_##dtype(void *to, const void *local, const void *received,     \
                                            uint64_t count)                                        \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)local;               \
        const ronde_element_##dtype *const b = (const ronde_element_##dtype *)received;            \
        RONDE_WIDE_LOOP(dtype, op, 0, ronde_##op##_##dtype(a[i], b[i]))                            \
    }

/** The loops of premul_sum and avg on a narrow type. */
#define RONDE_WIDE_OTHER_KERNELS(dtype, widen)                                                     \
    static void ronde_kernel_scale_##dtype(void *to, const void *raw, const void *factor,          \
                                           uint64_t count)                                         \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)raw;                 \
        const ronde_element_##dtype *const b = a;                                                  \
        ronde_element_##dtype f;                                                                   \
        __builtin_memcpy(&f, factor, sizeof f);                                                    \
        RONDE_WIDE_LOOP(dtype, SCALE, widen(f), ronde_PROD_##dtype(a[i], f))                       \
    }                                                                                              \
    static void ronde_kernel_scale_sum_##dtype(void *to, const void *raw, const void *other,       \
                                               const void *factor, uint64_t count)                 \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = (const ronde_element_##dtype *)raw;                 \
        const ronde_element_##dtype *const b = (const ronde_element_##dtype *)other;               \
        ronde_element_##dtype f;                                                                   \
        __builtin_memcpy(&f, factor, sizeof f);                                                    \
        RONDE_WIDE_LOOP(dtype, SCALE_SUM, widen(f),                                                \
                        ronde_SUM_##dtype(ronde_PROD_##dtype(a[i], f), b[i]))                      \
    }                                                                                              \
    static void ronde_kernel_divide_##dtype(void *to, uint32_t ranks, uint64_t count)              \
    {                                                                                              \
        ronde_element_##dtype *const t = (ronde_element_##dtype *)to;                              \
        const ronde_element_##dtype *const a = t;                                                  \
        const ronde_element_##dtype *const b = t;                                                  \
        RONDE_WIDE_LOOP(dtype, QUOTIENT, (float)ranks, ronde_QUOTIENT_##dtype(a[i], ranks))        \
    }

/** The loops of an element type that processors compute with. */
#define RONDE_KERNELS(dtype)                                                                       \
    RONDE_COMBINE_KERNEL(dtype, SUM)                                                               \
    RONDE_COMBINE_KERNEL(dtype, PROD)                                                              \
    RONDE_COMBINE_KERNEL(dtype, MIN)                                                               \
    RONDE_COMBINE_KERNEL(dtype, MAX)                                                               \
    RONDE_SCALE_KERNELS(dtype)                                                                     \
    RONDE_DIVIDE_KERNEL(dtype)

/** The loops of a narrow floating type. */
#define RONDE_WIDE_KERNELS(dtype, widen)                                                           \
    RONDE_WIDE_COMBINE_KERNEL(dtype, SUM)                                                          \
    RONDE_WIDE_COMBINE_KERNEL(dtype, PROD)                                                         \
    RONDE_COMBINE_KERNEL(dtype, MIN)                                                               \
    RONDE_COMBINE_KERNEL(dtype, MAX)                                                               \
    RONDE_WIDE_OTHER_KERNELS(dtype, widen)

RONDE_KERNELS(INT8)
RONDE_KERNELS(UINT8)
RONDE_KERNELS(INT32)
RONDE_KERNELS(UINT32)
RONDE_KERNELS(INT64)
RONDE_KERNELS(UINT64)
RONDE_KERNELS(FLOAT32)
RONDE_KERNELS(FLOAT64)
RONDE_WIDE_KERNELS(FLOAT16, ronde_float16_widen)
RONDE_WIDE_KERNELS(BFLOAT16, ronde_bfloat16_widen)
RONDE_WIDE_KERNELS(FLOAT8_E4M3, ronde_float8_e4m3_widen)
RONDE_WIDE_KERNELS(FLOAT8_E5M2, ronde_float8_e5m2_widen)

_Static_assert(RONDE_OP_COUNT == 6, "a new operator needs a kernel above and a column below");

/** All of them; avg and premul_sum combine as sum. */
#define RONDE_COMBINE_ROW(dtype, text, bytes)                                                      \
    [RONDE_##dtype] = {                                                                            \
        [RONDE_SUM] = ronde_kernel_SUM_##dtype, [RONDE_PROD] = ronde_kernel_PROD_##dtype,          \
        [RONDE_MIN] = ronde_kernel_MIN_##dtype, [RONDE_MAX] = ronde_kernel_MAX_##dtype,            \
        [RONDE_AVG] = ronde_kernel_SUM_##dtype, [RONDE_PREMUL_SUM] = ronde_kernel_SUM_##dtype},
#define RONDE_OTHERS_ROW(dtype, text, bytes)                                                       \
    [RONDE_##dtype] = {NULL, ronde_kernel_scale_##dtype, ronde_kernel_scale_sum_##dtype,           \
                       ronde_kernel_divide_##dtype, ronde_stream_copy},
static const struct ronde_kernel_set ronde_kernel_set = {
    .combine = {RONDE_DTYPE_LIST(RONDE_COMBINE_ROW)},
    .others = {RONDE_DTYPE_LIST(RONDE_OTHERS_ROW)},
};

#endif
