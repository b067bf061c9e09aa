/**
 * The reduction kernels: one plain loop per element type and operator.
 *
 * `to` may be `local` or `received` exactly and overlaps neither otherwise, so every index is independent; the pragma
 * says so, since `restrict` would be a lie. Each application rounds to the element type and nothing is contracted: an
 * expression is one operation. Integers wrap, which C only allows for unsigned ones. Include this in one file only:
 * two compilations may order the operands of a NaN sum differently.
 */
#ifndef RONDE_ENGINE_REDUCE_H
#define RONDE_ENGINE_REDUCE_H

#include "engine/interp.h"

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

/** The operators on an integer type; `wide` is an unsigned type that neither promotes nor overflows. */
#define RONDE_INTEGER_ELEMENT(dtype, type, wide)                                                   \
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
    }

RONDE_INTEGER_ELEMENT(UINT8, uint8_t, uint32_t)
RONDE_INTEGER_ELEMENT(INT32, int32_t, uint32_t)
RONDE_FLOATING_ELEMENT(FLOAT32, float, uint32_t)
RONDE_FLOATING_ELEMENT(FLOAT64, double, uint64_t)

/** The loop of one element type and operator. */
#define RONDE_KERNEL(dtype, op)                                                                    \
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

/** The loops of one element type. */
#define RONDE_KERNELS(dtype, text, bytes)                                                          \
    RONDE_KERNEL(dtype, SUM)                                                                       \
    RONDE_KERNEL(dtype, PROD) RONDE_KERNEL(dtype, MIN) RONDE_KERNEL(dtype, MAX)
RONDE_DTYPE_LIST(RONDE_KERNELS)
#undef RONDE_KERNELS

_Static_assert(RONDE_OP_COUNT == 4, "a new operator needs a kernel above and a column below");

/** The kernel of an element type and operator; both in range. */
static inline ronde_reduce_kernel ronde_reduce_find(enum ronde_dtype dtype, enum ronde_op op)
{
#define RONDE_KERNEL_ROW(dtype, text, bytes)                                                       \
    [RONDE_##dtype] = {[RONDE_SUM] = ronde_kernel_SUM_##dtype,                                     \
                       [RONDE_PROD] = ronde_kernel_PROD_##dtype,                                   \
                       [RONDE_MIN] = ronde_kernel_MIN_##dtype,                                     \
                       [RONDE_MAX] = ronde_kernel_MAX_##dtype},
    static const ronde_reduce_kernel kernels[RONDE_DTYPE_COUNT][RONDE_OP_COUNT] = {
        RONDE_DTYPE_LIST(RONDE_KERNEL_ROW)};
#undef RONDE_KERNEL_ROW
    return kernels[dtype][op];
}

#endif
