/**
 * all_to_all, pairwise.
 *
 * In round k every position sends its block for the position k behind it and receives the one from
 * the position k before it. A round is a shift of all ranks, so that no port ever carries two
 * messages, and a rank has one partner at a time. It sends the least data possible in N-1
 * latencies.
 *
 *   round 1    0 -> 1 -> 2 -> 3 -> 0
 *   round 2    0 -> 2 -> 0    1 -> 3 -> 1
 *   round 3    0 -> 3 -> 2 -> 1 -> 0
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block):
 *   T = L + sum over p of (N-1) (2 s(b_p) + f(b_p) + a)
 * The own block is copied in a lane of its own, which is never the longer one. Exact for equal
 * chunks. N = 1: L + sum of s(b_p).
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, section 4.3, pairwise exchange for long messages.
 */
#include "claims.h"

/** Lane of the local copy, so that the rounds do not wait for it. */
enum { ROUND_LANE, COPY_LANE };

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_operand own = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_rotate(builder, true, true, false);
    for (uint32_t offset = 1; offset < request->ranks; offset++) {
        const struct ronde_transfer transfer = {
            .from = 0,
            .to = offset,
            .from_lane = ROUND_LANE,
            .to_lane = ROUND_LANE,
            .source = ronde_chunks(RONDE_IN, offset, 1),
            .target = own, /* block 0 of the receiver: that of position 0 */
        };
        ronde_builder_transfer(builder, &transfer);
    }
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1), own);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    const struct ronde_lane_shape shape = {.steps = n > 1 ? 2 * (n - 1) : 1, .messages = n - 1};
    return ronde_lane_price(load, network, cut, shape);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_rounds(ranks, ranks - 1, ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_all_to_all_pairwise = {
    .collective = RONDE_ALL_TO_ALL,
    .name = "pairwise",
    .summary = "N-1 shifts, one partner at a time; best for large blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
};
