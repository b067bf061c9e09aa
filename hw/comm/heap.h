/**
 * Memory of a rank that the other ranks of its machine read and write in place.
 *
 * A heap is a file without a name, as long as the machine's memory but only as heavy as what is used of it. Its owner
 * maps all of it and hands out whole pages; the others map, when they first read there, what has been used so far. A
 * sign in memory that all ranks share tells where to look. A mapping outlives the process it came from.
 */
#ifndef RONDE_HW_COMM_HEAP_H
#define RONDE_HW_COMM_HEAP_H

#include "ronde/mem.h"

#include <stdint.h>

/** What a rank shows of its heap. Written by its owner alone; zeroed while there is none. */
struct ronde_sign {
    uint64_t start;       /**< where its owner has it */
    uint64_t bytes;       /**< atomic, written last: used so far, from the start; only grows */
    int32_t process;      /**< of the owner */
    int32_t descriptor;   /**< there */
    uint64_t padding[13]; /**< up to two cache lines */
};

/** A used part of a heap. */
struct ronde_heap_block {
    uint64_t first;
    uint64_t end;
};

/** The owner's side. */
struct ronde_heap {
    const struct ronde_mem *mem; /**< for the list of blocks */
    struct ronde_mem own;        /**< hands the heap out */
    struct ronde_sign *sign;
    unsigned char *start; /**< NULL until something is asked for */
    uint64_t bytes;
    int descriptor;
    struct ronde_heap_block *blocks; /**< in order */
    size_t block_count;
    size_t block_capacity;
    bool is_frozen; /**< nothing is handed out or taken back any more */
};

/** Prepares a heap; nothing is taken from the system before the first block. */
void ronde_heap_init(struct ronde_heap *heap, struct ronde_sign *sign, const struct ronde_mem *mem);

/** Whether so many bytes lie in one block of the heap. */
bool ronde_heap_holds(const struct ronde_heap *heap, const void *start, uint64_t bytes);

/**
 * Hands nothing out from now on and keeps what is freed: others may not have heard yet that they are not to write there
 * any more.
 */
void ronde_heap_freeze(struct ronde_heap *heap);

/** Gives everything back, blocks that are in use included. */
void ronde_heap_close(struct ronde_heap *heap);

/** The other side: another rank's heap as it is mapped here. */
struct ronde_window {
    uint64_t theirs;      /**< where its owner has it */
    uint64_t bytes;       /**< mapped so far */
    unsigned char *start; /**< NULL while nothing is */
};

/** Where bytes that a rank has at an address are here; NULL if they are no part of what the window maps. */
static inline unsigned char *ronde_window_find(const struct ronde_window *window,
                                               const unsigned char *theirs, uint64_t bytes)
{
    const uint64_t offset = (uint64_t)(uintptr_t)theirs - window->theirs;
    return offset < window->bytes && bytes <= window->bytes - offset ? window->start + offset : NULL;
}

/** Maps all that a sign shows now; false with errno if the system refuses, or nothing is shown. */
bool ronde_window_open(struct ronde_window *window, const struct ronde_sign *sign);

/** Unmaps. */
void ronde_window_close(struct ronde_window *window);

#endif
