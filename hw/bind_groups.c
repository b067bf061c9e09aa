/* How processors are shared out among workers. See ronde/bind.h. */
#include "ronde/bind.h"

/* Entries of the list up to which `cores` whole cores reach. */
static uint32_t end_of_cores(const struct ronde_processor *list, uint32_t count, uint32_t cores)
{
    uint32_t end = 0;
    for (uint32_t seen = 0; end < count; end++) {
        seen += end == 0 || list[end].core != list[end - 1].core;
        if (seen > cores)
            break;
    }
    return end;
}

static uint32_t count_cores(const struct ronde_processor *list, uint32_t count)
{
    uint32_t cores = 0;
    for (uint32_t k = 0; k < count; k++)
        cores += k == 0 || list[k].core != list[k - 1].core;
    return cores;
}

struct ronde_bind_group ronde_bind_group(const struct ronde_processor *list, uint32_t count,
                                         uint32_t workers, uint32_t worker)
{
    struct ronde_bind_group group = {0, 0};
    if (workers > count)
        return group;
    const uint32_t cores = count_cores(list, count);
    const uint64_t units = workers <= cores ? cores : count;
    group.begin = (uint32_t)(units * worker / workers);
    group.end = (uint32_t)(units * (worker + 1u) / workers);
    if (workers <= cores) {
        group.begin = end_of_cores(list, count, group.begin);
        group.end = end_of_cores(list, count, group.end);
    }
    /* A worker that moved to another NUMA node would be far from the pages it has touched. */
    for (uint32_t k = group.begin; k < group.end; k++)
        if (list[k].node != list[group.begin].node)
            group.end = k;
    return group;
}
