/**
 * broadcast, binomial tree.
 *
 * The root sends the whole block to the position half the ranks away, then both serve the half they
 * stand in, and so on: the number of ranks that have the data doubles every round. A position sends
 * to its farthest child first, since that one has the most to pass on. Few messages and few
 * latencies make it good for small blocks.
 *
 *   round 0    0 -------> 2
 *   round 1    0 -> 1     2 -> 3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; d = ceil(log2 N), h = floor(log2
 * N)):
 *   T = L + d (s(b) + f(b)) + h a + s(b) + (P-1) d (s(b) + f(b))
 * The longest chain makes d sends, one after another in the root or one after another down the
 * tree, and crosses h latencies, fewer than d where the last round is not full. The root's d sends
 * of every piece set the pace, unless D slots are too few: every D pieces take at least credit = 2
 * (s + f) + a (s + f + a + s for N < 4), and then
 *   T = L + d (s + f) + h a + s + floor((P-1) / D) credit + ((P-1) mod D) d (s + f)
 * Exact for equal pieces, since no port ever carries two messages. N = 1: L + sum over p of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * binomial tree of broadcast. We add pieces and count latencies apart from sends.
 */
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { TREE_LANE, COPY_LANE };

/** The root sends its input, all others what they received. */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t distance = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0; distance > 0; distance /= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance) {
            const struct ronde_transfer transfer = {
                .from = parent,
                .to = parent + distance,
                .from_lane = TREE_LANE,
                .to_lane = TREE_LANE,
                .source = parent == 0 ? input : output,
                .target = output,
            };
            ronde_builder_transfer(builder, &transfer);
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
    const double root_ns = ronde_log2_ceil(n) * send_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = root_ns + ronde_log2_floor(n) * costs.alpha_ns + costs.step_ns,
        .period_ns = root_ns,
        .credit_ns = send_ns + costs.alpha_ns + (n > 3 ? send_ns : costs.step_ns),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, ronde_log2_ceil(ranks), ronde_log2_floor(ranks));
}

const struct ronde_algorithm ronde_algorithm_broadcast_binomial = {
    .collective = RONDE_BROADCAST,
    .name = "binomial",
    .summary = "the ranks that have the data double every round; best for small blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .why_more = "the root sends the whole block once per round",
};
