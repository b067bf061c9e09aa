/**
 * A good hash of 64 bits: the finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014). A counter that grows by RONDE_MIX_STEP, mixed, is the generator.
 */
#ifndef RONDE_MIX_H
#define RONDE_MIX_H

#include <stdint.h>

/** What the counter grows by. */
#define RONDE_MIX_STEP 0x9e3779b97f4a7c15u

/** Spreads neighbouring numbers over all values. */
static inline uint64_t ronde_mix64(uint64_t bits)
{
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

#endif
