/**
 * A cut in words, for people: which ranks, through which links, how fast.
 */
#ifndef RONDE_SYNTHESIS_WORDS_H
#define RONDE_SYNTHESIS_WORDS_H

#include "cut.h"

/**
 * Writes "2 of 12 hosts, h10 .. h11, take in 10 blocks by 30 GB/s: spine0-leaf2_UP, ..." into out_text. `is_reversed`: the
 * cut was found on the reversed graph. Returns the ranks on the side that is named.
 */
uint32_t ronde_cut_words(const struct ronde_graph *graph, const struct ronde_graph_cut *cut,
                         bool is_reversed, char *out_text, size_t bytes);

#endif
