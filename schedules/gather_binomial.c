/**
 * gather, binomial tree.
 *
 * Scatter backwards: every position collects the blocks of the positions below it in scratch, its
 * own first, nearest children first, and sends them on as one message, until the root has all. Few
 * messages and few latencies make it good for small blocks; a large block travels through up to
 * log2 N ranks.
 *
 *   round 0    1 -> 0: b1    3 -> 2: b3
 *   round 1    2 -------> 0: b2 b3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block; w runs over 1, 2, 4, .. N/2, the
 * blocks of a message):
 *   T = L + first + (P-1) period
 *   first  = sum over w of 2 s(w b) + f(w b) + a        up the last children
 *   period = max(s(N/2 b) + f(N/2 b) + sum over w < N/2 of s(w b), C (N-1) b / port_GBps)
 *                                                       the last child's lane, or the root's port
 * as written for powers of two. Else the subtree of the last position is cut off, there is less to
 * send, and the longest chain counts. Where D slots are too few, D pieces take at least s + f + a +
 * s of the widest message. Exact for equal pieces of powers of two where flows to the same rank do
 * not slow one another down (P = 1, or lanes slower than their share of a port), else an upper
 * bound of the longest path. N = 1: L + sum over p of s(b_p).
 *
 * `binomial_bine` has the distances of butterfly.h's third order, which are shorter in sum; a subtree lies on both sides of
 * its top. N is a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, section 4.5, the gather of their reduce. We add pieces.
 */
#include "binomial.h"
#include "butterfly.h"
#include "claims.h"

/** Lane of the copies of own blocks: they are over before the first message arrives. */
enum { TREE_LANE, COPY_LANE };

/** A position that collects others' blocks puts its own among them. */
static void keep_own(const struct ronde_compile_request *request, uint32_t position,
                     struct ronde_builder *builder)
{
    const bool is_root = position == 0;
    ronde_builder_copy(builder, position, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                       is_root ? ronde_chunks(RONDE_OUT, 0, 1)
                               : ronde_binomial_kept(request, position, 1));
}

/** A subtree, `size` positions from `first` on, sends its blocks to its parent. */
static void hand_in(const struct ronde_compile_request *request, uint32_t child, uint32_t parent,
                    uint32_t first, uint32_t size, struct ronde_builder *builder)
{
    const struct ronde_operand kept = ronde_binomial_kept(request, first, size);
    ronde_builder_message(builder, child, parent, TREE_LANE,
                          size == 1 ? ronde_chunks(RONDE_IN, 0, 1) : kept,
                          parent == 0 ? ronde_chunks(RONDE_OUT, first, size) : kept);
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_scratch(builder, n);
    keep_own(request, 0, builder);
    for (uint32_t position = 2; position + 1 < n; position += 2)
        keep_own(request, position, builder);
    for (uint32_t distance = 1; distance < n; distance *= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance) {
            const uint32_t child = parent + distance;
            hand_in(request, child, parent, child, ronde_binomial_size(n, child, distance), builder);
        }
}

static void build_bine(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_butterfly butterfly =
        ronde_butterfly_of(&(struct ronde_compile_request){.ranks = n}, RONDE_SWING);
    ronde_builder_scratch(builder, n);
    for (uint32_t position = 0; position < n; position++)
        if (ronde_butterfly_joins(&butterfly, position, true) != 0)
            keep_own(request, position, builder);
    for (uint32_t round = 0; round < butterfly.rounds; round++)
        for (uint32_t child = 1; child < n; child++)
            if (ronde_butterfly_joins(&butterfly, child, true) == round)
                hand_in(request, child, ronde_butterfly_partner(&butterfly, child, round),
                        ronde_butterfly_subtree(child, round) & (n - 1), 1u << round, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_binomial tree = ronde_binomial_of(request, load, network, true);
    const struct ronde_pieces pieces = tree.pieces;
    const struct ronde_cut cut = tree.cut;
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const uint32_t widest = ronde_binomial_widest(n);
    const bool is_full = (n & (n - 1)) == 0;
    /* From the second piece on all children send at any time. */
    const uint32_t at_once = pieces.count > 1 ? ronde_log2_ceil(n) : is_full ? 1 : 2;
    const double lane_ns =
        ronde_longer_ns(ronde_binomial_root_ns(&tree, true, n), ronde_binomial_inner_ns(&tree, n));
    const double port_ns =
        network->port_GBps > 0 ? (n - 1) * cut.channels * pieces.bytes / network->port_GBps : 0;
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_binomial_up_ns(&tree, n),
        .period_ns = ronde_longer_ns(lane_ns, port_ns),
        .credit_ns = ronde_binomial_send_ns(&tree, widest) + ronde_network_alpha_ns(network) +
                     ronde_binomial_receive_ns(&tree, widest),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, at_once * cut.channels),
    };
    struct ronde_price price = ronde_pipeline_price(&pieces, network, &pipeline);
    price.is_exact = price.is_exact && (is_full || pieces.count == 1);
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    /* The largest subtree below the root: that of the highest power of two, or the full one before it. */
    const uint32_t top = ranks > 1 ? 1u << ronde_log2_floor(ranks - 1) : 1;
    const uint32_t last = ranks - top, full = top / 2;
    return ronde_counts_one_way(ranks, last > full ? last : full, ronde_log2_floor(ranks));
}

static bool is_exact(const struct ronde_price_case *load)
{
    const bool is_in_step = load->pieces <= 1 || ronde_is_power_of_two(load->ranks);
    return ronde_flows_fit(load, ronde_log2_ceil(load->ranks)) && is_in_step;
}

const struct ronde_algorithm ronde_algorithm_gather_binomial = {
    .collective = RONDE_GATHER,
    .name = "binomial",
    .summary = "blocks come together up a tree; best for small blocks",
    .supports = ronde_binomial_supports,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "an inner rank sends the blocks of its whole subtree; the root receives the least",
    .why_approximate = "N no power of two and several pieces: the last subtree is cut off; in rare "
                       "machines a piece then overtakes another, up to 4 % (none in the table)",
};

const struct ronde_algorithm ronde_algorithm_gather_binomial_bine = {
    .collective = RONDE_GATHER,
    .name = "binomial_bine",
    .summary = "up a Bine tree: the same with less distance between ranks; powers of two",
    .supports = ronde_binomial_supports_bine,
    .build = build_bine,
    .price = price,
    .source = "De Sensi et al. 2025",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more = "an inner rank sends the blocks of its whole subtree; the root receives the least",
};
