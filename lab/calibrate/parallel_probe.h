/**
 * Probes on all cores at once, or alone: each core runs both ranks of its own probe, and all
 * start together.
 */
#ifndef RONDE_LAB_CALIBRATE_PARALLEL_PROBE_H
#define RONDE_LAB_CALIBRATE_PARALLEL_PROBE_H

#include "ronde/benchmark.h"

/** One probe on several targets at once. */
struct ronde_parallel_probe {
    const char *backend;                           /**< its name */
    const struct ronde_schedule *schedule;         /**< what all members run */
    const struct ronde_benchmark_options *options; /**< how it is launched */
    uint64_t count;                                /**< elements of a block */
    bool in_place;                                 /**< placement of the buffers */
    uint32_t cores_each;                           /**< cores a member's ranks may use; 0 = all */
    uint32_t members;                              /**< probes at once */
};

/**
 * Runs the members at the same time, a thread each, for the effort's window, and yields the
 * statistics of the member
 * whose median is the middle one. Errors: those of the members; DEVICE when the system refuses a
 * thread; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_parallel_probe_measure(const struct ronde_parallel_probe *probe,
                             const struct ronde_effort *effort, struct ronde_stats *out_stats,
                             struct ronde_error *error);

#endif
