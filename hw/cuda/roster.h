/**
 * Which ranks of a schedule are on which device of which process.
 *
 * Every process has some ranks that follow one another, spread over its devices; a site is a device with its share of
 * them. Sites are numbered in order of their ranks, process after process, alike everywhere.
 */
#ifndef RONDE_HW_CUDA_ROSTER_H
#define RONDE_HW_CUDA_ROSTER_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

/** All sites of a program. Zero it, then set mem, before filling it. */
struct ronde_roster {
    const struct ronde_mem *mem;
    uint64_t capacity;  /**< of the tables */
    uint32_t count;     /**< of sites */
    uint32_t *firsts;   /**< per site: its first rank; and one more */
    uint32_t *process;  /**< per site: rank of its process in the communicator; 0 without one */
    uint32_t own;       /**< the first site of this process */
    uint32_t own_count; /**< its sites: the first so many of its devices */
    uint32_t most;      /**< sites that a process has, at most */
};

/** What a process brings. */
struct ronde_crew {
    uint32_t ranks;   /**< of the schedule */
    uint32_t devices; /**< for these */
};

/**
 * Spreads ranks over devices: site d of D has the ranks ceil(d*N/D) .. ceil((d+1)*N/D)-1 of its process's N, and D is no
 * more than N. `own`: this process among those of the crews. The caller calls free also on failure. Errors: NO_MEMORY;
 * BAD_ARGUMENT where all processes' ranks are not the schedule's.
 */
enum ronde_status ronde_roster_fill(struct ronde_roster *roster, const struct ronde_crew *crews,
                                    uint32_t processes, uint32_t own, uint32_t schedule_ranks,
                                    struct ronde_error *error);

/** Frees. */
void ronde_roster_free(struct ronde_roster *roster);

/** The site of a rank. Time: O(log sites). */
uint32_t ronde_roster_site_of(const struct ronde_roster *roster, uint32_t rank);

/** Whether a site is of this process. */
static inline bool ronde_roster_is_here(const struct ronde_roster *roster, uint32_t site)
{
    return site - roster->own < roster->own_count;
}

#endif
