/**
 * What finding rings is made of: the ranks in nodes, and the ring along the neighbours of a torus.
 */
#ifndef RONDE_TOPOLOGIES_PLACE_RINGS_H
#define RONDE_TOPOLOGIES_PLACE_RINGS_H

#include "topologies/router.h"

#include "ronde/mem.h"
#include "ronde/place.h"
#include "ronde/status.h"

#include <stdint.h>

/* Directed Hamiltonian cycles that share links as little as they can, through one node of few ranks: what rings
 * want on full and partial meshes. */

/** Ranks that are searched through at most: the cheapest cycle of n takes 2^n n^2 steps. */
#define RONDE_MOST_CYCLE_RANKS 9u

/** A mesh: what a hop from rank a to rank b loads. Links of no hop have no time of their own. */
struct ronde_mesh {
    uint32_t size;      /**< ranks, 2 to RONDE_MOST_CYCLE_RANKS */
    uint32_t link_room; /**< links of the platform */
    double *own;        /**< per link: ns per GB that a hop puts on it; 0 = no hop does */
    uint32_t *first; /**< per hop a * size + b, and one more: its links in `links`; a hop to itself has none */
    uint32_t *links; /**< indices of links, hop by hop */
};

/** What the hops between hosts load, in their order. Owner: the caller frees *out_mesh. Errors: NO_MEMORY; as ronde_router_route. */
RONDE_MUST_CHECK enum ronde_status
ronde_mesh_of(const struct ronde_platform *platform, struct ronde_router *router,
              const uint32_t *hosts, uint32_t size, const struct ronde_mem *mem,
              struct ronde_mesh *out_mesh, struct ronde_error *error);

/** Frees what a mesh holds; zeroes are allowed. */
void ronde_mesh_free(struct ronde_mesh *mesh, const struct ronde_mem *mem);

/**
 * Writes `channels` cycles, each all ranks from 0 on: out_cycles[channel * size + position], and what the busiest link then
 * takes for a GB of every channel. The same mesh gives the same cycles. Errors: NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_mesh_cycles(const struct ronde_mesh *mesh, uint32_t channels, const struct ronde_mem *mem,
                  uint32_t *out_cycles, double *out_busiest, struct ronde_error *error);

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
