/** NCCL's double binary tree: who is above whom among positions 0 .. n-1, of either tree. */
#ifndef RONDE_DOUBLE_TREE_H
#define RONDE_DOUBLE_TREE_H

#include "ronde/status.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The parent of a position other than 0. Source: NVIDIA/nccl, src/graph/trees.cc (ncclGetBtree), 2.30. */
RONDE_API uint32_t ronde_tree_parent_of(uint32_t n, uint32_t position);

/**
 * Position of a tree of n at position q of the second tree, whose inner positions are the leaves of
 * it (ncclGetDtree: mirrored, or shifted where n is odd).
 */
RONDE_API uint32_t ronde_tree_second_order(uint32_t n, uint32_t q);

#ifdef __cplusplus
}
#endif
#endif
