/**
 * all_reduce, NCCL's Tree: a chain inside every node, double binary trees between the nodes' first ranks.
 *
 * A node's last rank sends its block to the one before it, which adds its own and passes the sum on, to the node's first
 * rank; these reduce half of the block each over two binary trees of the nodes, and the result goes back the same ways. Over
 * a slow link between nodes, or between bridged pairs of one, a block goes once up and once down, where a ring crosses it
 * with all it has, twice. Channel c begins its chains at local rank c, so that several channels use a node's NICs in turn.
 *
 *   nodes (0 1) (2 3), half 1, up:    1 -> 0, 3 -> 2, 2 -> 0        down:    0 -> 2, 0 -> 1, 2 -> 3
 *                      half 2: the same with nodes (2 3) (0 1)
 *
 * Shape: the request's two digits, nodes x local; else local is the largest divisor of N up to 8.
 *
 * Price (symbols in closed_form.h; K nodes of q ranks; a chunk is 1/(2C) of the block; f of 6 C flows on a port, those of a
 * node's first rank that is an inner node of one tree and a leaf of the other; e = ceil(log2 K)):
 *   first  = up + down, up = s + (q-1) (f + a + r) + e (f + a + 2 r),
 *   down   = (e + 1) (2 (s + f) + a) + (q-2) (s + f + a) + s; without the terms of the chain for q = 1
 *   period = r + f, credit = 2 (r + f) + a                             as in ronde_pipeline_price
 * An upper bound: siblings that arrive one after another need not wait for both sums. N = 1: L + sum of s(b_p).
 *
 * Source: S. Jeaugey, "Massively scale your deep learning training with NCCL 2.4", NVIDIA technical blog, 2019; NVIDIA/nccl,
 * src/graph/connect.cc and trees.cc, 2.30 (the chain hangs below the rank at the NIC; second tree mirrored or shifted).
 */
#include "axes.h"
#include "binary_tree.h"
#include "claims.h"

/** Axes of a node's shape as axes.h has them. */
enum { LOCAL, NODE };

/** Neighbours below a position: two nodes and the chain at most. */
#define MOST_BELOW 3u

/** Positions: l K + k is local rank l of node k. */
struct nccl_tree {
    uint32_t local; /**< q */
    uint32_t nodes; /**< K */
};

/** Positions below one. */
struct below {
    uint32_t count;
    uint32_t at[MOST_BELOW];
};

static struct below below_of(const struct nccl_tree *tree, uint32_t position)
{
    struct below below = {.count = 0};
    if (position < tree->nodes) {
        const struct ronde_tree_children children = ronde_tree_children_of(tree->nodes, position);
        for (uint32_t i = 0; i < children.count; i++)
            below.at[1 + below.count++] = children.at[i];
    }
    if (position / tree->nodes + 1 < tree->local)
        below.at[0] = position + tree->nodes;
    else
        for (uint32_t i = 0; i < below.count; i++)
            below.at[i] = below.at[i + 1];
    below.count += position / tree->nodes + 1 < tree->local;
    return below;
}

/* As in binary_tree.c: who is below i sends into lane i, and the last of these lanes passes the sum on. */
static uint32_t sum_lane(const struct below *below)
{
    return below->count > 0 ? below->count - 1 : 0;
}

/* Down has lanes of its own but at the root, which turns the sum round within its lane. */
static uint32_t down_lane(uint32_t position, const struct below *below)
{
    return position == 0 ? sum_lane(below) : sum_lane(below) + 1;
}

static void state_up(const struct nccl_tree *tree, uint32_t position, struct ronde_builder *builder)
{
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    const struct below below = below_of(tree, position);
    for (uint32_t i = 0; i < below.count; i++) {
        const struct below under = below_of(tree, below.at[i]);
        const struct ronde_transfer up = {
            .from = below.at[i],
            .to = position,
            .from_lane = sum_lane(&under),
            .to_lane = i,
            .source = under.count == 0 ? input : output,
            .with = i == 0 ? input : output,
            .target = output,
            .reduces = true,
        };
        ronde_builder_transfer(builder, &up);
    }
}

/* Other nodes first, which are further away: the chain is the first below, so from the last to the first. */
static void state_down(const struct nccl_tree *tree, uint32_t position,
                       struct ronde_builder *builder)
{
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    const struct below below = below_of(tree, position);
    for (uint32_t i = 0; i < below.count; i++) {
        const uint32_t to = below.at[below.count - 1 - i];
        const struct below under = below_of(tree, to);
        const struct ronde_transfer down = {
            .from = position,
            .to = to,
            .from_lane = down_lane(position, &below) + i,
            .to_lane = down_lane(to, &under),
            .source = output,
            .target = output,
        };
        ronde_builder_transfer(builder, &down);
    }
}

