/**
 * reduce, hierarchical.
 *
 * broadcast_hierarchical.c backwards. In every node each rank sends every part straight to the rank of that rail, which
 * adds them; in the root's node the others own bundles, and send their slices of the root's part on to the root. The sums
 * come up over two binary trees of the nodes, half of a part each, and from the other ranks of its node to the root. So a
 * block leaves a node once, all its ranks share the work, and the root's node sends the root no more than the block.
 *
 *   nodes (0 1 2) (3 4 5)   bundles inside node 0           0, 2 -> 1: c0 c1 c2    0, 1 -> 2: c3 c4 c5
 *                           parts inside node 1             4, 5 -> 3: c0 c3       3, 5 -> 4: c1 c2    3, 4 -> 5: c4 c5
 *                           slices                          1 -> 0: c0             2 -> 0: c3
 *                           parts between nodes             3 -> 0: c0 c3          4 -> 1: c1 c2       5 -> 2: c4 c5
 *                           parts inside node 0             1 -> 0: c1 c2          2 -> 0: c4 c5
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8. With one rank a node
 * this would be double_tree.
 *
 * Price (symbols in closed_form.h; K, q, x, y, g, port as in broadcast_hierarchical.c):
 *   T = L + first + (P-1) max(s(y) + f(y), r(y), r(x) + f(x), port)
 *   first = max(max(t0(x) + t1, t0(y) + r(x)) + s(x) + g(x) + a + s(x), t0(y) + s(b) + g(b) + a + s(b) + r(x))
 *   t0    = s + g + a + (q-1) r            t1 = `first` of reduce_double_tree.c for K ranks and x
 * and t0(y) + s(y) + g(y) + a + s(y) for one node. Where D slots are too few, D pieces take at least max(max(s + f, r) + a
 * + r of y, 2 (r + f) + a of x). Exact for one piece whose flows do not slow one another down, else steady state and fill,
 * an upper bound. N = 1: L + sum of s(b_p).
 *
 * Source: J. L. Traeff, S. Hunold, "Decomposing MPI collectives for exploiting multi-lane communication", IEEE Cluster
 * 2020, full-lane reduce; P. Sanders, J. Speck, J. L. Traeff, "Two-tree algorithms for full bandwidth broadcast,
 * reduction and scan", Parallel Computing 35(12), 2009, pages 581-594. Slices of the root's part are ours.
 */
#include "claims.h"
#include "rooted_nodes.h"

/** Every rank of a node sends every other what that one owns; the root owns nothing. */
static void add(struct ronde_rooted_nodes nodes, uint32_t node, uint32_t distance,
                struct ronde_builder *builder)
{
    struct ronde_operand (*const owned)(struct ronde_rooted_nodes, enum ronde_buffer, uint32_t) =
        node == 0 ? ronde_rooted_bundle : ronde_rooted_part;
    for (uint32_t local = 0; local < nodes.local; local++) {
        const uint32_t owner = (local + distance) % nodes.local;
        if (node == 0 && owner == 0)
            continue;
        const struct ronde_operand input = owned(nodes, RONDE_IN, owner);
        const struct ronde_operand sum = owned(nodes, RONDE_SCRATCH, owner);
        const struct ronde_transfer message = {
            .from = ronde_rooted_position(nodes, local, node),
            .to = ronde_rooted_position(nodes, owner, node),
            .from_lane = distance,
            .to_lane = nodes.local + distance,
            .source = input,
            .with = distance == 1 ? input : sum,
            .target = sum,
            .reduces = true,
        };
        ronde_builder_transfer(builder, &message);
    }
}

/** The others of its node send the root what they own of these, from a lane on. */
static void send_root(struct ronde_rooted_nodes nodes, uint32_t first_lane,
                      struct ronde_operand (*owned)(struct ronde_rooted_nodes nodes,
                                                    enum ronde_buffer buffer, uint32_t local),
                      struct ronde_builder *builder)
{
    for (uint32_t local = 1; local < nodes.local; local++)
        ronde_builder_message(builder, ronde_rooted_position(nodes, local, 0), 0, first_lane + local,
                              owned(nodes, RONDE_SCRATCH, local), owned(nodes, RONDE_OUT, local));
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_rooted_nodes nodes = ronde_rooted_nodes_declare(request, true, builder);
    ronde_rooted_inside(nodes, builder, add);
    if (nodes.count == 1) {
        send_root(nodes, ronde_rooted_late_lane(nodes), ronde_rooted_bundle, builder);
        return;
    }
    send_root(nodes, ronde_rooted_late_lane(nodes) + nodes.local, ronde_rooted_slice, builder);
    for (uint32_t local = 0; local < nodes.local; local++) {
        const struct ronde_operand sum = ronde_rooted_part(nodes, RONDE_SCRATCH, local);
        const struct ronde_operand root_sum =
            ronde_rooted_part(nodes, local == 0 ? RONDE_OUT : RONDE_SCRATCH, local);
        const struct ronde_rooted_tree tree = {
            .n = nodes.count,
            .first = ronde_rooted_position(nodes, local, 0),
            .first_lane = ronde_rooted_tree_lane(nodes),
            .root = root_sum,
            .input = sum,
            .result = root_sum,
            .output = sum,
        };
        ronde_rooted_tree_reduce(&tree, builder);
    }
    send_root(nodes, ronde_rooted_late_lane(nodes), ronde_rooted_part, builder);
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    if (request->ranks == 1)
        return ronde_rooted_copy_price(request, load, network);
    const struct ronde_rooted_terms terms = ronde_rooted_terms_of(request, load, network);
    const struct ronde_costs *part = &terms.part, *bundle = &terms.bundle, *slice = &terms.slice;
    const uint32_t others = terms.nodes.local - 1, nodes = terms.nodes.count;
    const double added_part_ns = terms.part_ns + others * part->reduce_ns;
    const double added_bundle_ns = terms.bundle_ns + others * bundle->reduce_ns;
    struct ronde_rooted_piece piece = {
        .first_ns = added_bundle_ns + terms.bundle_ns + bundle->step_ns,
        .inside_ns = ronde_longer_ns(bundle->step_ns + bundle->flow_ns, bundle->reduce_ns),
        .receive_ns = bundle->reduce_ns,
    };
    if (nodes > 1) {
        const double up_ns = ronde_longer_ns(added_part_ns + ronde_rooted_up_ns(nodes, &terms.tree),
                                             added_bundle_ns + part->reduce_ns) +
                             terms.part_ns + part->step_ns;
        const double sliced_ns = added_bundle_ns + terms.slice_ns + slice->step_ns + part->reduce_ns;
        piece.first_ns = ronde_longer_ns(up_ns, sliced_ns);
        piece.between_ns = part->reduce_ns + part->flow_ns;
    }
    return ronde_rooted_pieces_price(&terms, network, &piece);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    return ronde_rooted_counts(ranks, (local - 1) * (nodes > 1 ? 2 : 1), local, 2);
}

const struct ronde_algorithm ronde_algorithm_reduce_hierarchical = {
    .collective = RONDE_REDUCE,
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
    .why_more = "a rank beside the root receives a bundle of every other one, and its part again "
                "from another node",
    .why_approximate = RONDE_ROOTED_WHY_APPROXIMATE,
};
