/**
 * Reading other ranks' memory without their help: registered memory, which is mapped, and any other memory through the
 * kernel (CMA: process_vm_readv).
 *
 * Whether CMA works is found out by real reads, every rank of every other of its host, when the communicator is made: it
 * depends on users, containers, security modules and filters. All ranks of a host then have the same result.
 */
#ifndef RONDE_HW_SHM_REMOTE_READ_H
#define RONDE_HW_SHM_REMOTE_READ_H

#include "hw/comm/comm.h"
#include "hw/shm/registered_memory.h"

#include "engine/execute/machine.h"

/** Another rank. */
struct ronde_remote_rank {
    struct ronde_memory_mapping mapping; /**< of its registered memory */
    int32_t process;                     /**< its process id */
    int fd; /**< its pidfd, which shows whether that process has ended; -1 without CMA */
};

/** What a rank reads of others. */
struct ronde_remote_read {
    const struct ronde_memory_descriptor *descriptors; /**< of all ranks */
    struct ronde_remote_rank *others;                  /**< by rank */
    uint32_t ranks;
    bool has_cma; /**< every rank of the host can read every other through the kernel (CMA) */
    unsigned char *bounce; /**< where operands of a reduction are read to; it stays in the cache */
    size_t bounce_bytes;
};

/** Finds out whether CMA works. Collective. Errors: NO_MEMORY; those of the communicator. */
enum ronde_status
ronde_remote_read_open(struct ronde_comm *comm, const struct ronde_memory_descriptor *descriptors,
                       struct ronde_remote_read *out_remote, struct ronde_error *error);

/** Allocates the bounce buffer for offers of so many bytes. Errors: NO_MEMORY. */
enum ronde_status ronde_remote_read_reserve(struct ronde_remote_read *remote,
                                            const struct ronde_mem *mem, uint64_t bytes,
                                            struct ronde_error *error);

/** Releases what open and reserve took, also after a failed open. */
void ronde_remote_read_close(struct ronde_remote_read *remote, const struct ronde_mem *mem);

/**
 * Where bytes of a rank's registered memory can be written. Maps all that its descriptor covers by now, so that nothing it
 * has already offered makes the mapping move. NULL if they are no part of it, or the system refuses.
 */
unsigned char *ronde_remote_write_address(struct ronde_remote_read *remote, uint32_t rank,
                                          uint64_t theirs, uint64_t bytes);

/** Whether an offer of a rank can be read at all. */
bool ronde_remote_read_can_find(const struct ronde_remote_read *remote, uint32_t rank,
                                const struct ronde_offer *offer);

/**
 * Where an offer of a rank can be read: in its registered memory; else what CMA has read, in `place` or, if that is NULL,
 * in the bounce buffer, which the next call overwrites. NULL with the error, which names the rank: DEVICE.
 */
const unsigned char *ronde_remote_read_find(struct ronde_remote_read *remote, uint32_t rank,
                                            const struct ronde_offer *offer, unsigned char *place,
                                            struct ronde_error *error);

#endif
