/**
 * A loaded part of a schedule for a device: two images, one that never changes and one per launch. The ends of
 * connections point into the device's memory already.
 */
#ifndef RONDE_HW_CUDA_FLATTEN_H
#define RONDE_HW_CUDA_FLATTEN_H

#include "engine/execute/loaded.h"
#include "hw/cuda/image.h"
#include "hw/cuda/job.h"

/**
 * Begins the image of what does not depend on a launch: schedule, programs, orders. The lanes' counters, which live as
 * long as the program, are at `progress` on the device. False when there is no memory.
 */
bool ronde_flatten_program(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                           void *progress, struct ronde_image *image);

/** Translates its pointers, once image->device is known. */
void ronde_flatten_program_pointers(const struct ronde_loaded *loaded, struct ronde_image *image);

/** What a launch consists of on the host besides the loaded schedule. */
struct ronde_flat_launch {
    struct ronde_job
        job; /**< pointers of the host; block_count, timeout_ns, abort and stop are set by the caller */
    struct ronde_lane_slot *lane_slots; /**< one per lane, filled by flatten */
    uint32_t *sorted;                   /**< room for lists of chunks, two per lane */
    uint64_t sorted_per_list;           /**< entries of a list; 0 = no lists */
};

/** Begins the image of a run that ronde_loaded_prepare has set up. False when there is no memory. */
bool ronde_flatten_launch(const struct ronde_loaded *loaded, const struct ronde_mem *mem,
                          const struct ronde_image *program, struct ronde_flat_launch *launch,
                          struct ronde_image *image);

/** Translates its pointers, once image->device is known. */
void ronde_flatten_launch_pointers(const struct ronde_loaded *loaded,
                                   const struct ronde_flat_launch *launch,
                                   struct ronde_image *image);

#endif
