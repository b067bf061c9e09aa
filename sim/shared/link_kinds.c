/* Links that symmetries of the machine carry onto one another, of which one stands for all. */
#include "forward_graph.h"

#include "ronde/partition.h"

void ronde_sim_kinds_begin(struct ronde_sim_kinds *kinds, const struct ronde_platform *platform,
                           struct ronde_store *store)
{
    kinds->count = ronde_platform_link_count(platform);
    kinds->of = ronde_store_new(store, kinds->count, sizeof *kinds->of);
    kinds->size = ronde_store_new(store, kinds->count, sizeof *kinds->size);
    for (uint32_t i = 0; kinds->of && i < kinds->count; i++)
        kinds->of[i] = i;
}

void ronde_sim_join_to_first(uint32_t *parent, uint32_t one, uint32_t other)
{
    const uint32_t a = ronde_partition_find(parent, one), b = ronde_partition_find(parent, other);
    ronde_partition_join(parent, a > b ? a : b, a < b ? a : b);
}

void ronde_sim_kinds_join(struct ronde_sim_kinds *kinds, const uint32_t *moved)
{
    for (uint32_t i = 0; i < kinds->count; i++)
        if (moved[i] != RONDE_NONE)
            ronde_sim_join_to_first(kinds->of, i, moved[i]);
}

void ronde_sim_kinds_end(struct ronde_sim_kinds *kinds)
{
    for (uint32_t i = 0; i < kinds->count; i++) {
        kinds->of[i] = ronde_partition_find(kinds->of, i);
        kinds->size[kinds->of[i]]++;
    }
}

double ronde_sim_kinds_rate(const struct ronde_sim_kinds *kinds,
                            const struct ronde_platform *platform, uint32_t link, double copies)
{
    const struct ronde_link *one = ronde_platform_link(platform, link);
    return one->is_fatpipe ? 0 : one->rate_GBps * kinds->size[link] / copies;
}
