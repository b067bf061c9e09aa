/**
 * The links of a platform as messages use them: every message takes the one route of the file between two ranks.
 */
#ifndef RONDE_SYNTHESIS_WIRING_H
#define RONDE_SYNTHESIS_WIRING_H

#include "turns.h"

/** Most ranks: every pair has a route. */
#define RONDE_WIRING_RANKS 4096u

/** A directed link that some route uses. */
struct ronde_route_wire {
    uint32_t link;     /**< index in the platform */
    double rate_GBps;  /**< of a platform link; 0 = it is down */
    double latency_ns; /**< of a platform link */
    bool is_free;      /**< caps each flow and is not shared: no limit to many flows */
    bool is_medium;    /**< used both ways: one capacity for both directions */
};

/** Routes of all pairs of ranks. */
struct ronde_wiring {
    const struct ronde_platform *platform; /**< must outlive it */
    uint32_t ranks;                        /**< rank r on host r of the file */
    struct ronde_route_wire *wires;        /**< links on routes */
    uint32_t wire_count;                   /**< of those */
    uint32_t *first;      /**< pair (i, j) is i * ranks + j: where its wires begin, and one more */
    uint32_t *hops;       /**< wires of all routes, in order */
    const bool *may_take; /**< per pair: messages may go this way; NULL = all may */
    double alpha_ns;      /**< time between messages that is no link's: ronde.alpha_ns */
    const struct ronde_turns
        *turns; /**< NULL = all routes are there; else those of turns->sources, i counts these */
    uint32_t *turned; /**< wire w by turn t is turns->count * w + t; NULL without turns */
};

/**
 * Finds the routes of the first `ranks` hosts. Everything is in the pool. Time: pairs of ranks.
 * Errors: NO_MEMORY; BAD_ARGUMENT (more ranks than hosts or than RONDE_WIRING_RANKS); UNSUPPORTED for a shared host,
 * whose ranks have no links; those of ronde_router_route.
 */
RONDE_MUST_CHECK enum ronde_status ronde_wiring_find(const struct ronde_platform *platform,
                                                     uint32_t ranks, struct ronde_index_pool *pool,
                                                     struct ronde_wiring *out_wiring,
                                                     struct ronde_error *error);

/**
 * The same wires by the routes of turns->sources alone, which must outlive it: others are these, turned. Their numbers
 * come in another order. Time: pairs of a source and a rank; links times turns.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_wiring_find_turned(const struct ronde_platform *platform, uint32_t ranks,
                         const struct ronde_turns *turns, struct ronde_index_pool *pool,
                         struct ronde_wiring *out_wiring, struct ronde_error *error);

/** Ranks whose routes are there: the first of a pair. */
uint32_t ronde_wiring_source_count(const struct ronde_wiring *wiring);

/** One of them. */
uint32_t ronde_wiring_source(const struct ronde_wiring *wiring, uint32_t index);

/** Whether anything joins two different ranks: a platform may be without it (ronde_platform_without). `from` counts sources. */
bool ronde_wiring_has_way(const struct ronde_wiring *wiring, uint32_t from, uint32_t to);

/** Whether messages may go from one rank to another by its route: there is one, and may_take allows it. */
bool ronde_wiring_is_open(const struct ronde_wiring *wiring, uint32_t from, uint32_t to);

#endif
