/**
 * The other processes of a program whose ranks are in several, on devices of their own.
 *
 * Every process lets the others of its host into one block of each of its devices' memory, which holds the connections
 * that ranks there receive and the counters they poll (share.c). What they say to each other, at loading and before every new launch, travels on the
 * communicator's star; a process that is lost is noticed there, and kernels are told to end.
 */
#ifndef RONDE_HW_CUDA_PEERS_H
#define RONDE_HW_CUDA_PEERS_H

#include "hw/comm/comm.h"
#include "hw/cuda/part.h"
#include "hw/cuda/roster.h"

/** Memory of a device that several processes use. */
struct ronde_shared_block {
    void *start; /**< as this process sees it; NULL = it is not there, or this process was not let in */
    uint64_t bytes;
    enum ronde_sharing sharing;
};

/** What a process knows of the others. */
struct ronde_cuda_peers {
    struct ronde_comm *comm;    /**< NULL = there are none: all ranks are in this process */
    enum ronde_sharing sharing; /**< the caller's choice */
    const struct ronde_roster *roster;
    struct ronde_cuda_part *parts;  /**< of this process, one per site here */
    struct ronde_shared_block *own; /**< one per site here */
    struct ronde_shared_block *others; /**< per site here, one per site: those it has connections with */
    uint64_t slot_bytes;               /**< the longest slot of any launch */
    uint32_t depth;                    /**< the most slots of any launch */
    double checked_ns;                 /**< when the star was last looked at */
};

/**
 * Shares memory with the processes this one has connections with, and fills `depots`: per site here, one per site.
 * comm, sharing, roster and parts have been set. `status`: how loading the parts went, with its error. Collective: it
 * succeeds in all or fails in all. On failure the caller calls leave all the same. Errors: NO_MEMORY; REJECTED naming two
 * processes that load different things; DEVICE; UNAVAILABLE; the communicator's.
 */
enum ronde_status ronde_cuda_peers_meet(struct ronde_cuda_peers *peers,
                                        const struct ronde_numbering *numbering,
                                        struct ronde_depot *depots, enum ronde_status status,
                                        struct ronde_error *error);

/** Goes out of the others' memory, and waits until they are out of this one's. Collective. */
void ronde_cuda_peers_leave(struct ronde_cuda_peers *peers);

/** Fills in what a launch leaves open. Errors: BAD_ARGUMENT for more than was loaded; UNSUPPORTED. */
enum ronde_status ronde_cuda_peers_settle(const struct ronde_cuda_peers *peers,
                                          struct ronde_launch *launch, struct ronde_error *error);

/**
 * Says that this process is ready for a launch, or why not, and hears the others. Collective. Errors: this process's, or
 * another's; REJECTED naming two ranks that disagree and in what; the communicator's.
 */
enum ronde_status ronde_cuda_peers_agree(struct ronde_cuda_peers *peers,
                                         const struct ronde_schedule *schedule,
                                         const struct ronde_launch *launch,
                                         enum ronde_status status, struct ronde_error *error);

/** Looks for bad news, now and then. Never blocks. Errors: the communicator's. */
enum ronde_status ronde_cuda_peers_check(struct ronde_cuda_peers *peers, struct ronde_error *error);

/** Tells the others that a run has failed here, and why. */
void ronde_cuda_peers_alarm(struct ronde_cuda_peers *peers, const struct ronde_error *why);

#endif
