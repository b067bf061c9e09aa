/**
 * Memory of a rank that the other ranks of its machine read and write in place.
 *
 * Registered memory is an anonymous file (memfd), as long as the machine's memory, of which only used pages take any. Its
 * owner maps all of it and allocates whole pages; peers map, when they first read there, what has been used so far. A
 * descriptor in memory that all ranks share says where it is. A mapping outlives the process it came from.
 *
 * Any thread of the owner may allocate and free while another one runs programs, which ask what is registered: the list of
 * blocks has a lock, which is never held while the system allocates or frees pages.
 */
#ifndef RONDE_HW_SHM_REGISTERED_MEMORY_H
#define RONDE_HW_SHM_REGISTERED_MEMORY_H

#include "ronde/mem.h"

#include <stdint.h>

/** Where a rank's registered memory is. Written by its owner alone; zeroed while there is none. */
struct ronde_memory_descriptor {
    uint64_t start;       /**< its address in the owner's process */
    uint64_t bytes;       /**< atomic, written last: used so far, from the start; only grows */
    int32_t process;      /**< of the owner */
    int32_t fd;           /**< the file's descriptor there */
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

#endif
