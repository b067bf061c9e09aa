/**
 * barrier, dissemination.
 *
 * In round k every position signals the position 2^k behind it and waits for the one 2^k before it.
 * After ceil(log2 N) rounds everyone has heard, directly or through others, of everyone. No barrier
 * takes fewer rounds, and any N will do.
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
#include "catalogue.h"
#include "closed_form.h"

void ronde_barrier_dissemination_build(const struct ronde_request *request,
                                       struct ronde_builder *builder)
{
    ronde_builder_rotate(builder, false, false, false);
    for (uint32_t offset = 1; offset < request->ranks; offset *= 2) {
        const struct ronde_transfer signal = {.from = 0, .to = offset};
        ronde_builder_transfer(builder, &signal);
    }
}

struct ronde_price ronde_barrier_dissemination_price(const struct ronde_request *request,
                                                     const struct ronde_load *load,
                                                     const struct ronde_network *network)
{
    const double round_ns =
        2 * ronde_network_step_ns(network, 0, false) + ronde_network_alpha_ns(network);
    (void)load; /* a barrier moves nothing, whatever the count */
    return (struct ronde_price){
        .time_ns = network->time.launch_ns + ronde_log2_ceil(request->ranks) * round_ns,
        .is_exact = true,
    };
}
