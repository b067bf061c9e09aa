/**
 * reduce_scatter, all pairs inside nodes and between them.
 *
 * Ranks are nodes x local ones. Inside every node each rank sends the blocks of all ranks of a local number straight to the
 * rank of that number, which adds them; then the ranks of equal local number on all nodes send one another's blocks straight
 * to their owners. Two latencies, however many ranks there are; a block leaves a node once, and all its ranks share the work.
 * Good where switches join all nodes.
 *
 *   nodes (0 1) (2 3), lane 0:   0 -> 1: b1 b3    1 -> 0: b0 b2    2 -> 3: b1 b3    3 -> 2: b0 b2
 *                      lane 1:   ... received and added
 *                      lane 2:   0 -> 2: b2       2 -> 0: b0       1 -> 3: b3       3 -> 1: b1
 *                      lane 3:   ... received and added
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block, rounded up to 16 bytes; x = K b):
 *   T = L + t0(x, q) + t0(b, K) + (P-1) max((q-1) max(s + f, r) of x, (K-1) max(s + f, r) of b, port)
 *   t0(b, n) = a + max(s + f + (n-1) r, (n-1) (s + f) + r)           port = C (N-1) b / port_GBps
 * without the first for one rank a node, the second for one node. Where D slots are too few, D pieces take at least s + f +
 * a + r. Exact for equal pieces where lanes do not slow one another down; else steady state and fill, see
 * ronde_stages_price, an upper bound of the longest path. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane reduce_scatter, with all pairs on both levels.
 */
#include "axes.h"
#include "claims.h"

/** Axes of the grid of positions. */
enum { LOCAL, NODE };

/** Lanes, in the order pieces walk through them; each has the next to receive in. */
enum { NODE_LANE = 0, NETWORK_LANE = 2 };

/**
 * Messages are sorted by rank at both ends, and sums by position: an order must not turn two nodes for any local number,
 * whose blocks lie in scratch together.
 */
static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    RONDE_TRY(ronde_axes_supports_nodes(request, why_not));
    const uint32_t local = ronde_axes_of_nodes(request).radix[LOCAL];
    const uint32_t *order = local > 1 ? request->order : NULL;
    for (uint32_t q = local; order && q < request->ranks; q++)
        if (order[q] < order[q - local])
            return ronde_fail(why_not, RONDE_UNSUPPORTED,
                              "hierarchical_pairs sorts blocks by rank: rank %u at position %u of "
                              "the order is below %u, of its local number on the node before",
                              order[q], q, order[q - local]);
    return RONDE_OK;
}

/** One axis straight to the owners of bundles: from the user's input or sums of the other axis to sums or the output. */
static void add_along(const struct ronde_axes *axes, uint32_t axis, struct ronde_builder *builder)
{
    const bool is_first = axis == LOCAL || axes->radix[LOCAL] == 1;
    const bool is_last = axis == NODE || axes->radix[NODE] == 1;
    const uint32_t bundle = ronde_axes_bundle(axes, axis);
    const uint32_t lane = axis == LOCAL ? NODE_LANE : NETWORK_LANE;
    for (uint32_t digit = 1; digit < axes->radix[axis]; digit++) {
        const struct ronde_operand source =
            ronde_chunks(is_first ? RONDE_IN : RONDE_SCRATCH, digit * bundle, bundle);
        const struct ronde_operand sum = is_last
                                             ? ronde_chunks(RONDE_OUT, 0, 1)
                                             : ronde_chunks(RONDE_SCRATCH, digit * bundle, bundle);
        const struct ronde_transfer message = {
            .from = 0,
            .to = digit * (axis == LOCAL ? axes->radix[NODE] : 1),
            .from_lane = lane,
            .to_lane = lane + 1,
            .source = source,
            .with = digit == 1 ? source : sum,
            .target = sum,
            .reduces = true,
        };
        ronde_builder_transfer(builder, &message);
    }
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    const bool has_sums = axes.radix[LOCAL] > 1 && axes.radix[NODE] > 1;
    if (has_sums)
        ronde_builder_scratch(builder, request->ranks);
    ronde_builder_rotate(builder, true, false, has_sums);
    ronde_axes_declare_nodes(&axes, request, builder);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    add_along(&axes, LOCAL, builder);
    add_along(&axes, NODE, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return ronde_axes_pairs_price(request, load, network, true, false);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_pairs_of_nodes(ranks, 1);
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->pieces == 1 ? 1 : 2);
}

const struct ronde_algorithm ronde_algorithm_reduce_scatter_hierarchical_pairs = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "hierarchical_pairs",
    .summary = "all pairs inside nodes, then between them, piece by piece; two latencies",
    .supports = supports,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Traeff, Hunold 2020",
    .counts = counts_of,
    .is_exact = is_exact,
};
