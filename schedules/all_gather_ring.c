/**
 * all_gather, ring.
 *
 * Every block travels once round the ring, and each position keeps a copy as it passes. Each
 * position sends one block per step, first its own. It sends the least data possible, at the price
 * of N-1 latencies.
 *
 *   step    0 -> 1    1 -> 2    2 -> 3    3 -> 0
 *     0       b0        b1        b2        b3       each hop keeps a copy in out[b]
 *     1       b3        b0        b1        b2
 *     2       b2        b3        b0        b1
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes):
 *   T = L + sum over p of (N-1) (f(b_p) + a) + N s(b_p)
 * The own block is copied in a lane of its own, which is never the longer one. Exact for equal
 * chunks, else an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * ring algorithm of allgather. We add pieces.
 */
#include "claims.h"

/** Lane of the local copy, so that the ring does not wait for it. */
enum { RING_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_rotate(builder, false, true, false);
    for (uint32_t step = 0; step + 1 < n; step++) {
        const struct ronde_operand block = ronde_chunks(RONDE_OUT, (n - step) % n, 1);
        ronde_builder_message(builder, 0, 1, RING_LANE, step == 0 ? own : block, block);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, own, ronde_chunks(RONDE_OUT, 0, 1));
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    const struct ronde_lane_shape shape = {.steps = n, .messages = n - 1};
    return ronde_lane_price(load, network, cut, shape);
}

const struct ronde_algorithm ronde_algorithm_all_gather_ring = {
    .collective = RONDE_ALL_GATHER,
    .name = "ring",
    .summary = "every block travels once round the ring",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = ronde_counts_ring,
};
