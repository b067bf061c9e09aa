/**
 * Directed Hamiltonian cycles that share links as little as they can, through one node of few ranks: what rings want on full
 * and partial meshes.
 */
#ifndef RONDE_TOPOLOGIES_PLACE_CYCLES_H
#define RONDE_TOPOLOGIES_PLACE_CYCLES_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include "topologies/router.h"

#include <stdint.h>

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

#endif
