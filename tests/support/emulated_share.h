/**
 * Memory of emulated devices that processes share: files without a name.
 *
 * As descriptors they are passed between processes, and not kept open. As IPC or fabric handles they are bytes that name
 * a descriptor of their maker's, so that they are invalid once it has ended, as real ones are.
 */
#ifndef RONDE_TESTS_EMULATED_SHARE_H
#define RONDE_TESTS_EMULATED_SHARE_H

#include "hw/cuda/gpu.h"

/** Blocks of a device that are shared under a name, at most. */
#define EMULATED_NAMED_MAX 32u

/** What a device has shared under names. */
struct emulated_named {
    void *blocks[EMULATED_NAMED_MAX]; /**< NULL = free */
    int descriptors[EMULATED_NAMED_MAX];
};

/** Makes a block. DESCRIPTOR: out_share->descriptor is the caller's to close. */
enum ronde_status emulated_share_make(struct emulated_named *named, enum ronde_sharing sharing,
                                      uint64_t bytes, void **out_block,
                                      struct ronde_share *out_share, struct ronde_error *error);

/** Frees it. */
void emulated_share_drop(struct emulated_named *named, void *block, uint64_t bytes);

/** Maps what another process has made: pieces one after another, and by IPC one alone, as real devices do. */
enum ronde_status emulated_share_map(const struct ronde_share *shares, const uint64_t *bytes,
                                     uint32_t count, void **out_block, struct ronde_error *error);

/** Unmaps that. */
void emulated_share_unmap(void *block, const uint64_t *bytes, uint32_t count);

/** Names a descriptor of this process's. */
void emulated_share_name(struct ronde_share *share, int descriptor);

/* Buffers: allocations that can be shared afterwards, in pieces one after another. */

/** Allocations of a device that are known, at most. */
#define EMULATED_PIECES_MAX 64u

/** An allocation. */
struct emulated_piece {
    unsigned char *start; /**< NULL = free */
    uint64_t bytes;       /**< whole pages */
    uint64_t number;      /**< of no other ever */
    int descriptor;
};

/** All of them. */
struct emulated_pieces {
    struct emulated_piece all[EMULATED_PIECES_MAX];
    uint64_t count; /**< ever made */
};

/** Makes a buffer of pieces of at most so many bytes, 0 = one alone; at `wish` if it is not NULL. NULL = no memory. */
void *emulated_pieces_make(struct emulated_pieces *pieces, uint64_t bytes, uint64_t piece_bytes,
                           void *wish);

/** Frees the pieces of a buffer. */
void emulated_pieces_drop(struct emulated_pieces *pieces, void *start, uint64_t bytes);

/** The piece an address lies in, or NULL. */
struct emulated_piece *emulated_pieces_find(struct emulated_pieces *pieces, const void *address);

#endif
