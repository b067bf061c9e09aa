/**
 * A schedule loaded on devices, and the launch it was last prepared for.
 */
#ifndef RONDE_HW_CUDA_PROGRAM_H
#define RONDE_HW_CUDA_PROGRAM_H

#include "hw/cuda/backend.h"
#include "hw/cuda/host_staging.h"
#include "hw/cuda/peers.h"
#include "hw/cuda/progress_thread.h"

/** A loaded program. Zero it, then init. */
struct ronde_cuda_program {
    const struct ronde_mem *mem;
    const struct ronde_schedule *schedule;
    struct ronde_numbering numbering;
    struct ronde_rank_map rank_map;
    struct ronde_device_program *parts; /**< one per device here, in order of ranks */
    uint32_t part_count;
    struct ronde_cuda_peers peers;        /**< where ranks are in several processes */
    struct ronde_cuda_proxy proxy;        /**< where these cannot share device memory */
    struct ronde_host_stagings stagings;  /**< where devices of this process have no peer access */
    struct ronde_cuda_progress *progress; /**< of its runs in streams, or NULL */
    struct ronde_remote_fifos
        *fifos; /**< per part, one per global device: at addresses of the part's device */
    uint64_t lines_up_to_bytes; /**< slots of up to so many travel in lines */
    struct ronde_launch launch; /**< as the caller gave it, of the run under way */
    bool must_disconnect;       /**< from the other processes; set before connecting */
    bool is_prepared;           /**< the launch images are on the devices */
    bool is_running;            /**< between run and wait */
};

/**
 * Loads on as many of the devices as there are ranks for, spread as in rank_map.h; with a communicator this process's
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

/** After prepare: the same launch will run in streams. Errors: those of ronde_cuda_progress_open. */
enum ronde_status ronde_cuda_program_expect_streams(struct ronde_cuda_program *program,
                                                    const struct ronde_launch *launch,
                                                    struct ronde_error *error);

/** Bytes of the launch's buffers that the devices cannot access and that have shadows. */
uint64_t ronde_cuda_program_staged_bytes(const struct ronde_cuda_program *program);

/** Starts the kernels, in the caller's streams, one per part, or NULL for queues of the program's own. Errors: DEVICE,
 * UNSUPPORTED. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program, void *const *streams,
                                           struct ronde_error *error);

/** Whether all kernels are over; never blocks. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_is_over(struct ronde_cuda_program *program, bool *out_over,
                                             struct ronde_error *error);

/** After start: marks the end of the runs so far in the caller's streams, which are not being captured. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_mark(struct ronde_cuda_program *program, void *const *streams,
                                          struct ronde_error *error);

/** Whether all runs before the mark are over; never blocks. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_is_past(struct ronde_cuda_program *program, bool *out_past,
                                             struct ronde_error *error);

/** Checks for failures of other processes, which stop the kernels here. Errors: theirs. */
enum ronde_status ronde_cuda_program_poll_peers(struct ronde_cuda_program *program,
                                                struct ronde_error *error);

/** Waits for all work of the program's own queues; *out_elapsed_ns, unless NULL: the longest kernel. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_finish(struct ronde_cuda_program *program,
                                            double *out_elapsed_ns, struct ronde_error *error);

/**
 * After the kernels: why they ended. Errors: TIMEOUT naming a lane and what it waits for; DEVICE; where ranks are
 * processes the communicator's, which are sent to the others as well.
 */
enum ronde_status ronde_cuda_program_outcome(struct ronde_cuda_program *program,
                                             struct ronde_error *error);

/** Abandons a run: the next one restarts all counters. */
void ronde_cuda_program_abandon(struct ronde_cuda_program *program);

/** Copies the staged outputs of a run back to the caller's buffers. Errors: DEVICE. */
enum ronde_status ronde_cuda_program_unstage(struct ronde_cuda_program *program,
                                             struct ronde_error *error);

/** Words that the host and all devices access: job->abort and job->stop. */
uint32_t *ronde_cuda_program_words(const struct ronde_cuda_program *program);

#endif
