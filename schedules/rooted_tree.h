/** The double binary tree of broadcast and reduce: orders with the root on top of both trees. */
#ifndef RONDE_SCHEDULES_ROOTED_TREE_H
#define RONDE_SCHEDULES_ROOTED_TREE_H

#include "binary_tree.h"

/**
 * Declares two channels per channel of the request: the binary tree of binary_tree.h over
 * positions, and the same tree over an order that leaves position 0 where it is and mirrors the
 * others (odd N) or shifts them by one (even N). Every position has an even number in at most one
 * of the two, so that only the root is inside both trees.
 */
void ronde_rooted_trees_declare(const struct ronde_compile_request *request,
                                struct ronde_builder *builder);

/**
 * Calls `state` for every position that has children in the tree of n positions: parents first, or
 * children first if `is_upwards`.
 */
void ronde_rooted_tree_walk(uint32_t n, bool is_upwards, struct ronde_builder *builder,
                            void (*state)(struct ronde_builder *builder, uint32_t n,
                                          uint32_t position));

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
