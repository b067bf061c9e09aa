/**
 * The other processes of a program whose ranks are in several, on devices of their own.
 *
 * Every process shares, with the others of its host, one block of each of its devices' memory, which holds the connections
 * that ranks there receive and the counters they poll (share.c). Handshakes, at loading and before every new launch, go
 * over the communicator's control channel; a lost process is detected there, and kernels are then stopped.
 */
#ifndef RONDE_HW_CUDA_PEERS_H
#define RONDE_HW_CUDA_PEERS_H

#include "hw/comm/comm_parts.h"
#include "hw/cuda/device_program.h"
#include "hw/cuda/rank_map.h"

/** Memory of a device that several processes use. */
struct ronde_shared_block {
    void *start; /**< at this process's address; NULL = there is none, or it is not mapped here */
    uint64_t bytes;
    enum ronde_sharing sharing;
};

/** A process's state about the others. */
struct ronde_cuda_peers {
    struct ronde_comm *comm;    /**< NULL = there are none: all ranks are in this process */
    enum ronde_sharing sharing; /**< the caller's choice */
    bool has_registry;          /**< buffers can be registered */
    const struct ronde_rank_map *rank_map;
    struct ronde_device_program *parts; /**< of this process, one per device here */
    struct ronde_shared_block *own;     /**< one per device here */
    struct ronde_shared_block
        *others; /**< per device here, one per global device: those it has connections with */
    uint64_t slot_bytes;        /**< the longest slot of any launch */
    uint64_t lines_up_to_bytes; /**< the longest slot of lines, alike in all processes */
    uint32_t depth;             /**< the most slots of any launch */
    double checked_ns;          /**< when the control channel was last checked */
};

/**
 * Shares memory with the processes this one has connections with, and fills `fifos`: per device here, one per global
 * device. comm, sharing, rank_map and parts have been set. `status`: how loading the parts went, with its error.
 * Collective: it succeeds in all or fails in all. On failure the caller calls disconnect all the same. Errors: NO_MEMORY;
 * REJECTED naming two processes that load different things; DEVICE; UNAVAILABLE; the communicator's.
 */
enum ronde_status ronde_cuda_peers_connect(struct ronde_cuda_peers *peers,
                                           const struct ronde_numbering *numbering,
                                           struct ronde_remote_fifos *fifos,
                                           enum ronde_status status, struct ronde_error *error);

/** Unmaps the other processes' memory, then waits until all of them have unmapped this one's. Collective. */
void ronde_cuda_peers_disconnect(struct ronde_cuda_peers *peers);

/** Fills in what a launch leaves open. Errors: BAD_ARGUMENT for more than was loaded; UNSUPPORTED. */
enum ronde_status ronde_cuda_peers_settle(const struct ronde_cuda_peers *peers,
                                          struct ronde_launch *launch, struct ronde_error *error);

/**
 * Handshake before a launch: sends that this process is ready, or its error, and receives the others'. Collective. Errors:
 * this process's, or another's; REJECTED naming two ranks that disagree and in what; the communicator's.
 */
enum ronde_status ronde_cuda_peers_agree(struct ronde_cuda_peers *peers,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         enum ronde_status status, struct ronde_error *error);

/** Polls the control channel for failures, at most once a millisecond. Never blocks. Errors: the communicator's. */
enum ronde_status ronde_cuda_peers_check(struct ronde_cuda_peers *peers, struct ronde_error *error);

/* Device memory shared among processes of a host: makes, maps and frees the blocks of peers.c. */

/**
 * Makes a block on each device here, sends its handle to the others, and maps theirs; fills `fifos` as peers_connect says.
 * Collective, but for failures: the caller sends a failure afterwards, and where the others would wait before that, this
 * ends the communicator. Errors: NO_MEMORY, DEVICE, UNAVAILABLE, TIMEOUT; the communicator's.
 */
enum ronde_status ronde_share_exchange(struct ronde_cuda_peers *peers,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_remote_fifos *fifos, struct ronde_error *error);

/** Unmaps the others' blocks. */
void ronde_share_unmap_others(struct ronde_cuda_peers *peers);

/** Frees own blocks, once no process has them mapped. */
void ronde_share_free_own(struct ronde_cuda_peers *peers);

#endif
