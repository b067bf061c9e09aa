/**
 * Ranks that are processes and do not reach each other's device memory, since they are on different hosts: connections
 * between them lie in memory of the host, which kernels use as it is, and this process's thread moves what they post over
 * the communicator's transport. Connections inside a host are none of its business (peers.h).
 *
 * The communicator's program (hw/comm) stands for the rank as ever, card, time limit and bad news included, but for its
 * lanes: those run on the device, and the program takes over how far each connection has come.
 */
#ifndef RONDE_HW_CUDA_PROXY_H
#define RONDE_HW_CUDA_PROXY_H

#include "hw/comm/comm.h"
#include "hw/cuda/direct.h"
#include "hw/cuda/near.h"
#include "hw/cuda/part.h"

/** A rank's kernel behind a communicator's program. */
struct ronde_cuda_proxy {
    struct ronde_comm_program *host; /**< NULL = there is no proxy */
    struct ronde_cuda_part *part;
    uint32_t *words;                 /**< abort and stop of the kernel */
    unsigned char *memory;           /**< of the connections, as it was pinned; NULL = it was not */
    uint64_t memory_bytes;           /**< of it */
    struct ronde_cuda_direct direct; /**< slots on the device, where all ranks can have them */
    struct ronde_cuda_near near;     /**< where a thread that moves its messages is best */
    bool is_running;                 /**< between run and its end */
    bool is_started;                 /**< the kernel of that run */
    const uint64_t *
        ended; /**< atomic: kernels that a stream has been through; NULL = the run has one of its own */
    uint64_t awaited;           /**< this run's among them */
    struct ronde_error failure; /**< of that run: its kernel may not even have started */
};

/**
 * Loads the communicator's program and lets the device use its memory. `status`: how loading the part went, with its
 * error. Collective: it succeeds in all processes or fails in all. On failure the caller calls unload all the same.
 * Errors: those of ronde_comm_load; DEVICE.
 */
enum ronde_status ronde_cuda_proxy_load(struct ronde_cuda_proxy *proxy, struct ronde_comm *comm,
                                        struct ronde_cuda_part *part, enum ronde_status status,
                                        struct ronde_error *error);

/** Releases both. */
void ronde_cuda_proxy_unload(struct ronde_cuda_proxy *proxy);

/** A launch as the communicator will run it: what is left open filled in. */
struct ronde_launch ronde_cuda_proxy_settle(const struct ronde_cuda_proxy *proxy,
                                            const struct ronde_launch *launch);

/** Points the part's ends at the connections' memory, after it was prepared. */
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
