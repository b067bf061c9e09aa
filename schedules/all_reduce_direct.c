/**
 * all_reduce, direct (two-step all-pairs).
 *
 * The block is cut into N chunks. Every rank sends every chunk straight to its owner, which adds up
 * what it receives; then every owner sends the sum to all. There are two latencies however many
 * ranks there are, and each port carries the least data possible, but 2(N-1) messages have to be
 * started one after another: best for middle blocks where all ranks are connected directly, as in a
 * node.
 *
 *   step 1    0 -> 1: c1    1 -> 2: c2    2 -> 3: c3    3 -> 0: c0      add
 *   step 2    0 -> 2: c2    1 -> 3: c3    2 -> 0: c0    3 -> 1: c1      add
 *   step 3    0 -> 3: c3    1 -> 0: c0    2 -> 1: c1    3 -> 2: c2      add
 *   step 4    0 -> 1: c0    1 -> 2: c1    2 -> 3: c2    3 -> 0: c3      keep
 *    ...
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C N) of the block, rounded up to 16 bytes):
 *   T = L + P (E + (N-1) (s(b) + f(b))) + a + s(b)
 *   E = a + max(s + f + (N-1) r, (N-1) (s + f) + r)        until a chunk is summed up, of b
 * and in one slot (D = 1) a piece takes at least E + s + f + a + s. Exact for equal pieces. N = 1:
 * L + sum over p of s(b_p).
 *
 * Source: Microsoft, MSCCL tools, examples/mscclang/allreduce_a100_allpairs.py, 2021 (two-step
 * all-pairs); M. Cowan, S. Maleki, M. Musuvathi, O. Saarikivi, Y. Xiong, "MSCCLang: Microsoft
 * collective communication language", ASPLOS 2023. There a thread block serves each peer; we send
 * from one lane, so that no port carries two messages.
 */
#include "all_pairs.h"
#include "axes.h"
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_axes ranks = {.count = 1,
                                     .chunk_axes = 1,
                                     .speakers = 1,
                                     .radix = {request->ranks},
                                     .scatter_lane = {RONDE_PAIRS_SEND},
                                     .gather_lane = {RONDE_PAIRS_SEND}};
    ronde_builder_chunks(builder, request->ranks);
    ronde_builder_rotate(builder, true, true, false);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, RONDE_PAIRS_COPY, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    ronde_axes_scatter_direct(&ranks, 0, RONDE_IN, builder);
    ronde_axes_gather_direct(&ranks, 0, ronde_chunks(RONDE_OUT, 0, 1), builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = n};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const double sum_ns = ronde_pairs_ns(&costs, n, costs.reduce_ns);
    const struct ronde_pipeline pipeline = {
        .first_ns = sum_ns + ronde_pairs_ns(&costs, n, costs.step_ns),
        .period_ns = sum_ns + (n - 1) * send_ns,
        .credit_ns = sum_ns + send_ns + costs.alpha_ns + costs.step_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

const struct ronde_algorithm ronde_algorithm_all_reduce_direct = {
    .collective = RONDE_ALL_REDUCE,
    .name = "direct",
    .summary = "chunks straight to their owners, sums straight to all; two latencies",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "MSCCL 2021; Cowan et al. 2023",
    .counts = ronde_counts_all_pairs_twice,
};
