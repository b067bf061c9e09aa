/**
 * A symbolic value (label, contributions, expression): which input chunk it belongs to, which ranks' inputs were
 * combined, and in which tree.
 *
 * Up to 64 ranks the contributions are a bitset; above, two sums of random 61-bit numbers per rank, so that equal sums
 * mean equal multisets but for a chance of 2^-122 per comparison (Wegman and Carter, JCSS 1981).
 */
#ifndef RONDE_ENGINE_PROVE_VALUE_H
#define RONDE_ENGINE_PROVE_VALUE_H

#include "ronde/ir.h"

/** 2^61 - 1. */
#define RONDE_VALUE_PRIME 0x1fffffffffffffffu

/** What a chunk holds. All zero: nothing yet. */
struct ronde_value {
    uint64_t sum[2];     /**< bitset in sum[0], or two fingerprints */
    uint64_t expression; /**< hash of the tree, equal up to commuting */
    uint32_t label;      /**< input chunk + 1 */
    uint32_t origin; /**< where nothing is reduced: position it came from, RONDE_NONE once mixed */
};

/** A good hash of 64 bits (splitmix64: Steele, Lea, Flood, OOPSLA 2014). */
static inline uint64_t ronde_value_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/** Adds contributions; as bitsets they must be disjoint for that. */
static inline void ronde_value_add(uint64_t sum[2], const uint64_t other[2], bool is_exact)
{
    if (is_exact) {
        sum[0] |= other[0];
        return;
    }
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t raw = sum[i] + other[i];
        sum[i] = raw >= RONDE_VALUE_PRIME ? raw - RONDE_VALUE_PRIME : raw;
    }
}

/** The input of the rank that is number `relative`; of which chunk, and whose, is left open. */
static inline struct ronde_value ronde_value_leaf(uint32_t relative, bool is_exact)
{
    struct ronde_value value = {{0, 0}, ronde_value_mix(relative ^ 0x5851f42d4c957f2du), 0, 0};
    value.sum[0] =
        is_exact ? (uint64_t)1 << relative : ronde_value_mix(relative) % RONDE_VALUE_PRIME;
    value.sum[1] = is_exact ? 0 : ronde_value_mix(~(uint64_t)relative) % RONDE_VALUE_PRIME;
    return value;
}

/** Expression of a o b: the same as of b o a. */
static inline uint64_t ronde_value_combined(uint64_t a, uint64_t b)
{
    return ronde_value_mix(a + b) ^ ronde_value_mix((a ^ b) + 0x2545f4914f6cdd1du);
}

#endif
