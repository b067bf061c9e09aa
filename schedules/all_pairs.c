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
