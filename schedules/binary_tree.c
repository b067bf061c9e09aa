/** The binary tree: shape, facts and price. The algorithm is described in all_reduce_tree.c. */
#include "binary_tree.h"
#include "closed_form.h"

/** Lowest set bit of a position other than 0: its level in the tree. */
static uint32_t lowest_bit(uint32_t position)
{
    return position & (~position + 1);
}

uint32_t ronde_tree_parent_of(uint32_t n, uint32_t position)
{
    const uint32_t bit = lowest_bit(position);
    const uint32_t parent = (position ^ bit) | (bit << 1);
    return parent < n ? parent : position ^ bit;
}

struct ronde_tree_children ronde_tree_children_of(uint32_t n, uint32_t position)
{
    struct ronde_tree_children children = {0};
    if (position == 0) {
        if (n > 1)
            children.at[children.count++] = 1u << ronde_log2_floor(n - 1);
        return children;
    }
    uint32_t distance = lowest_bit(position) / 2;
    if (distance == 0)
        return children;
    children.at[children.count++] = position - distance;
    while (distance > 0 && position + distance >= n)
        distance /= 2;
    if (distance > 0)
        children.at[children.count++] = position + distance;
    return children;
}

uint32_t ronde_tree_second_order(uint32_t n, uint32_t q)
{
    return n % 2 == 0 ? n - 1 - q : (q + 1) % n;
}

/* --- facts --------------------------------------------------------------------------------- */

/*
 * Child i sends up into lane i, and the last of these lanes passes the sum on. Down has lanes of
 * its own, so that it does not take turns with up; only the root turns the sum round within its
 * lane, which makes it one step.
 */
static uint32_t sum_lane(const struct ronde_tree_children *children)
{
    return children->count > 0 ? children->count - 1 : 0;
}

static uint32_t down_lane(uint32_t position, const struct ronde_tree_children *children)
{
    return position == 0 ? 0 : sum_lane(children) + 1;
}

/** A message between two positions of a tree, in lanes that are counted from 0. */
static void state(const struct ronde_tree *tree, struct ronde_transfer transfer,
                  struct ronde_builder *builder)
{
    transfer.from += tree->first;
    transfer.to += tree->first;
    transfer.from_lane += tree->first_lane;
    transfer.to_lane += tree->first_lane;
    transfer.target = tree->output;
    ronde_builder_transfer(builder, &transfer);
}

/** A position receives and adds what its children send up. */
static void state_up(const struct ronde_tree *tree, uint32_t position, struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_tree_children below = ronde_tree_children_of(tree->n, children.at[i]);
        const struct ronde_transfer up = {
            .from = children.at[i],
            .to = position,
            .from_lane = sum_lane(&below),
            .to_lane = i,
            .source = below.count == 0 ? tree->input : tree->output,
            .with = i == 0 ? tree->input : tree->output,
            .reduces = true,
        };
        state(tree, up, builder);
    }
}

/** A position passes the result to its children. */
static void state_down(const struct ronde_tree *tree, uint32_t position,
                       struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_tree_children below = ronde_tree_children_of(tree->n, children.at[i]);
        const struct ronde_transfer down = {
            .from = position,
            .to = children.at[i],
            .from_lane = down_lane(position, &children) + i,
            .to_lane = down_lane(children.at[i], &below),
            .source = tree->output,
        };
        state(tree, down, builder);
    }
}

/*
 * Parents are on higher levels than their children, so level by level is program order for every
 * position.
 */
void ronde_tree_state(const struct ronde_tree *tree, struct ronde_builder *builder)
{
    const uint32_t n = tree->n;
    const uint32_t top = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0;
    for (uint32_t bit = 2; bit <= top; bit *= 2)
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state_up(tree, position, builder);
    state_up(tree, 0, builder);
    state_down(tree, 0, builder);
    for (uint32_t bit = top; bit >= 2; bit /= 2)
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state_down(tree, position, builder);
}

void ronde_tree_build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const struct ronde_tree tree = {.n = request->ranks,
                                    .input = ronde_chunks(RONDE_IN, 0, 1),
                                    .output = ronde_chunks(RONDE_OUT, 0, 1)};
    if (tree.n == 1)
        ronde_builder_copy(builder, 0, 0, tree.input, tree.output);
    ronde_tree_state(&tree, builder);
}

