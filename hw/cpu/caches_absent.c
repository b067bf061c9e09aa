/* Caches in a build without POSIX threads, which it takes to measure them. */
#include "ronde/caches.h"

enum ronde_status ronde_caches_measure(const struct ronde_mem *mem, struct ronde_distance *distance,
                                       struct ronde_cache_facts *out_facts,
                                       struct ronde_error *error)
{
    (void)mem;
    (void)distance;
    *out_facts = (struct ronde_cache_facts){.poll_ns = 0};
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "caches: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)");
}
