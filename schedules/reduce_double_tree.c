/**
 * reduce, double binary tree.
 *
 * Sums of half of the block each flow up two binary trees to the root, so that a busy inner node of
 * one is a leaf of the other. An inner position receives from its first child in one lane, its
 * second in another, which passes the sum on as it adds. Latency grows with log2 N and every port
 * receives the block once, so it is good from middle sizes on.
 *
 *     tree 1: 0        tree 2: 0        first half of the block in tree 1, second in tree 2:
 *             |                |        rank 2 is inner in tree 1 only, rank 3 in tree 2 only
 *             2                3
 *            / \              / \       rank 2:  rrc (from 1) | rrs (from 3, to 0)
 *           1   3            2   1
 *
 * Price (symbols in closed_form.h; b a piece of a chunk of 1/(2C) of the block; k =
 * floor(log2(N-1)) levels below the root's child):
 *   T = L + first(b) + (P-1) period(b)
 *   first  = s + k (f2 + a + 2 r) + f2 + a + r     siblings share a port, and the root's children do:
 *                                                  f2 = b / min(lane, port / 2C)
 *   period = max(r + f, 2 C b / port_GBps)         the slowest lane, or a port with two children;
 *                                                  for N = 2 the lane is max(s + f, r)
 * for full trees; an only child costs f + a + r instead of f2 + a + 2 r. Where D slots are too few,
 * D pieces take at least credit: a send, a, and the step that receives. Exact where flows do not
 * slow one another down, else steady state and fill.
 *
 * Source: P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35(12), 2009, pages 581-594.
 */
#include "claims.h"
#include "rooted_tree.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes alone = {.radix = {1, request->ranks}};
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    /* Only the root has an output. */
    const struct ronde_rooted_tree tree = {
        .n = request->ranks,
        .root = input,
        .input = input,
        .result = ronde_chunks(RONDE_OUT, 0, 1),
        .output = ronde_chunks(RONDE_SCRATCH, 0, 1),
    };
    ronde_axes_declare_trees(&alone, request, ronde_rooted_second_order, builder);
    ronde_builder_scratch(builder, 1);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, tree.root, tree.result);
    ronde_rooted_tree_reduce(&tree, builder);
}

/** From the start of a send until its slot is free again, where that takes longest. */
static double credit_ns(uint32_t n, const struct ronde_costs *costs)
{
    const double leaf_ns = costs->step_ns + costs->flow_ns;
    const double inner_ns = costs->reduce_ns + costs->flow_ns;
    /* Inner positions whose last child is an inner one, too, as in trees of 5, 7, 8 and more. */
    const bool has_inner_last_child = n == 5 || n > 6;
    if (n == 2)
        return leaf_ns + costs->alpha_ns + costs->reduce_ns;
    if (has_inner_last_child)
        return inner_ns + costs->alpha_ns + inner_ns;
    return inner_ns + costs->alpha_ns + ronde_longer_ns(leaf_ns, costs->reduce_ns);
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
    const double reduce_ns = alone->reduce_ns;
    const double lane_ns = n == 2 ? ronde_longer_ns(alone->step_ns + alone->flow_ns, reduce_ns)
                                  : reduce_ns + alone->flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_rooted_up_ns(n, &costs),
        .period_ns = ronde_longer_ns(lane_ns, costs.port_ns),
        .credit_ns = credit_ns(n, alone),
        .is_unshared = costs.is_unshared,
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, 1, ronde_log2_ceil(ranks));
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 4);
}

const struct ronde_algorithm ronde_algorithm_reduce_double_tree = {
    .collective = RONDE_REDUCE,
    .name = "double_tree",
    .summary = "two binary trees with disjoint inner ranks, half of the block each",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Sanders, Speck, Traeff 2009",
    .counts = counts_of,
    .is_exact = is_exact,
};
