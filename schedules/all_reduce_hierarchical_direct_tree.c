/**
 * all_reduce, hierarchical, direct inside nodes and double binary trees between them.
 *
 * Inside a node every rank sends every part straight to its owner, and the owner the result
 * straight to all, as in all_reduce_hierarchical_direct.c; between nodes two binary trees reduce
 * half of a part each, as in all_reduce_hierarchical_tree.c. Two latencies inside and 2 ceil(log2
 * K) between K nodes are the fewest of the hierarchical forms: good for small and middle blocks on
 * many nodes.
 *
 *   nodes (0 1) (2 3), half 1, lane 0:    0 -> 1: c1    1 -> 0: c0    2 -> 3: c1    3 -> 2: c0
 *                              lane 1:    ... received and added
 *                              lane 2:    2 -> 0: c0    3 -> 1: c1          up
 *                                         0 -> 2: c0    1 -> 3: c1          down
 *                              lane 6:    0 -> 1: c0    1 -> 0: c1    2 -> 3: c0    3 -> 2: c1
 *                              lane 7:    ... received
 *                      half 2: the same with nodes (2 3) (0 1)
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(2 C q) of the block, rounded up
 * to 16 bytes):
 *   T = L + t0 + t1 + t2 + (P-1) max((q-1) (s + f), (q-1) r, r + f, port)
 *   t0 = a + max(s + f + (q-1) r, (q-1) (s + f) + r)    t2 = a + (q-1) (s + f) + s
 *   t1 = `first` of all_reduce_tree.c for K ranks       port = C (4 (q-1) + min(K, 4)) b / port_GBps
 * without t0 and t2 for one rank a node; all_reduce_direct.c's two phases in chunks of 1/(C q) for one
 * node. Where D slots are too few, D pieces take at least 2 (r + f) + a (s + f + a + r + f for K =
 * 2). Exact for equal pieces where flows do not slow one another down; else steady state and fill,
 * see ronde_stages_price.
 * N = 1: L + sum of s(b_p).
 *
 * Source: S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical
 * blog, 2019 (trees between nodes); M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing
 * all-reduce for deep learning on heterogeneous network hierarchy", SysML 2019 (levels); all-pairs
 * inside the node as in all_reduce_direct.c.
 */
#include "axes.h"
#include "claims.h"
#include "hierarchy.h"

static const struct ronde_hierarchy hierarchy = {.is_direct = true, .has_trees = true};

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
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return nodes == 1 ? ronde_counts_all_pairs(ranks, 2)
                      : ronde_hierarchy_tree_counts(ranks, local > 1 ? 2 : 0);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 6);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_direct_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_direct_tree",
    .summary = "all pairs inside nodes, double binary trees between them; fewest latencies",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "NCCL 2.4, 2019; Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "up to two nodes the least. Of a node's parts, each 1/q of the block for q ranks a "
                "node, a rank sends 2 between nodes as in `double_tree` instead of 2 (K-1)/K for K "
                "nodes, in exchange for a path of 2 ceil(log2 K) between them instead of 2 (K-1)",
};
