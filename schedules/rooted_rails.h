/** What hierarchical scatter and gather share: ranks beside the root that blocks of other nodes go through, in bundles. */
#ifndef RONDE_SCHEDULES_ROOTED_RAILS_H
#define RONDE_SCHEDULES_ROOTED_RAILS_H

#include "rooted_nodes.h"

/** The grid, and which nodes a bundle has blocks of. */
struct ronde_rails {
    struct ronde_rooted_nodes nodes;
    uint32_t width;      /**< blocks of a bundle, but for the last */
    uint32_t first_rank; /**< the node from whose ranks on ranks are below all before; 0 = none */
};

/** What a bundle has. */
struct ronde_rail_bundle {
    uint32_t first; /**< node */
    uint32_t count; /**< of nodes */
};

/** Declares the channels, whose positions are (local, node), and scratch for a block a node. */
struct ronde_rails ronde_rails_declare(const struct ronde_compile_request *request,
                                       struct ronde_builder *builder);

/** The bundle that begins with a node. */
struct ronde_rail_bundle ronde_rail_bundle_at(struct ronde_rails rails, uint32_t first);

/** Where a rank beside the root keeps the block of a node of a bundle. */
struct ronde_operand ronde_rails_kept(struct ronde_rails rails, struct ronde_rail_bundle bundle,
                                      uint32_t node);

/** Where it keeps them all. */
struct ronde_operand ronde_rails_all_kept(struct ronde_rail_bundle bundle);

/** The lane after those of all rails, for the root's own block. */
static inline uint32_t ronde_rails_copy_lane(struct ronde_rails rails)
{
    return rails.nodes.local;
}

/** The price of scatter, or of gather. */
struct ronde_price ronde_rails_price(const struct ronde_compile_request *request,
                                     const struct ronde_load *load,
                                     const struct ronde_network *network);

/** `supports` of both. */
enum ronde_status ronde_rails_supports(const struct ronde_compile_request *request,
                                       struct ronde_error *why_not);

/** What both need between the default nodes, where the busiest rank sends so many blocks. */
struct ronde_algorithm_counts ronde_rails_counts(uint32_t ranks, uint64_t sent);

/** `is_exact` of both. */
bool ronde_rails_is_exact(const struct ronde_price_case *load);

/** `why_approximate` of both. */
#define RONDE_RAILS_WHY_APPROXIMATE                                                                \
    "several pieces: a slot may come back after the next piece needs it"

#endif
