/**
 * The items of a workload, rank by rank.
 */
#ifndef RONDE_FORMATS_WORKLOAD_BY_RANK_H
#define RONDE_FORMATS_WORKLOAD_BY_RANK_H

#include "ronde/workload.h"

/**
 * Sorts items by rank and leaves those of a rank in their order: rank r has items[first[r]] .. items[first[r + 1] - 1].
 * `first` has ranks + 1 entries and comes zeroed, `items` has one per item.
 */
RONDE_API void ronde_workload_sort_by_rank(const struct ronde_workload *workload, uint32_t *first,
                                           uint32_t *items);

#endif
