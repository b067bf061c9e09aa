/**
 * all_reduce, all pairs inside nodes and between them.
 *
 * Ranks are nodes x local ones. Inside every node each rank sends each part of the block straight to its owner, which adds
 * it up; the ranks of equal local number on all nodes do the same with a chunk of that part for every node; then sums go
 * straight to all, first between nodes, then inside them. Four latencies, however many ranks there are, and the least data
 * there can be between nodes. Good where switches join all nodes; where a message costs much, there are too many.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: c2 c3    1 -> 0: c0 c1    2 -> 3: c2 c3    3 -> 2: c0 c1
 *                      lane 2:   0 -> 2: c1       2 -> 0: c0       1 -> 3: c3       3 -> 1: c2
 *                      lane 4:   0 -> 2: c0       2 -> 0: c1       1 -> 3: c2       3 -> 1: c3
 *                      lane 6:   0 -> 1: c0 c1    1 -> 0: c2 c3    2 -> 3: c0 c1    3 -> 2: c2 c3
 *                      lanes 1, 3, 5, 7: ... received
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(C N) of the block, rounded up to 16 bytes; x = K b):
 *   T = L + u(x, q) + u(b, K) + v(b, K) + v(x, q) + (P-1) max(lanes, port)         port = 2 C (N-1) b / port_GBps
 *   u(b, n) = a + max(s + f + (n-1) r, (n-1) (s + f) + r)           v(b, n) = a + (n-1) (s + f) + s
 *   lanes   = max((q-1) max(s + f, r) of x, (K-1) max(s + f, r) of b)
 * without those of n = 1. Where D slots are too few, D pieces take at least s + f + a + r. Exact for equal pieces where
 * lanes do not slow one another down; else steady state and fill, see ronde_stages_price, an upper bound of the longest
 * path. N = 1: L + sum of s(b_p).
 *
 * Source: M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning on heterogeneous
 * network hierarchy", SysML 2019, with all pairs on both levels.
 */
#include "axes.h"
#include "claims.h"

/** Axes of the grid of positions. */
enum { LOCAL, NODE };

static struct ronde_axes axes_of(const struct ronde_compile_request *request)
{
    struct ronde_axes axes = ronde_axes_of_nodes(request);
    axes.scatter_lane[LOCAL] = 0;
    axes.scatter_lane[NODE] = 2;
    axes.gather_lane[NODE] = 4;
    axes.gather_lane[LOCAL] = 6;
    return axes;
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes axes = axes_of(request);
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_chunks(builder, request->ranks);
    ronde_builder_rotate(builder, true, true, false);
    ronde_axes_declare_nodes(&axes, request, builder);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1), own);
    ronde_axes_scatter_direct(&axes, LOCAL, RONDE_IN, builder);
    ronde_axes_scatter_direct(&axes, NODE, axes.radix[LOCAL] > 1 ? RONDE_OUT : RONDE_IN, builder);
    ronde_axes_gather_direct(&axes, NODE, own, builder);
    ronde_axes_gather_direct(&axes, LOCAL, own, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_axes_pairs_price(request, load, network, true, true);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_pairs_of_nodes(ranks, 2);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 4);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_pairs = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_pairs",
    .summary = "all pairs inside nodes and between them, piece by piece; four latencies",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_of,
    .is_exact = is_exact,
};