/* Chains from their ends, nodes level by level, and back: program order of every position. */
static void state_all(const struct nccl_tree *tree, struct ronde_builder *builder)
{
    const uint32_t ranks = tree->local * tree->nodes, nodes = tree->nodes;
    const uint32_t top = nodes > 1 ? 1u << ronde_log2_floor(nodes - 1) : 0;
    for (uint32_t position = ranks; position-- > nodes;)
        state_up(tree, position, builder);
    for (uint32_t bit = 1; bit <= top; bit *= 2)
        for (uint32_t node = bit; node < nodes; node += 2 * bit)
            state_up(tree, node, builder);
    state_up(tree, 0, builder);
    state_down(tree, 0, builder);
    for (uint32_t bit = top; bit >= 1; bit /= 2)
        for (uint32_t node = bit; node < nodes; node += 2 * bit)
            state_down(tree, node, builder);
    for (uint32_t position = nodes; position < ranks; position++)
        state_down(tree, position, builder);
}

/** Both halves of channel c: nodes in their order and in the second tree's, chains from local rank c on. */
static void declare_channel(const struct nccl_tree *tree, uint32_t channel, uint32_t *order,
                            struct ronde_builder *builder)
{
    for (uint32_t half = 0; half < 2; half++) {
        for (uint32_t position = 0; position < tree->local * tree->nodes; position++) {
            const uint32_t at = position % tree->nodes;
            const uint32_t node = half == 0 ? at : ronde_tree_second_order(tree->nodes, at);
            order[position] = node * tree->local + (position / tree->nodes + channel) % tree->local;
        }
        ronde_builder_channel(builder, 1, order);
    }
}

static struct nccl_tree tree_of(const struct ronde_compile_request *request)
{
    const struct ronde_axes axes = ronde_axes_of_nodes(request);
    return (struct nccl_tree){axes.radix[LOCAL], axes.radix[NODE]};
}

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct nccl_tree tree = tree_of(request);
    const struct ronde_mem *mem = ronde_builder_mem(builder);
    uint32_t *order = ronde_mem_new(mem, request->ranks, sizeof *order);
    if (!order) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for an order of %u ranks",
                           request->ranks);
        return;
    }
    for (uint32_t c = 0; c < ronde_compile_request_channels(request); c++)
        declare_channel(&tree, c, order, builder);
    ronde_mem_free(mem, order, request->ranks, sizeof *order);
    if (request->ranks == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    state_all(&tree, builder);
}

static double first_ns(const struct nccl_tree *tree, const struct ronde_costs *costs)
{
    const double send = costs->step_ns + costs->flow_ns, alpha = costs->alpha_ns;
    const double hop = costs->flow_ns + alpha;
    const double levels = ronde_log2_ceil(tree->nodes);
    double up = costs->step_ns + levels * (hop + 2 * costs->reduce_ns);
    double down = costs->step_ns + levels * (2 * send + alpha);
    if (tree->local > 1) {
        up += (tree->local - 1) * (hop + costs->reduce_ns);
        down += 2 * send + alpha + (tree->local - 2) * (send + alpha);
    }
    return up + down;
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const struct nccl_tree tree = tree_of(request);
    const uint32_t channels = ronde_compile_request_channels(request);
    const struct ronde_cut cut = {.channels = 2 * channels, .chunks = 1};
    if (request->ranks == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, 6 * channels);
    const double lane = costs.reduce_ns + costs.flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = first_ns(&tree, &costs),
        .period_ns = lane,
        .credit_ns = 2 * lane + costs.alpha_ns,
        .is_unshared = false,
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    const uint32_t local = ronde_counts_local(ranks), nodes = ranks / local;
    const uint32_t first = (nodes > 3 ? 3 : nodes - 1) + (local > 1);
    const uint32_t inner = local > 2 ? 2 : 0;
    return (struct ronde_algorithm_counts){
        .messages = 2ull * (ranks - 1),
        .sent_chunks = first > inner ? first : inner,
        .critical_path = 2 * (local - 1) + 2 * ronde_log2_ceil(nodes),
        .min_depth = 1,
    };
}

/* Of one rank it is a copy. */
static bool is_exact(const struct ronde_price_case *load)
{
    return load->ranks == 1;
}

const struct ronde_algorithm ronde_algorithm_all_reduce_nccl_tree = {
    .collective = RONDE_ALL_REDUCE,
    .name = "nccl_tree",
    .summary = "NCCL's Tree: chains inside nodes, double binary trees between their first ranks",
    .supports = ronde_axes_supports_nodes,
    .grid = RONDE_GRID_NODES,
    .build = build,
    .price = price,
    .source = "NCCL 2.4, 2019; Sanders, Speck, Traeff 2009",
    .counts = counts_of,
    .is_exact = is_exact,
    .why_more =
        "a node's first rank sends the block to its parent, to two nodes in one half and to "
        "the rank behind it: between nodes 2 blocks as in `double_tree`, inside them the "
        "chain's up and down on top, in exchange for one crossing of a slow link each way",
    .why_approximate =
        "an upper bound: it lets both nodes below one arrive last, and all its flows "
        "share the port",
};
