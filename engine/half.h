/**
 * The 16-bit floating types on machines that have no arithmetic for them: float16 (IEEE 754 binary16) and bfloat16.
 *
 * Every operation widens to float32, which is exact, computes there, and rounds once to nearest even. float32 has more
 * than twice the digits of either type, so a sum, product or quotient of two of their numbers comes out as if it had
 * been rounded directly: hardware that adds float16 natively gives the same bits (S. Figueroa, "When is double rounding
 * innocuous?", SIGNUM Newsletter 30(3), 1995). Only integer shifts and selections, so that loops over them vectorise,
 * and no arithmetic on subnormal float32, so that a caller who flushes those to zero gets the same bits. Free of libc.
 */
#ifndef RONDE_ENGINE_HALF_H
#define RONDE_ENGINE_HALF_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

/** Everything but the sign of a float16, bfloat16. */
#define RONDE_HALF_MAGNITUDE 0x7fffu
/** Infinity of a float16; anything above is a NaN. */
#define RONDE_FLOAT16_INFINITY 0x7c00u
/** Infinity of a bfloat16. */
#define RONDE_BFLOAT16_INFINITY 0x7f80u

/** The bits of a float32. */
RONDE_INLINE uint32_t ronde_float32_bits(float value)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

/** The float32 of these bits. */
RONDE_INLINE float ronde_float32_of(uint32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

/** yes if `is` else no, by masks: a branch around floating arithmetic would keep loops from being vectorised. */
RONDE_INLINE uint32_t ronde_select(bool is, uint32_t yes, uint32_t no)
{
    const uint32_t mask = 0u - (uint32_t)is;
    return (yes & mask) | (no & ~mask);
}

/** Widens a float16. Exact; a NaN keeps its payload. */
RONDE_INLINE float ronde_float16_widen(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = (uint32_t)(half & RONDE_HALF_MAGNITUDE) << 13;
    /* The exponent's bias is 127 instead of 15; infinity and NaN keep the largest exponent there is. */
    const uint32_t normal =
        magnitude + 0x38000000u + ronde_select(magnitude >= 0x0f800000u, 0x38000000u, 0);
    /* 2^-14 + m 2^-24, less 2^-14: the subtraction shifts a subnormal's digits into place. */
    const uint32_t subnormal = ronde_float32_bits(ronde_float32_of(magnitude + 0x38800000u) -
                                                  ronde_float32_of(0x38800000u));
    return ronde_float32_of(sign | ronde_select(magnitude < 0x00800000u, subnormal, normal));
}

/** Rounds a float32 to float16, to nearest even; from 65520 on that is infinity. */
RONDE_INLINE uint16_t ronde_float16_round(float value)
{
    const uint32_t bits = ronde_float32_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffu + (magnitude >> 13 & 1u) - 0x38000000u) >> 13;
    /* Added to 0.5 the last digit weighs 2^-24, which is a subnormal's: the addition rounds. */
    const uint32_t subnormal = ronde_float32_bits(ronde_float32_of(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    const uint32_t large = ronde_select(magnitude > 0x7f800000u, nan, RONDE_FLOAT16_INFINITY);
    const uint32_t finite = ronde_select(magnitude < 0x38800000u, subnormal, normal);
    return (uint16_t)((bits >> 16 & 0x8000u) | ronde_select(magnitude >= 0x47800000u, large, finite));
}

/** Widens a bfloat16. Exact. */
RONDE_INLINE float ronde_bfloat16_widen(uint16_t half)
{
    return ronde_float32_of((uint32_t)half << 16);
}

/** Rounds a float32 to bfloat16, to nearest even. */
RONDE_INLINE uint16_t ronde_bfloat16_round(float value)
{
    const uint32_t bits = ronde_float32_bits(value);
    const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    /* Rounding could carry a NaN's payload into the sign; a quiet bit keeps it a NaN. */
    const uint32_t nan = bits >> 16 | 0x40u;
    return (uint16_t)ronde_select((bits & 0x7fffffffu) > 0x7f800000u, nan, rounded);
}

/** A number that orders 16-bit floats as unsigned integers, -0 before +0; means nothing for a NaN. */
RONDE_INLINE uint16_t ronde_half_key(uint16_t half)
{
    const uint32_t is_negative = (uint32_t)half >> 15;
    return (uint16_t)(half ^ ((0u - is_negative) | 0x8000u));
}

#endif
