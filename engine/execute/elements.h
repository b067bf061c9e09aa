/**
 * Single elements of every type and operator: the one definition that CPU loops (reduce.h) and GPU kernels share.
 *
 * A type of numbers is five functions: SUM, PROD, MIN, MAX of two elements, and QUOTIENT by a number of ranks; integers
 * have BAND, BOR and BXOR besides, and bool has these alone. avg is SUM and, on complete results, QUOTIENT;
 * premul_sum is PROD with the rank's factor on raw operands, then SUM. Each rounds to the element type and nothing is
 * contracted (-ffp-contract=off, -fmad=false). Integers wrap, which C only allows for unsigned ones. Free of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_ELEMENTS_H
#define RONDE_ENGINE_EXECUTE_ELEMENTS_H

#include "engine/execute/narrow.h"

#include <stdint.h>

#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error                                                                                             \
    "results must round to the element type after every operation (build with -msse2 -mfpmath=sse)"
#endif

/**
 * The operators on an integer type; `wide` is an unsigned type that neither promotes nor overflows. Quotients are
 * computed in `ratio` and truncate toward zero. Up to 32 bits that is a floating type of p digits, which vectorises: a
 * quotient a/N that is no integer is at least 1/N away from one, and rounding moves it by at most |a|/N 2^-p, less.
 */
#define RONDE_INTEGER_ELEMENT(dtype, type, wide, ratio, bits)                                      \
    typedef type ronde_element_##dtype;                                                            \
    RONDE_INLINE type ronde_SUM_##dtype(type a, type b)                                            \
    {                                                                                              \
        return (type)((wide)a + (wide)b);                                                          \
    }                                                                                              \
    RONDE_INLINE type ronde_PROD_##dtype(type a, type b)                                           \
    {                                                                                              \
        return (type)((wide)a * (wide)b);                                                          \
    }                                                                                              \
    RONDE_INLINE type ronde_MIN_##dtype(type a, type b)                                            \
    {                                                                                              \
        return a < b ? a : b;                                                                      \
    }                                                                                              \
    RONDE_INLINE type ronde_MAX_##dtype(type a, type b)                                            \
    {                                                                                              \
        return a > b ? a : b;                                                                      \
    }                                                                                              \
    RONDE_INLINE type ronde_BAND_##dtype(type a, type b)                                           \
    {                                                                                              \
        return (type)((wide)a & (wide)b);                                                          \
    }                                                                                              \
    RONDE_INLINE type ronde_BOR_##dtype(type a, type b)                                            \
    {                                                                                              \
        return (type)((wide)a | (wide)b);                                                          \
    }                                                                                              \
    RONDE_INLINE type ronde_BXOR_##dtype(type a, type b)                                           \
    {                                                                                              \
        return (type)((wide)a ^ (wide)b);                                                          \
    }                                                                                              \
    RONDE_INLINE type ronde_QUOTIENT_##dtype(type a, uint32_t ranks)                               \
    {                                                                                              \
        return (type)((ratio)a / (ratio)ranks);                                                    \
    }

/**
 * The operators on a truth value: a byte that is true unless 0. Operands may hold any byte, results are 0 or 1. Launches
 * turn sum and max into BOR, prod and min into BAND (prepare.c).
 */
#define RONDE_BOOL_ELEMENT(dtype)                                                                  \
    typedef uint8_t ronde_element_##dtype;                                                         \
    RONDE_INLINE uint8_t ronde_BAND_##dtype(uint8_t a, uint8_t b)                                  \
    {                                                                                              \
        return (uint8_t)((a < b ? a : b) != 0);                                                    \
    }                                                                                              \
    RONDE_INLINE uint8_t ronde_BOR_##dtype(uint8_t a, uint8_t b)                                   \
    {                                                                                              \
        return (uint8_t)((a | b) != 0);                                                            \
    }                                                                                              \
    RONDE_INLINE uint8_t ronde_BXOR_##dtype(uint8_t a, uint8_t b)                                  \
    {                                                                                              \
        return (uint8_t)((a == 0) ^ (b == 0));                                                     \
    }

/**
 * The operators on a floating type; `bits` is the integer of its size. min and max return the operand that is not NaN;
 * among equal operands only zeros differ, in their sign bit: min keeps it if either has it, max if both have.
 */
#define RONDE_FLOATING_ELEMENT(dtype, type, bits)                                                  \
    typedef type ronde_element_##dtype;                                                            \
    RONDE_INLINE type ronde_SUM_##dtype(type a, type b)                                            \
    {                                                                                              \
        return a + b;                                                                              \
    }                                                                                              \
    RONDE_INLINE type ronde_PROD_##dtype(type a, type b)                                           \
    {                                                                                              \
        return a * b;                                                                              \
    }                                                                                              \
    RONDE_INLINE bits ronde_bits_##dtype(type a)                                                   \
    {                                                                                              \
        bits out;                                                                                  \
        __builtin_memcpy(&out, &a, sizeof out);                                                    \
        return out;                                                                                \
    }                                                                                              \
    RONDE_INLINE type ronde_value_##dtype(bits a)                                                  \
    {                                                                                              \
        type out;                                                                                  \
        __builtin_memcpy(&out, &a, sizeof out);                                                    \
        return out;                                                                                \
    }                                                                                              \
    RONDE_INLINE type ronde_MIN_##dtype(type a, type b)                                            \
    {                                                                                              \
        const type other = b < a ? b : (a == a ? a : b);                                           \
        const type zero = ronde_value_##dtype(ronde_bits_##dtype(a) | ronde_bits_##dtype(b));      \
        return a == b ? zero : other;                                                              \
    }                                                                                              \
    RONDE_INLINE type ronde_MAX_##dtype(type a, type b)                                            \
    {                                                                                              \
        const type other = b > a ? b : (a == a ? a : b);                                           \
        const type zero = ronde_value_##dtype(ronde_bits_##dtype(a) & ronde_bits_##dtype(b));      \
        return a == b ? zero : other;                                                              \
    }                                                                                              \
    RONDE_INLINE type ronde_QUOTIENT_##dtype(type a, uint32_t ranks)                               \
    {                                                                                              \
        return a / (type)ranks;                                                                    \
    }

