/**
 * The requests that conformance asks of every executor: all algorithms, numbers of ranks, roots, channels, orders.
 */
#ifndef RONDE_TESTS_WALK_H
#define RONDE_TESTS_WALK_H

#include "ronde/schedules.h"

/** Numbers of ranks, and the largest of them. */
#define WALK_RANKS 11u
#define WALK_RANKS_MAX 33u

/** Numbers of ranks: small ones, a power of two, one beyond it. */
extern const uint32_t walk_ranks[WALK_RANKS];

/** A walk through the requests. */
struct walk {
    /** What is done with a request; the algorithm may refuse it. */
    void (*visit)(const struct walk *walk, const struct ronde_algorithm *algorithm,
                  const struct ronde_compile_request *request);
    uint32_t ranks; /**< only requests of so many ranks; 0 = all */
    void *self;     /**< of the visitor */
};

/** Visits all requests, in the order of the registry of algorithms. */
void walk_requests(const struct walk *walk);

#endif
