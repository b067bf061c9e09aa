/* Ranks, devices, processes. See roster.h. */
#include "hw/cuda/roster.h"

static uint32_t sites_of(const struct ronde_crew *crew)
{
    return crew->devices < crew->ranks ? crew->devices : crew->ranks;
}

/* The sites of one process, whose first rank is given. */
static void add_process(struct ronde_roster *roster, const struct ronde_crew *crew,
                        uint32_t process, uint32_t first_rank)
{
    const uint64_t ranks = crew->ranks;
    const uint32_t sites = sites_of(crew);
    roster->most = sites > roster->most ? sites : roster->most;
    for (uint32_t s = 0; s < sites; s++, roster->count++) {
        roster->firsts[roster->count] = first_rank + (uint32_t)((s * ranks + sites - 1) / sites);
        roster->process[roster->count] = process;
    }
}

/* All processes' ranks together are the schedule's. */
static enum ronde_status check_ranks(const struct ronde_crew *crews, uint32_t processes,
                                     uint32_t schedule_ranks, struct ronde_error *error)
{
    uint64_t ranks = 0;
    for (uint32_t p = 0; p < processes; p++)
        ranks += crews[p].ranks;
    return ranks == schedule_ranks
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_ARGUMENT,
                            "the schedule is for %u ranks, the %u processes have %llu",
                            schedule_ranks, processes, (unsigned long long)ranks);
}

static enum ronde_status add_all(struct ronde_roster *roster, const struct ronde_crew *crews,
                                 uint32_t processes, uint32_t own, struct ronde_error *error)
{
    uint32_t first_rank = 0;
    for (uint32_t p = 0; p < processes; p++)
        roster->capacity += sites_of(&crews[p]);
    roster->capacity++;
    roster->firsts = ronde_mem_new(roster->mem, roster->capacity, sizeof *roster->firsts);
    roster->process = ronde_mem_new(roster->mem, roster->capacity, sizeof *roster->process);
    if (!roster->firsts || !roster->process)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %llu devices",
                          (unsigned long long)roster->capacity - 1);
    for (uint32_t p = 0; p < processes; p++) {
        roster->own = p == own ? roster->count : roster->own;
        add_process(roster, &crews[p], p, first_rank);
        first_rank += crews[p].ranks;
    }
    roster->firsts[roster->count] = first_rank;
    roster->own_count = sites_of(&crews[own]);
    return RONDE_OK;
}

enum ronde_status ronde_roster_fill(struct ronde_roster *roster, const struct ronde_crew *crews,
                                    uint32_t processes, uint32_t own, uint32_t schedule_ranks,
                                    struct ronde_error *error)
{
    const enum ronde_status status = check_ranks(crews, processes, schedule_ranks, error);
    return status == RONDE_OK ? add_all(roster, crews, processes, own, error) : status;
}

void ronde_roster_free(struct ronde_roster *roster)
{
    if (!roster->mem)
        return;
    ronde_mem_free(roster->mem, roster->firsts, roster->capacity, sizeof *roster->firsts);
    ronde_mem_free(roster->mem, roster->process, roster->capacity, sizeof *roster->process);
}

uint32_t ronde_roster_site_of(const struct ronde_roster *roster, uint32_t rank)
{
    uint32_t low = 0;
    uint32_t high = roster->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (roster->firsts[middle] <= rank)
            low = middle;
        else
            high = middle;
    }
    return low;
}
