/* Values of inputs. See pattern.h. */
#include "ronde/pattern.h"
#include "ronde/mix.h"

#include <string.h>

/* A prime period, so that no block or chunk offset is a multiple of it. */
#define PERIOD 65521u

/* Spreads neighbouring (rank, element) pairs over all values. */
static uint64_t mix(uint64_t x)
{
    return ronde_mix64(x + RONDE_MIX_STEP);
}

/* Most ranks whose element is not neutral, for sums and for products. */
#define SUMMED_RANKS 16u
#define MULTIPLIED_RANKS 6u

/* Whether a rank is among the few that add to an element; all are, to some elements. */
static bool takes_part(const struct ronde_input_range *shape, uint32_t rank, size_t index,
                       uint32_t most)
{
    const uint32_t stride = (shape->ranks + most - 1) / most;
    return (rank + index) % stride == 0;
}

/* The same for sums of a type that counts to 8. */
#define SUMMED_RANKS_OF_FP8 4u

/* Whether the type has no more than 3 or 4 digits. */
static bool is_fp8(enum ronde_dtype dtype)
{
    return ronde_dtype_is_floating(dtype) && ronde_dtype_bytes(dtype) == 1;
}

/* A summand of an element. */
static double exact_summand(const struct ronde_input_range *shape, uint32_t rank, size_t index,
                            uint64_t bits)
{
    if (is_fp8(shape->dtype))
        return takes_part(shape, rank, index, SUMMED_RANKS_OF_FP8) ? 1.0 : 0.0;
    return takes_part(shape, rank, index, SUMMED_RANKS) ? 1.0 + (double)(bits % 3) : 0.0;
}

/* Bits of integers that a double holds exactly, and all types but bool. */
#define EXACT_BITS 7u

/* Whether the operator asks that all ranks agree. */
static bool is_and(enum ronde_op op)
{
    return op == RONDE_PROD || op == RONDE_MIN || op == RONDE_BAND;
}

/*
 * Bits, of truth values the lowest one. Of as many ranks as there are about one decides each alone: a 1 of "or", a 0 of
 * "and". Half of them are 1 for "exclusive or", and of a single rank.
 */
static double exact_bits(const struct ronde_input_range *shape, uint64_t bits)
{
    const uint64_t most = shape->dtype == RONDE_BOOL ? 1 : (1u << EXACT_BITS) - 1;
    const uint64_t drawn = (bits >> 32) & most;
    if (shape->op == RONDE_BXOR || shape->ranks == 1)
        return (double)drawn;
    const uint64_t deciding = bits % shape->ranks == 0 ? drawn | 1u : 0;
    return (double)(is_and(shape->op) ? most ^ deciding : deciding);
}

/*
 * At most 16 numbers up to 3, doubled by premul_sum, add up to 96; at most 6 factors of 2 make 64.
 * Both fit int8, and the 8 bits of a bfloat16. At most 4 ones, doubled, fit the 3 bits of a float8_e5m2.
 */
static double exact_value(const struct ronde_input_range *shape, uint32_t rank, size_t index)
{
    const uint64_t bits = mix(((uint64_t)rank << 32) + index);
    if (shape->dtype == RONDE_BOOL)
        return exact_bits(shape, bits);
    switch (shape->op) {
    case RONDE_BAND:
    case RONDE_BOR:
    case RONDE_BXOR:
        return exact_bits(shape, bits);
    case RONDE_PROD:
        return takes_part(shape, rank, index, MULTIPLIED_RANKS) ? 2.0 : 1.0;
    case RONDE_SUM:
    case RONDE_AVG:
    case RONDE_PREMUL_SUM:
        return exact_summand(shape, rank, index, bits);
    case RONDE_MIN:
    case RONDE_MAX:
    case RONDE_OP_COUNT:
        break;
    }
    return (double)(bits % 100);
}

/* [1, 2) or 1 .. 7: products neither vanish nor become denormal, which would be slow to time. Truth values are both. */
static double any_value(const struct ronde_input_range *shape, uint32_t rank, size_t index)
{
    const uint64_t bits = mix(((uint64_t)rank << 32) + index);
    if (shape->dtype == RONDE_BOOL)
        return (double)(bits % 2);
    return ronde_dtype_is_floating(shape->dtype) ? 1.0 + (double)(bits % 9973u) / 9973.0
                                                 : 1.0 + (double)(bits % 7);
}

size_t ronde_pattern_period(size_t elements)
{
    return elements < PERIOD ? elements : PERIOD;
}

void ronde_pattern_begin(enum ronde_pattern pattern, const struct ronde_input_range *shape,
                         uint32_t rank, size_t elements, void *out)
{
    const bool is_exact =
        pattern == RONDE_PATTERN_EXACT && ronde_collective_traits(shape->collective)->reduces;
    const size_t element_bytes = ronde_dtype_bytes(shape->dtype);
    for (size_t i = 0; i < elements; i++)
        ronde_element_store(shape->dtype, (char *)out + i * element_bytes,
                            is_exact ? exact_value(shape, rank, i) : any_value(shape, rank, i));
}

void ronde_pattern_read(const void *period, size_t length, size_t element_bytes, size_t first,
                        size_t elements, void *out)
{
    for (size_t done = 0; done < elements;) {
        const size_t at = (first + done) % length;
        const size_t left = elements - done;
        const size_t run = left < length - at ? left : length - at;
        memcpy((char *)out + done * element_bytes, (const char *)period + at * element_bytes,
               run * element_bytes);
        done += run;
    }
}
