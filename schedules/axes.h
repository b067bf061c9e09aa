/**
 * Rings along the axes of a grid of positions: what torus and hierarchical algorithms are made of.
 *
 * A position has a digit per axis, and so has a chunk (or block). Scattering goes from the slowest
 * axis to the fastest: a ring along an axis reduces bundles of all chunks that agree in the digits so
 * far, and leaves each position with those of its own digit, until it owns one chunk. Gathering goes
 * back. Bundles are contiguous in this order, and shifting digits carries position 0's program to
 * all: the engine does that where the whole schedule is symmetric, ronde_axes_state where other parts
 * of it are not. Along an axis of few positions direct messages may stand in for the ring.
 */
#ifndef RONDE_SCHEDULES_AXES_H
#define RONDE_SCHEDULES_AXES_H

#include "closed_form.h"

/** A grid, and the lane each ring runs in; what is direct also has the next lane, to receive in. */
struct ronde_axes {
    uint32_t count;      /**< axes */
    uint32_t chunk_axes; /**< of these, along which chunks differ */
    uint32_t speakers;   /**< positions to state facts for: 1 under symmetry, else all */
    uint32_t radix[RONDE_MAX_SHAPE];        /**< positions along each, slowest first */
    uint32_t scatter_lane[RONDE_MAX_SHAPE]; /**< of each axis */
    uint32_t gather_lane[RONDE_MAX_SHAPE];  /**< of each axis */
};

/** Positions are (local, node); by default as many per node as divide the ranks, at most 8. */
struct ronde_axes ronde_axes_of_nodes(const struct ronde_compile_request *request);

/** Positions are the request's shape; by default the most square one of two axes. */
struct ronde_axes ronde_axes_of_torus(const struct ronde_compile_request *request);

/** Accepts the default shape and two digits: nodes x local. */
enum ronde_status ronde_axes_supports_nodes(const struct ronde_compile_request *request,
                                            struct ronde_error *why_not);

/** How an order of the nodes goes on: the node at position q of n. */
typedef uint32_t (*ronde_node_order)(uint32_t n, uint32_t q);

/**
 * Where positions are (local, node): appends a channel whose order puts a node's ranks side by side,
 * nodes in their own order or, unless that is NULL, in this one. Nodes and their ranks are counted from
 * the root's, which is position 0, unless the request says where positions are.
 */
void ronde_axes_nodes_channel(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request,
                              ronde_node_order node_order, struct ronde_builder *builder);

/** Appends such a channel for each of the request, nodes in their own order. */
void ronde_axes_nodes_channels(const struct ronde_axes *axes,
                               const struct ronde_compile_request *request,
                               struct ronde_builder *builder);

/** Declares two channels for each of the request: nodes in their own order, and in the one given. */
void ronde_axes_declare_trees(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request, ronde_node_order second,
                              struct ronde_builder *builder);

/** Declares the symmetry of a grid of nodes, and the request's channels as above. */
void ronde_axes_declare_nodes(const struct ronde_axes *axes,
                              const struct ronde_compile_request *request,
                              struct ronde_builder *builder);

/** States one ring of reduce_scatter, from `input` to the own bundle of the output. */
void ronde_axes_scatter_along(const struct ronde_axes *axes, uint32_t axis, enum ronde_buffer input,
                              struct ronde_builder *builder);

/** States one ring of all_gather, in the output; `own` is where a position's own chunk is. */
void ronde_axes_gather_along(const struct ronde_axes *axes, uint32_t axis, struct ronde_operand own,
                             struct ronde_builder *builder);

/** The same as ronde_axes_scatter_along, every bundle straight to its owner. */
void ronde_axes_scatter_direct(const struct ronde_axes *axes, uint32_t axis,
                               enum ronde_buffer input, struct ronde_builder *builder);

/** The same as ronde_axes_gather_along, every bundle straight to all. */
void ronde_axes_gather_direct(const struct ronde_axes *axes, uint32_t axis,
                              struct ronde_operand own, struct ronde_builder *builder);

/** States reduce_scatter along all axes, from the input to the own chunk of the output. */
void ronde_axes_scatter(const struct ronde_axes *axes, struct ronde_builder *builder);

/** States all_gather along all axes, in the output; `own` is where a position's own chunk is. */
void ronde_axes_gather(const struct ronde_axes *axes, struct ronde_operand own,
                       struct ronde_builder *builder);

/** Chunks of a bundle along an axis: what all positions that differ in faster digits own. */
uint32_t ronde_axes_bundle(const struct ronde_axes *axes, uint32_t axis);

/** Adds what scattering along an axis costs a position; nothing where it has radix 1. */
void ronde_axes_add_scatter(const struct ronde_axes *axes, uint32_t axis,
                            struct ronde_lane_work *work);

/** Adds what gathering along an axis costs a position. */
void ronde_axes_add_gather(const struct ronde_axes *axes, uint32_t axis,
                           struct ronde_lane_work *work);

/** A ring, or several in one lane, as a stage of a pipeline; `work` was filled in by the above. */
struct ronde_stage ronde_axes_stage(const struct ronde_lane_work *work,
                                    const struct ronde_network *network,
                                    const struct ronde_pieces *pieces, uint32_t channels);

/** Direct messages along an axis, which reduce on receipt or not, as a stage; no time where it has radix 1. */
struct ronde_stage ronde_axes_direct_stage(const struct ronde_axes *axes, uint32_t axis,
                                           bool reduces, const struct ronde_network *network,
                                           const struct ronde_pieces *pieces, uint32_t channels);

/**
 * The price of direct messages along both axes of nodes: `scatters`, inside nodes and then between them, what is added up, and
 * `gathers` the other way round. A block of an algorithm that does both has a chunk a rank.
 */
struct ronde_price
ronde_axes_pairs_price(const struct ronde_compile_request *request, const struct ronde_load *load,
                       const struct ronde_network *network, bool scatters, bool gathers);

#endif
