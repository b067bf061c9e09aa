/**
 * What finding rings is made of: the ranks in nodes, and the ring along the neighbours of a torus.
 */
#ifndef RONDE_TOPOLOGIES_PLACE_RINGS_H
#define RONDE_TOPOLOGIES_PLACE_RINGS_H

#include "ronde/place.h"

/** The ranks that take part, node by node. */
struct ronde_ring_ranks {
    uint32_t ranks;      /**< of those */
    uint32_t node_count; /**< nodes with a rank */
    uint32_t *members;   /**< ranks, node by node, ascending by host in each */
    uint32_t *first;     /**< per node, and one more: into members */
    uint32_t *rank_of;   /**< per host: its rank, or NONE */
};

/**
 * Writes a ring that visits every host of a torus and only goes to neighbours: out_hosts, and as many entries of room.
 * Channels differ in direction and in the axis they run along first.
 */
void ronde_torus_ring(const struct ronde_torus *torus, uint32_t channel, uint32_t *room,
                      uint32_t *out_hosts);

/** Which of the 2 * axes ways out of a host leads to a neighbour: two per axis, forwards first. */
uint32_t ronde_torus_way(const struct ronde_torus *torus, uint32_t from, uint32_t to);

#endif
