/* Which ranks of a schedule are on which device of which process. See rank_map.h. */
#include "hw/cuda/rank_map.h"

static uint32_t devices_of(const struct ronde_process_share *share)
{
    return share->devices < share->ranks ? share->devices : share->ranks;
}

/* Adds the devices of one process, from its first rank on. */
static void add_process(struct ronde_rank_map *rank_map, const struct ronde_process_share *share,
                        uint32_t process, uint32_t first_rank)
{
    const uint64_t ranks = share->ranks;
    const uint32_t devices = devices_of(share);
    rank_map->most = devices > rank_map->most ? devices : rank_map->most;
    for (uint32_t s = 0; s < devices; s++, rank_map->count++) {
        rank_map->firsts[rank_map->count] =
            first_rank + (uint32_t)((s * ranks + devices - 1) / devices);
        rank_map->process[rank_map->count] = process;
    }
}

/* All processes' ranks together must be the schedule's. */
static enum ronde_status check_ranks(const struct ronde_process_share *shares, uint32_t processes,
                                     uint32_t schedule_ranks, struct ronde_error *error)
{
    uint64_t ranks = 0;
    for (uint32_t p = 0; p < processes; p++)
        ranks += shares[p].ranks;
    return ranks == schedule_ranks
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "the schedule is for %u ranks, the %u processes have %llu",
                            schedule_ranks, processes, (unsigned long long)ranks);
}

static enum ronde_status add_all(struct ronde_rank_map *rank_map,
                                 const struct ronde_process_share *shares, uint32_t processes,
                                 uint32_t own, struct ronde_error *error)
{
    uint32_t first_rank = 0;
    for (uint32_t p = 0; p < processes; p++)
        rank_map->capacity += devices_of(&shares[p]);
    rank_map->capacity++;
    rank_map->firsts = ronde_mem_new(rank_map->mem, rank_map->capacity, sizeof *rank_map->firsts);
    rank_map->process = ronde_mem_new(rank_map->mem, rank_map->capacity, sizeof *rank_map->process);
    if (!rank_map->firsts || !rank_map->process)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %llu devices",
                          (unsigned long long)rank_map->capacity - 1);
    for (uint32_t p = 0; p < processes; p++) {
        rank_map->own = p == own ? rank_map->count : rank_map->own;
        add_process(rank_map, &shares[p], p, first_rank);
        first_rank += shares[p].ranks;
    }
    rank_map->firsts[rank_map->count] = first_rank;
    rank_map->own_count = devices_of(&shares[own]);
    return RONDE_OK;
}

enum ronde_status ronde_rank_map_fill(struct ronde_rank_map *rank_map,
                                      const struct ronde_process_share *shares, uint32_t processes,
                                      uint32_t own, uint32_t schedule_ranks,
                                      struct ronde_error *error)
{
    RONDE_TRY(check_ranks(shares, processes, schedule_ranks, error));
    return add_all(rank_map, shares, processes, own, error);
}

void ronde_rank_map_free(struct ronde_rank_map *rank_map)
{
    if (!rank_map->mem)
        return;
    ronde_mem_free(rank_map->mem, rank_map->firsts, rank_map->capacity, sizeof *rank_map->firsts);
    ronde_mem_free(rank_map->mem, rank_map->process, rank_map->capacity, sizeof *rank_map->process);
}

uint32_t ronde_rank_map_device_of(const struct ronde_rank_map *rank_map, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = rank_map->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (rank_map->firsts[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}
