/**
 * Numbers 0 .. n-1 in groups that grow together (union-find): `parent` leads from each to the one that stands for its group,
 * which is its own parent. It starts with parent[i] = i.
 */
#ifndef RONDE_PARTITION_H
#define RONDE_PARTITION_H

#include <stdint.h>

/** The number that stands for the group of `item`. Shortens the way there. */
static inline uint32_t ronde_partition_find(uint32_t *parent, uint32_t item)
{
    while (parent[item] != item)
        item = parent[item] = parent[parent[item]];
    return item;
}

/** Makes one group of those of `a` and `b`, for which that of `b` stands on. */
static inline void ronde_partition_join(uint32_t *parent, uint32_t a, uint32_t b)
{
    const uint32_t stands = ronde_partition_find(parent, b);
    parent[ronde_partition_find(parent, a)] = stands;
}

#endif
