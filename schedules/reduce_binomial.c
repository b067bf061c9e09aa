/**
 * reduce, binomial tree.
 *
 * Broadcast backwards: every position adds up the sums of its children, nearest first, and passes
 * the total on to its parent in the step that adds the last one. The number of ranks that still
 * have a sum to send halves every round. Few messages and few latencies make it good for small
 * blocks.
 *
 *   round 0    1 -> 0    3 -> 2
 *   round 1    2 -------> 0
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of the block; d = log2 N):
 *   T = L + first + (P-1) period
 *   first  = s + f + a + r + (d-1) (f + a + r)
 *   period = max(d r, (d-1) r + f, C d b / port_GBps)    the root's lane, its last child's, its port
 * as written for powers of two above 2 (s + f instead of (d-1) r + f for N = 2). Else the subtree
 * of the last position is cut off, and what the root's last child has to wait for counts. Where D
 * slots are too few, D pieces take at least credit: a send, a, and the step that receives. Exact
 * for equal pieces of powers of two where flows to the same rank do not slow one another down (P =
 * 1, or lanes slower than their share of a port), else an upper bound of the longest path. N = 1: L
 * + sum over p of s(b_p).
 *
 * `binomial_bine` has the distances of butterfly.h's third order, which are shorter in sum. N is a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, section 4.5, binomial tree of reduce. We add pieces, and adding is part of
 * passing on.
 */
#include "binomial.h"
#include "butterfly.h"
#include "claims.h"

/** Where a position keeps its sum: only the root has an output. */
static struct ronde_operand sum_of(uint32_t position)
{
    return ronde_chunks(position == 0 ? RONDE_OUT : RONDE_SCRATCH, 0, 1);
}

/** A child's sum goes to its parent, which has none yet in the first round. */
static void hand_in(uint32_t child, uint32_t parent, bool is_leaf, bool is_first,
                    struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    ronde_builder_reduction(builder, child, parent, is_leaf ? input : sum_of(child),
                            is_first ? input : sum_of(parent), sum_of(parent));
}

static void begin(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    ronde_builder_scratch(builder, 1);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1), sum_of(0));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    begin(request, builder);
    for (uint32_t distance = 1; distance < n; distance *= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance) {
            const uint32_t child = parent + distance;
            const bool is_leaf = ronde_binomial_size(n, child, distance) == 1;
            hand_in(child, parent, is_leaf, distance == 1, builder);
        }
}

static void build_bine(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_butterfly butterfly = ronde_butterfly_of(request, RONDE_SWING);
    begin(request, builder);
    for (uint32_t round = 0; round < butterfly.rounds; round++)
        for (uint32_t child = 1; child < request->ranks; child++)
            if (ronde_butterfly_joins(&butterfly, child, true) == round)
                hand_in(child, ronde_butterfly_partner(&butterfly, child, round), round == 0,
                        round == 0, builder);
}

/** From the start of a send until its slot is free again, where that takes longest. */
static double credit_ns(uint32_t n, const struct ronde_costs *costs)
{
    const double leaf_ns = costs->step_ns + costs->flow_ns;
    const double inner_ns = costs->reduce_ns + costs->flow_ns;
    if (n < 4)
        return leaf_ns + costs->alpha_ns + costs->reduce_ns;
    /* From 8 on, the last child of some inner position is an inner one, too. */
    if (n >= 8)
        return inner_ns + costs->alpha_ns + inner_ns;
    return inner_ns + costs->alpha_ns + ronde_longer_ns(leaf_ns, costs->reduce_ns);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    struct ronde_binomial tree = ronde_binomial_of(request, load, network, false);
    const struct ronde_pieces pieces = tree.pieces;
    const struct ronde_cut cut = tree.cut;
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    tree.reduces = true;
    const bool is_full = (n & (n - 1)) == 0;
    const uint32_t rounds = ronde_log2_ceil(n);
    /* From the second piece on all children send at any time. */
    const uint32_t at_once = pieces.count > 1 ? rounds : is_full ? 1 : 2;
    const double lane_ns =
        ronde_longer_ns(ronde_binomial_root_ns(&tree, true, n), ronde_binomial_inner_ns(&tree, n));
    const double port_ns =
        network->port_GBps > 0 ? rounds * cut.channels * pieces.bytes / network->port_GBps : 0;
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_binomial_up_ns(&tree, n),
        .period_ns = ronde_longer_ns(lane_ns, port_ns),
        .credit_ns = credit_ns(n, &costs),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, at_once * cut.channels),
    };
    struct ronde_price price = ronde_pipeline_price(&pieces, network, &pipeline);
    price.is_exact = price.is_exact && (is_full || pieces.count == 1);
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, 1, ronde_log2_floor(ranks));
}

static bool is_exact(const struct ronde_price_case *load)
{
    const bool is_in_step = load->pieces <= 1 || ronde_is_power_of_two(load->ranks);
    return ronde_flows_fit(load, ronde_log2_ceil(load->ranks)) && is_in_step;
}

const struct ronde_algorithm ronde_algorithm_reduce_binomial = {
    .collective = RONDE_REDUCE,
    .name = "binomial",
    .summary = "the ranks with something to hand in halve every round; best for small blocks",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "the root receives the whole block once per round",
    .why_approximate = "N no power of two and several pieces: the last subtree is cut off; in rare "
                       "machines a piece then overtakes another, up to 4 % (none in the table)",
};

const struct ronde_algorithm ronde_algorithm_reduce_binomial_bine = {
    .collective = RONDE_REDUCE,
    .name = "binomial_bine",
    .summary = "up a Bine tree: the same with less distance between ranks; powers of two",
    .supports = ronde_butterfly_supports_trees,
    .grid = RONDE_GRID_TORUS,
    .build = build_bine,
    .price = price,
    .source = "De Sensi et al. 2025",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "the root receives the whole block once per round",
};
