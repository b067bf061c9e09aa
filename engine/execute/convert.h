/*
 * Conversions between float32 and its narrower kin, written once for one number and for vectors of them.
 *
 * No include guard: the file is a template. Before it is included (narrow.h does it for numbers, wide.h for vectors):
 *   WORDS, FLOATS     uint32_t and float, or vectors of as many
 *   NAME(name)        what its functions are called
 *   BITS(f), OF(w)    the same bits as WORDS, as FLOATS
 *   ABOVE(w, bound)   all bits where w, taken as signed, is above a number, else none
 *   IS_NAN(f)         all bits where f is a NaN, else none
 *   ALL(number)       WORDS of that number
 *
 * Only shifts and selections by masks, so that loops never branch, and no arithmetic on subnormal float32, so that a
 * caller who flushes those to zero gets the same bits. A type is described by `shift`, the digits it lacks of float32's
 * 23, and `rebias`, what its exponents' bias is smaller by, in its place. What it holds is in the low bits of a word.
 */

/** `yes` where the mask is set, else `no`. */
RONDE_INLINE WORDS NAME(select)(WORDS mask, WORDS yes, WORDS no)
{
    return (yes & mask) | (no & ~mask);
}

/** The float32 bits of a finite magnitude of a narrow type. */
RONDE_INLINE WORDS NAME(stretch)(WORDS magnitude, uint32_t shift, uint32_t rebias)
{
    const uint32_t least = rebias + 0x00800000u;
    const WORDS moved = magnitude << shift;
    /* least (1 + m) - least: the subtraction shifts a subnormal's digits into place. */
    const WORDS subnormal = BITS(OF(moved + least) - ronde_float32_of(least));
    return NAME(select)(ABOVE(moved, 0x007fffffu), moved + rebias, subnormal);
}

/** Rounds the bits of a float32 magnitude to nearest even; a number that is too large gets too large an exponent. */
RONDE_INLINE WORDS NAME(shorten)(WORDS magnitude, uint32_t shift, uint32_t rebias)
{
    const uint32_t least = rebias + 0x00800000u;
    const uint32_t half = (1u << (shift - 1u)) - 1u;
    const WORDS normal = (magnitude + (half - rebias) + (magnitude >> shift & 1u)) >> shift;
    /* Added to this power of two the last digit weighs as much as a subnormal's: the addition rounds. */
    const uint32_t unit = rebias + ((shift + 1u) << 23);
    const WORDS subnormal = BITS(OF(magnitude) + ronde_float32_of(unit)) - unit;
    return NAME(select)(ABOVE(magnitude, least - 1u), normal, subnormal);
}

/** Widens a float16. Exact; a NaN keeps its payload. */
RONDE_INLINE FLOATS NAME(float16_widen)(WORDS half)
{
    const WORDS magnitude = half & RONDE_HALF_MAGNITUDE;
    const WORDS finite = NAME(stretch)(magnitude, 13u, 0x38000000u);
    /* Infinity and NaN have the largest exponent there is. */
    const WORDS number = finite + (ABOVE(magnitude, RONDE_FLOAT16_INFINITY - 1u) & 0x38000000u);
    return OF((half & 0x8000u) << 16 | number);
}

/** Rounds a float32 to float16, to nearest even; from 65520 on that is infinity. */
RONDE_INLINE WORDS NAME(float16_round)(FLOATS value)
{
    const WORDS bits = BITS(value);
    const WORDS magnitude = bits & 0x7fffffffu;
    const WORDS nan = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    const WORDS large = NAME(select)(IS_NAN(value), nan, ALL(RONDE_FLOAT16_INFINITY));
    const WORDS finite = NAME(shorten)(magnitude, 13u, 0x38000000u);
    return (bits >> 16 & 0x8000u) | NAME(select)(ABOVE(magnitude, 0x477fffffu), large, finite);
}

/** Widens a bfloat16. Exact. */
RONDE_INLINE FLOATS NAME(bfloat16_widen)(WORDS half)
{
    return OF(half << 16);
}

/** Rounds a float32 to bfloat16, to nearest even. */
RONDE_INLINE WORDS NAME(bfloat16_round)(FLOATS value)
{
    const WORDS bits = BITS(value);
    const WORDS rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    /* Rounding could carry a NaN's payload into the sign; a quiet bit keeps it a NaN. */
    const WORDS nan = bits >> 16 | 0x40u;
    return NAME(select)(IS_NAN(value), nan, rounded);
}

/** Widens a float8_e4m3. Exact. */
RONDE_INLINE FLOATS NAME(float8_e4m3_widen)(WORDS narrow)
{
    const WORDS magnitude = narrow & RONDE_FP8_MAGNITUDE;
    const WORDS number = NAME(stretch)(magnitude, 20u, 0x3c000000u);
    const WORDS nan = ABOVE(magnitude, RONDE_FLOAT8_E4M3_LARGEST) & 0x7fc00000u;
    return OF((narrow & 0x80u) << 24 | number | nan);
}

/** Widens a float8_e5m2, which is a float16's upper byte. Exact. */
RONDE_INLINE FLOATS NAME(float8_e5m2_widen)(WORDS narrow)
{
    return NAME(float16_widen)(narrow << 8);
}

/** Rounds a float32 to 8 bits, to nearest even; beyond the largest number that is the largest number. */
RONDE_INLINE WORDS NAME(float8_round)(FLOATS value, uint32_t shift, uint32_t rebias,
                                      uint32_t largest, uint32_t nan)
{
    const WORDS bits = BITS(value);
    const WORDS magnitude = bits & 0x7fffffffu;
    const WORDS number = NAME(shorten)(magnitude, shift, rebias);
    const WORDS finite = NAME(select)(ABOVE(number, largest), ALL(largest), number);
    return (bits >> 24 & 0x80u) | NAME(select)(IS_NAN(value), ALL(nan), finite);
}

/** Rounds a float32 to float8_e4m3. */
RONDE_INLINE WORDS NAME(float8_e4m3_round)(FLOATS value)
{
    return NAME(float8_round)(value, 20u, 0x3c000000u, RONDE_FLOAT8_E4M3_LARGEST,
                              RONDE_FP8_MAGNITUDE);
}

/** Rounds a float32 to float8_e5m2. */
RONDE_INLINE WORDS NAME(float8_e5m2_round)(FLOATS value)
{
    return NAME(float8_round)(value, 21u, 0x38000000u, RONDE_FLOAT8_E5M2_LARGEST,
                              RONDE_FP8_MAGNITUDE - 1u);
}

#undef WORDS
#undef FLOATS
#undef NAME
#undef BITS
#undef OF
#undef ABOVE
#undef IS_NAN
#undef ALL
