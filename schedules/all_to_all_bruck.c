/**
 * all_to_all, Bruck's algorithm.
 *
 * A block for the rank i places on is put into slot i of scratch. In round k every position sends
 * all slots whose number has bit k set, in one message, to the position 2^k behind it, into the
 * same slots: after ceil(log2 N) rounds every block has travelled the sum of its bits, which is i.
 * It has the fewest messages of all, and sends every block log2 N / 2 times, so it is best for
 * small blocks.
 *
 *   slot of 0      1        2        3        round 0: 1 and 3 to the next
 *     for          1        2        3        round 1: 2 and 3 to the one after it
 *     at the end   from 3   from 2   from 1
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block; w_k slots have bit k set):
 *   T = L + sum over p of 2 (N-1) s(b_p) + sum over k of 2 s(w_k b_p) + f(w_k b_p) + a
 * The first and the last term are the blocks on their way into scratch and out of it, one by one:
 * they go in in the order of destinations and come out in the opposite order of sources. The own
 * block is copied in a lane of its own, which is never the longer one. Exact for equal chunks. N =
 * 1: L + sum of s(b_p).
 *
 * Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems", IEEE Transactions on Parallel
 * and Distributed Systems 8(11), 1997, pages 1143-1156, section 3 with one port and radix 2. Their
 * first phase rotates the blocks and their last reverses them; ours do both in passing.
 */
#include "claims.h"

/** Lane of the own block, which is only copied. */
enum { ROUND_LANE, COPY_LANE };

/** Slots below n whose number has this bit set. */
static uint32_t slots_with(uint32_t n, uint32_t bit)
{
    const uint32_t rest = n % (2 * bit);
    return n / (2 * bit) * bit + (rest > bit ? rest - bit : 0);
}

/** Slot i is chunk i - 1, since there is none for the own block. */
static struct ronde_operand slot(uint32_t i)
{
    return ronde_chunks(RONDE_SCRATCH, i - 1, 1);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_rotate(builder, true, true, false);
    ronde_builder_scratch(builder, n - 1);
    for (uint32_t i = 1; i < n; i++)
        ronde_builder_copy(builder, 0, ROUND_LANE, ronde_chunks(RONDE_IN, i, 1), slot(i));
    for (uint32_t bit = 1; bit < n; bit *= 2) {
        const struct ronde_operand slots =
            ronde_chunk_runs(RONDE_SCRATCH, bit - 1, slots_with(n, bit), bit, 2 * bit);
        ronde_builder_message(builder, 0, bit, ROUND_LANE, slots, slots);
    }
    for (uint32_t i = 1; i < n; i++)
        ronde_builder_copy(builder, 0, ROUND_LANE, slot(i), ronde_chunks(RONDE_OUT, n - i, 1));
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                       ronde_chunks(RONDE_OUT, 0, 1));
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    struct ronde_lane_work work = {0};
    ronde_work_add(&work, 1, (struct ronde_lane_shape){.steps = n > 1 ? 2 * (n - 1) : 1});
    for (uint32_t bit = 1; bit < n; bit *= 2) {
        const uint32_t slots = slots_with(n, bit);
        ronde_work_add(&work, slots, (struct ronde_lane_shape){.steps = 2, .messages = 1});
        cut.widest = slots > cut.widest ? slots : cut.widest;
    }
    return ronde_work_price(load, network, cut, &work);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    /* The block for the rank i places on travels once for every bit of i. */
    uint64_t sent = 0;
    for (uint32_t i = 1; i < ranks; i++)
        for (uint32_t bits = i; bits > 0; bits &= bits - 1)
            sent++;
    return ronde_counts_rounds(ranks, ronde_log2_ceil(ranks), sent);
}

const struct ronde_algorithm ronde_algorithm_all_to_all_bruck = {
    .collective = RONDE_ALL_TO_ALL,
    .name = "bruck",
    .summary = "blocks travel in log2 N messages; best for small blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Bruck et al. 1997",
    .counts = counts_of,
    .why_more = "about half of all blocks in each of ceil(log2 N) rounds, so most blocks travel "
                "more than once",
};
