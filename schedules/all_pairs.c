/** Shared parts of the direct algorithms. */
#include "all_pairs.h"

#include "claims.h"

struct ronde_transfer ronde_pairs_message(uint32_t to)
{
    const struct ronde_transfer transfer = {
        .from = 0,
        .to = to,
        .from_lane = RONDE_PAIRS_SEND,
        .to_lane = RONDE_PAIRS_RECEIVE,
    };
    return transfer;
}

double ronde_pairs_ns(const struct ronde_costs *costs, uint32_t n, double receive_ns)
{
    const double send_ns = costs->step_ns + costs->flow_ns;
    return costs->alpha_ns +
           ronde_longer_ns(send_ns + (n - 1) * receive_ns, (n - 1) * send_ns + receive_ns);
}

struct ronde_price ronde_pairs_price(const struct ronde_pieces *pieces,
                                     const struct ronde_network *network, struct ronde_cut cut,
                                     const struct ronde_pairs_piece *pairs)
{
    const struct ronde_pipeline pipeline = {
        .first_ns = pairs->first_ns,
        .period_ns = ronde_longer_ns(pairs->send_ns, pairs->receive_ns),
        .credit_ns = pairs->message_ns,
        .is_unshared = ronde_is_unshared(network, pieces->bytes, cut.channels),
    };
    return ronde_pipeline_price(pieces, network, &pipeline);
}

struct ronde_price ronde_pairs_round_price(const struct ronde_compile_request *request,
                                           const struct ronde_load *load,
                                           const struct ronde_network *network, bool reduces)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const double receive_ns = reduces ? costs.reduce_ns : costs.step_ns;
    const struct ronde_pairs_piece pairs = {
        .first_ns = ronde_pairs_ns(&costs, n, receive_ns),
        .send_ns = (n - 1) * send_ns,
        .receive_ns = (n - 1) * receive_ns,
        .message_ns = send_ns + costs.alpha_ns + receive_ns,
    };
    return ronde_pairs_price(&pieces, network, cut, &pairs);
}

struct ronde_price ronde_pairs_root_price(const struct ronde_compile_request *request,
                                          const struct ronde_load *load,
                                          const struct ronde_network *network)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const double send_ns = costs.step_ns + costs.flow_ns;
    const struct ronde_pipeline pipeline = {
        .first_ns = (n - 1) * send_ns + costs.alpha_ns + costs.step_ns,
        .period_ns = (n - 1) * send_ns,
        .credit_ns = send_ns + costs.alpha_ns + costs.step_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, cut.channels),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

struct ronde_price ronde_pairs_at_once_price(const struct ronde_compile_request *request,
                                             const struct ronde_load *load,
                                             const struct ronde_network *network, uint32_t receives)
{
    const uint32_t n = request->ranks;
    const struct ronde_cut cut = {.channels = ronde_compile_request_channels(request), .chunks = 1};
    if (n == 1)
        return ronde_lane_price(load, network, cut, (struct ronde_lane_shape){.steps = 1});
    const struct ronde_pieces pieces = ronde_cut_load(load, cut);
    const struct ronde_costs costs = ronde_costs_of(network, pieces.bytes, cut.channels);
    const uint32_t flows = (n - 1) * cut.channels;
    const double send_ns = costs.step_ns + costs.flow_ns, receives_ns = receives * costs.step_ns;
    const double port_ns = network->port_GBps > 0 ? flows * pieces.bytes / network->port_GBps : 0;
    const struct ronde_pipeline pipeline = {
        .first_ns = costs.step_ns + ronde_shared_flow_ns(network, pieces.bytes, flows) +
                    costs.alpha_ns + receives_ns,
        .period_ns = ronde_longer_ns(ronde_longer_ns(receives_ns, send_ns), port_ns),
        .credit_ns = send_ns + costs.alpha_ns + costs.step_ns,
        .is_unshared = ronde_is_unshared(network, pieces.bytes, flows),
    };
    return ronde_pipeline_price(&pieces, network, &pipeline);
}

bool ronde_pairs_at_once_is_exact(const struct ronde_price_case *load)
{
    return ronde_flows_fit(load, load->ranks - 1);
}

static bool is_coprime(uint32_t a, uint32_t b)
{
    while (b > 0) {
        const uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a == 1;
}

/** The stride after another one below half of the ranks, by which a walk meets all of them; after the last one the first. */
static uint32_t next_stride(uint32_t stride, uint32_t ranks)
{
    for (uint32_t next = stride + 1; 2 * next < ranks; next++)
        if (is_coprime(next, ranks))
            return next;
    return 1;
}

void ronde_pairs_channels(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    const uint32_t n = request->ranks, channels = ronde_compile_request_channels(request);
    const struct ronde_mem *mem = ronde_builder_mem(builder);
    if (channels < 2 || n < 3 || request->channel_orders)
        return;
    uint32_t *order = ronde_mem_new(mem, n, sizeof *order);
    uint32_t strides[2] = {1, next_stride(1, n)};
    if (!order)
        ronde_builder_fail(builder, RONDE_NO_MEMORY, "no memory for an order of %u ranks", n);
    /* By two strides, then by both the other way round, then by the next two. */
    for (uint32_t c = 0; order && c < channels; c++) {
        const uint64_t step = c % 4 < 2 ? strides[c % 2] : n - strides[c % 2];
        for (uint32_t position = 0; position < n; position++)
            order[position] = (uint32_t)(position * step % n);
        ronde_builder_channel(builder, 1, order);
        if (c % 4 >= 2)
            strides[c % 2] = next_stride(next_stride(strides[c % 2], n), n);
    }
    ronde_mem_free(mem, order, n, sizeof *order);
}
