/**
 * A schedule loaded on devices, and the launch it was last prepared for.
 */
#ifndef RONDE_HW_CUDA_PROGRAM_H
#define RONDE_HW_CUDA_PROGRAM_H

#include "hw/cuda/backend.h"
#include "hw/cuda/bridge.h"
#include "hw/cuda/courier.h"
#include "hw/cuda/peers.h"

/** A loaded program. Zero it, then init. */
struct ronde_cuda_program {
    const struct ronde_mem *mem;
    const struct ronde_schedule *schedule;
    struct ronde_numbering numbering;
    struct ronde_roster roster;
    struct ronde_cuda_part *parts; /**< one per site here, in order of ranks */
    uint32_t part_count;
    struct ronde_cuda_peers peers;      /**< where ranks are in several processes */
    struct ronde_cuda_proxy proxy;      /**< where these do not share memory of devices */
    struct ronde_bridges bridges;       /**< where devices of this process do not */
    struct ronde_cuda_courier *courier; /**< of its runs in streams, or NULL */
    struct ronde_depot *depots;         /**< per part, one per site: as its device reaches them */
    struct ronde_launch launch;         /**< as the caller gave it, of the run under way */
    bool has_met;                       /**< the other processes, to load it */
    bool is_prepared;                   /**< the launch images are on the devices */
    bool is_running;                    /**< between run and wait */
};

/**
 * Loads on as many of the devices as there are ranks for, spread as roster.h says; with a communicator this process's
 * ranks, collective. On failure the caller calls fini all the same.
 * Errors: NO_MEMORY, UNSUPPORTED, DEVICE; BAD_ARGUMENT for another number of ranks than the processes have; the
 * communicator's.
 */
enum ronde_status
ronde_cuda_program_init(struct ronde_cuda_program *program, const struct ronde_cuda_place *place,
                        const struct ronde_schedule *schedule, struct ronde_error *error);

/** Frees. */
void ronde_cuda_program_fini(struct ronde_cuda_program *program);

/** Stages buffers and sets up a run. Errors: NO_MEMORY, DEVICE, UNSUPPORTED. */
enum ronde_status ronde_cuda_program_prepare(struct ronde_cuda_program *program,
                                             const struct ronde_launch *launch,
                                             struct ronde_error *error);

/** After prepare: the same launch will run in streams. Errors: those of ronde_cuda_courier_open. */
enum ronde_status ronde_cuda_program_expect_streams(struct ronde_cuda_program *program,
                                                    const struct ronde_launch *launch,
                                                    struct ronde_error *error);

/** Bytes of the launch's buffers that the devices do not reach and that have shadows. */
uint64_t ronde_cuda_program_staged_bytes(const struct ronde_cuda_program *program);

/** Starts the kernels, in the caller's streams, one per part, or NULL for queues of the program's own. Errors: DEVICE,
 * UNSUPPORTED. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *const *streams,
                                           struct ronde_error *error);

/** Whether all kernels are over; never blocks. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_is_over(struct ronde_cuda_program *program, bool *out_over,
                                             struct ronde_error *error);

/** Looks for bad news of other processes, which end the kernels here. Errors: what they are. */
enum ronde_status ronde_cuda_program_listen(struct ronde_cuda_program *program,
                                            struct ronde_error *error);

/** Waits for all work of the program's own queues; the longest kernel's time, where it is wanted. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_finish(struct ronde_cuda_program *program,
                                            double *out_elapsed_ns, struct ronde_error *error);

/**
 * After the kernels: why they ended. Errors: TIMEOUT naming a lane and what it waits for; DEVICE; where ranks are
 * processes the communicator's, which the others get to hear as well.
 */
enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error);

/** Gives a run up: counters start again with the next one. */
void ronde_cuda_program_abandon(struct ronde_cuda_program *program);

/** Brings the outputs of a run that was staged back. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_unstage(struct ronde_cuda_program *program,
                                             struct ronde_error *error);

/** Words that the host and all devices reach: job->abort and job->stop. */
uint32_t *ronde_cuda_program_words(const struct ronde_cuda_program *program);

#endif
