/**
 * The floating types narrower than float32, on machines that have no arithmetic for them: float16 (IEEE 754 binary16),
 * bfloat16, and of 8 bits float8_e4m3 (4 bits of exponent, 3 of fraction, no infinity, one NaN of each sign) and
 * float8_e5m2 (a float16 cut to its upper byte), as the OCP 8-bit floating point specification 1.0 has them.
 *
 * Every operation widens to float32, which is exact, computes there, and rounds once to nearest even. float32 has more
 * than twice the digits of any of them, so a sum, product or quotient of two of their numbers comes out as if it had
 * been rounded directly: hardware that adds float16 natively gives the same bits (S. Figueroa, "When is double rounding
 * innocuous?", SIGNUM Newsletter 30(3), 1995). What is too large for 8 bits becomes the largest finite number, infinity
 * included: the saturation of NCCL's and CUDA's conversions, and for float8_e4m3 the only way to keep an overflow a
 * number. The same integer code on all chips, also those with instructions of their own for it. Part of elements.h. Free
 * of libc.
 */
#ifndef RONDE_ENGINE_EXECUTE_NARROW_H
#define RONDE_ENGINE_EXECUTE_NARROW_H

#include "ronde/status.h"

#include <stdint.h>

/** Everything but the sign of a float16, bfloat16. */
#define RONDE_HALF_MAGNITUDE 0x7fffu
/** Infinity of a float16; anything above is a NaN. */
#define RONDE_FLOAT16_INFINITY 0x7c00u
/** Infinity of a bfloat16. */
#define RONDE_BFLOAT16_INFINITY 0x7f80u
/** Everything but the sign of 8 bits. */
#define RONDE_FP8_MAGNITUDE 0x7fu
/** Largest number of a float8_e4m3, 448; anything above is a NaN. */
#define RONDE_FLOAT8_E4M3_LARGEST 0x7eu
/** Largest finite number of a float8_e5m2, 57344. */
#define RONDE_FLOAT8_E5M2_LARGEST 0x7bu
/** Infinity of a float8_e5m2; anything above is a NaN. */
#define RONDE_FLOAT8_E5M2_INFINITY 0x7cu

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

#define WORDS uint32_t
#define FLOATS float
#define NAME(name) ronde_##name
#define BITS(value) ronde_float32_bits(value)
#define OF(bits) ronde_float32_of(bits)
#define ABOVE(word, bound) (0u - (uint32_t)((int32_t)(word) > (int32_t)(bound)))
#define IS_NAN(value) (0u - (uint32_t)((value) != (value)))
#define ALL(number) ((uint32_t)(number))
#include "engine/execute/convert.h"

/** A number that orders 16-bit floats as unsigned integers, -0 before +0; means nothing for a NaN. */
RONDE_INLINE uint16_t ronde_half_key(uint16_t half)
{
    const uint32_t is_negative = (uint32_t)half >> 15;
    return (uint16_t)(half ^ ((0u - is_negative) | 0x8000u));
}

/** The same for 8-bit floats. */
RONDE_INLINE uint8_t ronde_fp8_key(uint8_t narrow)
{
    const uint32_t is_negative = (uint32_t)narrow >> 7;
    return (uint8_t)(narrow ^ ((0u - is_negative) | 0x80u));
}

#endif
