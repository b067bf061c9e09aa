/**
 * What the cuda backend needs of a device: memory, an ordered queue of work, and kernels.
 *
 * Two implement it: runtime.c with the CUDA runtime, and the tests with memory of the host and blocks that are driven
 * one after another, so that everything above this interface runs without a GPU.
 */
#ifndef RONDE_HW_CUDA_GPU_H
#define RONDE_HW_CUDA_GPU_H

#include "ronde/cuda.h"

struct ronde_given;
struct ronde_job;

/** Handle by which another process of the machine maps memory of a device; sent as bytes. */
struct ronde_share {
    enum ronde_sharing sharing; /**< never AUTO */
    int32_t descriptor; /**< valid in this process: another's has to be passed (fd_passing.h); -1 = none is needed */
    uint64_t words[8]; /**< the handle, opaque */
    uint64_t bytes;    /**< of the allocation, where it is the caller's (offer) */
};

/** An allocation of a device's memory: what a handle stands for. */
struct ronde_allocation {
    unsigned char *start;
    uint64_t bytes;
    uint64_t number; /**< which no other allocation of the process has that is held, or that is not by handles */
    enum ronde_sharing sharing; /**< how it can be offered to other processes */
    bool is_held;               /**< `number` is a handle that is the holder's to let go */
};

/** What a thread had before it entered a device, to be put back. */
struct ronde_gpu_before {
    void *context;    /**< its current context, of any device or none */
    int capture_mode; /**< which calls a capture of any thread forbids it */
};

/** Marks of a queue that are told apart. */
#define RONDE_GPU_MARKS 64u

