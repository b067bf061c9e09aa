/**
 * all_reduce, ring.
 *
 * The block is cut into N chunks. In N-1 steps every chunk travels once round the ring and collects
 * all contributions; in N-1 more it travels round again and each position keeps the sum. All ports
 * are busy all the time, so it is the best there is for large blocks, at the price of 2(N-1)
 * latencies.
 *
 *   step    0 -> 1    1 -> 2    2 -> 3    3 -> 0
 *     0       c0        c1        c2        c3       each hop adds in[c] of the receiver
 *     1       c3        c0        c1        c2
 *     2       c2        c3        c0        c1       p+1 now has the sum of the chunk p sent
 *     3       c1        c2        c3        c0       each hop keeps a copy
 *    ...
 *
 * Price (symbols in closed_form.h; a chunk is 1/(C N) of the block, rounded up to 16 bytes):
 *   T = L + sum over p of 2(N-1) (f(b_p) + a) + (N-1) r(b_p) + N s(b_p)
 * One lane does everything, so pieces do not overlap. Exact for equal chunks, else an upper bound.
 *
 * Source: P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
 * Journal of Parallel and Distributed Computing 69(2), 2009, pages 117-124, whose
 * ring it is. We add pieces, and count the reduction, r - s, apart from the message.
 */
#include "claims.h"

/*
 * Which chunk goes at which step is the same for all but for the shift: one program serves all positions.
 */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_chunks(builder, n);
    ronde_builder_rotate(builder, true, true, false);
    if (n == 1) {
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
        return;
    }
    for (uint32_t step = 0; step < 2 * (n - 1); step++) {
        const uint32_t chunk = (2 * n - step) % n;
        const enum ronde_buffer from = step == 0 ? RONDE_IN : RONDE_OUT;
        const struct ronde_transfer hop = {
            .from = 0,
            .to = 1,
            .source = ronde_chunks(from, chunk, 1),
            .with = ronde_chunks(RONDE_IN, chunk, 1),
            .target = ronde_chunks(RONDE_OUT, chunk, 1),
            .reduces = step < n - 1,
        };
        ronde_builder_transfer(builder, &hop);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = n};
    const struct ronde_lane_shape shape = {.steps = n, .reducing = n - 1, .messages = 2 * (n - 1)};
    return ronde_lane_price(load, network, cut, shape);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_passes(ranks, 2 * (ranks - 1));
}

const struct ronde_algorithm ronde_algorithm_all_reduce_ring = {
    .collective = RONDE_ALL_REDUCE,
    .name = "ring",
    .summary = "every chunk travels twice round the ring; best for large blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Patarasuk, Yuan 2009",
    .counts = counts_of,
};
