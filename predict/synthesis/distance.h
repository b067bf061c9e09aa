/**
 * Shortest ways through the graph, by any length of arcs.
 */
#ifndef RONDE_SYNTHESIS_DISTANCE_H
#define RONDE_SYNTHESIS_DISTANCE_H

#include "graph.h"

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
                            struct ronde_index_pool *pool);

/** Finds the shortest ways from a place to all others, in `to`. */
void ronde_distances_from(struct ronde_distances *distances, uint32_t source);

#endif
