/**
 * all_reduce, double binary tree.
 *
 * Two binary trees carry half of every block each, so that a busy inner node of one is a leaf of
 * the other. The second tree is the first one under another order of the ranks: mirrored for even
 * N, shifted by one for odd N. It keeps the tree's logarithmic latency and uses nearly all of every
 * port.
 *
 *     tree 1: 0        tree 2: 3        first half of the block in tree 1, second in tree 2:
 *             |                |        rank 2 is inner in tree 1 only, rank 1 in tree 2 only
 *             2                1
 *            / \              / \
 *           1   3            2   0
 *
 * Price: that of all_reduce_tree.c with b a piece of a chunk of 1/(2C) of the block, and
 *   period = max(r + f, 4 C b / port_GBps)
 * the busiest port carrying two children up and the parent down in one tree and the parent down in
 * the other; for N = 2 (3) two (three) messages. Exact and approximate as there; two trees of N = 2
 * or 3 share ports in several pieces.
 *
 * Source: P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast, reduction
 * and scan", Parallel Computing 35(12), 2009, pages 581-594;
 * S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical blog,
 * 2019 (mirror and shift). The paper colours edges so that ports never collide; like NCCL we leave
 * that to the slots.
 */
#include "axes.h"
#include "binary_tree.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes alone = {.radix = {1, request->ranks}};
    ronde_axes_declare_trees(&alone, request, ronde_tree_second_order, builder);
    ronde_tree_build(request, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_tree_price(request, load, network, 2);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->ranks <= 3 && load->pieces == 1 ? 1 : 4);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_double_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "double_tree",
    .summary = "two binary trees with disjoint inner ranks, half of the block each",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Sanders, Speck, Traeff 2009; NCCL 2.4, 2019",
    .counts = ronde_counts_binary_tree,
    .is_exact = is_exact,
    .why_more = "each rank is an inner rank of one tree, for half of the block (3/2), and a leaf "
                "of the other (1/2): 2 blocks. The least, 2 (N-1)/N, comes as close as 2/N to "
                "that; 2 is what its authors claim",
};
