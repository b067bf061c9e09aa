/**
 * Reading other ranks' memory without their help: registered memory, which is mapped, and any other memory through the
 * kernel (CMA: process_vm_readv).
 *
 * Whether CMA works is found out by real reads, every rank of every other of its host, when the communicator is made: it
 * depends on users, containers, security modules and filters. All ranks of a host then have the same result.
 */
#ifndef RONDE_HW_SHM_REMOTE_READ_H
#define RONDE_HW_SHM_REMOTE_READ_H

#include "engine/execute/machine.h"
#include "hw/shm/layout.h"

#include "ronde/mem.h"

#include <stdint.h>

/* Memory of a rank that the other ranks of its machine read and write in place. Registered memory is an anonymous
 * file (memfd), as long as the machine's memory, of which only used pages take any. Its owner maps all of it and
 * allocates whole pages; peers map, when they first read there, what has been used so far. A descriptor in memory
 * that all ranks share says where it is. A mapping outlives the process it came from. Any thread of the owner may
 * allocate and free while another one runs programs, which ask what is registered: the list of blocks has a lock,
 * which is never held while the system allocates or frees pages. */

/** Where a rank's registered memory is. Written by its owner alone; zeroed while there is none. */
struct ronde_memory_descriptor {
    uint64_t start; /**< its address in the owner's process */
    uint64_t bytes; /**< atomic, written last: used so far, from the start; only grows */
    struct ronde_peer_fd file;
    uint64_t padding[13]; /**< up to two cache lines */
};

/** An allocated block: offsets from the start of the registered memory. */
struct ronde_registered_block {
    uint64_t first;
    uint64_t end;
};

/** The owner's side. */
struct ronde_registered_memory {
    const struct ronde_mem *mem; /**< for the list of blocks */
    struct ronde_mem own;        /**< allocates from it */
    struct ronde_memory_descriptor *descriptor;
    unsigned char *start;                  /**< atomic: NULL before the first allocation */
    uint64_t bytes;                        /**< written before start */
    int fd;                                /**< likewise */
    bool is_locked;                        /**< atomic: what follows is one thread's */
    struct ronde_registered_block *blocks; /**< in order */
    size_t block_count;
    size_t block_capacity;
    bool is_frozen; /**< nothing is allocated or freed any more */
};

/** Prepares registered memory; nothing is taken from the system before the first block. */
void ronde_registered_memory_init(struct ronde_registered_memory *registered,
                                  struct ronde_memory_descriptor *descriptor,
                                  const struct ronde_mem *mem);

/** Whether so many bytes lie in one allocated block. */
bool ronde_registered_memory_holds(struct ronde_registered_memory *registered, const void *start,
                                   uint64_t bytes);

/**
 * Allocates and frees nothing from now on: peers that have not received the failure yet may still write there.
 */
void ronde_registered_memory_freeze(struct ronde_registered_memory *registered);

/** Releases everything, blocks that are in use included. */
void ronde_registered_memory_close(struct ronde_registered_memory *registered);

/** A peer's registered memory as it is mapped here. */
struct ronde_memory_mapping {
    uint64_t theirs;      /**< its address in the owner's process */
    uint64_t bytes;       /**< mapped so far */
    unsigned char *start; /**< NULL while nothing is */
};

/** The address here of bytes at an address of the owner's; NULL if they lie outside of what is mapped. */
static inline unsigned char *ronde_memory_mapping_find(const struct ronde_memory_mapping *mapping,
                                                       const unsigned char *theirs, uint64_t bytes)
{
    const uint64_t offset = (uint64_t)(uintptr_t)theirs - mapping->theirs;
    return offset < mapping->bytes && bytes <= mapping->bytes - offset ? mapping->start + offset
                                                                       : NULL;
}

/** Maps all that a descriptor covers now; false with errno if the system refuses, or it covers no more than is mapped. */
bool ronde_memory_mapping_open(struct ronde_memory_mapping *mapping,
                               const struct ronde_memory_descriptor *descriptor);

/** Unmaps. */
void ronde_memory_mapping_close(struct ronde_memory_mapping *mapping);

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
