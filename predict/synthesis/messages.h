/**
 * The edges of trees as messages, in an order in which none waits for a later one.
 */
#ifndef RONDE_SYNTHESIS_MESSAGES_H
#define RONDE_SYNTHESIS_MESSAGES_H

#include "forest.h"

/** An edge of a tree, as a message. */
struct ronde_tree_message {
    uint32_t tree;   /**< of the forest */
    uint32_t from;   /**< rank */
    uint32_t to;     /**< rank */
    uint32_t depth;  /**< of the edge's lower end */
    uint32_t height; /**< of the tree below it */
};

/**
 * Lists the messages of a forest, level by level: from the roots down, or from the leaves up. `room` has a number for each
 * rank, `messages` room for each edge of each tree. Returns how many there are, and the height of the highest tree.
 */
uint32_t ronde_tree_messages(const struct ronde_forest *forest, bool is_up, uint32_t *room,
                             struct ronde_tree_message *messages, uint32_t *out_height);

#endif
