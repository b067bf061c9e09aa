/**
 * GPUDirect: slots of connections between machines in the memory of the device, which the transport then reads and writes
 * itself. Counters and lengths stay in the host's memory, where the transport's thread sets them.
 *
 * All ranks do so or none. Short messages go through the host all the same: a transport moves memory that it cannot touch
 * only after a round trip.
 */
#ifndef RONDE_HW_CUDA_DIRECT_H
#define RONDE_HW_CUDA_DIRECT_H

#include "hw/comm/comm.h"
#include "hw/cuda/part.h"

/** Slots from which messages lie on the device; arithmetic, not yet a measurement. */
#define RONDE_CUDA_DIRECT_FROM_BYTES 16384u

/** A program's slots on a device. */
struct ronde_cuda_direct {
    struct ronde_device_slots slots; /**< what the transport knows of them */
    const struct ronde_gpu *gpu;
    unsigned char *memory; /**< NULL = there are none */
    uint64_t bytes;        /**< of it */
    uint64_t stride;       /**< from connection to connection */
};

/**
 * Decides with all ranks whether they do, and makes room; `status` is how this rank has fared so far, which is returned
 * if it is a failure. Collective. Errors: UNAVAILABLE naming what is missing, where the communicator insists; NO_MEMORY.
 */
enum ronde_status ronde_cuda_direct_open(struct ronde_cuda_direct *direct,
                                         struct ronde_comm_program *host,
                                         const struct ronde_gpu *gpu, enum ronde_status status,
                                         struct ronde_error *error);

/** Points the far connections of a program to where messages of this stride lie. */
void ronde_cuda_direct_place(struct ronde_cuda_direct *direct, struct ronde_comm_program *host,
                             uint64_t slot_stride);

/** Frees them, after the program was unloaded, unless the transport still holds them. */
void ronde_cuda_direct_close(struct ronde_cuda_direct *direct);

#endif
