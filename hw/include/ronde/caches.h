/**
 * What accesses to data cost a core, measured by copying: cached near and far, its own and what another core just used.
 */
#ifndef RONDE_CACHES_H
#define RONDE_CACHES_H

#include "ronde/distance.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Measures everything of ronde_cache_facts but poll_ns, start_ns, line_ns and cross_write, on all processors of this process at once where they do not
 * communicate, and between two where they do; at the distance that `distance` keeps, or at
 * any where it is NULL. Takes some seconds. Errors: UNAVAILABLE on fewer than two
 * processors or in a build without threads; NO_MEMORY; DEVICE when the system refuses a thread.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_caches_measure(const struct ronde_mem *mem, struct ronde_distance *distance,
                     struct ronde_cache_facts *out_facts, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
