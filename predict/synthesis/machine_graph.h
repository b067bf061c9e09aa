/**
 * A machine as a directed graph with capacities: memory, equal parts, links as edges, pairs, flows, distances.
 */
#ifndef RONDE_PREDICT_SYNTHESIS_MACHINE_GRAPH_H
#define RONDE_PREDICT_SYNTHESIS_MACHINE_GRAPH_H

#include "ronde/mem.h"
#include "ronde/topologies.h"

#include <stdbool.h>
#include <stdint.h>

/* Turns of a machine: ranks and links take each other's places and every route stays one. A digit of all ranks (GPU
 * of a node, node of a pod, pod) is counted on by one, if ronde_platform_symmetry says that the machine looks the
 * same then. Ranks that turns carry onto each other are a class, and the routes of one rank of each, turned, are
 * all that there are. */

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
RONDE_MUST_CHECK enum ronde_status
ronde_turns_find(const struct ronde_platform *platform, uint32_t ranks, struct ronde_store *pool,
                 struct ronde_turns *out_turns, struct ronde_error *error);

/* The links of a platform as messages use them: every message takes the one route of the file between two ranks. */

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
RONDE_MUST_CHECK enum ronde_status
ronde_wiring_find(const struct ronde_platform *platform, uint32_t ranks, struct ronde_store *pool,
                  struct ronde_wiring *out_wiring, struct ronde_error *error);

/**
 * The same wires by the routes of turns->sources alone, which must outlive it: others are these, turned. Their numbers
 * come in another order. Time: pairs of a source and a rank; links times turns.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_wiring_find_turned(const struct ronde_platform *platform, uint32_t ranks,
                         const struct ronde_turns *turns, struct ronde_store *pool,
                         struct ronde_wiring *out_wiring, struct ronde_error *error);

/** Ranks whose routes are there: the first of a pair. */
uint32_t ronde_wiring_source_count(const struct ronde_wiring *wiring);

/** One of them. */
uint32_t ronde_wiring_source(const struct ronde_wiring *wiring, uint32_t index);

/** Whether anything joins two different ranks: a platform may be without it (ronde_platform_without). `from` counts sources. */
bool ronde_wiring_has_way(const struct ronde_wiring *wiring, uint32_t from, uint32_t to);

/** Whether messages may go from one rank to another by its route: there is one, and may_take allows it. */
bool ronde_wiring_is_open(const struct ronde_wiring *wiring, uint32_t from, uint32_t to);

/** A directed capacity between two places. */
struct ronde_arc {
    uint32_t from;     /**< place */
    uint32_t to;       /**< place */
    uint32_t wire;     /**< of the wiring; RONDE_NONE = places that only touch */
    int64_t capacity;  /**< in units of the graph */
    double latency_ns; /**< of the wire */
};

/** Places 0 .. ranks-1 are the ranks. */
struct ronde_graph {
    const struct ronde_wiring *wiring; /**< must outlive it */
    uint32_t ranks;                    /**< of those */
    uint32_t place_count;              /**< ranks included */
    struct ronde_arc *arcs;            /**< all capacities */
    uint32_t arc_count;                /**< of those */
    int64_t free;     /**< capacity of an arc without a limit: more than all limits together */
    double unit_GBps; /**< rate of capacity 1 */
    uint64_t unit_Bps; /**< the same in bytes per second, where capacities are exact; 0 = rates were rounded */
};

/**
 * Makes the graph. Everything is in the pool. Errors: NO_MEMORY; UNSUPPORTED where two ranks are one place.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_graph_make(const struct ronde_wiring *wiring, struct ronde_store *pool,
                 struct ronde_graph *out_graph, struct ronde_error *error);

/** Turns every arc round: what leaves a set of places then enters it. */
void ronde_graph_reverse(struct ronde_graph *graph);

/* A set of pairs of numbers, in the order in which they came. */

/** Two numbers. */
struct ronde_index_pair {
    uint32_t from; /**< the first */
    uint32_t to;   /**< the second */
};

/** A set; empty with a pool and zeroes. Its memory is the pool's. */
struct ronde_pair_set {
    struct ronde_store *pool;       /**< must outlive it */
    struct ronde_index_pair *pairs; /**< in the order in which they came */
    uint32_t count;                 /**< of those */
    uint32_t *slots;                /**< numbers of pairs plus 1, by their hash; 0 = free */
    uint32_t slot_count;            /**< a power of two, or 0; at least twice the pairs */
};

