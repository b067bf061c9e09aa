/**
 * broadcast, hierarchical.
 *
 * Ranks are nodes x local ones, and a rail is the ranks of equal local number. The block has a part for every rail. The
 * root gives every other rank of its node a bundle: the part of that rank's rail, and a slice of the root's own part. Every
 * rail passes its part on over two binary trees of the nodes, half of it each. Inside the root's node the others pass their
 * bundles on to one another, inside any other node all ranks their parts. So a block enters a node once, all its ranks
 * share the work, and the root sends its node no more than the block. Every message inside a node has a lane of its own
 * at both ends, so that flows share ports evenly: in one lane the root would wait for a rank that the others keep busy,
 * while its port has room.
 *
 *   nodes (0 1 2) (3 4 5)   bundles, c0 and c3 are slices   0 -> 1: c0 c1 c2    0 -> 2: c3 c4 c5
 *                           parts between nodes             0 -> 3: c0 c3       1 -> 4: c1 c2    2 -> 5: c4 c5
 *                           bundles inside node 0           1 -> 2: c0 c1 c2    2 -> 1: c3 c4 c5
 *                           parts inside node 1             3 -> 4, 5: c0 c3    4 -> 5, 3: c1 c2    5 -> 3, 4: c4 c5
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8. With one rank a node
 * this would be double_tree.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; b a piece of a chunk of 1/(2 C q (q-1)) of the block; x = (q-1) b
 * and y = q b those of a part and a bundle; g the flow of one of q-1 messages of all channels that share a port):
 *   T = L + first + (P-1) max(s(y) + f(y), port)
 *   first = s(y) + g(y) + a + s(y) + max(t1 + s(x) + g(x) + a + s(x), s(y) + g(y) + a + s(y))
 *   t1    = `first` of broadcast_double_tree.c for K ranks and x
 *   port  = 2 C (q+1) x / port_GBps; q for one node
 * without t1 and what follows it for one node, without the last four terms for q = 2. Where D slots are too few, D pieces
 * take at least max(s + f + a + s of y, 2 (s + f) + a of x). Exact for one piece whose flows do not slow one another down,
 * else steady state and fill, an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane broadcast; P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35(12), 2009, pages 581-594. Slices of the root's part are ours.
 */
#include "claims.h"
#include "rooted_nodes.h"

/** Every rank of a node to all others of it, but for the root, which has all. */
static void spread(struct ronde_rooted_nodes nodes, uint32_t node, uint32_t distance,
                   struct ronde_builder *builder)
{
    for (uint32_t local = 0; local < nodes.local; local++) {
        const uint32_t to = (local + distance) % nodes.local;
        if (node == 0 && (local == 0 || to == 0))
            continue;
        const struct ronde_operand sent =
            (node == 0 ? ronde_rooted_bundle : ronde_rooted_part)(nodes, RONDE_OUT, local);
        const struct ronde_transfer message = {
            .from = ronde_rooted_position(nodes, local, node),
            .to = ronde_rooted_position(nodes, to, node),
            .from_lane = ronde_rooted_late_lane(nodes) + distance,
            .to_lane = ronde_rooted_late_lane(nodes) + nodes.local + distance,
            .source = sent,
            .target = sent,
        };
        ronde_builder_transfer(builder, &message);
    }
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_rooted_nodes nodes = ronde_rooted_nodes_declare(request, false, builder);
    for (uint32_t local = 1; local < nodes.local; local++)
        ronde_builder_message(builder, 0, ronde_rooted_position(nodes, local, 0), local,
                              ronde_rooted_bundle(nodes, RONDE_IN, local),
                              ronde_rooted_bundle(nodes, RONDE_OUT, local));
    for (uint32_t local = 0; local < nodes.local; local++) {
        const struct ronde_rooted_tree tree = {
            .n = nodes.count,
            .first = ronde_rooted_position(nodes, local, 0),
            .first_lane = ronde_rooted_tree_lane(nodes),
            .root = ronde_rooted_part(nodes, local == 0 ? RONDE_IN : RONDE_OUT, local),
            .output = ronde_rooted_part(nodes, RONDE_OUT, local),
        };
        ronde_rooted_tree_broadcast(&tree, builder);
    }
    ronde_rooted_inside(nodes, builder, spread);
    for (uint32_t local = 1; local < nodes.local; local++)
        ronde_builder_copy(builder, 0, nodes.local + local,
                           ronde_rooted_bundle(nodes, RONDE_IN, local),
                           ronde_rooted_bundle(nodes, RONDE_OUT, local));
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    if (request->ranks == 1)
        return ronde_rooted_copy_price(request, load, network);
    const struct ronde_rooted_terms terms = ronde_rooted_terms_of(request, load, network);
    const struct ronde_costs *part = &terms.part, *bundle = &terms.bundle;
    const uint32_t nodes = terms.nodes.count;
    const double bundle_ns = terms.bundle_ns + bundle->step_ns;
    const double down_ns =
        nodes > 1 ? ronde_rooted_down_ns(nodes, &terms.tree) + terms.part_ns + part->step_ns : 0;
    const struct ronde_rooted_piece piece = {
        .first_ns = bundle_ns + ronde_longer_ns(down_ns, terms.nodes.local > 2 ? bundle_ns : 0),
        .inside_ns = bundle->step_ns + bundle->flow_ns,
        .receive_ns = bundle->step_ns,
        .between_ns = nodes > 1 ? part->step_ns + part->flow_ns : 0,
    };
    return ronde_rooted_pieces_price(&terms, network, &piece);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return ronde_rooted_counts(ranks, 0, nodes > 1 ? local + 1 : local,
                               nodes == 1 && local == 2 ? 1 : 2);
}

const struct ronde_algorithm ronde_algorithm_broadcast_hierarchical = {
    .collective = RONDE_BROADCAST,
    .name = "hierarchical",
    .summary =
        "a part of the block a rail: all pairs inside nodes, double binary trees between them",
    .supports = ronde_rooted_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "Traeff, Hunold 2020; Sanders, Speck, Traeff 2009",
    .counts = counts_of,
    .is_exact = ronde_rooted_is_exact,
    .why_more =
        "the root sends its node the block and another one a part of it; an inner rank of a tree "
        "sends its part twice, and to all of its node",
    .why_approximate = RONDE_ROOTED_WHY_APPROXIMATE,
};
