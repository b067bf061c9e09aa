/**
 * What the claims of algorithms have in common: counts (messages, volume, longest chain, slots) from the papers and by hand,
 * and when a closed form is exact. They stand beside an algorithm's build and do not follow from it: tests hold them to what
 * the prover counts and to the longest path.
 */
#ifndef RONDE_SCHEDULES_CLAIMS_H
#define RONDE_SCHEDULES_CLAIMS_H

#include "closed_form.h"
#include "fold.h"

#include "ronde/schedules.h"

/** Every rank sends `rounds` messages one after another, `sent` chunks in all. */
struct ronde_algorithm_counts ronde_counts_rounds(uint32_t ranks, uint32_t rounds, uint64_t sent);

/**
 * The same round a ring, a chunk a message. What is received is sent on in one step, so several messages need two slots.
 */
struct ronde_algorithm_counts ronde_counts_passes(uint32_t ranks, uint32_t messages);

/** Once round the ring. */
struct ronde_algorithm_counts ronde_counts_ring(uint32_t ranks);

/** Every rank sends every other one a chunk. */
struct ronde_algorithm_counts ronde_counts_all_pairs(uint32_t ranks);

/** The same, twice. */
struct ronde_algorithm_counts ronde_counts_all_pairs_twice(uint32_t ranks);

/** Every rank sends all others of its node a bundle and its like on all other nodes a chunk, `times` each, between the default nodes. */
struct ronde_algorithm_counts ronde_counts_pairs_of_nodes(uint32_t ranks, uint32_t times);

/** One message along every edge of a tree, `sent` chunks by the busiest rank and `path` messages from end to end. */
struct ronde_algorithm_counts ronde_counts_one_way(uint32_t ranks, uint64_t sent, uint32_t path);

/** Up and down a binary tree: an inner rank sends up once and down twice. */
struct ronde_algorithm_counts ronde_counts_binary_tree(uint32_t ranks);

/**
 * Members of a fold send a message in each of `rounds` rounds, its extras send one and receive one; `sent` by the
 * busiest.
 */
struct ronde_algorithm_counts ronde_counts_fold(struct ronde_fold fold, uint32_t rounds,
                                                uint64_t sent);

/** Rounds in which members of a fold that differ in one bit swap. */
uint32_t ronde_fold_rounds(struct ronde_fold fold);

/** Whether `flows` flows of every channel fit a port, each as fast as alone; a lone rank has none. */
static inline bool ronde_flows_fit(const struct ronde_price_case *load, uint32_t flows)
{
    return load->ranks == 1 || (uint64_t)flows * load->channels <= load->port_flows;
}

static inline bool ronde_is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

/** `shares_ports` of folds: what an extra sends shares a port with what its partner receives from others. */
bool ronde_fold_shares_ports(const struct ronde_price_case *load);

/** Local ranks of a node unless requested otherwise: the largest divisor of the ranks up to 8. */
uint32_t ronde_counts_local(uint32_t ranks);

/* Declarations of all algorithms, one file each: a row of algorithms.def makes them and the table of registry.c. */

#define RONDE_ALGORITHM(file) extern const struct ronde_algorithm ronde_algorithm_##file;
#include "algorithms.def"
#undef RONDE_ALGORITHM

#endif