/* Maximum flow between two vertices, in integers: Dinic's algorithm (E. A. Dinic, "Algorithm for solution of a
 * problem of maximum flow in networks with power estimation", Soviet Math. Doklady 11, 1970), levels by breadth-
 * first search, then a blocking flow by advance and retreat. Cuts decide everything in synthesis and must be exact,
 * hence integers. Debian's igraph, LEMON and Boost graph compute flows in doubles or bring C++ and a licence with
 * them; what costs is the number of flows, not a single one. */

/** A network of arcs with capacities; arc a and a ^ 1 are one arc and its reverse. */
struct ronde_max_flow {
    uint32_t vertex_count; /**< vertices */
    uint32_t arc_count;    /**< arcs, reverse ones included */
    uint32_t arc_room;     /**< of those, allocated */
    uint32_t *to;          /**< per arc: its head */
    int64_t *capacity;     /**< per arc: at the start; a reverse arc has 0 */
    int64_t *left;         /**< per arc: residual */
    uint32_t *first;       /**< per vertex and one more: into `leaving`; made by the first run */
    uint32_t *leaving;     /**< arcs by their tail */
    uint32_t *level;       /**< per vertex: distance from the source, RONDE_NONE = not reached */
    uint32_t *next;        /**< per vertex: arc to try next */
    uint32_t *queue;       /**< vertices, and the path of arcs */
    bool is_sealed;        /**< no arcs may follow */
    bool *is_source;       /**< per vertex: one of the sources that a flow grows from */
    uint32_t *starts;      /**< sources that are nearest to the sink */
};

/** Makes a network without arcs for so many vertices and at most so many arcs (reverse ones not counted). Errors: false, no memory. */
bool ronde_flow_create(struct ronde_max_flow *flow, struct ronde_store *pool, uint32_t vertices,
                       uint32_t arcs);

/** Adds an arc and returns its number. Capacities of all arcs together must fit int64. */
uint32_t ronde_flow_arc(struct ronde_max_flow *flow, uint32_t from, uint32_t to, int64_t capacity);

/** The most that flows from source to sink, but no more than `limit` (which may stop it early). */
int64_t ronde_flow_run(struct ronde_max_flow *flow, uint32_t source, uint32_t sink, int64_t limit);

/** Begins a flow that grows: nothing flows, and nothing is a source. */
void ronde_flow_begin(struct ronde_max_flow *flow);

/** Makes a vertex one more source, a former sink with all that flows into it included. */
void ronde_flow_source(struct ronde_max_flow *flow, uint32_t vertex);

/**
 * What can flow from all sources to a sink that is none of them, as ronde_flow_run says, upon what flows already: where
 * the sinks so far are sources, most of it comes from nearby and little is searched.
 */
int64_t ronde_flow_grow(struct ronde_max_flow *flow, uint32_t sink, int64_t limit);

/** After ronde_flow_grow did not reach its limit: finds the source's side of the least cut. */
void ronde_flow_reach(struct ronde_max_flow *flow);

/** After a run that did not reach its limit, or ronde_flow_reach: whether a vertex is on the source's side of a least cut. */
bool ronde_flow_is_inside(const struct ronde_max_flow *flow, uint32_t vertex);

/* Shortest ways through the graph, by any length of arcs. */

/** Arcs by the place they leave, and room for a search. */
struct ronde_distances {
    const struct ronde_graph *graph; /**< must outlive it, unchanged */
    uint32_t *first;                 /**< per place and one more */
    uint32_t *arcs;                  /**< by their place */
    double *length;                  /**< per arc, the caller's: at least 0; INFINITY = closed */
    double *to; /**< per place: length of the shortest way from the latest source; INFINITY = none */
    uint32_t *queue; /**< a ring of places */
    bool *is_queued; /**< per place */
};

/** Errors: false, no memory. Lengths are zero at first. */
bool ronde_distances_create(struct ronde_distances *distances, const struct ronde_graph *graph,
                            struct ronde_store *pool);

/** Finds the shortest ways from a place to all others, in `to`. */
void ronde_distances_from(struct ronde_distances *distances, uint32_t source);

#endif
