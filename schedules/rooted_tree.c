/** Orders and program order of the trees that a root stands on top of. */
#include "rooted_tree.h"

/** Position of the first tree that stands at position q of the second. */
static uint32_t second_order(uint32_t n, uint32_t q)
{
    if (q == 0)
        return 0;
    return n % 2 == 1 ? n - q : q % (n - 1) + 1;
}

void ronde_rooted_trees_declare(const struct ronde_compile_request *request,
                                struct ronde_builder *builder)
{
    const uint32_t n = request->ranks;
    const struct ronde_mem *mem = ronde_builder_mem(builder);
    uint32_t *order = ronde_mem_new(mem, n, sizeof *order);
    if (!order) {
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for an order of %u ranks", n);
        return;
    }
    for (uint32_t q = 0; q < n; q++)
        order[q] = second_order(n, q);
    for (uint32_t channel = 0; channel < ronde_compile_request_channels(request); channel++) {
        ronde_builder_channel(builder, 1, NULL);
        ronde_builder_channel(builder, 1, order);
    }
    ronde_mem_free(mem, order, n, sizeof *order);
}

void ronde_rooted_tree_walk(uint32_t n, bool is_upwards, struct ronde_builder *builder,
                            void (*state)(struct ronde_builder *builder, uint32_t n,
                                          uint32_t position))
{
    const uint32_t levels = n > 1 ? ronde_log2_floor(n - 1) : 0;
    if (!is_upwards)
        state(builder, n, 0);
    for (uint32_t i = 1; i <= levels; i++) {
        const uint32_t bit = 1u << (is_upwards ? i : levels + 1 - i);
        for (uint32_t position = bit; position < n; position += 2 * bit)
            state(builder, n, position);
    }
    if (is_upwards)
        state(builder, n, 0);
}

static struct ronde_cut cut_of(const struct ronde_compile_request *request)
{
    return (struct ronde_cut){.channels = 2 * ronde_compile_request_channels(request), .chunks = 1};
}

struct ronde_rooted_terms ronde_rooted_terms_of(const struct ronde_compile_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network)
{
    const struct ronde_pieces pieces = ronde_cut_load(load, cut_of(request));
    const uint32_t channels = ronde_compile_request_channels(request);
    const uint32_t pairs = 2 * channels;
    return (struct ronde_rooted_terms){
        .pieces = pieces,
        .costs = {.alone = ronde_costs_of(network, pieces.bytes, channels),
                  .pair_ns = ronde_shared_flow_ns(network, pieces.bytes, pairs)},
        .port_ns = network->port_GBps > 0 ? pairs * pieces.bytes / network->port_GBps : 0,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, pairs),
    };
}

struct ronde_price ronde_rooted_copy_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network)
{
    return ronde_lane_price(load, network, cut_of(request), (struct ronde_lane_shape){.steps = 1});
}