/** A device. Calls that take a queue act in its order. */
struct ronde_gpu {
    /** Memory of the device; the host never touches its content. */
    const struct ronde_mem *memory;
    /** Memory for the caller's buffers: for this device, those joined with it, and network adapters where possible. */
    const struct ronde_mem *buffers;
    /** First argument of the calls that take no queue. */
    void *self;
    /** Writes its PCIe address ("0000:65:00.0"); nothing where it has none. */
    void (*where)(void *self, char *out_bus, size_t bytes);
    /** Lets kernels here use all memory of another device of this process; idempotent. Errors: UNAVAILABLE, DEVICE. */
    enum ronde_status (*join)(void *self, void *other_self, struct ronde_error *error);
    /**
     * Allocates memory that other processes can map, for kernels here and on devices of this process that were joined with
     * this one. Freed with its length; out_share->descriptor, if not -1, is the caller's to close.
     * Errors: NO_MEMORY; DEVICE; UNAVAILABLE for a way to share that the device lacks.
     */
    enum ronde_status (*share)(void *self, enum ronde_sharing sharing, uint64_t bytes,
                               void **out_block, struct ronde_share *out_share,
                               struct ronde_error *error);
    /** Frees it, after all other processes have unmapped it. `sharing`: of the share. */
    void (*unshare)(void *self, enum ronde_sharing sharing, void *block, uint64_t bytes);
    /**
     * Maps memory that another process has shared, for kernels here: `count` allocations of one kind, one after another; by
     * IPC one alone. Errors: NO_MEMORY, DEVICE.
     */
    enum ronde_status (*attach)(void *self, const struct ronde_share *shares, const uint64_t *bytes,
                                uint32_t count, void **out_block, struct ronde_error *error);
    /** Unmaps it. */
    void (*detach)(void *self, enum ronde_sharing sharing, void *block, const uint64_t *bytes,
                   uint32_t count);
    /**
     * Finds the allocation of the device's that an address lies in, and holds it: its number is not used again until let_go.
     * Errors: BAD_ARGUMENT for other memory; UNSUPPORTED for memory that no other process can map.
     */
    enum ronde_status (*hold)(void *self, const void *address,
                              struct ronde_allocation *out_allocation, struct ronde_error *error);
    /** Ends that. */
    void (*let_go)(void *self, struct ronde_allocation *allocation);
    /** Exports an allocation that is held, as share does. Errors: DEVICE, UNSUPPORTED. */
    enum ronde_status (*offer)(void *self, const struct ronde_allocation *allocation,
                               struct ronde_share *out_share, struct ronde_error *error);
    /** Pins whole pages of the host, which kernels here then access under its address. Errors: DEVICE. */
    enum ronde_status (*pin)(void *self, void *memory, uint64_t bytes, struct ronde_error *error);
    /** Ends that. */
    void (*unpin)(void *self, void *memory, uint64_t bytes);
    /** Whether kernels see what other devices, such as network adapters, write to its memory while they run. */
    bool (*is_exposed)(void *self);
    /** Makes what other devices have written to its memory until now visible to kernels. */
    void (*settle)(void *self);
    /** Makes it this thread's current device, which libraries look up; returns the argument of leave. */
    struct ronde_gpu_before (*enter)(const void *self);
    /** Ends that. */
    void (*leave)(const void *self, struct ronde_gpu_before before);
    /** Opens a queue. Errors: NO_MEMORY, DEVICE. */
    enum ronde_status (*open_queue)(void *self, void **out_queue, struct ronde_error *error);
    /** Closes a queue whose work is over; NULL is allowed. */
    void (*close_queue)(void *queue);
    /** Whether the device can access memory of the caller's as it is. */
    bool (*reaches)(void *self, const void *start, uint64_t bytes);
    /** Blocks of the kernel of an element type that are guaranteed to run at the same time. Errors: DEVICE. */
    enum ronde_status (*resident_blocks)(void *self, enum ronde_dtype dtype, uint32_t *out_blocks,
                                         struct ronde_error *error);
    /** Copies to the device; `from` may change when this returns. Errors: DEVICE. */
    enum ronde_status (*write)(void *queue, void *to, const void *from, uint64_t bytes,
                               struct ronde_error *error);
    /** Copies from the device and waits for it. Errors: DEVICE. */
    enum ronde_status (*read)(void *queue, void *to, const void *from, uint64_t bytes,
                              struct ronde_error *error);
    /** Fills with zeros. Errors: DEVICE. */
    enum ronde_status (*clear)(void *queue, void *to, uint64_t bytes, struct ronde_error *error);
    /** Words that the host and all devices access under one address: job->abort and job->stop. */
    uint32_t *(*words)(void *queue);
    /**
     * Starts a kernel in *stream, a stream of the caller's, of which CUDA's default one is NULL; without `stream` in the
     * queue's own. `given` is copied. Errors: DEVICE, UNSUPPORTED if not all blocks can run at the same time.
     */
    enum ronde_status (*start)(void *queue, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error);
    /** Enqueues a call of a host function in a stream of the caller's; the function uses no device. Errors: DEVICE. */
    enum ronde_status (*call)(void *queue, void *stream, void (*function)(void *self), void *self,
                              struct ronde_error *error);
    /** Whether a caller's stream is being captured: then it runs nothing yet. Errors: DEVICE. */
    enum ronde_status (*is_captured)(void *self, void *stream, bool *out_captured,
                                     struct ronde_error *error);
    /**
     * Marks how far a caller's stream, which is not captured, is by now. Marks of a queue are numbered from 1 on, one after
     * another, and RONDE_GPU_MARKS of them are kept: an earlier one is then taken for a later one. Errors: DEVICE.
     */
    enum ronde_status (*mark)(void *queue, void *stream, uint64_t number, struct ronde_error *error);
    /** What is enqueued in a caller's stream from now on begins after a mark; neither is captured. Errors: DEVICE. */
    enum ronde_status (*follow)(void *queue, void *stream, uint64_t number,
                                struct ronde_error *error);
    /** Whether all work before a mark is over; never blocks. Errors: DEVICE. */
    enum ronde_status (*is_past)(void *queue, uint64_t number, bool *out_past,
                                 struct ronde_error *error);
    /** Whether the kernel is over; never blocks. Errors: DEVICE. */
    enum ronde_status (*is_over)(void *queue, bool *out_over, struct ronde_error *error);
    /** Waits for all work of the queue; the kernel's time, unless out_elapsed_ns is NULL. Errors: DEVICE. */
    enum ronde_status (*finish)(void *queue, double *out_elapsed_ns, struct ronde_error *error);
};

/** Describes the devices. Errors: UNAVAILABLE with what is missing: the build, the driver or the device. */
RONDE_API enum ronde_status ronde_gpu_probe(struct ronde_machine *out_machine,
                                            struct ronde_error *why_not);

/** Number of devices that are visible. Errors: those of ronde_gpu_probe. */
RONDE_API enum ronde_status ronde_gpu_count(uint32_t *out_count, struct ronde_error *why_not);

/** Opens a device by its number; closed with ronde_gpu_close. Errors: NO_MEMORY, UNAVAILABLE, DEVICE. */
RONDE_API enum ronde_status ronde_gpu_open(const struct ronde_mem *mem, uint32_t number,
                                           const struct ronde_gpu **out_gpu,
                                           struct ronde_error *error);

/** Closes a device opened by ronde_gpu_open; NULL is allowed. */
RONDE_API void ronde_gpu_close(const struct ronde_mem *mem, const struct ronde_gpu *gpu);

#endif
