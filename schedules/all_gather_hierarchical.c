/**
 * all_gather, hierarchical.
 *
 * Ranks are nodes x local ones. The ranks of equal local number on all nodes gather their blocks in
 * a ring of their own; then a ring inside each node passes on these bundles. Every block enters a
 * node once, and all its ranks share the work. The two rings sit in two lanes, so that a piece goes
 * round the node while the next one crosses the network.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 2: b0       2 -> 0: b2       1 -> 3: b1       3 -> 1: b3
 *                      lane 1:   0 -> 1: b0 b2    1 -> 0: b1 b3    2 -> 3: b0 b2    3 -> 2: b1 b3
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block, rounded up to 16
 * bytes; x = K b):
 *   T = L + t0 + t1 + (P-1) max(t0, t1, port)           port = C (N-1) b / port_GBps
 *   t0 = s(b) + (K-1) (f(b) + a + s(b))                 t1 = s(x) + (q-1) (f(x) + a + s(x))
 * without t0 for one node, t1 for one rank a node. The own block is copied in a lane of its own,
 * which is never the longer one. Exact for equal pieces where lanes do not slow one another down (P
 * = 1, or lanes slower than their share of a port); else steady state and fill, see
 * ronde_stages_price, an upper bound of
 * the longest path. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane
 * communication", IEEE Cluster 2020, full-lane allgather, with rings on both levels. Overlapping
 * them piece by piece is ours.
 */
#include "axes.h"
#include "claims.h"

/** Axes of the grid of positions. */
enum { LOCAL, NODE };

/** Lanes of the rings, in the order pieces walk through them, and of the local copy. */
enum { NETWORK_LANE, NODE_LANE, COPY_LANE };

static struct ronde_axes axes_of(const struct ronde_compile_request *request)
{
    struct ronde_axes axes = ronde_axes_of_nodes(request);
    axes.gather_lane[0] = NODE_LANE;
    axes.gather_lane[1] = NETWORK_LANE;
    return axes;
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes axes = axes_of(request);
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_rotate(builder, false, true, false);
    ronde_axes_declare_nodes(&axes, request, builder);
    ronde_builder_copy(builder, 0, COPY_LANE, own, ronde_chunks(RONDE_OUT, 0, 1));
    ronde_axes_gather(&axes, own, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct ronde_axes axes = axes_of(request);
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request),
                                  .chunks = 1,
                                  .widest = axes.radix[0] > 1 ? axes.radix[1] : 1};
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_lane_work works[COPY_LANE] = {{0}};
    struct ronde_stage stages[COPY_LANE];
    ronde_axes_add_gather(&axes, 1, &works[NETWORK_LANE]);
    ronde_axes_add_gather(&axes, 0, &works[NODE_LANE]);
    if (request->ranks == 1)
        ronde_work_add(&works[NODE_LANE], 1, (struct ronde_lane_shape){.steps = 1});
    for (uint32_t i = 0; i < COPY_LANE; i++)
        stages[i] = ronde_axes_stage(&works[i], network, &pieces, cut.channels);
    return ronde_stages_price(&pieces, network, stages, COPY_LANE, false);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    struct ronde_algorithm_counts counts =
        ronde_counts_rounds(ranks, local - 1 + nodes - 1, ranks - 1);
    counts.min_depth = local > 2 || nodes > 2 ? 2 : 1;
    return counts;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 2);
}

const struct ronde_algorithm ronde_algorithm_all_gather_hierarchical = {
    .collective = RONDE_ALL_GATHER,
    .name = "hierarchical",
    .summary = "rings between nodes, then inside them, piece by piece",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Traeff, Hunold 2020",
    .counts = counts_of,
    .is_exact = is_exact,
};

/**
 * hierarchical_pairs: every block straight to all, first between nodes, then inside them.
 *
 * As hierarchical, but every rank sends its block straight to those of its local number on all other nodes, and what it
 * has of them straight to all others of its node: two latencies, however many ranks there are, and a block still enters a
 * node once. Good where switches join all nodes, and there are too many of them for rings.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 2: b0       2 -> 0: b2       1 -> 3: b1       3 -> 1: b3
 *                      lane 1:   ... received
 *                      lane 2:   0 -> 1: b0 b2    1 -> 0: b1 b3    2 -> 3: b0 b2    3 -> 2: b1 b3
 *                      lane 3:   ... received
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block, rounded up to 16 bytes; x = K b):
 *   T = L + t0 + t1 + (P-1) max((K-1) (s(b) + f(b)), (q-1) (s(x) + f(x)), port)    port = C (N-1) b / port_GBps
 *   t0 = a + (K-1) (s(b) + f(b)) + s(b)                 t1 = a + (q-1) (s(x) + f(x)) + s(x)
 * without t0 for one node, t1 for one rank a node. Where D slots are too few, D pieces take at least s + f + a + s. Exact
 * for equal pieces where lanes do not slow one another down; else steady state and fill, see ronde_stages_price, an upper
 * bound of the longest path. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane allgather, with all pairs on both levels.
 */
enum { PAIRS_NETWORK_LANE = 0, PAIRS_NODE_LANE = 2, PAIRS_COPY_LANE = 4 };

static void build_pairs(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    struct ronde_axes axes = ronde_axes_of_nodes(request);
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    axes.gather_lane[LOCAL] = PAIRS_NODE_LANE;
    axes.gather_lane[NODE] = PAIRS_NETWORK_LANE;
    ronde_builder_rotate(builder, false, true, false);
    ronde_axes_declare_nodes(&axes, request, builder);
    ronde_builder_copy(builder, 0, PAIRS_COPY_LANE, own, ronde_chunks(RONDE_OUT, 0, 1));
    ronde_axes_gather_direct(&axes, NODE, own, builder);
    ronde_axes_gather_direct(&axes, LOCAL, own, builder);
}

static struct ronde_price price_pairs(const struct ronde_compile_request *request,
                                      const struct ronde_load *load,
                                      const struct ronde_network *network)
{
    return ronde_axes_pairs_price(request, load, network, false, true);
}

static struct ronde_algorithm_counts counts_pairs(uint32_t ranks)
{
    return ronde_counts_pairs_of_nodes(ranks, 1);
}

const struct ronde_algorithm ronde_algorithm_all_gather_hierarchical_pairs = {
    .collective = RONDE_ALL_GATHER,
    .name = "hierarchical_pairs",
    .summary = "all pairs between nodes, then inside them, piece by piece; two latencies",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build_pairs,
    .price = price_pairs,
    .source = "Traeff, Hunold 2020",
    .counts = counts_pairs,
    .is_exact = is_exact,
};
