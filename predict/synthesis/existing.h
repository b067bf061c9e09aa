/**
 * The best algorithm that there is at a size, to be no slower than.
 */
#ifndef RONDE_SYNTHESIS_EXISTING_H
#define RONDE_SYNTHESIS_EXISTING_H

#include "ronde/synthesize.h"

/** An algorithm of the registry, compiled. */
struct ronde_existing {
    struct ronde_schedule *schedule; /**< the caller destroys it; NULL = none serves the request */
    const char *algorithm;           /**< its name, of static storage */
    double time_ns; /**< what it takes for request->bytes, as synthesised ones are timed */
};

/** Finds it, by price on the platform. Errors: NO_MEMORY; those of ronde_select and ronde_synthesis_time. */
RONDE_MUST_CHECK enum ronde_status
ronde_existing_find(const struct ronde_platform *platform,
                    const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                    struct ronde_existing *out_existing, struct ronde_error *error);

#endif
