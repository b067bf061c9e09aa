/**
 * The kernels of one level of instructions: one loop per element type and operation. A file of its own includes this
 * for each level (kernels_plain.c and its neighbours) and is compiled for it.
 *
 * `to` may be an operand exactly and overlaps none otherwise, so every index is independent; the pragma says so, since
 * `restrict` would be a lie. What an operator does is elements.h's, what it does to vectors of narrow types wide.h's.
 * Two levels may order the operands of a NaN sum differently.
 */
#ifndef RONDE_ENGINE_EXECUTE_REDUCE_H
#define RONDE_ENGINE_EXECUTE_REDUCE_H

#include "engine/execute/kernels.h"
#include "engine/execute/wide.h"

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

/** The loops of the operators that order numbers. */
#define RONDE_ORDER_KERNELS(dtype)                                                                 \
    RONDE_COMBINE_KERNEL(dtype, MIN)                                                               \
    RONDE_COMBINE_KERNEL(dtype, MAX)

/** The loops of sums and products. */
#define RONDE_SUM_KERNELS(dtype)                                                                   \
    RONDE_COMBINE_KERNEL(dtype, SUM)                                                               \
    RONDE_COMBINE_KERNEL(dtype, PROD)                                                              \
    RONDE_SCALE_KERNELS(dtype)

/** The loops of the bitwise operators. */
#define RONDE_BITWISE_KERNELS(dtype)                                                               \
    RONDE_COMBINE_KERNEL(dtype, BAND)                                                              \
    RONDE_COMBINE_KERNEL(dtype, BOR)                                                               \
    RONDE_COMBINE_KERNEL(dtype, BXOR)

/** The loops in which a signed integer and the unsigned one of its bits differ. */
#define RONDE_INTEGER_KERNELS(dtype, ...)                                                          \
    RONDE_ORDER_KERNELS(dtype)                                                                     \
    RONDE_DIVIDE_KERNEL(dtype)

/** Those that both run, since signed integers wrap as well. */
#define RONDE_UNSIGNED_KERNELS(dtype, ...)                                                         \
    RONDE_SUM_KERNELS(dtype)                                                                       \
    RONDE_BITWISE_KERNELS(dtype)

/** The loops of a floating type that processors compute with. */
#define RONDE_FLOATING_KERNELS(dtype, ...)                                                         \
    RONDE_SUM_KERNELS(dtype)                                                                       \
    RONDE_ORDER_KERNELS(dtype)                                                                     \
    RONDE_DIVIDE_KERNEL(dtype)

/** The loops of a narrow floating type. */
#define RONDE_NARROW_KERNELS(dtype, type, key, widen, ...)                                         \
    RONDE_WIDE_COMBINE_KERNEL(dtype, SUM)                                                          \
    RONDE_WIDE_COMBINE_KERNEL(dtype, PROD)                                                         \
    RONDE_ORDER_KERNELS(dtype)                                                                     \
    RONDE_WIDE_OTHER_KERNELS(dtype, widen)

RONDE_INTEGER_LIST(RONDE_INTEGER_KERNELS)
RONDE_UNSIGNED_LIST(RONDE_UNSIGNED_KERNELS)
RONDE_BOOL_LIST(RONDE_BITWISE_KERNELS)
RONDE_FLOATING_LIST(RONDE_FLOATING_KERNELS)
RONDE_NARROW_LIST(RONDE_NARROW_KERNELS)

_Static_assert(RONDE_OP_COUNT == 9, "a new operator needs a kernel above and a column below");

/** How many types the lists have together. */
#define RONDE_ONE_MORE(...) +1
enum {
    ronde_listed_numbers = 0 RONDE_INTEGER_LIST(RONDE_ONE_MORE) RONDE_FLOATING_LIST(RONDE_ONE_MORE)
        RONDE_NARROW_LIST(RONDE_ONE_MORE),
    ronde_listed_types = ronde_listed_numbers RONDE_BOOL_LIST(RONDE_ONE_MORE)
};
_Static_assert((int)ronde_listed_types == (int)RONDE_DTYPE_COUNT,
               "a new element type joins one of the lists of elements.h");

/** The columns of the operators that every number has; `sums` has the loops of sums; avg and premul_sum combine as sum. */
#define RONDE_NUMBER_COLUMNS(dtype, sums)                                                          \
    [RONDE_SUM] = ronde_kernel_SUM_##sums, [RONDE_PROD] = ronde_kernel_PROD_##sums,                \
    [RONDE_MIN] = ronde_kernel_MIN_##dtype, [RONDE_MAX] = ronde_kernel_MAX_##dtype,                \
    [RONDE_AVG] = ronde_kernel_SUM_##sums, [RONDE_PREMUL_SUM] = ronde_kernel_SUM_##sums

/** The columns of the bitwise operators. */
#define RONDE_BITWISE_COLUMNS(dtype)                                                               \
    [RONDE_BAND] = ronde_kernel_BAND_##dtype, [RONDE_BOR] = ronde_kernel_BOR_##dtype,              \
    [RONDE_BXOR] = ronde_kernel_BXOR_##dtype

/** What a type does not have stays NULL: launches that ask for it are refused (ronde_op_refusal) or ask for another. */
#define RONDE_INTEGER_ROW(dtype, type, wide, ratio, bits)                                          \
    [RONDE_##dtype] = {RONDE_NUMBER_COLUMNS(dtype, bits), RONDE_BITWISE_COLUMNS(bits)},
#define RONDE_FLOATING_ROW(dtype, ...) [RONDE_##dtype] = {RONDE_NUMBER_COLUMNS(dtype, dtype)},
#define RONDE_BOOL_ROW(dtype) [RONDE_##dtype] = {RONDE_BITWISE_COLUMNS(dtype)},
#define RONDE_NUMBER_OTHERS(dtype, sums)                                                           \
    [RONDE_##dtype] = {NULL, ronde_kernel_scale_##sums, ronde_kernel_scale_sum_##sums,             \
                       ronde_kernel_divide_##dtype, ronde_stream_copy},
#define RONDE_INTEGER_OTHERS(dtype, type, wide, ratio, bits) RONDE_NUMBER_OTHERS(dtype, bits)
#define RONDE_FLOATING_OTHERS(dtype, ...) RONDE_NUMBER_OTHERS(dtype, dtype)
#define RONDE_BOOL_OTHERS(dtype) [RONDE_##dtype] = {NULL, NULL, NULL, NULL, ronde_stream_copy},

/** All of them. */
static const struct ronde_kernel_set ronde_kernel_set = {
    .combine = {RONDE_INTEGER_LIST(RONDE_INTEGER_ROW) RONDE_BOOL_LIST(RONDE_BOOL_ROW)
                    RONDE_FLOATING_LIST(RONDE_FLOATING_ROW) RONDE_NARROW_LIST(RONDE_FLOATING_ROW)},
    .others = {RONDE_INTEGER_LIST(RONDE_INTEGER_OTHERS) RONDE_BOOL_LIST(RONDE_BOOL_OTHERS)
                   RONDE_FLOATING_LIST(RONDE_FLOATING_OTHERS)
                       RONDE_NARROW_LIST(RONDE_FLOATING_OTHERS)},
};

#endif
