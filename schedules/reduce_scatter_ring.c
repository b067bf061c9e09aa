/**
 * reduce_scatter, ring.
 *
 * Block b starts at the position after its owner and travels round the ring to it, collecting every
 * contribution on the way. Each position sends one block per step and keeps nothing but the last it
 * receives. It sends the least data possible, at the price of N-1 latencies.
 *
 *   step    0 -> 1    1 -> 2    2 -> 3    3 -> 0
 *     0       b3        b0        b1        b2       each hop adds in[b] of the receiver
 *     1       b2        b3        b0        b1
 *     2       b1        b2        b3        b0       the owner: out = in[b] o message
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes):
 *   T = L + sum over p of (N-1) (f(b_p) + a) + (N-1) r(b_p) + s(b_p)
 * Exact for equal chunks, else an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * Journal of Parallel and Distributed Computing 69(2), 2009, pages 117-124,
 * first half of the all_reduce. We end at the owner instead of one position before it, as MPI and
 * NCCL define the result.
 */
#include "claims.h"

/*
 * Sums pass through: the builder fuses the hops, so the scratch chunk that facts need for them is
 * never touched. It cannot be `out`, which in place is the input block that the last hop still has
 * to add.
 */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand passing = ronde_chunks(RONDE_SCRATCH, 0, 1);
    ronde_builder_rotate(builder, true, false, false);
    if (n == 1) {
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        return;
    }
    ronde_builder_scratch(builder, 1);
    for (uint32_t step = 0; step < n - 1; step++) {
        const uint32_t block = n - 1 - step;
        ronde_builder_reduction(builder, 0, 1,
                                step == 0 ? ronde_chunks(RONDE_IN, block, 1) : passing,
                                ronde_chunks(RONDE_IN, block, 1),
                                step == n - 2 ? ronde_chunks(RONDE_OUT, 0, 1) : passing);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    const struct ronde_lane_shape shape = {.steps = 1, .reducing = n - 1, .messages = n - 1};
    return ronde_lane_price(load, network, cut, shape);
}

const struct ronde_algorithm ronde_algorithm_reduce_scatter_ring = {
    .collective = RONDE_REDUCE_SCATTER,
    .name = "ring",
    .summary = "every block travels round the ring to its owner",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Patarasuk, Yuan 2009",
    .counts = ronde_counts_ring,
};
