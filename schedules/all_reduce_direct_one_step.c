/**
 * all_reduce, direct in one step (all-pairs).
 *
 * Every rank sends its whole block to all others and adds up all N blocks itself. There is one
 * latency only, at N-1 times the data, so it is for the smallest blocks. All ranks add in the same
 * way, so that all get the same bits:
 *   - N a power of two: as the leaves of a balanced tree. Position p takes the blocks of p, p^1,
 *     p^2, .. as leaves 0, 1, 2, .., which is the same tree for all but for the order of the two
 *     sides of a sum. Sums are formed as soon as both sides are there.
 *   - other N: from rank 0 up. A tree that looks the same from N leaves has N = 2^k of them, so here
 *     every position has a program of its own.
 *
 *   step 1    0 -> 1    1 -> 0    2 -> 3    3 -> 2      0: (b0 + b1)    2: (b2 + b3)
 *   step 2    0 -> 2    1 -> 3    2 -> 0    3 -> 1
 *   step 3    0 -> 3    1 -> 2    2 -> 1    3 -> 0      0: (b0 + b1) + (b2 + b3)
 *                                                       2: (b2 + b3) + (b0 + b1)
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block, rounded up to 16 bytes):
 *   T = L + first + (P-1) max((N-1) (s + f), work)                                       of b
 *   power of two:  first = a + max over k of k (s + f) + work from the k-th message on
 *                  work  = (N-1) r + (N/2 - 1) s       every second message waits for its sibling
 *   other N:       first = a + (N-1) (s + f) + work               position N-1, whose sum begins with
 *                  work  = 2 s + (N-1) r                          the message that comes last
 * Where D slots are too few, D pieces take at least s + f + a + r for a power of two, else (N-1) (s +
 * f) + a + work, and a lane's work is added. Exact for equal pieces where they are not, else
 * an upper bound. N = 1: L + sum over p of s(b_p).
 *
 * Source: Microsoft, MSCCL tools, examples/mscclang/allreduce_1step.py, 2021; A. Shah et al.,
 * "MSCCL++: rethinking GPU communication abstractions for cutting-edge AI applications",
 * arXiv:2504.09014, 2025 (one-phase all-pairs). The tree over exclusive or is ours.
 */
#include "all_pairs.h"
#include "claims.h"

/** Most ranks where each needs a program of its own, of two steps a rank. */
#define MOST_UNEVEN_RANKS 1024u

