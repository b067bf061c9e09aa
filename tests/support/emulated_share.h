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

/** Maps what another process has made. */
enum ronde_status emulated_share_map(const struct ronde_share *share, uint64_t bytes,
                                     void **out_block, struct ronde_error *error);

/** Unmaps that. */
void emulated_share_unmap(void *block, uint64_t bytes);

#endif
