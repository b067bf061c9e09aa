/**
 * What the host does for GPUs while they run: transfers over the network, by a thread near the GPU.
 */
#ifndef RONDE_HW_CUDA_PROXY_H
#define RONDE_HW_CUDA_PROXY_H

#include "hw/comm/comm_parts.h"
#include "hw/cuda/device_program.h"
#include "hw/cuda/gpu.h"

#include "ronde/cuda.h"
#include "ronde/processors.h"

/* The processors of a device's NUMA node: threads that serve it should run there, since what they poll and write
 * then crosses no link between sockets. */

/** Those of them that the calling thread may use. */
struct ronde_cuda_numa {
    const struct ronde_mem *mem;
    struct ronde_processor *list;
    uint32_t capacity; /**< of list */
    uint32_t count;    /**< in it; 0 = unknown, or none of them may be used */
};

/** Binds the calling thread to them, if there are any. */
void ronde_cuda_numa_bind(const struct ronde_cuda_numa *numa);

/* GPUDirect: slots of connections between machines in the memory of the device, which the transport then reads and
 * writes itself. Counters and lengths stay in the host's memory, where the transport's thread sets them. All ranks
 * use it or none does. Short messages go through the host all the same: a transport sends memory that the CPU
 * cannot access by rendezvous only, which takes a round trip. */

/** Slot bytes from which slots lie on the device; calculated, not yet measured. */
#define RONDE_CUDA_DIRECT_FROM_BYTES 16384u

/** A program's slots on a device. */
struct ronde_cuda_direct {
    struct ronde_device_slots slots; /**< the transport's view of them */
    const struct ronde_gpu *gpu;
    unsigned char *memory; /**< NULL = there are none */
    uint64_t bytes;        /**< of it */
    uint64_t stride;       /**< from connection to connection */
};

/** A rank's kernel behind a communicator's program. */
struct ronde_cuda_proxy {
    struct ronde_comm_program *host; /**< NULL = there is no proxy */
    struct ronde_device_program *part;
    uint32_t *words;                 /**< abort and stop of the kernel */
    unsigned char *memory;           /**< of the connections, as it was pinned; NULL = it was not */
    uint64_t memory_bytes;           /**< of it */
    struct ronde_cuda_direct direct; /**< slots on the device, where all ranks can have them */
    struct ronde_cuda_numa numa;     /**< processors for a thread that moves its messages */
    bool is_running;                 /**< between run and its end */
    bool is_started;                 /**< the kernel of that run */
    const uint64_t *
        ended; /**< atomic: kernels that a stream has completed; NULL = the run starts its own kernel */
    uint64_t awaited;           /**< the value of *ended at which this run's kernel is over */
    struct ronde_error failure; /**< of that run, whose kernel may not have started */
};

/**
 * Loads the communicator's program and pins its memory for the device. `status`: how loading the part went, with its
 * error. Collective: it succeeds in all processes or fails in all. On failure the caller calls unload all the same.
 * Errors: those of ronde_comm_load; DEVICE.
 */
enum ronde_status ronde_cuda_proxy_load(struct ronde_cuda_proxy *proxy, struct ronde_comm *comm,
                                        struct ronde_device_program *part,
                                        enum ronde_gpu_direct wish, enum ronde_status status,
                                        struct ronde_error *error);

/** Releases both. */
void ronde_cuda_proxy_unload(struct ronde_cuda_proxy *proxy);

/** A launch as the communicator will run it: what is left open filled in. */
struct ronde_launch ronde_cuda_proxy_settle(const struct ronde_cuda_proxy *proxy,
                                            const struct ronde_launch *launch);

/** Sets the part's ends to the connections' memory, after it was prepared. */
void ronde_cuda_proxy_place(struct ronde_cuda_proxy *proxy);

/** Begins a run of a part that was sent to the device; the kernel starts when the others agree. Errors: those of
 * ronde_comm_run. */
enum ronde_status ronde_cuda_proxy_run(struct ronde_cuda_proxy *proxy,
                                       const struct ronde_launch *launch, struct ronde_error *error);

/** The same for a kernel that a stream starts, the `awaited`th of those whose ends are counted. Errors: as run. */
enum ronde_status ronde_cuda_proxy_follow(struct ronde_cuda_proxy *proxy,
                                          const struct ronde_launch *launch, const uint64_t *ended,
                                          uint64_t awaited);

/** Moves messages on; whether the run, if there is one, is over. Errors: those of ronde_comm_test, after which the kernel
 * has ended. */
enum ronde_status ronde_cuda_proxy_test(struct ronde_cuda_proxy *proxy, bool *out_done,
                                        struct ronde_error *error);

/* Progress thread for runs in streams: it moves a kernel's messages (proxy.h) while no call of this process is
 * active. The stream notifies the thread by host functions before and after each kernel, which become nodes of a
 * captured graph as the kernel does. They wait for nothing, so streams never block each other. While a run is under
 * way its thread owns the communicator; runs of several programs of a communicator are moved in the order in which they
 * begin, which is to be the same on all ranks. */

struct ronde_cuda_progress;

/**
 * Starts the thread for runs of a launch that the proxy's part was prepared for; only numbers of the launch are copied, no
 * buffers. Owner: the caller closes. Errors: NO_MEMORY; DEVICE; UNSUPPORTED in a build without threads.
 */
enum ronde_status
ronde_cuda_progress_open(struct ronde_cuda_proxy *proxy, const struct ronde_launch *launch,
                         const struct ronde_mem *mem, struct ronde_cuda_progress **out_progress,
                         struct ronde_error *error);

/** Ends the thread, between runs or after a failed one; NULL is allowed. */
void ronde_cuda_progress_close(struct ronde_cuda_progress *progress);

/** Host function that the stream calls before a kernel. */
void ronde_cuda_progress_begin(void *progress);
/** Host function that the stream calls when the kernel is over. */
void ronde_cuda_progress_end(void *progress);

/** Whether all messages of runs that began have been moved, or a run has failed (the proxy's `failure`). Never blocks. */
bool ronde_cuda_progress_is_idle(struct ronde_cuda_progress *progress);

/** Whether all messages of runs whose kernels are over have been moved, or a run has failed. Never blocks. */
bool ronde_cuda_progress_has_moved(struct ronde_cuda_progress *progress);

/** Waits until no run is under way: as long as the runs take, or their time limit. */
void ronde_cuda_progress_await(struct ronde_cuda_progress *progress);

#endif
