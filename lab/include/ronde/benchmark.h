/**
 * A benchmark: one schedule loaded on one backend, run again and again on buffers, timed and checked.
 */
#ifndef RONDE_BENCHMARK_H
#define RONDE_BENCHMARK_H

#include "ronde/backend.h"
#include "ronde/buffers.h"
#include "ronde/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An open backend. */
struct ronde_target {
    const struct ronde_backend *backend; /**< its vtable; NULL when not open */
    void *self;                          /**< its state */
    struct ronde_machine machine;        /**< what probe said */
    struct ronde_bind bind; /**< cpu: where its ranks run; else, and where they are not bound, empty */
};

/** Opens a backend by name. Errors: BAD_ARGUMENT naming the nearest; UNAVAILABLE; those of open. */
RONDE_API RONDE_MUST_CHECK enum ronde_status ronde_target_open(const char *name, bool is_unbound,
                                                               struct ronde_target *out_target,
                                                               struct ronde_error *error);

/**
 * The same on a machine as the time model has it: ranks have cores and wait for each other, however little there is to
 * do, while the backend may let one thread run them all.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_target_open_modelled(const char *name, struct ronde_target *out_target,
                           struct ronde_error *error);

/** Closes a backend; a zeroed target is allowed. */
RONDE_API void ronde_target_close(struct ronde_target *target);

/** Whether runs on the target have results: not on null, whose outputs stay as they were. */
RONDE_API bool ronde_target_moves_data(const struct ronde_target *target);

/** Whether ranks have to take turns on the target's cores; never where cores do not apply. */
RONDE_API bool ronde_target_is_oversubscribed(const struct ronde_target *target, uint32_t ranks);

/** A schedule loaded on a target. */
struct ronde_benchmark {
    const struct ronde_target *target;     /**< where it runs; outlives the benchmark */
    const struct ronde_schedule *schedule; /**< what it runs; outlives the benchmark */
    struct ronde_memory *memory;    /**< its buffers; may be shared by benchmarks that take turns */
    void *program;                  /**< as loaded */
    struct ronde_input_range shape; /**< what the next run is */
    struct ronde_launch launch;     /**< how it is launched */
    enum ronde_protocol protocol;   /**< what the last run used */
};

/** How a benchmark's runs are launched. */
struct ronde_benchmark_options {
    enum ronde_dtype dtype;       /**< element type */
    enum ronde_op op;             /**< where something is reduced */
    uint64_t slot_bytes;          /**< of a connection's slot; 0 = the backend's default */
    uint32_t depth;               /**< slots of a connection; 0 = default */
    enum ronde_protocol protocol; /**< AUTO = the backend's choice */
    uint64_t seed;                /**< host: order of the interleaving; 0 = in order */
    uint64_t timeout_ns;          /**< of one run; 0 = 60 s */
};

/** A benchmark that is not loaded, launched as the options say. */
RONDE_API struct ronde_benchmark
ronde_benchmark_describe(const struct ronde_target *target, const struct ronde_schedule *schedule,
                         const struct ronde_benchmark_options *options);

/** Loads a schedule, launched as ronde_benchmark_describe says. Errors: those of load. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_benchmark_open(const struct ronde_target *target, const struct ronde_schedule *schedule,
                     const struct ronde_benchmark_options *options,
                     struct ronde_benchmark *out_benchmark, struct ronde_error *error);

/** Unloads; a zeroed benchmark is allowed. */
RONDE_API void ronde_benchmark_close(struct ronde_benchmark *benchmark);

/** Chooses buffers, count and placement of the next runs. */
RONDE_API void ronde_benchmark_aim(struct ronde_benchmark *benchmark, struct ronde_memory *memory,
                                   uint64_t count, bool in_place);

/** Runs once and yields the time on the backend's clock, or around the run where it has none, ns. Errors: those of run and wait. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_benchmark_run(struct ronde_benchmark *benchmark, double *out_ns, struct ronde_error *error);

/** Whether the benchmark runs on host, which is compared with the definition and all others with it. */
RONDE_API bool ronde_benchmark_is_specification(const struct ronde_benchmark *benchmark);

/** Whether the schedule runs so: ronde_schedule_has_form. */
RONDE_API bool ronde_benchmark_has_placement(const struct ronde_benchmark *benchmark, bool in_place);

/**
 * Runs out of place and, where there is such a form, in place on known inputs and counts elements
 * that differ: on any backend from what the host backend computes with the same schedule, on host
 * from the collective's definition (reference.h). out_wrong has two entries. Errors: those of the runs; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_benchmark_check(struct ronde_benchmark *benchmark, struct ronde_memory *memory,
                      uint64_t count, uint64_t *out_wrong, struct ronde_error *error);

/** How long a point is measured. */
struct ronde_effort {
    uint32_t warmups;  /**< unmeasured runs */
    uint32_t min_reps; /**< at least so many */
    uint32_t max_reps; /**< at most so many */
    double window_ns;  /**< stop after this much time once min_reps are there */
};

/**
 * Measures benchmarks in turns (bursts of A, B, C, A, B, C ...), so that a disturbance of the machine hits all of them
 * alike; each stops at its own window. out_stats has `count` entries, in ns. Errors: those of the runs; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_benchmarks_measure(struct ronde_benchmark *benchmarks, uint32_t count,
                         const struct ronde_effort *effort, struct ronde_stats *out_stats,
                         struct ronde_error *error);

/** One line that names this machine: processor and the cores that may be used, or the GPUs that the backend runs on. */
RONDE_API void ronde_machine_line(const char *backend, uint32_t cores, char *out_line, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
