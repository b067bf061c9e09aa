/**
 * barrier, binary tree.
 *
 * Signals flow up NCCL's binary tree to position 0, each position waiting for its children first,
 * and down again. It needs about twice the rounds of dissemination and only 2(N-1) messages, which
 * is better where messages share a wire.
 *
 *        0          up:   1 -> 2, 3 -> 2, then 2 -> 0
 *        |          down: 0 -> 2, then 2 -> 1, then 2 -> 3
 *        2
 *       / \
 *      1   3
 *
 * Price (symbols in closed_form.h; messages are empty; k = floor(log2(N-1)) levels between root and
 * leaves):
 *   T = L + s + k (a + 3 s)             up: both children arrive at once, and the sum goes on
 *         + a + 2 s + a                 the root turns round
 *         + k (3 s + a) + s             down, always the second child
 * as written for full trees (N = 2^(k+1)); else the longest chain along the right edge counts.
 * Exact. N = 1: L.
 *
 * Source: J. Mellor-Crummey, M. Scott, "Algorithms for scalable synchronization on shared-memory
 * multiprocessors", ACM Transactions on Computer Systems 9(1), 1991, pages 21-65, section 3.4, on
 * the tree of NVIDIA's NCCL, src/graph/trees.cc.
 */
#include "claims.h"
#include "rooted_tree.h"

/** Children signal their parent. */
static void state_up(const struct ronde_rooted_tree *tree, uint32_t position,
                     struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_transfer signal = {.from = children.at[i], .to = position};
        ronde_builder_transfer(builder, &signal);
    }
}

/** The parent signals its children. */
static void state_down(const struct ronde_rooted_tree *tree, uint32_t position,
                       struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_transfer signal = {.from = position, .to = children.at[i]};
        ronde_builder_transfer(builder, &signal);
    }
}

/* One lane: its order is all that makes a position wait before it signals. */
static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_rooted_tree tree = {.n = request->ranks};
    ronde_rooted_tree_walk(&tree, true, state_up, builder);
    ronde_rooted_tree_walk(&tree, false, state_down, builder);
}

/** Costs of an empty message. */
struct signal_costs {
    double step_ns;
    double alpha_ns;
};

/** Whether a position's subtree has all its levels: then both its children look alike. */
static bool is_full(uint32_t n, uint32_t position)
{
    const uint32_t lowest_bit = position & (~position + 1);
    return position + lowest_bit - 1 < n;
}

/** ns until a position has signalled its parent. */
static double up_ns(uint32_t n, uint32_t position, const struct signal_costs *costs)
{
    const struct ronde_tree_children children = ronde_tree_children_of(n, position);
    double time_ns = 0;
    double child_ns = 0;
    for (uint32_t i = 0; i < children.count; i++) {
        if (i == 0 || !is_full(n, position))
            child_ns = up_ns(n, children.at[i], costs);
        time_ns = ronde_longer_ns(time_ns, child_ns + costs->alpha_ns) + costs->step_ns;
    }
    return time_ns + costs->step_ns;
}

/** ns from a signal's arrival at a position until the last one below it has received its own. */
static double down_ns(uint32_t n, uint32_t position, const struct signal_costs *costs)
{
    const struct ronde_tree_children children = ronde_tree_children_of(n, position);
    double time_ns = costs->step_ns;
    double longest_ns = time_ns;
    double child_ns = 0;
    for (uint32_t i = 0; i < children.count; i++) {
        time_ns += costs->step_ns;
        if (i == 0 || !is_full(n, position))
            child_ns = down_ns(n, children.at[i], costs);
        longest_ns = ronde_longer_ns(longest_ns, time_ns + costs->alpha_ns + child_ns);
    }
    return longest_ns;
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct signal_costs costs = {
        .step_ns = ronde_network_step_ns(network, 0, false),
        .alpha_ns = ronde_costs_of(network, 0, 1).alpha_ns,
    };
    struct ronde_price price = {.time_ns = network->time.launch_ns, .is_exact = true};
    (void)load; /* a barrier moves nothing, whatever the count */
    if (n == 1)
        return price;
    const uint32_t child = ronde_tree_children_of(n, 0).at[0];
    price.time_ns += up_ns(n, child, &costs) + costs.alpha_ns + 2 * costs.step_ns + costs.alpha_ns +
                     down_ns(n, child, &costs);
    return price;
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    struct ronde_algorithm_counts counts = ronde_counts_binary_tree(ranks);
    counts.sent_chunks = 0;
    return counts;
}

const struct ronde_algorithm ronde_algorithm_barrier_tree = {
    .collective = RONDE_BARRIER,
    .name = "tree",
    .summary = "signals up and down a binary tree; the fewest messages",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Mellor-Crummey, Scott 1991",
    .counts = counts_of,
};
