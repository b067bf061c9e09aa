/**
 * Butterflies: who meets whom in the rounds of halving and doubling.
 *
 * In every round each member of a fold meets one partner; after all rounds everyone has met everyone's data once. Halving
 * goes through the rounds from 0 on, doubling back. A member keeps what its later rounds can still reach, which is an
 * interval of chunks if chunks are numbered well: ronde_butterfly_chunk. Three orders differ in distance alone:
 *
 *   farthest   partners differ in the highest bit first; chunks are numbered as members
 *   nearest    in the lowest bit first; chunks are numbered by reversed bits
 *   swing      round k takes an even member r to r + w, an odd one to r - w, w = 1, -1, 3, -5, 11, .., the sums of the
 *              powers of -2: a way that comes back on itself stays shorter than one of powers of two. On a torus the
 *              rounds take its axes in turn
 *
 * Sources: D. De Sensi, T. Bonato, D. Saam, T. Hoefler, "Swing: short-cutting rings for higher bandwidth allreduce",
 * NSDI 2024 (the distances, the axes of a torus); D. De Sensi et al., "Bine trees: enhancing collective operations by
 * optimizing communication locality", SC 2025 (trees by the same distances, chunks in negabinary order).
 */
#ifndef RONDE_SCHEDULES_BUTTERFLY_H
#define RONDE_SCHEDULES_BUTTERFLY_H

#include "fold.h"

/** Distances of the rounds. */
enum ronde_butterfly_order { RONDE_FARTHEST_FIRST, RONDE_NEAREST_FIRST, RONDE_SWING };

/** Who meets whom among the members of a fold. */
struct ronde_butterfly {
    struct ronde_fold fold;
    enum ronde_butterfly_order order;
    uint32_t rounds;                       /**< log2 of the members */
    uint32_t axes;                         /**< swing: of the torus; 1 = none */
    uint32_t axis_rounds[RONDE_MAX_SHAPE]; /**< log2 of the members along each, fastest first */
};

/** The butterfly of a request's ranks: swing takes the request's shape where all its radices are powers of two. */
struct ronde_butterfly ronde_butterfly_of(const struct ronde_compile_request *request,
                                          enum ronde_butterfly_order order);

/** Whom a member meets in a round. */
uint32_t ronde_butterfly_partner(const struct ronde_butterfly *butterfly, uint32_t member,
                                 uint32_t round);

/** The chunk that a member has in the end of halving: its place in the order that makes messages intervals. */
uint32_t ronde_butterfly_chunk(const struct ronde_butterfly *butterfly, uint32_t member);

/** First of the `width` chunks that a member keeps when halving has come to that width. */
uint32_t ronde_butterfly_kept(const struct ronde_butterfly *butterfly, uint32_t member,
                              uint32_t width);

/**
 * The round in which a member joins the tree from member 0 that the rounds make, taken from 0 on or backwards: its parent
 * is its partner there, and its subtree what the rounds after it reach. RONDE_NONE for member 0.
 */
uint32_t ronde_butterfly_joins(const struct ronde_butterfly *butterfly, uint32_t member,
                               bool is_backwards);

/**
 * First of the members, modulo their number, in the subtree of a member that joins in this round when rounds are taken
 * backwards: 2^round of them side by side. Swing on one axis only.
 */
uint32_t ronde_butterfly_subtree(uint32_t member, uint32_t round);

/**
 * Claims of swing where members own blocks, powers of two: in every round a message, N - 1 blocks in all, and one more
 * between a member and the owner of its chunk where these differ.
 */
struct ronde_algorithm_counts ronde_butterfly_counts_owned(uint32_t ranks);

/** The rounds of swing that no way from one extra of the fold to another crosses, backwards (struct ronde_fold_work). */
uint32_t ronde_butterfly_apart(const struct ronde_butterfly *butterfly);

/** Position of a member. */
uint32_t ronde_butterfly_position(const struct ronde_butterfly *butterfly, uint32_t member);

/** Chunks that a message of a round has while the block is halved: members / 2, / 4, .. 1. */
uint32_t ronde_butterfly_width(const struct ronde_butterfly *butterfly, uint32_t round);

/** Members that state facts: 0 alone where exclusive or carries its program to all. */
uint32_t ronde_butterfly_speakers(const struct ronde_butterfly *butterfly);

/** Most ranks of an order in which every rank has a program of its own, and a proof follows every chunk of each. */
#define RONDE_BUTTERFLY_MOST 4096u

/** Accepts up to so many ranks. Errors: UNSUPPORTED. */
enum ronde_status ronde_butterfly_supports(const struct ronde_compile_request *request,
                                           struct ronde_error *why_not);

/** The same for powers of two. Errors: UNSUPPORTED. */
enum ronde_status ronde_butterfly_supports_trees(const struct ronde_compile_request *request,
                                                 struct ronde_error *why_not);

#endif
