/**
 * Device memory shared among processes of a host: makes, maps and frees the blocks of peers.c.
 */
#ifndef RONDE_HW_CUDA_SHARE_H
#define RONDE_HW_CUDA_SHARE_H

#include "hw/cuda/peers.h"

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
