/**
 * Handles of device memory on their way between the processes of a host: bytes over the control channel, descriptors over
 * sockets (fd_passing.h). What is shared by them is the caller's business: blocks of connections (share.c), registered
 * buffers (registered.c).
 */
#ifndef RONDE_HW_CUDA_HANDLES_H
#define RONDE_HW_CUDA_HANDLES_H

#include "hw/comm/comm_parts.h"
#include "hw/cuda/fd_passing.h"
#include "hw/cuda/gpu.h"

/** What a process publishes: a handle, and its socket for descriptors. */
struct ronde_handle_offer {
    struct ronde_share share;
    struct ronde_fd_address fd_socket;
};

/** An exchange, `most` handles of every process. */
struct ronde_handles {
    struct ronde_comm *comm;
    uint32_t most;
    struct ronde_share *mine; /**< the caller fills them in; descriptor -1 = none */
    bool *is_due;    /**< per process and own handle: that process wants it; of the caller */
    bool *is_wanted; /**< per process and handle of its own: wanted here; of the caller */
    struct ronde_handle_offer *own; /**< as published */
    struct ronde_handle_offer *all; /**< of all processes */
    struct ronde_fd_socket fd_socket;
    struct ronde_fd_delivery *deliveries;
    size_t delivery_count;
};

/** Makes room. The caller closes it also on failure. Errors: NO_MEMORY. */
enum ronde_status ronde_handles_open(struct ronde_handles *handles, struct ronde_comm *comm,
                                     uint32_t most, struct ronde_error *error);

/**
 * Exchanges what `mine` holds, and receives the descriptors of what is wanted. `status`: how making it went, with its error.
 * Collective, but for failures behind the first agreement: where the others would wait, these end the communicator.
 * Errors: that of any process; DEVICE, TIMEOUT; the communicator's.
 */
enum ronde_status ronde_handles_exchange(struct ronde_handles *handles, enum ronde_status status,
                                         struct ronde_error *error);

/** A handle of a process as it can be mapped here, until close. */
struct ronde_share ronde_handles_find(const struct ronde_handles *handles, uint32_t process,
                                      uint32_t which);

/** Frees, and closes all descriptors: mappings keep the memory alive without. */
void ronde_handles_close(struct ronde_handles *handles);

#endif
