/**
 * scatter, binomial tree.
 *
 * The root sends the half of the blocks that belongs to the farther half of the ranks to the first
 * of them, then both send to the half they are in, and so on. Blocks of others are kept in scratch
 * until they are passed on. Few messages and few latencies make it good for small blocks; a large
 * block travels through up to log2 N ranks.
 *
 *   round 0    0 -------> 2: b2 b3
 *   round 1    0 -> 1: b1    2 -> 3: b3
 *
 * Price (symbols in closed_form.h; a chunk is 1/C of a block; w runs over N/2, N/4, .. 1, the
 * blocks of a message):
 *   T = L + first + (P-1) period
 *   first  = sum over w of 2 s(w b) + f(w b) + a        down the first children
 *   period = sum over w of s(w b) + f(w b)              the root's lane
 * as written for powers of two. Else the subtree of the last position is cut off, there is less to
 * send, and the longest chain counts. Where D slots are too few, D pieces take at least s + f + a +
 * s of the widest message. Exact for equal pieces, since no port ever carries two messages. N = 1: L +
 * sum over p of s(b_p).
 *
 * `binomial_bine` has the distances of butterfly.h's third order, which are shorter in sum; a subtree lies on both sides of
 * its top. N is a power of two.
 *
 * Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication
 * operations in MPICH", International Journal of High Performance Computing Applications 19(1),
 * 2005, pages 49-66, the scatter of their long broadcast. We add pieces.
 */
#include "binomial.h"
#include "butterfly.h"
#include "claims.h"

/** Lane of the copies of own blocks, so that no message waits for them. */
enum { TREE_LANE, COPY_LANE };

/** Sends a subtree its blocks, `size` from `first` on; a leaf stores its only one where it belongs. */
static void serve(const struct ronde_compile_request *request, uint32_t parent, uint32_t child,
                  uint32_t first, uint32_t size, struct ronde_builder *builder)
{
    const struct ronde_operand kept = ronde_binomial_kept(request, first, size);
    ronde_builder_message(builder, parent, child, TREE_LANE,
                          parent == 0 ? ronde_chunks(RONDE_IN, first, size) : kept,
                          size == 1 ? ronde_chunks(RONDE_OUT, 0, 1) : kept);
    if (size > 1)
        ronde_builder_copy(builder, child, COPY_LANE, ronde_binomial_kept(request, child, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
}

static void copy_own(struct ronde_builder *builder)
{
    ronde_builder_copy(builder, 0, COPY_LANE, ronde_chunks(RONDE_IN, 0, 1),
                       ronde_chunks(RONDE_OUT, 0, 1));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    ronde_builder_scratch(builder, n);
    for (uint32_t distance = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0; distance > 0; distance /= 2)
        for (uint32_t parent = 0; parent + distance < n; parent += 2 * distance) {
            const uint32_t child = parent + distance;
            serve(request, parent, child, child, ronde_binomial_size(n, child, distance), builder);
        }
    copy_own(builder);
}

static void build_bine(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_butterfly butterfly =
        ronde_butterfly_of(&(struct ronde_compile_request){.ranks = n}, RONDE_SWING);
    ronde_builder_scratch(builder, n);
    for (uint32_t round = butterfly.rounds; round-- > 0;)
        for (uint32_t child = 1; child < n; child++)
            if (ronde_butterfly_joins(&butterfly, child, true) == round)
                serve(request, ronde_butterfly_partner(&butterfly, child, round), child,
                      ronde_butterfly_subtree(child, round) & (n - 1), 1u << round, builder);
    copy_own(builder);
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
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_binomial_down_ns(&tree, n),
        .period_ns = ronde_binomial_root_ns(&tree, false, n),
        .credit_ns = ronde_binomial_send_ns(&tree, widest) + ronde_network_alpha_ns(network) +
                     ronde_binomial_receive_ns(&tree, widest),
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_one_way(ranks, ranks - 1, ronde_log2_floor(ranks));
}

const struct ronde_algorithm ronde_algorithm_scatter_binomial = {
    .collective = RONDE_SCATTER,
    .name = "binomial",
    .summary = "halves of the blocks go down a tree; best for small blocks",
    .supports = ronde_binomial_supports,
    .build = build,
    .price = price,
    .source = "Thakur, Rabenseifner, Gropp 2005",
    .counts = counts_of,
    .why_more = "the root sends the least. A rank below it receives the blocks of its whole "
                "subtree, half of them at most, to pass them on",
};

const struct ronde_algorithm ronde_algorithm_scatter_binomial_bine = {
    .collective = RONDE_SCATTER,
    .name = "binomial_bine",
    .summary = "down a Bine tree: the same with less distance between ranks; powers of two",
    .supports = ronde_binomial_supports_bine,
    .build = build_bine,
    .price = price,
    .source = "De Sensi et al. 2025",
    .counts = counts_of,
    .why_more = "the root sends the least. A rank below it receives the blocks of its whole "
                "subtree, half of them at most, to pass them on",
};
