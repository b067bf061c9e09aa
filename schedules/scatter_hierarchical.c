/**
 * scatter, hierarchical.
 *
 * Ranks are nodes x local ones, and a rail is the ranks of equal local number. The root sends the blocks of other nodes'
 * ranks to the rank of its own node that is on their rail, in up to seven bundles, and that rank sends every block on while
 * the next bundle comes; blocks of its own rail the root sends itself. All rails have lanes of their own, so that all ranks
 * of the root's node send to other nodes at once: where each has a port out of the node, what leaves it is as fast as all of
 * them.
 *
 *   nodes (0 1) (2 3) (4 5)   rail 0   0 -> 2: b2    0 -> 4: b4
 *                             rail 1   0 -> 1: b3    1 -> 3: b3    0 -> 1: b5    1 -> 5: b5    0 -> 1: b1
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8. With one rank a node it
 * would be direct, with one node it is direct_parallel.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/C of a block; w runs over the blocks of the bundles; g
 * the flow of one of q that share the root's port):
 *   T = L + first + (P-1) max(root, beside, C (N-1) b / port_GBps)
 *   root   = s(b) + f(b) + sum over w of s(w b) + f(w b)            the root's lane
 *   beside = s(b) + sum over w of s(w b) + w (s(b) + f(b))          that of a rank beside it; where w = 1, s(b) + f(b)
 *   first  = when the latter is through, if each bundle comes s(w b) + g(w b) after the one before, and a; and a + s(b)
 * K = 1: first = s(b) + g(b) + a + s(b). D slots hold D over the messages of a piece, rounded down, and as many pieces
 * take at least as long as a slot is away, or all messages as long as the longest, D of them at least as long as a slot is
 * away, whichever is less. Exact for one piece, and more whose slots come back in time, where flows do not slow one
 * another down, else fill and steady state. N = 1: L + sum over p of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane scatter, which goes through the ranks of the root's node. The bundles are ours.
 */
#include "claims.h"
#include "rooted_rails.h"

/** Blocks of a bundle go to the rank beside the root, and from there to their owners. */
static void pass_on(struct ronde_rails rails, uint32_t local, struct ronde_rail_bundle bundle,
                    struct ronde_builder *builder)
{
    const uint32_t beside = ronde_rooted_position(rails.nodes, local, 0);
    if (local > 0)
        ronde_builder_message(builder, 0, beside, local,
                              ronde_chunks(RONDE_IN,
                                           ronde_rooted_position(rails.nodes, local, bundle.first),
                                           bundle.count),
                              ronde_rails_all_kept(bundle));
    for (uint32_t i = 0; i < bundle.count; i++) {
        const uint32_t node = bundle.first + i;
        const uint32_t owner = ronde_rooted_position(rails.nodes, local, node);
        ronde_builder_message(builder, beside, owner, local,
                              local > 0 ? ronde_rails_kept(rails, bundle, node)
                                        : ronde_chunks(RONDE_IN, owner, 1),
                              ronde_chunks(RONDE_OUT, 0, 1));
    }
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_rails rails = ronde_rails_declare(request, builder);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t local = 0; local < rails.nodes.local; local++) {
        const uint32_t beside = ronde_rooted_position(rails.nodes, local, 0);
        for (uint32_t node = 1; node < rails.nodes.count; node += rails.width)
            pass_on(rails, local, ronde_rail_bundle_at(rails, node), builder);
        if (local > 0)
            ronde_builder_message(builder, 0, beside, local, ronde_chunks(RONDE_IN, beside, 1),
                                  output);
    }
    ronde_builder_copy(builder, 0, ronde_rails_copy_lane(rails), ronde_chunks(RONDE_IN, 0, 1),
                       output);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_rails_counts(ranks, ranks - 1);
}

const struct ronde_algorithm ronde_algorithm_scatter_hierarchical = {
    .collective = RONDE_SCATTER,
    .name = "hierarchical",
    .summary = "blocks leave the root's node by all its ranks; best where each has a port",
    .supports = ronde_rails_supports,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = ronde_rails_price,
    .source = "Traeff, Hunold 2020",
    .counts = counts_of,
    .is_exact = ronde_rails_is_exact,
    .why_more = "the root sends the least. A rank beside it receives the blocks of its whole rail, "
                "to pass them on",
    .why_approximate = RONDE_RAILS_WHY_APPROXIMATE,
};
