/** NCCL's binary tree over positions 0 .. n-1, what tree and double_tree are made of. */
#ifndef RONDE_SCHEDULES_BINARY_TREE_H
#define RONDE_SCHEDULES_BINARY_TREE_H

#include "closed_form.h"

#include "ronde/double_tree.h"

/** Children of a position; the first one's subtree is full and at least as deep as the second's. */
struct ronde_tree_children {
    uint32_t count; /**< 0, 1 or 2 */
    uint32_t at[2]; /**< positions */
};

/** The children of a position in the tree of n positions. */
struct ronde_tree_children ronde_tree_children_of(uint32_t n, uint32_t position);

/** Lanes of an all_reduce up and down a tree. */
enum { RONDE_TREE_LANES = 4 };

/** A tree among the positions of a schedule, and what its positions reduce. */
struct ronde_tree {
    uint32_t n;          /**< positions of the tree */
    uint32_t first;      /**< position of the schedule that its position 0 is; others follow */
    uint32_t first_lane; /**< of RONDE_TREE_LANES */
    struct ronde_operand input;  /**< of every position */
    struct ronde_operand output; /**< sums and results; may be the input */
};

/** States the pipelined all_reduce up and down a tree; nothing for a lone position. */
void ronde_tree_state(const struct ronde_tree *tree, struct ronde_builder *builder);

/** States that of a whole request: one tree over all ranks and the only chunk; n = 1 is a copy. */
void ronde_tree_build(const struct ronde_compile_request *request, struct ronde_builder *builder);

/** Costs of a piece in a tree. */
struct ronde_tree_costs {
    struct ronde_costs alone; /**< flows that share a port with other channels only */
    double pair_ns;           /**< a flow that shares it with its sibling's */
};

/** ns from the leaves' start until the root's child has sent the sum; n > 1. */
double ronde_tree_up_ns(uint32_t n, const struct ronde_tree_costs *costs);

/** ns from a message's arrival at the root's child until the last leaf has stored it; n > 1. */
double ronde_tree_down_ns(uint32_t n, const struct ronde_tree_costs *costs);

/**
 * What up and down cost in `trees` trees (1 or 2) per channel, as a stage of a pipeline; n > 1. A
 * chunk is what one tree reduces.
 */
struct ronde_stage ronde_tree_stage(uint32_t n, uint32_t trees, uint32_t channels,
                                    const struct ronde_network *network, double bytes);

/**
 * The price of all_reduce over `trees` trees (1 or 2) per channel of the request; see
 * all_reduce_tree.c.
 */
struct ronde_price ronde_tree_price(const struct ronde_compile_request *request,
                                    const struct ronde_load *load,
                                    const struct ronde_network *network, uint32_t trees);

#endif
