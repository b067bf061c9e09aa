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
 * `binomial_nearest` goes the other way round, as Open MPI's binomial broadcast does: the root sends to its neighbour, then
 * both to the positions two behind them, and so on. What the last round sends, from half of the ranks at once, goes the
 * farthest way, so that the two differ on every network that has distances; subtrees are not contiguous.
 *
 *   round 0    0 -> 1
 *   round 1    0 -------> 2     1 -------> 3
 *
 * A position whose highest bit is k has taken k + 1 sends in a row, and as many latencies as it has bits. With M = N - 2^(d-1):
 *   T = L + max(d (s + f) + (1 + floor(log2 M)) a, (d-1) (s + f) + (d-1) a) + s + (P-1) d (s + f)
 *
 * `binomial_bine` is the first of these with other distances, -5, 3, -1, 1 instead of 8, 4, 2, 1 (butterfly.h): subtrees reach
 * to both sides, so that messages go less far and cross fewer groups of ranks. N is a power of two.
 *
 *   round 0    0 -------> 3
 *   round 1    0 -> 1     3 -> 2
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations in
 * MPICH", International Journal of High Performance Computing Applications 19(1), 2005, pages 49-66,
 * binomial tree of broadcast; D. De Sensi et al., "Bine trees: enhancing collective operations by optimizing communication
 * locality", SC 2025. We add pieces and count latencies apart from sends.
 */
#include "butterfly.h"
#include "claims.h"

/** Lane of the root's local copy, so that no message waits for it. */
enum { TREE_LANE, COPY_LANE };

/** A message to a child. The root sends its input, all others what they received. */
static void send(uint32_t parent, uint32_t child, struct ronde_builder *builder)
{
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    ronde_builder_message(builder, parent, child, TREE_LANE,
                          parent == 0 ? ronde_chunks(RONDE_IN, 0, 1) : output, output);
}

static void copy_own(struct ronde_builder *builder)
{
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                       ronde_chunks(RONDE_OUT, 0, 1));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    for (uint32_t distance = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0; distance > 0; distance /= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance)
            send(parent, parent + distance, builder);
    copy_own(builder);
}

static void build_nearest(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    for (uint32_t distance = 1; distance < request->ranks; distance *= 2)
        for (uint32_t parent = 0; parent < distance && parent + distance < request->ranks; parent++)
            send(parent, parent + distance, builder);
    copy_own(builder);
}

static void build_bine(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, RONDE_SWING);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        for (uint32_t child = 1; child < request->ranks; child++)
            if (ronde_butterfly_joins(&butterfly, child, true) == round)
                send(ronde_butterfly_partner(&butterfly, child, round), child, builder);
    copy_own(builder);
}

/** Latencies on the longest of the ways that make `sends` sends, nearest child first. */
static uint32_t nearest_latencies(uint32_t n, uint32_t sends)
{
    const uint32_t rest = n - (1u << (sends - 1));
    return sends < ronde_log2_ceil(n) ? sends : 1 + ronde_log2_floor(rest);
}

/** ns from the root's first send until the last position has its piece. */
static double first_ns(uint32_t n, bool is_nearest, const struct ronde_costs *costs)
{
    const double send_ns = costs->step_ns + costs->flow_ns;
    const uint32_t rounds = ronde_log2_ceil(n);
    double longest_ns = 0;
    if (!is_nearest)
        longest_ns = rounds * send_ns + ronde_log2_floor(n) * costs->alpha_ns;
    for (uint32_t sends = 1; is_nearest && sends <= rounds; sends++)
        longest_ns = ronde_longer_ns(longest_ns, sends * send_ns +
                                                     nearest_latencies(n, sends) * costs->alpha_ns);
    return longest_ns + costs->step_ns;
}

static struct ronde_price price_of(const struct ronde_compile_request *request,
                                   const struct ronde_load *load,
                                   const struct ronde_network *network, bool is_nearest)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = first_ns(n, is_nearest, &costs),
        .period_ns = ronde_log2_ceil(n) * send_ns,
        .credit_ns = send_ns + costs.alpha_ns + (n > 3 ? send_ns : costs.step_ns),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    return price_of(request, load, network, false);
}

static struct ronde_price price_nearest(const struct ronde_compile_request *request,
                                        const struct ronde_load *load,
                                        const struct ronde_network *network)
{
    return price_of(request, load, network, true);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, ronde_log2_ceil(ranks), ronde_log2_floor(ranks));
}

static struct ronde_algorithm_counts counts_nearest(uint32_t ranks)
{
    const uint32_t rounds = ronde_log2_ceil(ranks);
    uint32_t longest = rounds > 0 ? rounds - 1 : 0;
    if (rounds > 0 && nearest_latencies(ranks, rounds) > longest)
        longest = nearest_latencies(ranks, rounds);
    return ronde_counts_one_way(ranks, rounds, longest);
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

const struct ronde_algorithm ronde_algorithm_broadcast_binomial_nearest = {
    .collective = RONDE_BROADCAST,
    .name = "binomial_nearest",
    .summary = "the same, nearest ranks first: what Open MPI's binomial broadcast does",
    .supports = ronde_supports_any,
    .build = build_nearest,
    .price = price_nearest,
    .source = "Thakur, Rabenseifner, Gropp 2005; Open MPI",
    .counts = counts_nearest,
    .why_more = "the root sends the whole block once per round",
};

const struct ronde_algorithm ronde_algorithm_broadcast_binomial_bine = {
    .collective = RONDE_BROADCAST,
    .name = "binomial_bine",
    .summary = "a Bine tree: the same with less distance between ranks; powers of two",
    .supports = ronde_butterfly_supports_trees,
    .grid = RONDE_GRID_TORUS,
    .build = build_bine,
    .price = price,
    .source = "De Sensi et al. 2025",
    .counts = counts_of,
    .why_more = "the root sends the whole block once per round",
};
