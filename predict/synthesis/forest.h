/**
 * Trees over the ranks and what they load: each of a root, spanning all ranks, of one unit of data.
 */
#ifndef RONDE_SYNTHESIS_FOREST_H
#define RONDE_SYNTHESIS_FOREST_H

#include "ways.h"

/** Trees. The edge into rank v of tree t is number t * ranks + v. */
struct ronde_forest {
    const struct ronde_ways *ways; /**< must outlive it */
    uint32_t tree_count;           /**< trees */
    uint32_t *root;                /**< per tree */
    uint32_t *parent;              /**< per edge: the rank it comes from; RONDE_NONE = no edge */
    uint32_t *next;                /**< per edge: another one of the same pair, or RONDE_NONE */
    uint32_t *previous;            /**< per edge: likewise */
    uint32_t *head;                /**< per pair: an edge, or RONDE_NONE */
    uint32_t *load;                /**< per wire: edges whose way it is on */
};

/** Makes room for trees with these roots and no edges. Errors: false, no memory. */
bool ronde_forest_create(struct ronde_forest *forest, const struct ronde_ways *ways,
                         const uint32_t *roots, uint32_t count, struct ronde_index_pool *pool);

/** Adds the edge from parent to child. */
void ronde_forest_link(struct ronde_forest *forest, uint32_t tree, uint32_t parent, uint32_t child);

/** Removes the edge into child. */
void ronde_forest_unlink(struct ronde_forest *forest, uint32_t tree, uint32_t child);

/** Edges from the root to a rank. */
uint32_t ronde_forest_depth(const struct ronde_forest *forest, uint32_t tree, uint32_t rank);

/** Edges from each rank of a tree to the farthest that hangs below it, into heights[rank]. */
void ronde_forest_heights(const struct ronde_forest *forest, uint32_t tree, uint32_t *heights);

/**
 * Makes the rank a root from which the farthest rank is nearest, by turning edges round: for ways that are the same in both
 * directions, whose loads stay. `room`: a number for each rank.
 */
void ronde_forest_centre(struct ronde_forest *forest, uint32_t tree, uint32_t *room);

/** Most units per GB/s on any wire: the time of the forest, in units. */
double ronde_forest_time(const struct ronde_forest *forest);

#endif
