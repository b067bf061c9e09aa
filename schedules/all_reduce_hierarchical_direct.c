/**
 * all_reduce, hierarchical, direct inside nodes.
 *
 * As all_reduce_hierarchical.c, but inside a node every rank sends every part straight to its owner,
 * and the owner the result straight to all: two latencies there, however many ranks a node has,
 * where a ring has one per rank. Between nodes rings move the least data. Good where all ranks of a
 * node are connected directly, as by a switch, and blocks are large.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: c2 c3    1 -> 0: c0 c1    2 -> 3: c2 c3    3 -> 2: c0 c1
 *                      lane 1:   ... received and added
 *                      lane 2:   0 -> 2: c1       2 -> 0: c0       1 -> 3: c3       3 -> 1: c2
 *                                0 -> 2: c0       2 -> 0: c1       1 -> 3: c2       3 -> 1: c3
 *                      lane 6:   0 -> 1: c0 c1    1 -> 0: c2 c3    2 -> 3: c0 c1    3 -> 2: c2 c3
 *                      lane 7:   ... received
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(C N) of the block, rounded up
 * to 16 bytes; x = K b):
 *   T = L + t0 + t1 + t2 + (P-1) max((q-1) (s(x) + f(x)), (q-1) r(x), t1, port)
 *   t0 = a + max(s + f + (q-1) r, (q-1) (s + f) + r) of x           port = 2 C (N-1) b / port_GBps
 *   t1 = s(b) + (K-1) (2 (f(b) + a) + r(b) + s(b))
 *   t2 = a + (q-1) (s(x) + f(x)) + s(x)
 * without t1 for one node, t0 and t2 for one rank a node. Where D slots are too few, D pieces take at
 * least s + f + a + r of x. Exact for equal pieces where lanes do not slow one another down (P = 1,
 * or lanes slower than their share of a port); else steady state and fill, see
 * ronde_stages_price, an upper bound of the
 * longest path. N = 1: L + sum of s(b_p).
 *
 * Source: M. Cho, U. Finkler, D. Kung, H. Hunter, "BlueConnect: decomposing all-reduce for deep learning
 * on heterogeneous network hierarchy", SysML 2019; all-pairs inside the node as in all_reduce_direct.c.
 */
#include "axes.h"
#include "claims.h"
#include "hierarchy.h"

static const struct ronde_hierarchy hierarchy = {.is_direct = true};

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
    const uint32_t messages = 2 * (local - 1 + nodes - 1);
    struct ronde_algorithm_counts counts = ronde_counts_rounds(ranks, messages, 2 * (ranks - 1));
    /* A direct phase is one message in a row; only the ring of nodes turns round in one step. */
    counts.critical_path = (local > 1 ? 2 : 0) + 2 * (nodes - 1);
    counts.min_depth = nodes > 1 ? 2 : 1;
    return counts;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 3);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_hierarchical_direct = {
    .collective = RONDE_ALL_REDUCE,
    .name = "hierarchical_direct",
    .summary = "all pairs inside nodes, rings between them; best where a node has a switch",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Cho, Finkler, Kung, Hunter 2019",
    .counts = counts_of,
    .is_exact = is_exact,
};
