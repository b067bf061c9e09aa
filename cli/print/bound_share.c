/* Shares of the bound. See bound_share.h. */
#include "bound_share.h"

#include <math.h>
#include <stdio.h>

/* Whether ranks on chosen hosts do what they do in the file's order: all hosts take part, and no rank is special. */
static bool is_same_anywhere(const struct ronde_platform *platform,
                             const struct ronde_compile_request *request)
{
    return ronde_platform_facts(platform)->hosts == request->ranks &&
           !ronde_collective_traits(request->collective)->has_root &&
           request->collective != RONDE_SEND_RECV;
}

struct ronde_bound_share ronde_bound_share_find(const struct ronde_platform *platform,
                                                const struct ronde_compile_request *request,
                                                const uint32_t *host_of)
{
    struct ronde_bound_share share = {.is_known = false};
    if (platform && (!host_of || is_same_anywhere(platform, request)) && request->ranks > 1 &&
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

struct ronde_cell ronde_bound_share_cell(double share)
{
    struct ronde_cell cell = {"-"};
    if (!isnan(share))
        snprintf(cell.text, sizeof cell.text, "%.1f", 100 * share);
    return cell;
}

struct ronde_field ronde_bound_share_field(double share)
{
    return isnan(share) ? ronde_field_null("bound_share") : ronde_field_real("bound_share", share);
}
