/* Edges of trees as messages. See messages.h. */
#include "messages.h"

#include <stdlib.h>

/* From the roots down, level by level. */
static int compare_down(const void *left, const void *right)
{
    const struct ronde_tree_message *a = left, *b = right;
    if (a->depth != b->depth)
        return a->depth < b->depth ? -1 : 1;
    if (a->height != b->height)
        return a->height > b->height ? -1 : 1;
    if (a->tree != b->tree)
        return a->tree < b->tree ? -1 : 1;
    return (a->to > b->to) - (a->to < b->to);
}

/* From the leaves up; of a rank's children those first that wait for fewer others. */
static int compare_up(const void *left, const void *right)
{
    return -compare_down(left, right);
}

uint32_t ronde_tree_messages(const struct ronde_forest *forest, bool is_up, uint32_t *room,
                             struct ronde_tree_message *messages, uint32_t *out_height)
{
    const uint32_t n = forest->ways->ranks;
    uint32_t count = 0, highest = 0;
    for (uint32_t t = 0; t < forest->tree_count; t++) {
        const uint32_t *parent = forest->parent + (size_t)t * n, root = forest->root[t];
        ronde_forest_heights(forest, t, room);
        if (room[root] > highest)
            highest = room[root];
        for (uint32_t v = 0; v < n; v++)
            if (v != root)
                messages[count++] =
                    (struct ronde_tree_message){.tree = t,
                                                .from = is_up ? v : parent[v],
                                                .to = is_up ? parent[v] : v,
                                                .depth = ronde_forest_depth(forest, t, v),
                                                .height = room[v]};
    }
    *out_height = highest;
    if (count > 1)
        qsort(messages, count, sizeof *messages, is_up ? compare_up : compare_down);
    return count;
}
