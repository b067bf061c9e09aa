/**
 * all_reduce, hierarchical, double binary trees between nodes.
 *
 * As all_reduce_hierarchical.c, but the ranks of equal local number reduce their part over two binary
 * trees of the nodes, half of it each: the latency between nodes grows with their logarithm instead
 * of their number, which wins on many nodes. Each tree is a channel, under an order in which the
 * nodes inside one are leaves of the other. Up and down sit in lanes of their own.
 *
 *   nodes (0 1) (2 3), half 1, lane 0:    0 -> 1: c1    1 -> 0: c0    2 -> 3: c1    3 -> 2: c0
 *                              lane 2:    2 -> 0: c0    3 -> 1: c1          up
 *                                         0 -> 2: c0    1 -> 3: c1          down
 *                              lane 6:    0 -> 1: c0    1 -> 0: c1    2 -> 3: c0    3 -> 2: c1
 *                      half 2: the same with nodes (2 3) (0 1)
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(2 C q) of the block, rounded up
 * to 16 bytes):
 *   T = L + t0 + t1 + t2 + (P-1) max(t0, t2, r + f, port)
 *   t0 = s + (q-1) (f + a + r)                          t2 = s + (q-1) (f + a + s)
 *   t1 = `first` of all_reduce_tree.c for K ranks       port = C (4 (q-1) + min(K, 4)) b / port_GBps
 * without t0 and t2 for one rank a node; the ring of all_reduce_hierarchical.c for one node, whose
 * chunks are 1/(C q). Where D slots are too few, D pieces take at least 2 (r + f) + a (s + f + a + r
 * + f for K = 2). Exact for equal pieces where flows do not slow one another down; else steady state
 * and fill, see ronde_stages_price. N = 1: L + sum of s(b_p).
 *
 * Source: S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical
 * blog, 2019 (trees between nodes, a chain inside); P. Sanders, J. Speck, J. L. Traeff, "Two-tree
 * algorithms for full bandwidth broadcast, reduction and scan", Parallel Computing 35(12), 2009, pages
 * 581-594. NCCL's chain ends at one rank per channel; here every rank has a rail, as in a full-lane
 * algorithm (J. L. Traeff, S. Hunold, IEEE Cluster 2020).
 */
#include "axes.h"
#include "claims.h"
#include "hierarchy.h"

static const struct ronde_hierarchy hierarchy = {.has_trees = true};

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    ronde_hierarchy_build(hierarchy, request, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_hierarchy_price(hierarchy, request, load, network);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), in_a_row = 2 * (local - 1);
    struct ronde_algorithm_counts counts = local == ranks
                                               ? ronde_counts_ring(ranks, in_a_row)
                                               : ronde_hierarchy_tree_counts(ranks, in_a_row);
    counts.min_depth = local > 2 ? 2 : 1;
    return counts;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 6);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_tree",
    .summary = "rings inside nodes, double binary trees between them; best for many nodes",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "NCCL 2.4, 2019; Sanders, Speck, Traeff 2009",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "up to two nodes the least. Of a node's parts, each 1/q of the block for q ranks a "
                "node, a rank sends 2 between nodes as in `double_tree` instead of 2 (K-1)/K for K "
                "nodes, in exchange for a path of 2 ceil(log2 K) between them instead of 2 (K-1)",
};
