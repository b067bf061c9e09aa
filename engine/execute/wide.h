/**
 * Operators on vectors of narrow floating types (narrow.h), as wide as the file's instructions are.
 *
 * A pack is read and written as it lies in memory: words that hold two or four elements each. Its parts, one element of
 * every word, are moved to the low bits, widened, computed with and put back, so that nothing ever crosses from lane
 * to lane. With F16C the hardware converts float16: the same bits but for a NaN's payload, since it widens exactly and
 * is set to round to nearest even. Compilers make vectors of the code for one number too, but take several times as
 * long. min and max work on the bits alone and need none of this. Part of reduce.h.
 */
#ifndef RONDE_ENGINE_EXECUTE_WIDE_H
#define RONDE_ENGINE_EXECUTE_WIDE_H

#include "engine/execute/elements.h"

/** Words of a vector. */
#if defined(__AVX512F__)
#define RONDE_WIDE_LANES 16u
#elif defined(__AVX2__)
#define RONDE_WIDE_LANES 8u
#else
#define RONDE_WIDE_LANES 4u
#endif

/** As many float32, their bits, and the same with a sign. */
typedef float ronde_wide_floats __attribute__((vector_size(4 * RONDE_WIDE_LANES)));
typedef uint32_t ronde_wide_words __attribute__((vector_size(4 * RONDE_WIDE_LANES)));
typedef int32_t ronde_wide_integers __attribute__((vector_size(4 * RONDE_WIDE_LANES)));

#define WORDS ronde_wide_words
#define FLOATS ronde_wide_floats
#define NAME(name) ronde_wide_##name
#define BITS(value) ((ronde_wide_words)(value))
#define OF(bits) ((ronde_wide_floats)(bits))
#define ABOVE(word, bound)                                                                         \
    ((ronde_wide_words)((ronde_wide_integers)(word) > (ronde_wide_integers){0} + (int32_t)(bound)))
#define IS_NAN(value) ((ronde_wide_words)((value) != (value)))
#define ALL(number) ((ronde_wide_words){0} + (number))
#include "engine/execute/convert.h"

/** The pack of a type of `bits` bits, and its parts. */
#define RONDE_WIDE_PARTS(dtype, bits, name)                                                        \
    typedef ronde_wide_words ronde_wide_pack_##dtype;                                              \
    enum { ronde_wide_parts_##dtype = 32 / (bits) };                                               \
    static inline ronde_wide_floats ronde_wide_take_##dtype(ronde_wide_words pack, uint32_t part)  \
    {                                                                                              \
        return ronde_wide_##name##_widen(pack >> part * (bits) & ((1u << (bits)) - 1u));           \
    }                                                                                              \
    static inline ronde_wide_words ronde_wide_put_##dtype(ronde_wide_floats values, uint32_t part) \
    {                                                                                              \
        return ronde_wide_##name##_round(values) << part * (bits);                                 \
    }

RONDE_WIDE_PARTS(BFLOAT16, 16u, bfloat16)
RONDE_WIDE_PARTS(FLOAT8_E4M3, 8u, float8_e4m3)
RONDE_WIDE_PARTS(FLOAT8_E5M2, 8u, float8_e5m2)

#if defined(__F16C__) && defined(__AVX2__)

/** The hardware's conversions take half a vector of float16, which is then the pack and its one part. */
typedef short ronde_wide_pack_FLOAT16 __attribute__((vector_size(2 * RONDE_WIDE_LANES)));
enum { ronde_wide_parts_FLOAT16 = 1 };

/* Mode 0 is "to nearest even", whatever the thread's own; mode 4 is the thread's, which an exact result ignores. */
#if defined(__AVX512F__)
/** The mask of all lanes, which GCC takes signed here and unsigned there. */
#if defined(__clang__)
#define RONDE_WIDE_EVERY ((unsigned short)0xffff)
#else
#define RONDE_WIDE_EVERY ((short)-1)
#endif
#define RONDE_WIDE_FROM_HALVES(halves)                                                             \
    __builtin_ia32_vcvtph2ps512_mask((halves), (ronde_wide_floats){0}, RONDE_WIDE_EVERY, 4)
#define RONDE_WIDE_TO_HALVES(values)                                                               \
    __builtin_ia32_vcvtps2ph512_mask((values), 0, (ronde_wide_pack_FLOAT16){0},                    \
                                     (unsigned short)0xffff)
#else
#define RONDE_WIDE_FROM_HALVES(halves) __builtin_ia32_vcvtph2ps256(halves)
#define RONDE_WIDE_TO_HALVES(values) __builtin_ia32_vcvtps2ph256((values), 0)
#endif

/** Widens a pack. */
static inline ronde_wide_floats ronde_wide_take_FLOAT16(ronde_wide_pack_FLOAT16 pack, uint32_t part)
{
    (void)part;
    return RONDE_WIDE_FROM_HALVES(pack);
}

/** Rounds a pack. */
static inline ronde_wide_pack_FLOAT16 ronde_wide_put_FLOAT16(ronde_wide_floats values, uint32_t part)
{
    (void)part;
    return (ronde_wide_pack_FLOAT16)RONDE_WIDE_TO_HALVES(values);
}

#else
RONDE_WIDE_PARTS(FLOAT16, 16u, float16)
#endif

/** The same number in all lanes; adding it to zeros would lose the sign of a zero. */
static inline ronde_wide_floats ronde_wide_all(float number)
{
    return (ronde_wide_floats)((ronde_wide_words){0} + ronde_float32_bits(number));
}

/** An operator on packs: `value` is made of the parts x and y of both, and of f, the same in all lanes. */
#define RONDE_WIDE_OPERATOR(dtype, op, value)                                                      \
    static inline ronde_wide_pack_##dtype ronde_wide_##op##_##dtype(ronde_wide_pack_##dtype a,     \
                                                                    ronde_wide_pack_##dtype b,     \
                                                                    float factor)                  \
    {                                                                                              \
        ronde_wide_pack_##dtype out = {0};                                                         \
        const ronde_wide_floats f = ronde_wide_all(factor);                                        \
        for (uint32_t part = 0; part < ronde_wide_parts_##dtype; part++) {                         \
            const ronde_wide_floats x = ronde_wide_take_##dtype(a, part);                          \
            const ronde_wide_floats y = ronde_wide_take_##dtype(b, part);                          \
            (void)y;                                                                               \
            (void)f;                                                                               \
            out |= ronde_wide_put_##dtype((value), part);                                          \
        }                                                                                          \
        return out;                                                                                \
    }

/** All operators on packs of a type; avg and premul_sum as elements.h has them. */
#define RONDE_WIDE_OPERATORS(dtype)                                                                \
    RONDE_WIDE_OPERATOR(dtype, SUM, x + y)                                                         \
    RONDE_WIDE_OPERATOR(dtype, PROD, x *y)                                                         \
    RONDE_WIDE_OPERATOR(dtype, SCALE, x *f)                                                        \
    RONDE_WIDE_OPERATOR(dtype, SCALE_SUM,                                                          \
                        ronde_wide_take_##dtype(ronde_wide_put_##dtype(x *f, 0), 0) + y)           \
    RONDE_WIDE_OPERATOR(dtype, QUOTIENT, x / f)

RONDE_WIDE_OPERATORS(FLOAT16)
RONDE_WIDE_OPERATORS(BFLOAT16)
RONDE_WIDE_OPERATORS(FLOAT8_E4M3)
RONDE_WIDE_OPERATORS(FLOAT8_E5M2)

#endif
