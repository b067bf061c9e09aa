/**
 * The kernels: one plain loop per element type and operation.
 *
 * `to` may be an operand exactly and overlaps none otherwise, so every index is independent; the pragma says so, since
 * `restrict` would be a lie. Each application rounds to the element type and nothing is contracted: an expression is
 * one operation. Integers wrap, which C only allows for unsigned ones. Include this in one file only: two compilations
 * may order the operands of a NaN sum differently.
 *
 * An element type is five functions: SUM, PROD, MIN, MAX of two elements, and QUOTIENT by a number of ranks. avg is SUM
 * and, on complete results, QUOTIENT; premul_sum is PROD with the rank's factor on raw operands, then SUM.
 */
#ifndef RONDE_ENGINE_REDUCE_H
#define RONDE_ENGINE_REDUCE_H

#include "engine/half.h"
#include "engine/half_x86.h"
#include "engine/interp.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error                                                                                             \
    "results must round to the element type after every operation (build with -msse2 -mfpmath=sse)"
#endif

#if defined(__clang__)
#define RONDE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define RONDE_INDEPENDENT _Pragma("GCC ivdep")
#endif

/**
 * The operators on an integer type; `wide` is an unsigned type that neither promotes nor overflows. Quotients are
 * computed in `ratio` and truncate toward zero. Up to 32 bits that is a floating type of p digits, which vectorises: a
 * quotient a/N that is no integer is at least 1/N away from one, and rounding moves it by at most |a|/N 2^-p, less.
 */
#define RONDE_INTEGER_ELEMENT(dtype, type, wide, ratio)                                            \
    typedef type ronde_element_##dtype;                                                            \
    static inline type ronde_SUM_##dtype(type a, type b)                                           \
    {                                                                                              \
        return (type)((wide)a + (wide)b);                                                          \
    }                                                                                              \
    static inline type ronde_PROD_##dtype(type a, type b)                                          \
    {                                                                                              \
        return (type)((wide)a * (wide)b);                                                          \
    }                                                                                              \
    static inline type ronde_MIN_##dtype(type a, type b)                                           \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    static inline type ronde_MAX_##dtype(type a, type b)                                           \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    static inline type ronde_QUOTIENT_##dtype(type a, uint32_t ranks)                              \
    {                                                                                              \
        return (type)((ratio)a / (ratio)ranks);                                                    \
    }

/**
 * The operators on a floating type; `bits` is the integer of its size. min and max return the operand that is not NaN;
 * among equal operands only zeros differ, in their sign bit: min keeps it if either has it, max if both have.
 */
#define RONDE_FLOATING_ELEMENT(dtype, type, bits)                                                  \
    typedef type ronde_element_##dtype;                                                            \
    static inline type ronde_SUM_##dtype(type a, type b)                                           \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    static inline type ronde_PROD_##dtype(type a, type b)                                          \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    static inline bits ronde_bits_##dtype(type a)                                                  \
    {                                                                                              \
        bits out;                                                                                  \
        __builtin_memcpy(&out, &a, sizeof out);                                                    \
        return out;                                                                                \
    }                                                                                              \
    static inline type ronde_value_##dtype(bits a)                                                 \
    {                                                                                              \
        type out;                                                                                  \
        __builtin_memcpy(&out, &a, sizeof out);                                                    \
        return out;                                                                                \
    }                                                                                              \
    static inline type ronde_MIN_##dtype(type a, type b)                                           \
    {                                                                                              \
        const type other = b < a ? b : (a == a ? a : b);                                           \
        const type zero = ronde_value_##dtype(ronde_bits_##dtype(a) | ronde_bits_##dtype(b));      \
        return a == b ? zero : other;                                                              \
    }                                                                                              \
    static inline type ronde_MAX_##dtype(type a, type b)                                           \
    {                                                                                              \
        const type other = b > a ? b : (a == a ? a : b);                                           \
        const type zero = ronde_value_##dtype(ronde_bits_##dtype(a) & ronde_bits_##dtype(b));      \
        return a == b ? zero : other;                                                              \
    }                                                                                              \
    static inline type ronde_QUOTIENT_##dtype(type a, uint32_t ranks)                              \
    {                                                                                              \
        return a / (type)ranks;                                                                    \
    }

/** The operators on a 16-bit floating type with these conversions; min and max as above, on the bits alone. */
#define RONDE_HALF_ELEMENT(dtype, widen, round, infinity)                                          \
    typedef uint16_t ronde_element_##dtype;                                                        \
    static inline uint16_t ronde_SUM_##dtype(uint16_t a, uint16_t b)                               \
    {                                                                                              \
        return round(widen(a) + widen(b));                                                         \
    }                                                                                              \
    static inline uint16_t ronde_PROD_##dtype(uint16_t a, uint16_t b)                              \
    {                                                                                              \
        return round(widen(a) * widen(b));                                                         \
    }                                                                                              \
    static inline uint16_t ronde_MIN_##dtype(uint16_t a, uint16_t b)                               \
    {                                                                                              \
        const uint16_t lower = ronde_half_key(b) < ronde_half_key(a) ? b : a;                      \
        const uint16_t number = (b & RONDE_HALF_MAGNITUDE) > (infinity) ? a : lower;               \
        return (a & RONDE_HALF_MAGNITUDE) > (infinity) ? b : number;                               \
    }                                                                                              \
    static inline uint16_t ronde_MAX_##dtype(uint16_t a, uint16_t b)                               \
    {                                                                                              \
        const uint16_t higher = ronde_half_key(b) > ronde_half_key(a) ? b : a;                     \
        const uint16_t number = (b & RONDE_HALF_MAGNITUDE) > (infinity) ? a : higher;              \
        return (a & RONDE_HALF_MAGNITUDE) > (infinity) ? b : number;                               \
    }                                                                                              \
    static inline uint16_t ronde_QUOTIENT_##dtype(uint16_t a, uint32_t ranks)                      \
    {                                                                                              \
        return round(widen(a) / (float)ranks);                                                     \
    }

RONDE_INTEGER_ELEMENT(INT8, int8_t, uint32_t, float)
RONDE_INTEGER_ELEMENT(UINT8, uint8_t, uint32_t, float)
RONDE_INTEGER_ELEMENT(INT32, int32_t, uint32_t, double)
RONDE_INTEGER_ELEMENT(UINT32, uint32_t, uint32_t, double)
RONDE_INTEGER_ELEMENT(INT64, int64_t, uint64_t, int64_t)
RONDE_INTEGER_ELEMENT(UINT64, uint64_t, uint64_t, uint64_t)
RONDE_HALF_ELEMENT(FLOAT16, ronde_float16_widen, ronde_float16_round, RONDE_FLOAT16_INFINITY)
RONDE_HALF_ELEMENT(BFLOAT16, ronde_bfloat16_widen, ronde_bfloat16_round, RONDE_BFLOAT16_INFINITY)
RONDE_FLOATING_ELEMENT(FLOAT32, float, uint32_t)
RONDE_FLOATING_ELEMENT(FLOAT64, double, uint64_t)

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
                       ronde_kernel_divide_##dtype},
    static const struct ronde_kernels others[RONDE_DTYPE_COUNT] = {
        RONDE_DTYPE_LIST(RONDE_KERNEL_ROW)};
#undef RONDE_KERNEL_ROW
    struct ronde_kernels kernels = others[dtype];
    kernels.combine = combine[dtype][op];
    ronde_x86_replace(&kernels, dtype, op);
    return kernels;
}

#endif
