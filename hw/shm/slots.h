/**
 * How long the slots of a schedule's connections are in shared memory, and how many there are. All ranks compute the same.
 */
#ifndef RONDE_HW_SHM_SLOTS_H
#define RONDE_HW_SHM_SLOTS_H

#include <stdint.h>

struct ronde_schedule;

/** The usual slot: shorter ones for schedules of many connections. */
uint64_t ronde_shm_default_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth);

/**
 * The longest slot, where the kernel reads for receivers: a call of it takes as long as some KiB. At least `usual`, and no
 * more than that where a message pays by being in the caches.
 */
uint64_t ronde_shm_most_slot_bytes(const struct ronde_schedule *schedule, uint32_t depth,
                                   uint64_t usual);

/** The most slots: more than `usual` where ranks only send, which then need not wait for those that receive. */
uint32_t ronde_shm_most_depth(const struct ronde_schedule *schedule, uint32_t usual);

#endif
