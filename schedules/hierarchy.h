/**
 * all_reduce in nodes and between them: reduce_scatter inside every node, all_reduce among the ranks of
 * equal local number, all_gather inside. Four algorithms choose how each of these is done.
 *
 * Positions are (local, node). A rail is the positions of equal local number; after the first phase
 * each holds a part of its node's sum, the same one on all nodes. A ring of nodes cuts that part
 * into a chunk per node, a tree moves it whole.
 */
#ifndef RONDE_SCHEDULES_HIERARCHY_H
#define RONDE_SCHEDULES_HIERARCHY_H

#include "claims.h"

/** How the phases are done. */
struct ronde_hierarchy {
    bool is_direct; /**< inside nodes: everything straight to its owner, else rings */
    bool has_trees; /**< between nodes: double binary trees, else rings */
};

/** States the schedule of a request. */
void ronde_hierarchy_build(struct ronde_hierarchy hierarchy,
                           const struct ronde_compile_request *request,
                           struct ronde_builder *builder);

/** The price of a load: the stages inside and between nodes, one after another, piece by piece. */
struct ronde_price
ronde_hierarchy_price(struct ronde_hierarchy hierarchy, const struct ronde_compile_request *request,
                      const struct ronde_load *load, const struct ronde_network *network);

/** What one of two channels of trees between the default nodes needs, with so many messages in a row inside nodes. */
struct ronde_algorithm_counts ronde_hierarchy_tree_counts(uint32_t ranks, uint32_t in_a_row);

#endif
