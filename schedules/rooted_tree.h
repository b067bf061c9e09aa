/** The double binary tree of broadcast and reduce: orders with the root on top of both trees. */
#ifndef RONDE_SCHEDULES_ROOTED_TREE_H
#define RONDE_SCHEDULES_ROOTED_TREE_H

#include "binary_tree.h"

/**
 * Declares two channels per channel of the request: the binary tree of binary_tree.h over
 * positions, and the same tree over an order that leaves position 0 where it is and mirrors the
 * others (odd N) or shifts them by one (even N). Every position has an even number in at most one
 * of the two, so that nobody but the root is inside both trees.
 */
void ronde_rooted_trees_declare(const struct ronde_request *request, struct ronde_builder *builder);

/**
 * Calls `state` for every position that has children in the tree of n positions: parents first, or
 * children first if `is_upwards`.
 */
void ronde_rooted_tree_walk(uint32_t n, bool is_upwards, struct ronde_builder *builder,
                            void (*state)(struct ronde_builder *builder, uint32_t n,
                                          uint32_t position));

#endif
