/**
 * The 8-bit floating types: float8_e4m3 (4 bits of exponent, 3 of fraction, no infinity, one NaN of each sign) and
 * float8_e5m2 (a float16 cut to its upper byte), as the OCP 8-bit floating point specification 1.0 has them.
 *
 * Every operation widens to float32, which is exact, computes there, and rounds once to nearest even. What is too large
 * becomes the largest finite number, infinity included: the saturation of NCCL's and CUDA's conversions, and for
 * float8_e4m3 the only way to keep an overflow a number. float32 has more than twice the digits of either type, so a
 * result comes out as if it had been rounded directly (half.h). The same integer code on all chips, also those with
 * instructions of their own for it, so that all give the same bits. Free of libc.
 */
#ifndef RONDE_ENGINE_FP8_H
#define RONDE_ENGINE_FP8_H

#include "engine/half.h"

/** Everything but the sign. */
#define RONDE_FP8_MAGNITUDE 0x7fu
/** Largest number of a float8_e4m3, 448; anything above is a NaN. */
#define RONDE_FLOAT8_E4M3_LARGEST 0x7eu
/** Largest finite number of a float8_e5m2, 57344. */
#define RONDE_FLOAT8_E5M2_LARGEST 0x7bu
/** Infinity of a float8_e5m2; anything above is a NaN. */
#define RONDE_FLOAT8_E5M2_INFINITY 0x7cu

/** Widens a float8_e4m3. Exact. */
RONDE_INLINE float ronde_float8_e4m3_widen(uint8_t narrow)
{
    const uint32_t sign = (uint32_t)(narrow & 0x80u) << 24;
    const uint32_t magnitude = narrow & RONDE_FP8_MAGNITUDE;
    /* The exponent's bias is 127 instead of 7. */
    const uint32_t normal = (magnitude << 20) + 0x3c000000u;
    const uint32_t subnormal = ronde_float32_bits((float)magnitude * 0x1p-9f);
    const uint32_t number = ronde_select(magnitude < 8u, subnormal, normal);
    const bool is_nan = magnitude > RONDE_FLOAT8_E4M3_LARGEST;
    return ronde_float32_of(sign | ronde_select(is_nan, 0x7fc00000u, number));
}

/** Widens a float8_e5m2. Exact. */
RONDE_INLINE float ronde_float8_e5m2_widen(uint8_t narrow)
{
    return ronde_float16_widen((uint16_t)(narrow << 8));
}

/** Rounds a float32 to float8_e4m3, to nearest even; beyond 448 that is 448. */
RONDE_INLINE uint8_t ronde_float8_e4m3_round(float value)
{
    const uint32_t bits = ronde_float32_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0x7ffffu + (magnitude >> 20 & 1u) - 0x3c000000u) >> 20;
    /* Added to 2^14 the last digit weighs 2^-9, which is a subnormal's: the addition rounds. */
    const uint32_t subnormal =
        ronde_float32_bits(ronde_float32_of(magnitude) + 0x1p14f) - 0x46800000u;
    const uint32_t number = ronde_select(magnitude < 0x3c800000u, subnormal, normal);
    /* From 464 on, far below where the shifted exponent would wrap. */
    const uint32_t finite =
        ronde_select(magnitude >= 0x43e80000u, RONDE_FLOAT8_E4M3_LARGEST, number);
    const uint32_t nan = RONDE_FP8_MAGNITUDE;
    return (uint8_t)((bits >> 24 & 0x80u) | ronde_select(magnitude > 0x7f800000u, nan, finite));
}

/** Rounds a float32 to float8_e5m2, to nearest even; beyond 57344 that is 57344. */
RONDE_INLINE uint8_t ronde_float8_e5m2_round(float value)
{
    const uint32_t bits = ronde_float32_bits(value);
    const uint32_t magnitude = bits & 0x7fffffffu;
    const uint32_t normal = (magnitude + 0xfffffu + (magnitude >> 21 & 1u) - 0x38000000u) >> 21;
    /* Added to 2^7 the last digit weighs 2^-16, which is a subnormal's. */
    const uint32_t subnormal =
        ronde_float32_bits(ronde_float32_of(magnitude) + 0x1p7f) - 0x43000000u;
    const uint32_t number = ronde_select(magnitude < 0x38800000u, subnormal, normal);
    /* From 61440 on. */
    const uint32_t finite =
        ronde_select(magnitude >= 0x47700000u, RONDE_FLOAT8_E5M2_LARGEST, number);
    const uint32_t nan = RONDE_FP8_MAGNITUDE - 1u;
    return (uint8_t)((bits >> 24 & 0x80u) | ronde_select(magnitude > 0x7f800000u, nan, finite));
}

/** A number that orders 8-bit floats as unsigned integers, -0 before +0; means nothing for a NaN. */
RONDE_INLINE uint8_t ronde_fp8_key(uint8_t narrow)
{
    const uint32_t is_negative = (uint32_t)narrow >> 7;
    return (uint8_t)(narrow ^ ((0u - is_negative) | 0x80u));
}

#endif