static bool is_power_of_two(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static enum ronde_status supports(const struct ronde_compile_request *request,
                                  struct ronde_error *why_not)
{
    const uint32_t n = request->ranks;
    if (!is_power_of_two(n) && n > MOST_UNEVEN_RANKS)
        return ronde_fail(why_not, RONDE_UNSUPPORTED,
                          "direct_one_step needs a program for each of %u ranks, more than %u", n,
                          MOST_UNEVEN_RANKS);
    return RONDE_OK;
}

/** Trailing ones of a leaf's number: the sums that it completes. */
static uint32_t sums_completed_by(uint32_t leaf)
{
    uint32_t sums = 0;
    for (; leaf % 2 == 1; leaf /= 2)
        sums++;
    return sums;
}

/*
 * Scratch chunk l keeps a sum of 2^l leaves until its sibling is there. The last leaf completes
 * everything, in the output; in place that is the input, which has been read by then.
 */
static void take_leaf(uint32_t leaf, uint32_t leaves, struct ronde_builder *builder)
{
    const uint32_t sums = sums_completed_by(leaf);
    struct ronde_transfer message = ronde_pairs_message(leaf);
    message.source = ronde_chunks(RONDE_IN, 0, 1);
    message.with = ronde_chunks(leaf == 1 ? RONDE_IN : RONDE_SCRATCH, 0, 1);
    message.target =
        leaf + 1 == leaves ? ronde_chunks(RONDE_OUT, 0, 1) : ronde_chunks(RONDE_SCRATCH, sums, 1);
    message.reduces = sums > 0;
    ronde_builder_transfer(builder, &message);
    for (uint32_t level = 1; level < sums; level++)
        ronde_builder_reduce(builder, 0, RONDE_PAIRS_RECEIVE, ronde_chunks(RONDE_SCRATCH, level, 1),
                             message.target);
}

static void build_tree(uint32_t n, struct ronde_builder *builder)
{
    ronde_builder_xor(builder, false, false, false);
    if (n > 1)
        ronde_builder_scratch(builder, ronde_log2_floor(n));
    for (uint32_t leaf = 1; leaf < n; leaf++)
        take_leaf(leaf, n, builder);
}

/** Message `from` -> `to` of a sum that is formed from position 0 up, in scratch until it is complete. */
static struct ronde_transfer add_in_order(uint32_t from, uint32_t to, uint32_t n)
{
    const bool is_second = from + to == 1;
    struct ronde_transfer message = ronde_pairs_message(to);
    message.from = from;
    message.source = ronde_chunks(RONDE_IN, 0, 1);
    message.with = ronde_chunks(is_second ? RONDE_IN : RONDE_SCRATCH, 0, 1);
    message.target = ronde_chunks(from + 1 == n ? RONDE_OUT : RONDE_SCRATCH, 0, 1);
    message.reduces = from > 0 || is_second;
    return message;
}

/*
 * Stated sender by sender, so that every position takes messages from position 0 up and its own
 * block in its turn. What comes last completes the sum in the output; the last position has nothing
 * coming after its own block and copies.
 */
static void build_chain(uint32_t n, struct ronde_builder *builder)
{
    const struct ronde_operand sum = ronde_chunks(RONDE_SCRATCH, 0, 1);
    ronde_builder_scratch(builder, 1);
    for (uint32_t position = 0; position < n; position++) {
        if (position > 1)
            ronde_builder_reduce(builder, position, RONDE_PAIRS_RECEIVE,
                                 ronde_chunks(RONDE_IN, 0, 1), sum);
        for (uint32_t step = 1; step < n; step++) {
            const struct ronde_transfer message = add_in_order(position, (position + step) % n, n);
            ronde_builder_transfer(builder, &message);
        }
    }
    ronde_builder_copy(builder, n - 1, RONDE_PAIRS_RECEIVE, sum, ronde_chunks(RONDE_OUT, 0, 1));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    if (!is_power_of_two(n))
        build_chain(n, builder);
    else
        build_tree(n, builder);
    if (n == 1)
        ronde_builder_copy(builder, 0, RONDE_PAIRS_COPY, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
}

/**
 * Adds the receiving lane's times for a tree: which sum waits for which message, and what follows.
 */
static void add_tree(uint32_t n, const struct ronde_costs *costs, struct ronde_pairs_piece *pairs)
{
    for (uint32_t leaf = 1; leaf < n; leaf++) {
        const uint32_t sums = sums_completed_by(leaf);
        const double arrival_ns = leaf * (costs->step_ns + costs->flow_ns) + costs->alpha_ns;
        const double work_ns = sums > 0 ? sums * costs->reduce_ns : costs->step_ns;
        const double begin_ns = arrival_ns > pairs->first_ns ? arrival_ns : pairs->first_ns;
        pairs->first_ns = begin_ns + work_ns;
        pairs->receive_ns += work_ns;
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
    struct ronde_pairs_piece pairs = {.send_ns = (n - 1) * (costs.step_ns + costs.flow_ns)};
    if (is_power_of_two(n)) {
        add_tree(n, &costs, &pairs);
    } else {
        pairs.receive_ns = 2 * costs.step_ns + (n - 1) * costs.reduce_ns;
        pairs.first_ns = pairs.send_ns + costs.alpha_ns + pairs.receive_ns;
    }
    const double period_ns = ronde_longer_ns(pairs.send_ns, pairs.receive_ns);
    pairs.message_ns = is_power_of_two(n)
                           ? costs.step_ns + costs.flow_ns + costs.alpha_ns + costs.reduce_ns
                           : pairs.send_ns + costs.alpha_ns + pairs.receive_ns;
    /* Where slots run out, pieces come out of step with one another by about a lane's work. */
    const bool has_slots = pairs.message_ns <= pieces.depth * period_ns;
    if (!has_slots && pieces.count > pieces.depth)
        pairs.first_ns += period_ns;
    struct ronde_price price = ronde_pairs_price(&pieces, network, cut, &pairs);
    price.is_exact = price.is_exact && (has_slots || pieces.count <= pieces.depth);
    return price;
}

static bool is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, 1) && load->pieces <= load->depth;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_direct_one_step = {
    .collective = RONDE_ALL_REDUCE,
    .name = "direct_one_step",
    .summary = "all blocks straight to all ranks; one latency, N-1 times the data",
    .supports = supports,
    .build = build,
    .price = price,
    .source = "MSCCL 2021; Shah et al. 2025",
    .counts = ronde_counts_all_pairs,
    .is_exact = is_exact,
    .why_more = "every rank's block to every other one, N-1 blocks, on a path of one message",
    .why_approximate = "more pieces than slots: who sends and who receives come out of step, since "
                       "every rank receives in an order of its own",
};
