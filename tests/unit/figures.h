/**
 * What every algorithm must need: messages, volume, longest chain and slots, from the papers and by hand.
 */
#ifndef RONDE_TESTS_FIGURES_H
#define RONDE_TESTS_FIGURES_H

#include "ronde/schedules.h"

/** What an algorithm must need, per channel. Chunks are those of the algorithm. */
struct figures {
    uint64_t messages;
    uint64_t most_sent;     /**< chunks by any rank */
    uint32_t critical_path; /**< messages on the longest chain */
    uint32_t min_depth;
};

/** The figures of an algorithm on n ranks in its default shape; false if nobody has worked them out. */
bool figures_find(const struct ronde_algorithm *algorithm, uint32_t n, struct figures *out_figures);

/** Smallest e with 2^e >= n. */
uint32_t figures_log2_up(uint32_t n);

#endif
