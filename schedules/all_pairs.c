/** Shared parts of the direct algorithms. */
#include "all_pairs.h"

static double larger(double a, double b)
{
    return a > b ? a : b;
}

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
    return costs->alpha_ns + larger(send_ns + (n - 1) * receive_ns, (n - 1) * send_ns + receive_ns);
}

struct ronde_price ronde_pairs_price(const struct ronde_pieces *pieces,
                                     const struct ronde_network *network, struct ronde_cut cut,
                                     const struct ronde_pairs *pairs)
{
    const struct ronde_pipeline pipeline = {
        .first_ns = pairs->first_ns,
        .period_ns = larger(pairs->send_ns, pairs->receive_ns),
        .credit_ns = pairs->message_ns,
        .is_unshared = ronde_is_unshared(network, pieces->bytes, cut.channels),
    };
    return ronde_pipeline_price(pieces, network, &pipeline);
}
