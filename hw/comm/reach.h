/**
 * What a rank reads of other ranks' memory without their help: heaps, which it maps, and whatever the kernel reads for it.
 *
 * Whether the kernel does is found out by real reads, every rank of every other of its host, when the communicator is made: it
 * depends on users, containers, security modules and filters. All ranks of a host then know the same.
 */
#ifndef RONDE_HW_COMM_REACH_H
#define RONDE_HW_COMM_REACH_H

#include "hw/comm/comm.h"
#include "hw/comm/heap.h"

#include "engine/machine.h"

/** Another rank. */
struct ronde_other {
    struct ronde_window window; /**< its heap */
    int32_t process;            /**< its number, */
    int descriptor; /**< and what tells whether it still is that process; -1 where the kernel does not read */
};

/** Everything within a rank's reach. */
struct ronde_reach {
    const struct ronde_sign *signs; /**< of all ranks */
    struct ronde_other *others;     /**< by rank */
    uint32_t ranks;
    bool has_kernel;       /**< every rank of the host may read every other through the kernel */
    unsigned char *bounce; /**< where what is combined is read to; it stays in the cache */
    size_t bounce_bytes;
};

/** Finds out whether the kernel reads. Collective. Errors: NO_MEMORY; those of the communicator. */
enum ronde_status ronde_reach_open(struct ronde_comm *comm, const struct ronde_sign *signs,
                                   struct ronde_reach *out_reach, struct ronde_error *error);

/** Makes room for offers of so many bytes. Errors: NO_MEMORY. */
enum ronde_status ronde_reach_reserve(struct ronde_reach *reach, const struct ronde_mem *mem,
                                      uint64_t bytes, struct ronde_error *error);

/** Releases what open and reserve took, also after a failed open. */
void ronde_reach_close(struct ronde_reach *reach, const struct ronde_mem *mem);

/**
 * Where bytes of a rank's heap can be written. Maps all its owner shows by now, so that nothing it has already offered
 * makes the mapping move. NULL if they are no part of it, or the system refuses.
 */
unsigned char *ronde_reach_place(struct ronde_reach *reach, uint32_t rank, uint64_t theirs,
                                 uint64_t bytes);

/**
 * Where an offer of a rank can be read: in its heap; else what the kernel has read, in `place` or, without one, in room
 * that the next call uses again. NULL with the error, which names the rank: DEVICE.
 */
const unsigned char *ronde_reach_find(struct ronde_reach *reach, uint32_t rank,
                                      const struct ronde_offer *offer, unsigned char *place,
                                      struct ronde_error *error);

#endif
