/**
 * Memory of a device by handles of the driver's: made, shared with other processes, mapped from them.
 *
 * Handles are descriptors of files, which a process passes to another over a socket, or bytes, which are valid on all
 * machines of one NVLink fabric. Unlike what cudaMalloc gives they need no common IPC name space, and a mapping outlives
 * the process that made the memory. Allocators that grow in place, as PyTorch's expandable segments, use it too:
 * one range of addresses, mapped from many handles.
 */
#ifndef RONDE_HW_CUDA_VMM_H
#define RONDE_HW_CUDA_VMM_H

#include "hw/cuda/gpu.h"

struct ronde_vmm;

/** Prepares a device, by its number among the visible. Owner: the caller closes. Errors: NO_MEMORY; UNAVAILABLE: no driver,
 * an old one, or a device that cannot map memory. */
RONDE_API enum ronde_status ronde_vmm_open(const struct ronde_mem *mem, int number,
                                           struct ronde_vmm **out_vmm, struct ronde_error *why_not);

/** Closes, after all its memory was released; NULL is allowed. */
RONDE_API void ronde_vmm_close(struct ronde_vmm *vmm);

/** Grants another device of this process access to what is created or imported from now on. */
RONDE_API void ronde_vmm_admit(struct ronde_vmm *vmm, int number);

/** Whether memory can be shared in a way. Errors: UNAVAILABLE with the reason. */
RONDE_API enum ronde_status ronde_vmm_supports(const struct ronde_vmm *vmm,
                                               enum ronde_sharing sharing,
                                               struct ronde_error *why_not);

/**
 * Allocates memory that can be shared in this way, mapped for the device and those admitted. Owner: the caller releases
 * it with its length. Errors: NO_MEMORY; UNAVAILABLE as supports; DEVICE.
 */
RONDE_API enum ronde_status ronde_vmm_create(struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                             uint64_t bytes, void **out_block,
                                             struct ronde_error *error);

/**
 * The mapping that contains an address, made by create or by other users of the driver. Errors: UNSUPPORTED for memory
 * without a handle that can be shared in this way; DEVICE.
 */
RONDE_API enum ronde_status ronde_vmm_find(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                           const void *address, void **out_start,
                                           uint64_t *out_bytes, struct ronde_error *error);

/**
 * Exports the handle of what find finds. Owner: the caller closes out_share->descriptor, if not -1. Errors: as find.
 */
RONDE_API enum ronde_status ronde_vmm_export(const struct ronde_vmm *vmm, enum ronde_sharing sharing,
                                             const void *address, struct ronde_share *out_share,
                                             struct ronde_error *error);

/**
 * Maps memory that another process has exported: `count` pieces of so many bytes, of one kind, one after another; descriptors stay
 * the caller's. All but the last piece are whole allocations. Owner: the caller releases it with the same lengths.
 * Errors: NO_MEMORY; DEVICE.
 */
RONDE_API enum ronde_status ronde_vmm_import(struct ronde_vmm *vmm, const struct ronde_share *shares,
                                             const uint64_t *bytes, uint32_t count,
                                             void **out_block, struct ronde_error *error);

/**
 * The handle of the memory at an address, which stays as it is until ronde_vmm_let_go, and so do its length and kind; false for
 * memory that is not by handles.
 */
RONDE_API bool ronde_vmm_hold(const struct ronde_vmm *vmm, const void *address,
                              struct ronde_allocation *out_allocation);

/** Ends that. */
RONDE_API void ronde_vmm_let_go(const struct ronde_vmm *vmm,
                                const struct ronde_allocation *allocation);

/**
 * Whether kernels of the device may read and write memory, as far as the driver's rights go: for memory by handles they
 * are granted device by device, mapping by mapping, for memory of a pool to the pool; other memory has none.
 */
RONDE_API bool ronde_vmm_may_use(const struct ronde_vmm *vmm, const void *start, uint64_t bytes);

/** Unmaps and frees what create, or import with the same lengths, gave. */
RONDE_API void ronde_vmm_release(struct ronde_vmm *vmm, void *block, const uint64_t *bytes,
                                 uint32_t count);

#endif