/**
 * The operators on a floating type of 16 or 8 bits with these conversions; min and max as above, on the bits alone:
 * `key` orders them, and all but the sign of a NaN is above `largest`.
 */
#define RONDE_NARROW_ELEMENT(dtype, type, key, widen, round, largest)                              \
    typedef type ronde_element_##dtype;                                                            \
    RONDE_INLINE type ronde_SUM_##dtype(type a, type b)                                            \
    {                                                                                              \
        return (type)round(widen(a) + widen(b));                                                   \
    }                                                                                              \
    RONDE_INLINE type ronde_PROD_##dtype(type a, type b)                                           \
    {                                                                                              \
        return (type)round(widen(a) * widen(b));                                                   \
    }                                                                                              \
    RONDE_INLINE type ronde_MIN_##dtype(type a, type b)                                            \
    {                                                                                              \
        const type lower = key(b) < key(a) ? b : a;                                                \
        const type number = (b & (type)((type)~0u >> 1)) > (largest) ? a : lower;                  \
        return (a & (type)((type)~0u >> 1)) > (largest) ? b : number;                              \
    }                                                                                              \
    RONDE_INLINE type ronde_MAX_##dtype(type a, type b)                                            \
    {                                                                                              \
        const type higher = key(b) > key(a) ? b : a;                                               \
        const type number = (b & (type)((type)~0u >> 1)) > (largest) ? a : higher;                 \
        return (a & (type)((type)~0u >> 1)) > (largest) ? b : number;                              \
    }                                                                                              \
    RONDE_INLINE type ronde_QUOTIENT_##dtype(type a, uint32_t ranks)                               \
    {                                                                                              \
        return (type)round(widen(a) / (float)ranks);                                               \
    }

/** The signed integer types: what RONDE_INTEGER_ELEMENT takes, and the type of the same bits whose wrapping is theirs. */
#define RONDE_SIGNED_LIST(X)                                                                       \
    X(INT8, int8_t, uint32_t, float, UINT8)                                                        \
    X(INT16, int16_t, uint32_t, float, UINT16)                                                     \
    X(INT32, int32_t, uint32_t, double, UINT32)                                                    \
    X(INT64, int64_t, uint64_t, int64_t, UINT64)

/** The unsigned integer types, alike. */
#define RONDE_UNSIGNED_LIST(X)                                                                     \
    X(UINT8, uint8_t, uint32_t, float, UINT8)                                                      \
    X(UINT16, uint16_t, uint32_t, float, UINT16)                                                   \
    X(UINT32, uint32_t, uint32_t, double, UINT32)                                                  \
    X(UINT64, uint64_t, uint64_t, uint64_t, UINT64)

/** The integer types. */
#define RONDE_INTEGER_LIST(X) RONDE_SIGNED_LIST(X) RONDE_UNSIGNED_LIST(X)

/** The truth values. */
#define RONDE_BOOL_LIST(X) X(BOOL)

/** The floating types that processors compute with: what RONDE_FLOATING_ELEMENT takes. */
#define RONDE_FLOATING_LIST(X)                                                                     \
    X(FLOAT32, float, uint32_t)                                                                    \
    X(FLOAT64, double, uint64_t)

/** The narrow floating types: what RONDE_NARROW_ELEMENT takes. */
#define RONDE_NARROW_LIST(X)                                                                       \
    X(FLOAT16, uint16_t, ronde_half_key, ronde_float16_widen, ronde_float16_round,                 \
      RONDE_FLOAT16_INFINITY)                                                                      \
    X(BFLOAT16, uint16_t, ronde_half_key, ronde_bfloat16_widen, ronde_bfloat16_round,              \
      RONDE_BFLOAT16_INFINITY)                                                                     \
    X(FLOAT8_E4M3, uint8_t, ronde_fp8_key, ronde_float8_e4m3_widen, ronde_float8_e4m3_round,       \
      RONDE_FLOAT8_E4M3_LARGEST)                                                                   \
    X(FLOAT8_E5M2, uint8_t, ronde_fp8_key, ronde_float8_e5m2_widen, ronde_float8_e5m2_round,       \
      RONDE_FLOAT8_E5M2_INFINITY)

RONDE_INTEGER_LIST(RONDE_INTEGER_ELEMENT)
RONDE_BOOL_LIST(RONDE_BOOL_ELEMENT)
RONDE_NARROW_LIST(RONDE_NARROW_ELEMENT)
RONDE_FLOATING_LIST(RONDE_FLOATING_ELEMENT)

#endif
