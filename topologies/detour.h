/**
 * Ways around what has been taken out of a platform.
 *
 * A file says how its pairs are routed, and nothing of other ways. Where a route crosses a link that is out, the way is
 * found anew over the places and links of the whole file, hosts included, as GPUs pass on what has no NIC: by the fewest
 * links, and of equally short ways another one for another pair, so that pairs share them as they do on a fabric with
 * adaptive routing: hosts that have lost their links take turns, as GPUs without a NIC do at those of their neighbours. What is
 * routed depends on nothing but the file and what is out.
 */
#ifndef RONDE_TOPOLOGIES_DETOUR_H
#define RONDE_TOPOLOGIES_DETOUR_H

#include "platform.h"

struct ronde_meet;

/** A link from one place to another. */
struct ronde_detour_arc {
    uint32_t from; /**< place */
    uint32_t to;   /**< place */
    uint32_t link; /**< what is crossed; RONDE_NONE where two places touch */
};

/** Places and links that are left, from both sides. */
struct ronde_detours {
    uint32_t place_count;
    uint32_t arc_count;
    uint32_t host_count;
    struct ronde_detour_arc *arcs; /**< sorted by from */
    uint32_t *first_out;           /**< per place, and one more: into arcs */
    uint32_t *by_end;              /**< arcs sorted by to */
    uint32_t *first_in;            /**< per place, and one more: into by_end */
    uint32_t *place_of;            /**< per host */
    struct ronde_store store;      /**< of all of these */
    uint32_t *number_of; /**< per host: which one it is of those that have lost a link of their own; of the others, of them */
};

/** What a search from one host has found. */
struct ronde_detour_search {
    uint32_t source;    /**< host; RONDE_NONE = none yet */
    uint32_t *distance; /**< per place; RONDE_NONE = not reached */
    double *ways;       /**< per place: how many are equally short */
    uint32_t *queue;    /**< room, and of the answer: links from the destination back */
};

/**
 * Makes them of what is not out (platform->is_out). `meet` is of the platform. Errors: NO_MEMORY. Owner: the caller frees.
 */
enum ronde_status ronde_detours_make(struct ronde_meet *meet, struct ronde_detours **out_detours);

/**
 * The same of so many of the hosts, in this order; shares the rest with `whole`, which outlives it. NULL when there is no memory. Owner: the caller frees.
 */
struct ronde_detours *ronde_detours_view(const struct ronde_detours *whole, const uint32_t *hosts,
                                         uint32_t count, const struct ronde_mem *mem);

/** Frees them; NULL is allowed. */
void ronde_detours_free(struct ronde_detours *detours, const struct ronde_mem *mem);

/** Room to search, in a store, which is short where there is none. */
void ronde_detour_search_open(const struct ronde_detours *detours, struct ronde_store *store,
                              struct ronde_detour_search *out_search);

/**
 * The links of the way between two hosts, backwards, in search->queue; returns how many, RONDE_NONE where no way is left.
 */
uint32_t ronde_detour_find(const struct ronde_detours *detours, struct ronde_detour_search *search,
                           uint32_t src, uint32_t dst);

#endif
