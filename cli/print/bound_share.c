/* Shares of the bound: how near a time is to the least possible. See results.h. */
#include "results.h"

#include <math.h>

bool ronde_bound_is_of(const struct ronde_compile_request *request, const uint32_t *host_of)
{
    bool is_of = !host_of || (!ronde_collective_traits(request->collective)->has_root &&
                              request->collective != RONDE_SEND_RECV);
    for (uint32_t r = 0; host_of && is_of && r < request->ranks; r++)
        is_of = host_of[r] < request->ranks;
    return is_of;
}

struct ronde_bound_share ronde_bound_share_find(const struct ronde_platform *platform,
                                                const struct ronde_compile_request *request,
                                                const uint32_t *host_of)
{
    struct ronde_bound_share share = {.is_known = false};
    if (platform && ronde_bound_is_of(request, host_of) && request->ranks > 1 &&
        request->ranks <= RONDE_BOUND_SHARE_RANKS && request->collective != RONDE_BARRIER)
        share.is_known = ronde_bound_find(platform, request, ronde_mem_default(), &share.bound,
                                          NULL) == RONDE_OK;
    return share;
}

double ronde_bound_share_of(const struct ronde_bound_share *share, uint64_t bytes, double time_ns)
{
    return share->is_known && time_ns > 0 ? ronde_bound_ns(&share->bound, (double)bytes) / time_ns
                                          : NAN;
}
