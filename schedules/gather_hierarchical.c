/**
 * gather, hierarchical.
 *
 * Scatter backwards: ranks are nodes x local ones, and a rail is the ranks of equal local number. Ranks of other nodes send
 * their blocks to the rank of the root's node that is on their rail, which sends them on in up to seven bundles while others
 * come; those of the root's rail send to it. So blocks enter the root's node by all its ranks at once.
 *
 *   nodes (0 1) (2 3) (4 5)   rail 0   2 -> 0: b2    4 -> 0: b4
 *                             rail 1   1 -> 0: b1    3 -> 1: b3    1 -> 0: b3    5 -> 1: b5    1 -> 0: b5
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8. With one rank a node it
 * would be direct.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block; w runs over the blocks of the bundles; g
 * the flow of one of q that share the root's port, h that of one of K-1 that share another's):
 *   T = L + first + (P-1) max(beside, C (N-1) b / port_GBps)
 *   beside = s(b) + f(b) + sum over w of w s(b) + s(w b) + f(w b)   a rank beside the root; where w = 1, s(b) + f(b)
 *   first  = when it is through, if it sends its own block and goes on once those of others are there, after s(b) + h(b) + a,
 *            with g for f; and a + s of the last bundle
 * K = 1: first = s(b) + g(b) + a + s(b). D slots hold D over the messages of a piece, rounded down, and as many pieces
 * take at least as long as a slot is away, or all messages as long as the longest, D of them at least as long as a slot is
 * away, whichever is less. Exact for one piece, and more whose slots come back in time, where flows do not slow one
 * another down, else fill and steady state. N = 1: L + sum over p of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane gather, which goes through the ranks of the root's node. The bundles are ours.
 */
#include "claims.h"
#include "rooted_rails.h"

/** Blocks of a bundle go from their owners to the rank beside the root, and from there to the root. */
static void pass_on(struct ronde_rails rails, uint32_t local, struct ronde_rail_bundle bundle,
                    struct ronde_builder *builder)
{
    const uint32_t beside = ronde_rooted_position(rails.nodes, local, 0);
    for (uint32_t i = 0; i < bundle.count; i++) {
        const uint32_t node = bundle.first + i;
        const uint32_t owner = ronde_rooted_position(rails.nodes, local, node);
        ronde_builder_message(builder, owner, beside, local, ronde_chunks(RONDE_IN, 0, 1),
                              local > 0 ? ronde_rails_kept(rails, bundle, node)
                                        : ronde_chunks(RONDE_OUT, owner, 1));
    }
    if (local > 0)
        ronde_builder_message(builder, beside, 0, local, ronde_rails_all_kept(bundle),
                              ronde_chunks(RONDE_OUT,
                                           ronde_rooted_position(rails.nodes, local, bundle.first),
                                           bundle.count));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_rails rails = ronde_rails_declare(request, builder);
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    for (uint32_t local = 0; local < rails.nodes.local; local++) {
        const uint32_t beside = ronde_rooted_position(rails.nodes, local, 0);
        if (local > 0)
            ronde_builder_message(builder, beside, 0, local, input,
                                  ronde_chunks(RONDE_OUT, beside, 1));
        for (uint32_t node = 1; node < rails.nodes.count; node += rails.width)
            pass_on(rails, local, ronde_rail_bundle_at(rails, node), builder);
    }
    ronde_builder_copy(builder, 0, ronde_rails_copy_lane(rails), input,
                       ronde_chunks(RONDE_OUT, 0, 1));
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_rails_counts(ranks, ranks > 1 ? ranks / ronde_counts_local(ranks) : 0);
}

const struct ronde_algorithm ronde_algorithm_gather_hierarchical = {
    .collective = RONDE_GATHER,
    .name = "hierarchical",
    .summary = "blocks enter the root's node by all its ranks; best where each has a port",
    .supports = ronde_rails_supports,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = ronde_rails_price,
    .source = "Traeff, Hunold 2020",
    .counts = counts_of,
    .is_exact = ronde_rails_is_exact,
    .why_more = "a rank beside the root sends it the blocks of its whole rail; the root receives "
                "the least",
    .why_approximate = RONDE_RAILS_WHY_APPROXIMATE,
};
