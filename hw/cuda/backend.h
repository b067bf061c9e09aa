/**
 * The cuda backend on any device that gpu.h describes: the vtable's functions but for probe, open and close.
 */
#ifndef RONDE_HW_CUDA_BACKEND_H
#define RONDE_HW_CUDA_BACKEND_H

#include "hw/cuda/gpu.h"
#include "hw/cuda/rank_map.h"

#include "ronde/gpus.h"

/** Slots of up to so many bytes travel in lines where nobody says (place.lines_up_to_bytes). */
#define RONDE_CUDA_LINES_UP_TO_BYTES 16384u
#define RONDE_CUDA_LINES_GRAIN_BYTES                                                               \
    64u /* twice it, the lines of a slot, is where regions begin (links.c) */

/** From so many bytes a chunk on messages are read in place. */
#define RONDE_CUDA_PULL_FROM_BYTES 65536u

/**
 * A slot where a launch leaves it open. Deciding a step takes a thread some 1 to 2 us; a block's share of 4 TB/s is some
 * 30 GB/s, which takes 25 us to read two such operands and write one. Arithmetic, not yet a measurement.
 */
#define RONDE_CUDA_SLOT_BYTES 262144u

/** What the backend is opened on. All of it must outlive the backend, except for the tables. */
struct ronde_cuda_place {
    const struct ronde_mem *mem;
    const struct ronde_gpu *const *gpus; /**< of this process */
    uint32_t gpu_count;                  /**< of these */
    struct ronde_comm *comm;             /**< of the processes that ranks are in, or NULL */
    uint32_t ranks;             /**< with a communicator: in this process; 0 = as many as devices */
    enum ronde_sharing sharing; /**< with a communicator */
    bool may_stage_in_host;     /**< of messages between devices without peer access */
    enum ronde_gpu_direct gpu_direct; /**< with a communicator over several machines */
    uint64_t lines_up_to_bytes; /**< as in struct ronde_machine; with a communicator the least of all processes counts.
                                     After opening: what is done, a multiple of RONDE_CUDA_LINES_GRAIN_BYTES */
    const struct ronde_process_share
        *shares; /**< of all processes, with a communicator; filled in by opening, */
    struct ronde_registry *
        registry; /**< likewise: buffers of all processes of a host; NULL = there is no communicator, or several hosts */
    const bool *unreachable; /**< likewise, per pair of devices: the first cannot access the second; NULL = all can */
};

/**
 * Opens the backend. With a communicator collective: it succeeds in all processes or fails in all.
 * Owner: the caller closes. Errors: NO_MEMORY; UNAVAILABLE naming two devices without peer access, where host
 * staging is not allowed; DEVICE; the communicator's.
 */
enum ronde_status ronde_cuda_open_place(const struct ronde_cuda_place *place, void **out_self,
                                        struct ronde_error *error);

/**
 * Opens the backend on devices that all have peer access to each other; they must outlive it, the array need not. With a
 * communicator, which must outlive it too, its rank here is on the one device given.
 * Owner: the caller closes. Errors: NO_MEMORY; UNAVAILABLE naming two devices that have not; DEVICE.
 */
enum ronde_status ronde_cuda_open_on(const struct ronde_gpu *const *gpus, uint32_t gpu_count,
                                     struct ronde_comm *comm, const struct ronde_mem *mem,
                                     void **out_self, struct ronde_error *error);

/** Closes what open_on opened, but not the devices; NULL is allowed. */
void ronde_cuda_close_on(void *self);

/** See struct ronde_backend for these. */
enum ronde_status ronde_cuda_supports(void *self, const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch,
                                      struct ronde_error *why_not);
enum ronde_status ronde_cuda_load(void *self, const struct ronde_schedule *schedule,
                                  void **out_program, struct ronde_error *error);
enum ronde_status ronde_cuda_run(void *program, const struct ronde_launch *launch, void **out_run,
                                 struct ronde_error *error);
enum ronde_status ronde_cuda_test(void *run, bool *out_done, struct ronde_error *error);
enum ronde_status ronde_cuda_wait(void *run, struct ronde_result *out_result,
                                  struct ronde_error *error);
void ronde_cuda_abort(void *run);
void ronde_cuda_unload(void *program);

/* The driver's facts about the GPUs, without what hwloc adds to them. */

/**
 * Reads the driver into a zeroed survey; the library is closed afterwards. Errors: UNAVAILABLE with what is missing, as
 * ronde_gpu_survey's.
 */
enum ronde_status ronde_nvml_survey(struct ronde_gpu_survey *survey, struct ronde_error *error);

#endif
