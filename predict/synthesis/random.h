/**
 * Random numbers of a search: the same on every machine (G. Marsaglia, "Xorshift RNGs", J. Stat. Software 8, 2003).
 */
#ifndef RONDE_SYNTHESIS_RANDOM_H
#define RONDE_SYNTHESIS_RANDOM_H

#include <stdint.h>

/** The next number; *state is not 0. */
static inline uint64_t ronde_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/** A number below `count`, which is not 0. */
static inline uint32_t ronde_random_below(uint64_t *state, uint32_t count)
{
    return (uint32_t)((ronde_random(state) >> 33) % count);
}

#endif
