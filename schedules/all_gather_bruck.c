/**
 * all_gather, Bruck's algorithm.
 *
 * In round i every position sends the blocks it has, its own and those that follow round the circle,
 * to the position 2^i before it, so that blocks double every round; the last round sends only what
 * is missing. It sends the least data possible in ceil(log2 N) messages, for any N.
 *
 *   round 0    0 -> 3: b0       1 -> 0: b1       2 -> 1: b2       3 -> 2: b3
 *   round 1    0 -> 2: b0 b1    1 -> 3: b1 b2    2 -> 0: b2 b3    3 -> 1: b3 b0
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block, rounded up to 16 bytes; w runs over
 * 1, 2, 4, .. and the rest, which add up to N-1: the chunks of a message):
 *   T = L + sum over p, w of 2 s(w b_p) + f(w b_p) + a
 * The own block is copied in a lane of its own, which is never the longer one. Exact for equal
 * chunks, else an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for all-to-all
 * communications in multiport message-passing systems", IEEE Transactions on Parallel and Distributed
 * Systems 8(11), 1997, pages 1143-1156, section 4 with one port. Blocks are stored where they belong
 * at once, so that the rotation at the end is not needed.
 */
#include "claims.h"

/** Lane of the local copy, so that the first round does not wait for it. */
enum { ROUND_LANE, COPY_LANE };

/** Blocks a message has when `have` of n are there. */
static uint32_t blocks_to_send(uint32_t n, uint32_t have)
{
    return have < n - have ? have : n - have;
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_operand own = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_rotate(builder, false, true, false);
    ronde_builder_copy(builder, 0, COPY_LANE, own, ronde_chunks(RONDE_OUT, 0, 1));
    for (uint32_t have = 1; have < n; have *= 2) {
        const struct ronde_operand blocks = ronde_chunks(RONDE_OUT, 0, blocks_to_send(n, have));
        ronde_builder_message(builder, 0, n - have, ROUND_LANE, have == 1 ? own : blocks, blocks);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    struct ronde_lane_work work = {0};
    if (n == 1)
        ronde_work_add(&work, 1, (struct ronde_lane_shape){.steps = 1});
    for (uint32_t have = 1; have < n; have *= 2) {
        const uint32_t blocks = blocks_to_send(n, have);
        ronde_work_add(&work, blocks, (struct ronde_lane_shape){.steps = 2, .messages = 1});
        cut.widest = blocks > cut.widest ? blocks : cut.widest;
    }
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_rounds(ranks, ronde_log2_ceil(ranks), ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_all_gather_bruck = {
    .collective = RONDE_ALL_GATHER,
    .name = "bruck",
    .summary = "blocks double every round, for any number of ranks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Bruck et al. 1997",
    .counts = counts_of,
};
