/**
 * The fold: how algorithms for powers of two serve any number of ranks.
 *
 * Of N positions the first 2(N - M) pair up, M being the largest power of two that is not above N:
 * the even one of a pair sends its data to the odd one, its neighbour, and waits until it receives
 * the result. M members are left. Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
 * collective communication operations in MPICH", International Journal of High Performance
 * Computing Applications 19(1), 2005, pages 49-66, non-power-of-two allreduce.
 */
#ifndef RONDE_SCHEDULES_FOLD_H
#define RONDE_SCHEDULES_FOLD_H

#include "closed_form.h"

/** The positions that take part, and the others. */
struct ronde_fold {
    uint32_t members; /**< M: a power of two */
    uint32_t extras;  /**< N - M positions that only wait; extra i is position 2i, its member i is
                          2i + 1 */
};

/** The fold of so many ranks. */
struct ronde_fold ronde_fold_of(uint32_t ranks);

/** Position of a member. */
uint32_t ronde_fold_position(struct ronde_fold fold, uint32_t member);

/**
 * First block of a member where positions own blocks: a pair's two lie side by side, so that the
 * blocks of neighbouring members do. For member M the number of blocks, N.
 */
uint32_t ronde_fold_first(struct ronde_fold fold, uint32_t member);

/** The blocks of members first .. first + count - 1, as chunks of a buffer with a block per rank. */
struct ronde_operand ronde_fold_blocks(struct ronde_fold fold, enum ronde_buffer buffer,
                                       uint32_t first, uint32_t count);

/**
 * Members that state facts: all, or 0 alone where there are no extras. Partners differ in one bit,
 * so that without extras exclusive or carries one member's program to the others.
 */
uint32_t ronde_fold_speakers(struct ronde_fold fold);

/** How a block is cut that is halved to a chunk per member: an extra's message has all of them. */
struct ronde_cut ronde_fold_cut(struct ronde_fold fold, const struct ronde_compile_request *request);

/** Rounds that no way from one extra to another crosses where each changes one bit. */
uint32_t ronde_fold_apart(struct ronde_fold fold);

/** What a piece costs a member in rounds that each change one bit, and those who stand for two. */
struct ronde_fold_work {
    uint32_t apart; /**< rounds that no way from one extra to another crosses: ronde_fold_apart, or swing's */
    struct ronde_lane_work rounds;   /**< of a member alone */
    struct ronde_lane_work hand_in;  /**< what receiving an extra's data adds: a message and its
                                          receive */
    struct ronde_lane_work hand_out; /**< what sending it the result adds */
};

/**
 * The price of a fold whose rounds run both ways, N > 1 no power of two. A message has to cross every
 * round only between members that differ in all bits, of which one at least stands alone unless more
 * than half stand for two. With as many rounds `apart`, d - ceil(log2 extras) of d:
 *   both = in + rounds + out - apart a                      from an extra to an extra
 *   T <= L + max(in + rounds, rounds + out, both) + (P-1) max(both, rounds + (in + out) / 2)
 * the last term for extras whose pieces go alternately to and from members that stand alone.
 */
struct ronde_price ronde_fold_price(const struct ronde_load *load,
                                    const struct ronde_network *network, struct ronde_cut cut,
                                    const struct ronde_fold_work *work);

#endif
