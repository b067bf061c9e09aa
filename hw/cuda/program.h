/**
 * A schedule loaded on devices, and the launch it was last prepared for.
 */
#ifndef RONDE_HW_CUDA_PROGRAM_H
#define RONDE_HW_CUDA_PROGRAM_H

#include "hw/cuda/backend.h"
#include "hw/cuda/device_program.h"
#include "hw/cuda/peers.h"
#include "hw/cuda/proxy.h"

/* Connections between devices of a process without peer access: they lie in pinned memory of the host, which both
 * access. For kernels only the time differs: a message crosses the bus twice, and polling crosses it too. */

/** Memory of the host that all devices of the process use. */
struct ronde_pinned {
    unsigned char *block; /**< as allocated; NULL = none */
    unsigned char *start; /**< its first whole page */
    uint64_t bytes;       /**< pinned from there on: whole pages, which nothing else lies on */
};

/** Memory of what one device receives through the host. */
struct ronde_host_staging {
    struct ronde_pinned counters;   /**< a struct ronde_fifo per connection of the schedule */
    struct ronde_pinned regions[2]; /**< of slots, of lines */
    uint64_t lines_stride;          /**< geometry of the lines that were last cleared */
    uint32_t lines_depth;
};

/** All host-staged connections of a process. Zero it, then init. */
struct ronde_host_stagings {
    const struct ronde_mem *mem;
    const struct ronde_gpu *gpu;         /**< pins, for all */
    uint32_t count;                      /**< of devices; 0 = nothing is staged */
    bool *is_host_staged;                /**< per pair of them */
    struct ronde_host_staging *stagings; /**< per device */
    struct ronde_remote_fifos *fifos;    /**< the same in the form of device_program.h */
    bool is_abandoned; /**< a run was: counters and lines are cleared before the next */
};

/**
 * `unreachable`: for each of `count` devices a row of `stride`, whether it cannot access the memory of each other; NULL =
 * all can. The caller calls fini also on failure. Errors: NO_MEMORY.
 */
enum ronde_status ronde_host_stagings_init(struct ronde_host_stagings *stagings,
                                           const bool *unreachable, uint32_t stride, uint32_t count,
                                           const struct ronde_mem *mem, const struct ronde_gpu *gpu,
                                           struct ronde_error *error);

/** Whether any connection is staged in the host. */
static inline bool ronde_host_stagings_exist(const struct ronde_host_stagings *stagings)
{
    return stagings->fifos != NULL;
}

/**
 * Allocates what the parts have prepared, one part per device, and clears what is new or left by an abandoned run.
 * Errors: NO_MEMORY, DEVICE.
 */
enum ronde_status ronde_host_stagings_prepare(struct ronde_host_stagings *stagings,
                                              const struct ronde_device_program *parts,
                                              struct ronde_error *error);

/** Frees. */
void ronde_host_stagings_fini(struct ronde_host_stagings *stagings);

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
    struct ronde_registry *registry; /**< of buffers that other processes read in place, or NULL */
    uint64_t lines_up_to_bytes;      /**< slots of up to so many travel in lines */
    struct ronde_launch launch;      /**< as the caller gave it, of the run under way */
    bool must_disconnect;            /**< from the other processes; set before connecting */
    uint64_t marks;                  /**< in the caller's streams so far */
    bool is_prepared;                /**< the launch images are on the devices */
    bool is_running;                 /**< between run and wait */
};

/** Whether some ranks are processes that cannot map each other's device memory. */
static inline bool ronde_cuda_program_has_proxy(const struct ronde_cuda_program *program)
{
    return program->peers.comm && program->peers.comm->transport != RONDE_TRANSPORT_SHM;
}

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

/** Starts the kernels, in queues of the program's own. Errors: DEVICE, UNSUPPORTED. */
enum ronde_status ronde_cuda_program_start(struct ronde_cuda_program *program,
                                           struct ronde_error *error);

/**
 * Starts the kernel of part after part, in the caller's streams, one per part, or without `streams` in queues of the program's
 * own; *out_started of them. On failure these are stopped, and the caller waits for them. Errors: as start.
 */
enum ronde_status ronde_cuda_program_start_parts(struct ronde_cuda_program *program,
                                                 void *const *streams, uint32_t *out_started,
                                                 struct ronde_error *error);

/** See ronde_cuda_give; `launch` was checked. Errors: BAD_ARGUMENT. */
enum ronde_status ronde_cuda_program_give(struct ronde_cuda_program *program,
                                          const struct ronde_launch *launch,
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
