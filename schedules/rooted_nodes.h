/** What hierarchical broadcast and reduce share: a grid of nodes, and the parts of the block that its rails carry. */
#ifndef RONDE_SCHEDULES_ROOTED_NODES_H
#define RONDE_SCHEDULES_ROOTED_NODES_H

#include "rooted_tree.h"

/** The grid of positions, which are (local, node); the root is position 0. */
struct ronde_rooted_nodes {
    uint32_t local; /**< ranks a node: two or more, or a lone rank */
    uint32_t count; /**< nodes */
};

/** Declares chunks, the channels of two trees of nodes and, if it `has_sums`, scratch; states a lone rank's copy. */
struct ronde_rooted_nodes ronde_rooted_nodes_declare(const struct ronde_compile_request *request,
                                                     bool has_sums, struct ronde_builder *builder);

static inline uint32_t ronde_rooted_position(struct ronde_rooted_nodes nodes, uint32_t local,
                                             uint32_t node)
{
    return local * nodes.count + node;
}

/** What another rank of the root's node has of the root: a slice of the root's part, and its own part. */
struct ronde_operand ronde_rooted_bundle(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                         uint32_t local);

/** The first chunk of a bundle. */
struct ronde_operand ronde_rooted_slice(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                        uint32_t local);

/** What a rail carries: the root's has the slices of all bundles, each other one has the rest of its bundle. */
struct ronde_operand ronde_rooted_part(struct ronde_rooted_nodes nodes, enum ronde_buffer buffer,
                                       uint32_t local);

/** The first of so many lanes: 2 q for direct messages, 2 of trees, 2 q for later direct messages. */
static inline uint32_t ronde_rooted_tree_lane(struct ronde_rooted_nodes nodes)
{
    return 2 * nodes.local;
}

static inline uint32_t ronde_rooted_late_lane(struct ronde_rooted_nodes nodes)
{
    return 2 * nodes.local + 2;
}

/** States a round for every distance between local ranks, in all nodes. */
void ronde_rooted_inside(struct ronde_rooted_nodes nodes, struct ronde_builder *builder,
                         void (*state)(struct ronde_rooted_nodes nodes, uint32_t node,
                                       uint32_t distance, struct ronde_builder *builder));

/** What both directions are priced with. */
struct ronde_rooted_terms {
    struct ronde_rooted_nodes nodes;
    struct ronde_pieces pieces;
    uint32_t channels;              /**< two for each of the request */
    struct ronde_rooted_costs tree; /**< of a part between nodes */
    struct ronde_costs part;        /**< of a lane between nodes */
    struct ronde_costs bundle;      /**< of a lane inside nodes */
    struct ronde_costs slice;       /**< of a lane inside nodes */
    double part_ns;   /**< until parts have come from or to all other ranks of a node */
    double bundle_ns; /**< until bundles have */
    double slice_ns;  /**< until slices have */
    double port_ns;   /**< of the busiest port for a piece */
};

/** The terms of a load; ranks > 1. */
struct ronde_rooted_terms ronde_rooted_terms_of(const struct ronde_compile_request *request,
                                                const struct ronde_load *load,
                                                const struct ronde_network *network);

/** What a piece costs. */
struct ronde_rooted_piece {
    double first_ns;   /**< from end to end */
    double inside_ns;  /**< of the busiest lane inside nodes */
    double receive_ns; /**< of that, to receive */
    double between_ns; /**< of the busiest lane between nodes; 0 = none */
};

/** The price of pieces that follow one another. */
struct ronde_price ronde_rooted_pieces_price(const struct ronde_rooted_terms *terms,
                                             const struct ronde_network *network,
                                             const struct ronde_rooted_piece *piece);

/** `supports` of both. */
enum ronde_status ronde_rooted_supports_nodes(const struct ronde_compile_request *request,
                                              struct ronde_error *why_not);

/**
 * What both need between the default nodes: `more` messages than broadcast, `parts` of a rail sent by the busiest rank, and so many
 * messages in a row besides those of a tree.
 */
struct ronde_algorithm_counts ronde_rooted_counts(uint32_t ranks, uint32_t more, uint32_t parts,
                                                  uint32_t in_a_row);

/** `is_exact` of both. */
bool ronde_rooted_is_exact(const struct ronde_price_case *load);

/** `why_approximate` of both. */
#define RONDE_ROOTED_WHY_APPROXIMATE                                                               \
    "several pieces: the busiest lane need not be on the longest chain of messages"

#endif
