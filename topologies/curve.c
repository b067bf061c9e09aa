/* Curves: rates that depend on the working set, and the constants of a load. */
#include "platform.h"

#include <math.h>

double ronde_curve_GBps(const struct ronde_curve *curve, double bytes, double otherwise)
{
    if (curve->count == 0)
        return otherwise;
    uint32_t above = 0;
    while (above < curve->count && curve->bytes[above] < bytes)
        above++;
    if (above == 0 || above == curve->count)
        return curve->GBps[above == 0 ? 0 : curve->count - 1];
    /* costs add up, rates do not: a working set half in a cache costs the mean of both costs */
    const double low = log(curve->bytes[above - 1]), high = log(curve->bytes[above]);
    const double share = (log(bytes) - low) / (high - low);
    return 1.0 / ((1.0 - share) / curve->GBps[above - 1] + share / curve->GBps[above]);
}

struct ronde_time_params ronde_platform_time(const struct ronde_platform *platform, uint32_t ranks,
                                             uint64_t footprint_bytes)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const uint32_t cores = facts->shared.cores;
    const double ranks_per_core = cores > 0 && ranks > cores ? (double)ranks / cores : 1.0;
    const double bytes = (double)footprint_bytes * ranks_per_core;
    struct ronde_time_params time = facts->time;
    if (footprint_bytes == 0)
        return time;
    time.copy_GBps = ronde_curve_GBps(&facts->copy_curve, bytes, time.copy_GBps);
    time.gamma_GBps = ronde_curve_GBps(&facts->gamma_curve, bytes, time.gamma_GBps);
    return time;
}

bool ronde_platform_has_caches(const struct ronde_platform *platform)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(platform);
    const struct ronde_cache_facts *caches = &facts->caches;
    return facts->shared.cores > 0 && caches->core_bytes > 0 && caches->combine_GBps > 0 &&
           caches->read.count > 0 && caches->write.count > 0 && caches->cross_copy.count > 0 &&
           caches->cross_combine.count > 0 && caches->cross_write.count > 0;
}
