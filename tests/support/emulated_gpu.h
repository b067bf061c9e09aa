/**
 * GPUs made of this process's memory: the blocks of hw/cuda, compiled as C, run one after another in a random order.
 *
 * Everything but the CUDA runtime is what a GPU executes: images, staging, folding, the interpreter, the movers' loops
 * and the protocols. What it cannot show is how a GPU's memory orders accesses and how fast anything is.
 */
#ifndef RONDE_TESTS_EMULATED_GPU_H
#define RONDE_TESTS_EMULATED_GPU_H

#include "hw/cuda/gpu.h"

/** Properties of the device. */
struct emulated_options {
    uint32_t movers;     /**< threads of a block that move data; 0 = another number in every run */
    uint32_t resident;   /**< blocks at once; 0 = another number in every run */
    uint32_t room_bytes; /**< shared memory of a block */
    bool reaches_host;   /**< buffers of the caller's need no shadow */
    bool is_guarded; /**< a touch of the device's memory outside of its work, or of that of a device that was joined
                          with it, is a crash */
    bool lacks_descriptors; /**< memory is shared under names, as by CUDA IPC, unless another way is chosen */
    bool has_fabric;        /**< fabric handles are there */
    bool is_isolated;       /**< no peer access in either direction */
    bool join_does_nothing; /**< joining returns OK and does nothing */
    bool is_hidden;         /**< kernels need not see what other devices write to its memory */
    bool shares_no_buffers; /**< what its buffers allocator gives has no handle */
    uint64_t piece_bytes; /**< that is of allocations of so many bytes, one after another; 0 = one each */
    const char *bus; /**< its PCIe address; NULL = it has none */
};

/** What the device has done. */
struct emulated_counts {
    uint64_t kernels;                     /**< started */
    uint64_t own_kernels;                 /**< of those: in no stream of the caller's */
    uint64_t running;                     /**< kernels that are not over, now */
    uint64_t lines_launches;              /**< of those: runs whose messages travelled in lines */
    uint64_t folded;                      /**< of those: runs with more lanes than blocks */
    uint64_t near_programs;               /**< blocks that found their steps in shared memory */
    uint64_t live_blocks;                 /**< of device memory, now */
    uint64_t writes;                      /**< copies to the device */
    uint64_t pins;                        /**< times that memory of the host was pinned */
    uint64_t attached;                    /**< blocks of other processes that were mapped */
    uint64_t shared[RONDE_SHARING_COUNT]; /**< blocks made for other processes, by kind */
    uint64_t held;                        /**< allocations of buffers that are held, now */
    uint64_t pulled_launches;             /**< runs in which something was offered to others */
    uint64_t moved_bytes;                 /**< that runs which are over have read and written */
    uint64_t commands;                    /**< that their movers were given */
    uint64_t waits;                       /**< for movers, with no command to follow */
    uint64_t settled; /**< times that writes of other devices were made visible */
};

/** Opens the only device of a machine; NULL when there is no memory. */
const struct ronde_gpu *emulated_gpu_open(const struct emulated_options *options);

/** Opens one more device of a machine; NULL when there is no memory. */
const struct ronde_gpu *emulated_gpu_open_beside(const struct ronde_gpu *gpu,
                                                 const struct emulated_options *options);

/** Makes buffers that contain a certain byte, and no others, inaccessible to the device; NULL = none. */
void emulated_gpu_hide(const struct ronde_gpu *gpu, const void *byte);

/** Where the next buffer is to lie: an address that is free. */
void emulated_gpu_wish(const struct ronde_gpu *gpu, void *address);

/** Calls that can be made to fail. */
enum emulated_call {
    EMULATED_MEMORY, /**< of the device's own */
    EMULATED_SHARE,
    EMULATED_ATTACH,
    EMULATED_PIN,
    EMULATED_OFFER, /**< exporting a buffer */
    EMULATED_START, /**< of a kernel */
    EMULATED_CALLS  /**< number of them */
};

/** The `which`th of such calls from now on fails, and no other; 0 = none. */
void emulated_gpu_refuse(const struct ronde_gpu *gpu, enum emulated_call call, uint32_t which);

/** What it has done so far. */
struct emulated_counts emulated_gpu_counts(const struct ronde_gpu *gpu);

/** Closes it. */
void emulated_gpu_close(const struct ronde_gpu *gpu);

/** The cuda backend on 1, 2 and 4 such devices in turn, whose options change from run to run. */
extern const struct ronde_backend emulated_backend;

#endif
