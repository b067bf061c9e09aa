/** Orders and messages of the trees that a root stands on top of. */
#include "rooted_tree.h"

uint32_t ronde_rooted_second_order(uint32_t n, uint32_t q)
{
    if (q == 0)
        return 0;
    return n % 2 == 1 ? n - q : q % (n - 1) + 1;
}

void ronde_rooted_tree_walk(const struct ronde_rooted_tree *tree, bool is_upwards,
                            ronde_tree_state_fn *state, struct ronde_builder *builder)
{
    const uint32_t n = tree->n;
    const uint32_t levels = n > 1 ? ronde_log2_floor(n - 1) : 0;
    if (!is_upwards)
        state(tree, 0, builder);
    for (uint32_t i = 1; i <= levels; i++) {
        const uint32_t bit = 1u << (is_upwards ? i : levels + 1 - i);
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state(tree, position, builder);
    }
    if (is_upwards)
        state(tree, 0, builder);
}

/** A position passes the block to its children: to the second in a lane of its own. */
static void send_down(const struct ronde_rooted_tree *tree, uint32_t position,
                      struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    for (uint32_t i = 0; i < children.count; i++) {
        const struct ronde_transfer transfer = {
            .from = tree->first + position,
            .to = tree->first + children.at[i],
            .from_lane = tree->first_lane + i,
            .to_lane = tree->first_lane,
            .source = position == 0 ? tree->root : tree->output,
            .target = tree->output,
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

void ronde_rooted_tree_broadcast(const struct ronde_rooted_tree *tree, struct ronde_builder *builder)
{
    ronde_rooted_tree_walk(tree, false, send_down, builder);
}

/** Lane of a position that passes its sum on: that of its last child. */
static uint32_t sum_lane(const struct ronde_tree_children *children)
{
    return children->count > 0 ? children->count - 1 : 0;
}

/** A position receives and adds what its children send. */
static void add_up(const struct ronde_rooted_tree *tree, uint32_t position,
                   struct ronde_builder *builder)
{
    const struct ronde_tree_children children = ronde_tree_children_of(tree->n, position);
    const struct ronde_operand own = position == 0 ? tree->root : tree->input;
    const struct ronde_operand sum = position == 0 ? tree->result : tree->output;
    for (uint32_t i = 0; i < children.count; i++) {
        const uint32_t child = children.at[i];
        const struct ronde_tree_children below = ronde_tree_children_of(tree->n, child);
        const struct ronde_transfer transfer = {
            .from = tree->first + child,
            .to = tree->first + position,
            .from_lane = tree->first_lane + sum_lane(&below),
            .to_lane = tree->first_lane + i,
            .source = below.count == 0 ? tree->input : tree->output,
            .with = i == 0 ? own : sum,
            .target = sum,
            .reduces = true,
        };
        ronde_builder_transfer(builder, &transfer);
    }
}

void ronde_rooted_tree_reduce(const struct ronde_rooted_tree *tree, struct ronde_builder *builder)
{
    ronde_rooted_tree_walk(tree, true, add_up, builder);
}

struct ronde_cut ronde_rooted_cut(const struct ronde_compile_request *request)
{
    return (struct ronde_cut){.channels = 2 * ronde_compile_request_channels(request), .chunks = 1};
}

struct ronde_rooted_costs ronde_rooted_costs_of(uint32_t channels, double bytes,
                                                const struct ronde_network *network)
{
    const uint32_t pairs = 2 * channels;
    return (struct ronde_rooted_costs){
        .piece = {.alone = ronde_costs_of(network, bytes, channels),
                  .pair_ns = ronde_shared_flow_ns(network, bytes, pairs)},
        .port_ns = network->port_GBps > 0 ? pairs * bytes / network->port_GBps : 0,
        .is_unshared = ronde_is_unshared(network, bytes, pairs),
    };
}

double ronde_rooted_down_ns(uint32_t n, const struct ronde_rooted_costs *costs)
{
    const struct ronde_costs *alone = &costs->piece.alone;
    return alone->step_ns + costs->piece.pair_ns + alone->alpha_ns +
           ronde_tree_down_ns(n, &costs->piece);
}

double ronde_rooted_up_ns(uint32_t n, const struct ronde_rooted_costs *costs)
{
    const struct ronde_costs *alone = &costs->piece.alone;
    return ronde_tree_up_ns(n, &costs->piece) - alone->flow_ns + costs->piece.pair_ns +
           alone->alpha_ns + alone->reduce_ns;
}

struct ronde_price ronde_rooted_copy_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network)
{
    return ronde_lane_price(load, network, ronde_rooted_cut(request),
                            (struct ronde_lane_shape){.steps = 1});
}
