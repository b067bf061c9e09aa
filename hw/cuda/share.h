/**
 * Letting processes of a host into each other's devices: the blocks of memory that peers.c agrees about.
 */
#ifndef RONDE_HW_CUDA_SHARE_H
#define RONDE_HW_CUDA_SHARE_H

#include "hw/cuda/peers.h"

/**
 * Makes a block on each device here, tells the others where it is, and maps theirs; fills `depots` as peers_meet says.
 * Collective, but for failures: who fails tells the others afterwards, and ends the communicator where they would wait for
 * it before. Errors: NO_MEMORY, DEVICE, UNAVAILABLE, TIMEOUT; the communicator's.
 */
enum ronde_status ronde_share_exchange(struct ronde_cuda_peers *peers,
                                       const struct ronde_numbering *numbering,
                                       struct ronde_depot *depots, struct ronde_error *error);

/** Unmaps the others' blocks. */
void ronde_share_leave_others(struct ronde_cuda_peers *peers);

/** Frees the own ones, when nobody is in them. */
void ronde_share_free_own(struct ronde_cuda_peers *peers);

#endif
