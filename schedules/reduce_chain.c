/**
 * reduce, chain.
 *
 * The last position sends its block to the one before it, which adds its own and passes the sum on,
 * and so on to the root: receiving, adding and sending are one step, and no sum is ever stored on
 * the way. Cut into pieces it keeps every port busy with one message, so a long block takes little
 * more than one send. It has the most latencies of all.
 *
 *   piece 0    3 -> 2 -> 1 -> 0              each hop adds in of the receiver
 *   piece 1         3 -> 2 -> 1 -> 0         one step later
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; N > 2):
 *   T = L + s(b) + f(b) + a + (N-2) (r(b) + f(b) + a) + r(b) + (P-1) (r(b) + f(b))
 * unless D slots are too few: every D pieces take at least credit = 2 (r + f) + a, and then P - 1
 * followers take floor((P-1) / D) credit + ((P-1) mod D) (r + f). For N = 3 credit is the larger of
 * s + f + a + r + f and r + f + a + r. For N = 2: T = L + s + f + a + r + (P-1) max(s + f, r), and
 * credit = s + f + a + r. Exact for equal pieces. N = 1: L + sum over p of s(b_p).
 *
 * Source: J. Watts, R. van de Geijn, "A pipelined broadcast for multidimensional meshes", Parallel
 * Processing Letters 5(2), 1995, pages 281-292, on a line and backwards.
 */
#include "claims.h"

/*
 * Sums pass through: the builder fuses the hops, so the scratch chunk that facts need for them is
 * never touched. Only the root has an output.
 */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    const struct ronde_operand passing = ronde_chunks(RONDE_SCRATCH, 0, 1);
    ronde_builder_scratch(builder, 1);
    if (n == 1)
        ronde_builder_copy(builder, 0, 0, input, output);
    for (uint32_t position = n - 1; position > 0; position--) {
        ronde_builder_reduction(builder, position, position - 1, position == n - 1 ? input : passing,
                                input, position == 1 ? output : passing);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double last_ns = costs.step_ns + costs.flow_ns;    /* of the last position */
    const double inner_ns = costs.reduce_ns + costs.flow_ns; /* of those that pass on */
    const double alpha_ns = costs.alpha_ns;
    struct ronde_pipeline pipeline = {
        .first_ns = last_ns + alpha_ns + (n - 2) * (inner_ns + alpha_ns) + costs.reduce_ns,
        .period_ns = inner_ns,
        .credit_ns = 2 * inner_ns + alpha_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    if (n == 2)
        pipeline.period_ns = ronde_longer_ns(last_ns, costs.reduce_ns);
    if (n == 2)
        pipeline.credit_ns = last_ns + alpha_ns + costs.reduce_ns;
    if (n == 3)
        pipeline.credit_ns = inner_ns + alpha_ns + ronde_longer_ns(last_ns, costs.reduce_ns);
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, 1, ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_reduce_chain = {
    .collective = RONDE_REDUCE,
    .name = "chain",
    .summary = "each adds and passes on, piece by piece; best for the largest blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Watts, van de Geijn 1995",
    .counts = counts_of,
};
