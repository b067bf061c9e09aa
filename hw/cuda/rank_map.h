/**
 * Which ranks of a schedule are on which device of which process.
 *
 * Every process has some consecutive ranks, spread over its devices. Devices that have ranks are numbered in order of
 * these, process after process, alike in all processes: the global device number.
 */
#ifndef RONDE_HW_CUDA_RANK_MAP_H
#define RONDE_HW_CUDA_RANK_MAP_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

/** All devices of a program. Zero it, then set mem, before filling it. */
struct ronde_rank_map {
    const struct ronde_mem *mem;
    uint64_t capacity;  /**< of the tables */
    uint32_t count;     /**< of devices, all processes' */
    uint32_t *firsts;   /**< per device: its first rank; and one more */
    uint32_t *process;  /**< per device: rank of its process in the communicator; 0 without one */
    uint32_t own;       /**< this process's first device */
    uint32_t own_count; /**< number of its devices with ranks: the first so many of those opened */
    uint32_t most;      /**< devices that a process has, at most */
};

/** A process's contribution. */
struct ronde_process_share {
    uint32_t ranks;             /**< of the schedule */
    uint32_t devices;           /**< for these */
    uint32_t lines_up_to_bytes; /**< that it would send in lines */
};

/**
 * Spreads ranks over devices: device d of D has the ranks ceil(d*N/D) .. ceil((d+1)*N/D)-1 of its process's N, and D is no
 * more than N. `own`: this process's index in `shares`. The caller calls free also on failure. Errors: NO_MEMORY;
 * BAD_ARGUMENT where all processes' ranks are not the schedule's.
 */
enum ronde_status ronde_rank_map_fill(struct ronde_rank_map *rank_map,
                                      const struct ronde_process_share *shares, uint32_t processes,
                                      uint32_t own, uint32_t schedule_ranks,
                                      struct ronde_error *error);

/** Frees. */
void ronde_rank_map_free(struct ronde_rank_map *rank_map);

/** The global device number of a rank. Time: O(log devices). */
uint32_t ronde_rank_map_device_of(const struct ronde_rank_map *rank_map, uint32_t rank);

/** Whether a global device number is of this process. */
static inline bool ronde_rank_map_is_here(const struct ronde_rank_map *rank_map, uint32_t device)
{
    return device - rank_map->own < rank_map->own_count;
}

#endif
