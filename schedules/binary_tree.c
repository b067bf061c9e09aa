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

/** A position takes in what its children send up. */
static void state_up(struct ronde_builder *builder, uint32_t n, uint32_t position)
{
    const struct ronde_tree_children children = ronde_tree_children_of(n, position);
    const struct ronde_operand input = ronde_chunks(RONDE_IN, 0, 1);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_tree_children below = ronde_tree_children_of(n, children.at[i]);
        const struct ronde_transfer up = {
            .from = children.at[i],
            .to = position,
            .from_lane = sum_lane(&below),
            .to_lane = i,
            .source = below.count == 0 ? input : output,
            .with = i == 0 ? input : output,
            .target = output,
            .reduces = true,
        };
        ronde_builder_transfer(builder, &up);
    }
}

/** A position passes the result to its children. */
static void state_down(struct ronde_builder *builder, uint32_t n, uint32_t position)
{
    const struct ronde_tree_children children = ronde_tree_children_of(n, position);
    const struct ronde_operand output = ronde_chunks(RONDE_OUT, 0, 1);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_tree_children below = ronde_tree_children_of(n, children.at[i]);
        const struct ronde_transfer down = {
            .from = position,
            .to = children.at[i],
            .from_lane = down_lane(position, &children) + i,
            .to_lane = down_lane(children.at[i], &below),
            .source = output,
            .target = output,
        };
        ronde_builder_transfer(builder, &down);
    }
}

/*
 * Parents stand on higher levels than their children, so level by level is program order for
 * everyone.
 */
void ronde_tree_build(const struct ronde_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const uint32_t top = n > 1 ? 1u << ronde_log2_floor(n - 1) : 0;
    if (n == 1)
        ronde_builder_copy(builder, 0, 0, ronde_chunks(RONDE_IN, 0, 1),
                           ronde_chunks(RONDE_OUT, 0, 1));
    for (uint32_t bit = 2; bit <= top; bit *= 2)
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state_up(builder, n, position);
    state_up(builder, n, 0);
    state_down(builder, n, 0);
    for (uint32_t bit = top; bit >= 2; bit /= 2)
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state_down(builder, n, position);
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

struct ronde_price ronde_tree_price(const struct ronde_request *request,
                                    const struct ronde_load *load,
                                    const struct ronde_network *network, uint32_t trees)
{
    const uint32_t n = request->ranks;
    const uint32_t channels = ronde_request_channels(request);
    const struct ronde_cut cut = {.channels = trees * channels, .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_tree_costs costs = {
        .alone = ronde_costs_of(network, pieces.bytes, channels),
        .pair_ns = ronde_shared_flow_ns(network, pieces.bytes, 2 * channels),
    };
    /*
     * Messages per piece through the busiest port: two children up and the parent down, and as a
     * leaf elsewhere.
     */
    const uint32_t load_of_port = channels * (trees == 1 ? at_most(n - 1, 3) : at_most(n, 4));
    /* In one piece up is over before down begins, so that only siblings meet. */
    const uint32_t at_once = pieces.count > 1 ? load_of_port : channels * (n > 3 ? 2 : 1);
    const double leaf_ns = costs.alone.step_ns + costs.alone.flow_ns;
    const double lane_ns = costs.alone.reduce_ns + costs.alone.flow_ns;
    const double port_ns =
        network->port_GBps > 0 ? load_of_port * pieces.bytes / network->port_GBps : 0;
    const struct ronde_pipeline pipeline = {
        .first_ns = ronde_tree_up_ns(n, &costs) + costs.alone.alpha_ns + lane_ns +
                    costs.alone.alpha_ns + ronde_tree_down_ns(n, &costs),
        .period_ns = lane_ns > port_ns ? lane_ns : port_ns,
        .credit_ns = (n == 2 ? leaf_ns : lane_ns) + costs.alone.alpha_ns + lane_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, at_once),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}
