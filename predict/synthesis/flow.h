/**
 * Maximum flow between two vertices, in integers: Dinic's algorithm (E. A. Dinic, "Algorithm for solution of a problem of
 * maximum flow in networks with power estimation", Soviet Math. Doklady 11, 1970), levels by breadth-first search, then a
 * blocking flow by advance and retreat.
 *
 * Cuts decide everything in synthesis and must be exact, hence integers. Debian's igraph, LEMON and Boost graph compute
 * flows in doubles or bring C++ and a licence with them; what costs is the number of flows, not a single one.
 */
#ifndef RONDE_SYNTHESIS_FLOW_H
#define RONDE_SYNTHESIS_FLOW_H

#include "pool.h"

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
bool ronde_flow_create(struct ronde_max_flow *flow, struct ronde_index_pool *pool,
                       uint32_t vertices, uint32_t arcs);

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

#endif