/* --- price --------------------------------------------------------------------------------- */

/* The first children are the longest chain. */
double ronde_tree_up_ns(uint32_t n, const struct ronde_tree_costs *costs)
{
    const uint32_t top_level = ronde_log2_floor(n - 1);
    double time_ns = costs->alone.step_ns;
    for (uint32_t level = 1; level <= top_level; level++) {
        const bool is_only_child = level == top_level && (1u << level) == n - 1;
        time_ns += costs->alone.alpha_ns;
        time_ns += is_only_child ? costs->alone.flow_ns + costs->alone.reduce_ns
                                 : costs->pair_ns + 2 * costs->alone.reduce_ns;
    }
    return time_ns + costs->alone.flow_ns;
}

/*
 * In a full subtree the second child's side is the longer one; where it is cut off, the first
 * child's side of some position on the right edge may be.
 */
double ronde_tree_down_ns(uint32_t n, const struct ronde_tree_costs *costs)
{
    const double send_ns = costs->alone.step_ns + costs->alone.flow_ns;
    const double alpha_ns = costs->alone.alpha_ns;
    const double level_ns = 2 * send_ns + alpha_ns;
    double elapsed_ns = 0;
    double longest_ns = 0;
    uint32_t position = 1u << ronde_log2_floor(n - 1);
    struct ronde_tree_children children = ronde_tree_children_of(n, position);
    while (children.count > 0) {
        const uint32_t full_levels = ronde_log2_floor(lowest_bit(children.at[0]));
        const double first_ns = elapsed_ns + send_ns + alpha_ns + full_levels * level_ns;
        longest_ns = first_ns > longest_ns ? first_ns : longest_ns;
        if (children.count == 1)
            break;
        elapsed_ns += level_ns;
        position = children.at[1];
        children = ronde_tree_children_of(n, position);
    }
    longest_ns = elapsed_ns > longest_ns ? elapsed_ns : longest_ns;
    return longest_ns + costs->alone.step_ns;
}

static uint32_t at_most(uint32_t value, uint32_t bound)
{
    return value < bound ? value : bound;
}

struct ronde_stage ronde_tree_stage(uint32_t n, uint32_t trees, uint32_t channels,
                                    const struct ronde_network *network, double bytes)
{
    const struct ronde_tree_costs costs = {
        .alone = ronde_costs_of(network, bytes, channels),
        .pair_ns = ronde_shared_flow_ns(network, bytes, 2 * channels),
    };
    const double leaf_ns = costs.alone.step_ns + costs.alone.flow_ns;
    const double lane_ns = costs.alone.reduce_ns + costs.alone.flow_ns;
    return (struct ronde_stage){
        .first_ns = ronde_tree_up_ns(n, &costs) + costs.alone.alpha_ns + lane_ns +
                    costs.alone.alpha_ns + ronde_tree_down_ns(n, &costs),
        .period_ns = lane_ns,
        .credit_ns = (n == 2 ? leaf_ns : lane_ns) + costs.alone.alpha_ns + lane_ns,
        /* Two children up and the parent down, and as a leaf elsewhere. */
        .port_chunks = channels * (trees == 1 ? at_most(n - 1, 3) : at_most(n, 4)),
        /* Within a piece up is over before down begins, so that only siblings share a port. */
        .flows = channels * (n > 3 ? 2 : 1),
    };
}

struct ronde_price ronde_tree_price(const struct ronde_compile_request *request,
                                    const struct ronde_load *load,
                                    const struct ronde_network *network, uint32_t trees)
{
    const uint32_t n = request->ranks;
    const uint32_t channels = ronde_compile_request_channels(request);
    const struct ronde_cut cut = {.channels = trees * channels, .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    struct ronde_stage stage = ronde_tree_stage(n, trees, channels, network, pieces.bytes);
    /* Up and down share a port from the second piece on. */
    stage.flows = pieces.count > 1 ? stage.port_chunks : stage.flows;
    return ronde_stages_price(&pieces, network, &stage, 1, false);
}
