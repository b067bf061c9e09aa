/**
 * What an edge of a tree loads: the links of the file's route between its two ranks that have a limit.
 *
 * A tree grows from its root; data runs along its edges (all_gather) or against them (reduce_scatter). A message takes the
 * file's route and no other, so trees are packed on routes, not on links.
 */
#ifndef RONDE_SYNTHESIS_WAYS_H
#define RONDE_SYNTHESIS_WAYS_H

#include "wiring.h"

/** Ways of all pairs (parent, child): pair is parent * ranks + child. */
struct ronde_ways {
    uint32_t ranks;       /**< places a tree has */
    uint32_t wire_count;  /**< wires of the wiring */
    uint32_t *first;      /**< per pair and one more: into hops */
    uint32_t *hops;       /**< wires that a message of the pair loads */
    bool *is_open;        /**< per pair: a message can go */
    uint32_t *first_user; /**< per wire and one more: into users */
    uint32_t *users;      /**< pairs that load a wire */
    double *rate_GBps;    /**< per wire: INFINITY where it limits nothing */
};

/** Makes the ways of a wiring; `is_reversed`: data runs from child to parent. Errors: false, no memory. */
bool ronde_ways_make(const struct ronde_wiring *wiring, bool is_reversed,
                     struct ronde_index_pool *pool, struct ronde_ways *out_ways);

/** Ways of trees that data runs up and down: an edge loads the routes of both directions. Errors: false, no memory. */
bool ronde_ways_make_joint(const struct ronde_wiring *wiring, struct ronde_index_pool *pool,
                           struct ronde_ways *out_ways);

/** Lists the users of every wire anew, after hops were changed; `users` has room already. Errors: false, no memory. */
bool ronde_ways_list_users(struct ronde_ways *ways, struct ronde_index_pool *pool);

#endif
