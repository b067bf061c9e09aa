/**
 * Kernels of the 16-bit floating types for x86 processors with AVX2, chosen when a run is prepared.
 *
 * What half.h does, eight at a time, with the float16 conversions of the hardware: the same bits but for a NaN's
 * payload, since all of them widen exactly and round to nearest even. min and max work on the bits alone and stay as
 * they are. On other processors nothing is replaced.
 */
#ifndef RONDE_ENGINE_HALF_X86_H
#define RONDE_ENGINE_HALF_X86_H

#include "engine/half.h"
#include "engine/interp.h"

#if defined(__x86_64__) && defined(__GNUC__)

/** What stands before every function that uses the instructions: no FMA, which would skip a rounding. */
#define RONDE_X86 __attribute__((target("avx2,f16c")))

/** Elements worked on at once. */
#define RONDE_X86_LANES 8u

/** Eight 16-bit elements; eight float32, their bits, and the same with a sign; elements as the conversions take them. */
typedef uint16_t ronde_halves __attribute__((vector_size(16)));
typedef float ronde_floats __attribute__((vector_size(32)));
typedef uint32_t ronde_words __attribute__((vector_size(32)));
typedef int32_t ronde_integers __attribute__((vector_size(32)));
typedef short ronde_shorts __attribute__((vector_size(16)));

/** Widens eight float16. */
RONDE_X86 static inline ronde_floats ronde_x86_widen_FLOAT16(ronde_halves halves)
{
    return __builtin_ia32_vcvtph2ps256((ronde_shorts)halves);
}

/** Rounds eight numbers to float16; 0 is the mode "to nearest even", whatever the thread's own is. */
RONDE_X86 static inline ronde_halves ronde_x86_round_FLOAT16(ronde_floats values)
{
    return (ronde_halves)__builtin_ia32_vcvtps2ph256(values, 0);
}

/** Widens eight bfloat16. */
RONDE_X86 static inline ronde_floats ronde_x86_widen_BFLOAT16(ronde_halves halves)
{
    return (ronde_floats)(__builtin_convertvector(halves, ronde_words) << 16);
}

/** Rounds eight numbers to bfloat16, as ronde_bfloat16_round does. */
RONDE_X86 static inline ronde_halves ronde_x86_round_BFLOAT16(ronde_floats values)
{
    const ronde_words bits = (ronde_words)values;
    const ronde_words rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    const ronde_words nan = bits >> 16 | 0x40u;
    const ronde_words is_nan =
        (ronde_words)((ronde_integers)(bits & 0x7fffffffu) > (ronde_integers){0} + 0x7f800000);
    return __builtin_convertvector((nan & is_nan) | (rounded & ~is_nan), ronde_halves);
}

/** Reads eight elements. */
RONDE_X86 static inline ronde_halves ronde_x86_load(const uint16_t *from)
{
    ronde_halves halves;
    __builtin_memcpy(&halves, from, sizeof halves);
    return halves;
}

/** Writes eight elements. */
RONDE_X86 static inline void ronde_x86_store(uint16_t *to, ronde_halves halves)
{
    __builtin_memcpy(to, &halves, sizeof halves);
}

/** Eight times the same number. */
RONDE_X86 static inline ronde_floats ronde_x86_all(float value)
{
    return (ronde_floats){value, value, value, value, value, value, value, value};
}

/** A loop over whole groups of eight, then one element at a time. */
#define RONDE_X86_LOOP(eight, one)                                                                 \
    uint64_t i = 0;                                                                                \
    for (; count - i >= RONDE_X86_LANES; i += RONDE_X86_LANES)                                     \
        ronde_x86_store(t + i, (eight));                                                           \
    for (; i < count; i++)                                                                         \
        t[i] = (one);

/** to[i] = a[i] op b[i], rounded. */
#define RONDE_X86_COMBINE(dtype, name, op, widen, round)                                           \
    RONDE_X86 static void ronde_x86_##name##_##dtype(void *to, const void *local,                  \
                                                     const void *received, uint64_t count)         \
    {                                                                                              \
        uint16_t *const t = (uint16_t *)to;                                                        \
        const uint16_t *const a = (const uint16_t *)local;                                         \
        const uint16_t *const b = (const uint16_t *)received;                                      \
        RONDE_X86_LOOP(ronde_x86_round_##dtype(ronde_x86_widen_##dtype(ronde_x86_load(             \
                           a + i)) op ronde_x86_widen_##dtype(ronde_x86_load(b + i))),             \
                       round(widen(a[i]) op widen(b[i])))                                          \
    }

