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
struct ronde_rooted_costs {
    struct ronde_tree_costs piece; /**< of a piece of half a block */
    double port_ns;                /**< of a port that sends to both children of a position */
    bool is_unshared;              /**< flows to both are as fast as alone */
};

/** The costs of a piece of so many bytes, for so many channels of a request, which have two trees each. */
struct ronde_rooted_costs ronde_rooted_costs_of(uint32_t channels, double bytes,
                                                const struct ronde_network *network);

/** ns of a piece from the root to the last of n positions, and back; n > 1. */
double ronde_rooted_down_ns(uint32_t n, const struct ronde_rooted_costs *costs);
double ronde_rooted_up_ns(uint32_t n, const struct ronde_rooted_costs *costs);

/** How two trees a channel of the request cut a load. */
struct ronde_cut ronde_rooted_cut(const struct ronde_compile_request *request);

/** The price for a lone rank: a copy in two channels. */
struct ronde_price ronde_rooted_copy_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network);

#endif
