/**
 * barrier, dissemination.
 *
 * In round k every position signals the position 2^k behind it and waits for the one 2^k before it.
 * After ceil(log2 N) rounds a signal of every position has reached, directly or through others,
 * every other. No barrier takes fewer rounds, and any N will do.
 *
 *   round 0    0 -> 1    1 -> 2    2 -> 3    3 -> 0
 *   round 1    0 -> 2    1 -> 3    2 -> 0    3 -> 1
 *
 * Price (symbols in closed_form.h; messages are empty):
 *   T = L + ceil(log2 N) (2 s(0) + a)
 * Exact.
 *
 * Source: D. Hensgen, R. Finkel, U. Manber, "Two algorithms for barrier synchronization",
 * International Journal of Parallel Programming 17(1), 1988, pages 1-17.
 */
#include "claims.h"

static void build(const struct ronde_compile_request *request, struct ronde_builder *builder)
{
    ronde_builder_rotate(builder, false, false, false);
    for (uint32_t offset = 1; offset < request->ranks; offset *= 2) {
        const struct ronde_transfer signal = {.from = 0, .to = offset};
        ronde_builder_transfer(builder, &signal);
    }
}

static struct ronde_price price(const struct ronde_compile_request *request,
                                const struct ronde_load *load, const struct ronde_network *network)
{
    const double round_ns =
        2 * ronde_network_step_ns(network, 0, false) + ronde_costs_of(network, 0, 1).alpha_ns;
    (void)load; /* a barrier moves nothing, whatever the count */
    return (struct ronde_price){
        .time_ns = network->time.launch_ns + ronde_log2_ceil(request->ranks) * round_ns,
        .is_exact = true,
    };
}

static struct ronde_algorithm_counts counts_of(uint32_t ranks)
{
    return ronde_counts_rounds(ranks, ronde_log2_ceil(ranks), 0);
}

const struct ronde_algorithm ronde_algorithm_barrier_dissemination = {
    .collective = RONDE_BARRIER,
    .name = "dissemination",
    .summary = "everyone signals ahead in log2 N rounds; the fewest there can be",
    .supports = ronde_supports_any,
    .build = build,
    .price = price,
    .source = "Hensgen, Finkel, Manber 1988",
    .counts = counts_of,
};