/** The loops of premul_sum and avg. */
#define RONDE_X86_OTHERS(dtype, widen, round)                                                        \
    RONDE_X86 static void ronde_x86_scale_##dtype(void *to, const void *raw, const void *factor,     \
                                                  uint64_t count)                                    \
    {                                                                                                \
        uint16_t *const t = (uint16_t *)to;                                                          \
        const uint16_t *const a = (const uint16_t *)raw;                                             \
        uint16_t half;                                                                               \
        __builtin_memcpy(&half, factor, sizeof half);                                                \
        const float f = widen(half);                                                                 \
        RONDE_X86_LOOP(ronde_x86_round_##dtype(ronde_x86_widen_##dtype(ronde_x86_load(a + i)) *      \
                                               ronde_x86_all(f)),                                    \
                       round(widen(a[i]) * f))                                                       \
    }                                                                                                \
    RONDE_X86 static void ronde_x86_scale_sum_##dtype(void *to, const void *raw, const void *other,  \
                                                      const void *factor, uint64_t count)            \
    {                                                                                                \
        uint16_t *const t = (uint16_t *)to;                                                          \
        const uint16_t *const a = (const uint16_t *)raw;                                             \
        const uint16_t *const b = (const uint16_t *)other;                                           \
        uint16_t half;                                                                               \
        __builtin_memcpy(&half, factor, sizeof half);                                                \
        const float f = widen(half);                                                                 \
        RONDE_X86_LOOP(ronde_x86_round_##dtype(                                                      \
                           ronde_x86_widen_##dtype(ronde_x86_round_##dtype(                          \
                               ronde_x86_widen_##dtype(ronde_x86_load(a + i)) * ronde_x86_all(f))) + \
                           ronde_x86_widen_##dtype(ronde_x86_load(b + i))),                          \
                       round(widen(round(widen(a[i]) * f)) + widen(b[i])))                           \
    }                                                                                                \
    RONDE_X86 static void ronde_x86_divide_##dtype(void *to, uint32_t ranks, uint64_t count)         \
    {                                                                                                \
        uint16_t *const t = (uint16_t *)to;                                                          \
        const float n = (float)ranks;                                                                \
        RONDE_X86_LOOP(ronde_x86_round_##dtype(ronde_x86_widen_##dtype(ronde_x86_load(t + i)) /      \
                                               ronde_x86_all(n)),                                    \
                       round(widen(t[i]) / n))                                                       \
    }

/** All loops of a type, and the function that puts them in the place of those of reduce.h. */
#define RONDE_X86_ELEMENT(dtype, widen, round)                                                     \
    RONDE_X86_COMBINE(dtype, sum, +, widen, round)                                                 \
    RONDE_X86_COMBINE(dtype, prod, *, widen, round)                                                \
    RONDE_X86_OTHERS(dtype, widen, round)                                                          \
    static inline void ronde_x86_take_##dtype(struct ronde_kernels *kernels, enum ronde_op op)     \
    {                                                                                              \
        if (op == RONDE_SUM || op == RONDE_AVG || op == RONDE_PREMUL_SUM)                          \
            kernels->combine = ronde_x86_sum_##dtype;                                              \
        if (op == RONDE_PROD)                                                                      \
            kernels->combine = ronde_x86_prod_##dtype;                                             \
        kernels->scale = ronde_x86_scale_##dtype;                                                  \
        kernels->scale_sum = ronde_x86_scale_sum_##dtype;                                          \
        kernels->divide = ronde_x86_divide_##dtype;                                                \
    }

RONDE_X86_ELEMENT(FLOAT16, ronde_float16_widen, ronde_float16_round)
RONDE_X86_ELEMENT(BFLOAT16, ronde_bfloat16_widen, ronde_bfloat16_round)

/** Replaces kernels where there are faster ones. Every processor with AVX2 has F16C, which compilers cannot ask for. */
static inline void ronde_x86_replace(struct ronde_kernels *kernels, enum ronde_dtype dtype,
                                     enum ronde_op op)
{
    if ((dtype != RONDE_FLOAT16 && dtype != RONDE_BFLOAT16) || !__builtin_cpu_supports("avx2"))
        return;
    if (dtype == RONDE_FLOAT16)
        ronde_x86_take_FLOAT16(kernels, op);
    else
        ronde_x86_take_BFLOAT16(kernels, op);
}

#else

/** Another kind of processor: the kernels stay as they are. */
static inline void ronde_x86_replace(struct ronde_kernels *kernels, enum ronde_dtype dtype,
                                     enum ronde_op op)
{
    (void)kernels;
    (void)dtype;
    (void)op;
}

#endif
#endif
