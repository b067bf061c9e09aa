/* Sorting by counting. */
#include "by_rank.h"

void ronde_workload_sort_by_rank(const struct ronde_workload *workload, uint32_t *first,
                                 uint32_t *items)
{
    for (uint32_t w = 0; w < workload->work_count; w++)
        first[workload->works[w].rank + 1]++;
    for (uint32_t r = 0; r < workload->ranks; r++)
        first[r + 1] += first[r];
    for (uint32_t w = 0; w < workload->work_count; w++)
        items[first[workload->works[w].rank]++] = w;
    for (uint32_t r = workload->ranks; r > 0; r--)
        first[r] = first[r - 1];
    first[0] = 0;
}
