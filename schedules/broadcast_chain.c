/**
 * broadcast, chain.
 *
 * Every position receives from the one before it and passes on to the one behind it in the same
 * step. Cut into pieces, the block flows through the chain like water through a pipe: no port sends
 * or receives anything twice, so a long block takes little more than one send. It has the most
 * latencies of all.
 *
 *   piece 0    0 -> 1 -> 2 -> 3
 *   piece 1         0 -> 1 -> 2 -> 3         one step later
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block):
 *   T = L + (N-1) (s(b) + f(b) + a) + s(b) + (P-1) (s(b) + f(b))
 * unless D slots are too few: every D pieces take at least credit = 2 (s + f) + a (s + f + a + s
 * for N = 2), and then P - 1 followers take floor((P-1) / D) credit + ((P-1) mod D) (s + f). Exact
 * for equal pieces, since no port ever carries two messages. N = 1: L + sum over p of s(b_p).
 *
 * Source: J. Watts, R. van de Geijn, "A pipelined broadcast for multidimensional meshes", Parallel
 * Processing Letters 5(2), 1995, pages 281-292, on a line. We count slots too.
 */
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { CHAIN_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t position = 0; position + 1 < request->ranks; position++) {
        ronde_builder_message(builder, position, position + 1, CHAIN_LANE,
                              position == 0 ? input : output, output);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, input, output);
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
    const double send_ns = costs.step_ns + costs.flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = (n - 1) * (send_ns + costs.alpha_ns) + costs.step_ns,
        .period_ns = send_ns,
        .credit_ns = send_ns + costs.alpha_ns + (n > 2 ? send_ns : costs.step_ns),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, 1, ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_broadcast_chain = {
    .collective = RONDE_BROADCAST,
    .name = "chain",
    .summary = "each passes on to the next, piece by piece; best for the largest blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Watts, van de Geijn 1995",
    .counts = counts_of,
};
