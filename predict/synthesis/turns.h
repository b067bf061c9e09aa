/**
 * Turns of a machine: ranks and links take each other's places and every route stays one.
 *
 * A digit of all ranks (GPU of a node, node of a pod, pod) is counted on by one, if ronde_platform_symmetry says that the
 * machine looks the same then. Ranks that turns carry onto each other are a class, and the routes of one rank of each,
 * turned, are all that there are.
 */
#ifndef RONDE_SYNTHESIS_TURNS_H
#define RONDE_SYNTHESIS_TURNS_H

#include "pool.h"

#include "ronde/topologies.h"

/** Digits of ranks at most, and thereby turns: each at least halves what is left. */
#define RONDE_TURNS_MOST 32u

/** Turns that together have all others among them. */
struct ronde_turns {
    uint32_t count;                      /**< turns; 0 = none was found */
    uint32_t *rank_to[RONDE_TURNS_MOST]; /**< per turn and rank: whose place it takes */
    uint32_t *link_to[RONDE_TURNS_MOST]; /**< per turn and link of the platform: likewise; RONDE_NONE = on no route */
    uint32_t *sources;                   /**< a rank of each class */
    uint32_t source_count; /**< classes */
};

/**
 * Looks for turns of the first `ranks` hosts, in the pool. There may be others; those that are found are ones. Errors:
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_turns_find(const struct ronde_platform *platform,
                                                    uint32_t ranks, struct ronde_index_pool *pool,
                                                    struct ronde_turns *out_turns,
                                                    struct ronde_error *error);

#endif
