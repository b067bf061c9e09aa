/**
 * The memory of a router: for every zone of shortest routes one search that can be taken up again, and for every point
 * what that search found. route.c walks through the zones, router.c searches inside one.
 *
 * Labels carry the number of the search that wrote them, so a new search clears nothing: a question costs what it
 * visits, not what the zone holds. A search is kept until another source is requested: the routes of one source to many
 * destinations cost one search.
 */
#ifndef RONDE_TOPOLOGIES_ROUTER_H
#define RONDE_TOPOLOGIES_ROUTER_H

#include "detour.h"

/** What the search of its zone knows of a point. */
struct ronde_visit {
    uint64_t search;   /**< number of the search this is about; older ones are void */
    uint32_t cost;     /**< links from the source */
    uint32_t via;      /**< route that leads here */
    uint32_t next;     /**< in its bucket */
    uint32_t previous; /**< in its bucket */
    bool is_done;      /**< final */
    bool is_ambiguous; /**< another path is as short */
};

/** Open points of one cost; void unless the number is that of the search. */
struct ronde_bucket {
    uint64_t search; /**< as in a visit */
    uint32_t head;   /**< point, or NONE */
};

/** The search of one zone. */
struct ronde_search {
    uint64_t number;       /**< 0 = none yet */
    uint32_t source;       /**< point it starts from */
    uint32_t cost;         /**< all cheaper points are done */
    uint32_t open;         /**< points in buckets */
    uint32_t first_bucket; /**< into buckets, which this zone uses round and round */
    uint32_t bucket_count; /**< longest route of the zone + 1; 0 where routes are not searched for */
};

struct ronde_router {
    const struct ronde_platform *platform; /**< must outlive the router */
    struct ronde_store store;              /**< its memory; the allocator must outlive the router */
    struct ronde_visit *visits;            /**< per point */
    struct ronde_search *searches;         /**< per zone */
    struct ronde_bucket *buckets;          /**< of all zones */
    uint32_t bucket_count;                 /**< of those */
    uint32_t *chain;      /**< a stack of routes, per point one: zones on the way are nested */
    uint32_t chain_count; /**< used */
    uint64_t searched;    /**< searches so far */
    struct ronde_detour_search detour; /**< where something is taken out */
};

/** The written route between two points of a zone, or NULL. */
const struct ronde_route *ronde_platform_written_route(const struct ronde_platform *platform,
                                                       uint32_t src, uint32_t dst);

/** Searches the zone of src until dst is final or everything that can be reached is; the answer is in visits[dst]. */
void ronde_router_search(struct ronde_router *router, uint32_t src, uint32_t dst);

/** Whether the latest search of its zone reached a point. */
bool ronde_router_reached(const struct ronde_router *router, uint32_t point);

/** Pushes the routes from the source of the latest search to dst, in order, on the chain; returns how many. */
uint32_t ronde_router_push(struct ronde_router *router, uint32_t dst);

#endif
