/**
 * all_reduce, hierarchical.
 *
 * Ranks are nodes x local ones. A ring inside each node reduce_scatters the block, so that every
 * local rank has a part of the node's sum; the ranks of equal local number on all nodes all_reduce
 * that part in a ring of their own; a ring inside each node gathers the parts. Only the least data
 * possible leaves a node, and all its ranks share the work. The three rings sit in three lanes, so
 * that a piece crosses the network while the next one is still in its node.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: c2 c3    1 -> 0: c0 c1    2 -> 3: c2 c3    3 -> 2: c0 c1
 *                      lane 1:   0 -> 2: c1       2 -> 0: c0       1 -> 3: c3       3 -> 1: c2
 *                                0 -> 2: c0       2 -> 0: c1       1 -> 3: c2       3 -> 1: c3
 *                      lane 2:   0 -> 1: c0 c1    1 -> 0: c2 c3    2 -> 3: c0 c1    3 -> 2: c2 c3
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(C N) of the block, rounded up
 * to 16 bytes; x = K b):
 *   T = L + t0 + t1 + t2 + (P-1) max(t0, t1, t2, port)
 *   t0 = s(x) + (q-1) (f(x) + a + r(x))                 t2 = s(x) + (q-1) (f(x) + a + s(x))
 *   t1 = s(b) + (K-1) (2 (f(b) + a) + r(b) + s(b))      port = 2 C (N-1) b / port_GBps
 * without t1 for one node, t0 and t2 for one rank a node. Exact for equal pieces where lanes do not
 * slow one another down (P = 1, or lanes slower than their share of a port); else steady state and
 * fill, an upper bound of the longest path. N = 1: L + sum of s(b_p).
 *
 * Source: M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning
 * on heterogeneous network hierarchy", SysML 2019, with rings on both levels. The three lanes are
 * ours.
 */
#include "axes.h"
#include "claims.h"
#include "hierarchy.h"

static const struct ronde_hierarchy hierarchy = {0};

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
    const uint32_t rounds = 2 * (local - 1 + nodes - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, rounds, 2 * (ranks - 1));
    counts.min_depth = local > 2 || nodes > 1 ? 2 : 1;
    return counts;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 3);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical",
    .summary = "rings inside nodes and between them, one after another, piece by piece",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_of,
    .is_exact = is_exact,
};
