/**
 * Ranks that are processes on different hosts and cannot map each other's device memory: connections between them lie in
 * pinned memory of the host, which kernels access directly, and this process's thread sends what they post over the
 * communicator's transport. Connections inside a host do not use it (peers.h).
 *
 * The communicator's program (hw/comm) runs the rank as usual, with handshake, time limit and failure detection, but for
 * its lanes: those run on the device, and the program reads each connection's counters instead.
 */
#ifndef RONDE_HW_CUDA_PROXY_H
#define RONDE_HW_CUDA_PROXY_H

#include "hw/comm/comm.h"
#include "hw/cuda/device_program.h"
#include "hw/cuda/direct.h"
#include "hw/cuda/numa.h"

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

#endif
