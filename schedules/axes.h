/**
 * Rings along the axes of a grid of positions: what torus and hierarchical algorithms are made of.
 *
 * A position has a digit per axis, and so has a chunk (or block). Scattering goes from the slowest
 * axis to the fastest: a ring along an axis reduces bundles of all chunks that agree in the digits so
 * far, and leaves each position with those of its own digit, until it owns one chunk. Gathering goes
 * back. Bundles are contiguous in this order, and shifting digits carries position 0's program to
 * all.
 */
#ifndef RONDE_SCHEDULES_AXES_H
#define RONDE_SCHEDULES_AXES_H

#include "closed_form.h"

/** A grid, and the lane each ring runs in. */
struct ronde_axes {
    uint32_t count;                         /**< axes */
    uint32_t radix[RONDE_MAX_SHAPE];        /**< positions along each, slowest first */
    uint32_t scatter_lane[RONDE_MAX_SHAPE]; /**< of each axis */
    uint32_t gather_lane[RONDE_MAX_SHAPE];  /**< of each axis */
};

/** Positions are (local, node); by default as many per node as divide the ranks, at most 8. */
struct ronde_axes ronde_axes_of_nodes(const struct ronde_request *request);

/** Positions are the request's shape; by default the most square one of two axes. */
struct ronde_axes ronde_axes_of_torus(const struct ronde_request *request);

/** Accepts the default shape and two digits: nodes x local. */
enum ronde_status ronde_axes_supports_nodes(const struct ronde_request *request,
                                            struct ronde_error *why_not);

/**
 * Declares the symmetry of a grid and, where positions are (local, node), channels whose orders put
 * a node's ranks side by side.
 */
void ronde_axes_declare_nodes(const struct ronde_axes *axes, const struct ronde_request *request,
                              struct ronde_builder *builder);

/** States reduce_scatter along all axes, from the input to the own chunk of the output. */
void ronde_axes_scatter(const struct ronde_axes *axes, struct ronde_builder *builder);

/** States all_gather along all axes, in the output; `own` is where a position's own chunk is. */
void ronde_axes_gather(const struct ronde_axes *axes, struct ronde_operand own,
                       struct ronde_builder *builder);

/** Chunks of a bundle along an axis. */
uint32_t ronde_axes_bundle(const struct ronde_axes *axes, uint32_t axis);

/** Adds what scattering along an axis costs a position; nothing where it has radix 1. */
void ronde_axes_add_scatter(const struct ronde_axes *axes, uint32_t axis,
                            struct ronde_lane_work *work);

/** Adds what gathering along an axis costs a position. */
void ronde_axes_add_gather(const struct ronde_axes *axes, uint32_t axis,
                           struct ronde_lane_work *work);

/**
 * The price of lanes that hand pieces on to one another, as many positions in step as there are: L +
 * the sum of all lanes' work for a piece + (P-1) times the longest one's, or the time the port needs
 * for all of a piece where that is longer. Exact for equal pieces whose flows share nothing.
 */
struct ronde_price ronde_axes_stages_price(const struct ronde_load *load,
                                           const struct ronde_network *network, struct ronde_cut cut,
                                           const struct ronde_lane_work *stages,
                                           uint32_t stage_count);

#endif
