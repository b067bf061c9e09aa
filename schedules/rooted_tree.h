/** The double binary tree of broadcast and reduce: orders with the root on top of both trees. */
#ifndef RONDE_SCHEDULES_ROOTED_TREE_H
#define RONDE_SCHEDULES_ROOTED_TREE_H

#include "axes.h"
#include "binary_tree.h"

/**
 * Position of a tree that stands at position q of the second one: 0 stays, the others are mirrored (odd n) or shifted by
 * one (even n). Every position has an even number in at most one of the two, so that only the root is inside both.
 */
uint32_t ronde_rooted_second_order(uint32_t n, uint32_t q);

/** A tree below a root among the positions of a schedule. */
struct ronde_rooted_tree {
    uint32_t n;                  /**< positions */
    uint32_t first;              /**< position of the schedule that the root is; others follow */
    uint32_t first_lane;         /**< of two */
    struct ronde_operand root;   /**< what the root starts from */
    struct ronde_operand input;  /**< reduce: what the others start from */
    struct ronde_operand result; /**< reduce: the root's sum */
    struct ronde_operand output; /**< what the others receive, or their sums */
};

/** States what a position and its children do. */
typedef void ronde_tree_state_fn(const struct ronde_rooted_tree *tree, uint32_t position,
                                 struct ronde_builder *builder);

/** Calls `state` for every position that has children: parents first, or children first if `is_upwards`. */
void ronde_rooted_tree_walk(const struct ronde_rooted_tree *tree, bool is_upwards,
                            ronde_tree_state_fn *state, struct ronde_builder *builder);

/** States that the root's block goes down to all others. */
void ronde_rooted_tree_broadcast(const struct ronde_rooted_tree *tree,
                                 struct ronde_builder *builder);

/** States that the sum of all blocks comes up to the root. */
void ronde_rooted_tree_reduce(const struct ronde_rooted_tree *tree, struct ronde_builder *builder);

/** What prices of both directions start from; the root's children send or receive at the same time. */
struct ronde_rooted_terms {
    struct ronde_pieces pieces;    /**< of half a block */
    struct ronde_tree_costs costs; /**< of a piece */
    double port_ns;                /**< of a port that sends to both children of a position */
    bool is_unshared;              /**< flows to both are as fast as alone */
};

/** The terms of a load; ranks > 1. */
struct ronde_rooted_terms ronde_rooted_terms_of(const struct ronde_compile_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/** The price for a lone rank: a copy in two channels. */
struct ronde_price ronde_rooted_copy_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network);

#endif
