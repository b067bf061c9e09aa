/**
 * GPUDirect: slots of connections between machines in the memory of the device, which the transport then reads and writes
 * itself. Counters and lengths stay in the host's memory, where the transport's thread sets them.
 *
 * All ranks use it or none does. Short messages go through the host all the same: a transport sends memory that the CPU
 * cannot access by rendezvous only, which takes a round trip.
 */
#ifndef RONDE_HW_CUDA_DIRECT_H
#define RONDE_HW_CUDA_DIRECT_H

#include "hw/comm/comm.h"
#include "hw/cuda/device_program.h"
#include "ronde/cuda.h"

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

/**
 * Decides with all ranks whether GPUDirect is used, and allocates; `status` is this rank's status so far, which is
 * returned if it is a failure. Collective. Errors: UNAVAILABLE naming what is missing, where `wish` is ON; NO_MEMORY.
 */
enum ronde_status ronde_cuda_direct_open(struct ronde_cuda_direct *direct,
                                         struct ronde_comm_program *host,
                                         const struct ronde_gpu *gpu, enum ronde_gpu_direct wish,
                                         enum ronde_status status, struct ronde_error *error);

/** Points a program's connections with other machines to the memory that slots of this stride are in. */
void ronde_cuda_direct_place(struct ronde_cuda_direct *direct, struct ronde_comm_program *host,
                             uint64_t slot_stride);

/** Frees them, after the program was unloaded, unless the transport still holds them. */
void ronde_cuda_direct_close(struct ronde_cuda_direct *direct);

#endif
