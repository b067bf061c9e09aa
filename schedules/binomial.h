/**
 * Binomial trees over positions, and what a piece takes through them.
 *
 * The children of position p are p + d for d = 1, 2, 4, .. up to its lowest set bit (any, for 0),
 * as far as they are below n. A subtree is the positions from its top on, so that scatter and
 * gather move contiguous blocks. Where n is no power of two only the last subtree of every size is
 * cut off.
 */
#ifndef RONDE_SCHEDULES_BINOMIAL_H
#define RONDE_SCHEDULES_BINOMIAL_H

#include "closed_form.h"

/** Positions below and including a child that stands `distance` behind its parent. */
uint32_t ronde_binomial_size(uint32_t n, uint32_t child, uint32_t distance);

/** Positions of the largest subtree below the root of n; 1 for n = 1. */
uint32_t ronde_binomial_widest(uint32_t n);

/** What is moved through a tree, and the costs of moving it. */
struct ronde_binomial {
    const struct ronde_network *network;
    struct ronde_cut cut;       /**< of the request; its channels' flows share a port */
    struct ronde_pieces pieces; /**< of the load */
    bool is_weighted;           /**< a message carries the blocks of the subtree, else one block */
    bool reduces; /**< what comes up is added, and passed on by the step that adds the last of it */
};

/** The tree of a request whose blocks are not cut: scatter, gather (`is_weighted`) and reduce. */
struct ronde_binomial ronde_binomial_of(const struct ronde_compile_request *request,
                                        const struct ronde_load *load,
                                        const struct ronde_network *network, bool is_weighted);

/** ns from the root's first send until the last position has received, n positions. */
double ronde_binomial_down_ns(const struct ronde_binomial *tree, uint32_t n);

/** ns from the leaves' start until the root has received everything, n positions. */
double ronde_binomial_up_ns(const struct ronde_binomial *tree, uint32_t n);

/** ns the root's lane is busy with a piece, going down or up, n positions. */
double ronde_binomial_root_ns(const struct ronde_binomial *tree, bool is_upwards, uint32_t n);

/** ns the lane of the busiest other position is busy with a piece on its way up, n > 1. */
double ronde_binomial_inner_ns(const struct ronde_binomial *tree, uint32_t n);

/** ns of a message from a subtree of `size`: the flow, and the step unless it also adds. */
double ronde_binomial_send_ns(const struct ronde_binomial *tree, uint32_t size);

/** ns of the step that receives such a message. */
double ronde_binomial_receive_ns(const struct ronde_binomial *tree, uint32_t size);

/**
 * Whether the request's positions are its ranks in cyclic order, which blocks travelling together
 * need: they are sorted by rank. Errors: UNSUPPORTED.
 */
enum ronde_status ronde_binomial_supports(const struct ronde_compile_request *request,
                                          struct ronde_error *why_not);

/** The same for a Bine tree, whose ranks are a power of two (butterfly.h). Errors: UNSUPPORTED. */
enum ronde_status ronde_binomial_supports_bine(const struct ronde_compile_request *request,
                                               struct ronde_error *why_not);

/**
 * The blocks of `count` positions from `first` on, as chunks of a scratch with a chunk per rank.
 * The chunk of a block is numbered like its rank, so that messages are sorted alike at both ends.
 */
struct ronde_operand ronde_binomial_kept(const struct ronde_compile_request *request,
                                         uint32_t first, uint32_t count);

#endif
