/**
 * broadcast, double binary tree.
 *
 * Two binary trees below the root carry half of the block each, so that a busy inner node of one is
 * a leaf of the other. An inner position passes on to its first child as it receives, and sends to
 * the second in a lane of its own. Latency grows with log2 N and every port sends the block once,
 * so it is good from middle sizes on.
 *
 *     tree 1: 0        tree 2: 0        first half of the block in tree 1, second in tree 2:
 *             |                |        rank 2 is inner in tree 1 only, rank 3 in tree 2 only
 *             2                3
 *            / \              / \
 *           1   3            2   1
 *
 * Price (symbols in closed_form.h; b a piece of a chunk of 1/(2C) of the block; k =
 * floor(log2(N-1)) levels below the root's child):
 *   T = L + first(b) + (P-1) period(b)
 *   first  = s + f2 + a + k (2 (s + f) + a) + s    the root's flows share a port: f2 = b / min(lane,
 *                                                  port / 2C); always the second child
 *   period = max(s + f, 2 C b / port_GBps)         a lane, or a port that serves two children
 * for full trees; where the right edge is cut off the longest chain counts, as in
 * all_reduce_tree.c. Where D slots are too few, D pieces take at least 2 (s + f) + a (s + f + a + s
 * for N = 2). Exact where flows do not slow one another down, else steady state and fill.
 *
 * Source: P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35(12), 2009, pages 581-594. The paper colours edges so
 * that ports never collide; like NCCL we leave that to the slots.
 */
#include "claims.h"
#include "rooted_tree.h"

/** Lane of the root's local copy; inner positions have a lane per child. */
enum { FIRST_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes alone = {.radix = {1, request->ranks}};
    const struct ronde_rooted_tree tree = {
        .n = request->ranks,
        .first_lane = FIRST_LANE,
        .root = ronde_chunks(RONDE_IN, 0, 1),
        .output = ronde_chunks(RONDE_OUT, 0, 1),
    };
    ronde_axes_declare_trees(&alone, request, ronde_rooted_second_order, builder);
    ronde_rooted_tree_broadcast(&tree, builder);
    ronde_builder_copy(builder, 0, COPY_LANE, tree.root, tree.output);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    if (n == 1)
        return ronde_rooted_copy_price(request, load, network);
    const struct ronde_pieces pieces = ronde_cut_load(load, ronde_rooted_cut(request));
    const struct ronde_rooted_costs costs =
        ronde_rooted_costs_of(ronde_compile_request_channels(request), pieces.bytes, network);
    const struct ronde_costs *alone = &costs.piece.alone;
    const double step_ns = alone->step_ns;
    const double alpha_ns = alone->alpha_ns;
    const double send_ns = step_ns + alone->flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_rooted_down_ns(n, &costs),
        .period_ns = send_ns > costs.port_ns ? send_ns : costs.port_ns,
        .credit_ns = send_ns + alpha_ns + (n > 2 ? send_ns : step_ns),
        .is_unshared = costs.is_unshared,
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, ranks > 3 ? 2 : 1, ronde_log2_ceil(ranks));
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 4);
}

const struct ronde_algorithm ronde_algorithm_broadcast_double_tree = {
    .collective = RONDE_BROADCAST,
    .name = "double_tree",
    .summary = "two binary trees with disjoint inner ranks, half of the block each",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Sanders, Speck, Traeff 2009",
    .counts = counts_of,
    .is_exact = is_exact,
};
