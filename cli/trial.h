/**
 * A trial: one schedule loaded on one backend, run again and again on buffers, timed and checked.
 */
#ifndef RONDE_CLI_TRIAL_H
#define RONDE_CLI_TRIAL_H

#include "memory.h"
#include "options.h"
#include "stats.h"

#include "ronde/backend.h"

/** An open backend. */
struct ronde_target {
    const struct ronde_backend *backend; /**< its vtable; NULL when not open */
    void *self;                          /**< its state */
    struct ronde_machine machine;        /**< what probe said */
    struct ronde_bind bind; /**< cpu: where its ranks run; else, and where they are not bound, empty */
};

/** Opens a backend by name. Errors: BAD_ARGUMENT naming the nearest; UNAVAILABLE; those of open. */
RONDE_MUST_CHECK enum ronde_status ronde_target_open(const char *name, bool is_unbound,
                                                     struct ronde_target *out_target,
                                                     struct ronde_error *error);

/**
 * The same on a machine as the time model has it: ranks have cores and wait for each other, however little there is to
 * do, while the backend may let one thread run them all.
 */
RONDE_MUST_CHECK enum ronde_status ronde_target_open_modelled(const char *name,
                                                              struct ronde_target *out_target,
                                                              struct ronde_error *error);

/** Closes a backend; a zeroed target is allowed. */
void ronde_target_close(struct ronde_target *target);

/** Whether ranks have to take turns on the target's cores; never where cores do not apply. */
bool ronde_target_is_crowded(const struct ronde_target *target, uint32_t ranks);

/** A schedule loaded on a target. */
struct ronde_trial {
    const struct ronde_target *target;     /**< where it runs; outlives the trial */
    const struct ronde_schedule *schedule; /**< what it runs; outlives the trial */
    struct ronde_memory *memory;  /**< its buffers; may be shared by trials that take turns */
    void *program;                /**< as loaded */
    struct ronde_shape shape;     /**< what the next run is */
    struct ronde_launch launch;   /**< how it is launched */
    enum ronde_protocol protocol; /**< what the last run used */
};

/** A trial that is not loaded: slot, depth, protocol, seed, dtype, op and timeout are those of the options. */
struct ronde_trial ronde_trial_describe(const struct ronde_target *target,
                                        const struct ronde_schedule *schedule,
                                        const struct ronde_options *options);

/** Loads a schedule, launched as ronde_trial_describe says. Errors: those of load. */
RONDE_MUST_CHECK enum ronde_status
ronde_trial_open(const struct ronde_target *target, const struct ronde_schedule *schedule,
                 const struct ronde_options *options, struct ronde_trial *out_trial,
                 struct ronde_error *error);

/** Unloads; a zeroed trial is allowed. */
void ronde_trial_close(struct ronde_trial *trial);

/** Chooses buffers, count and placement of the next runs. */
void ronde_trial_aim(struct ronde_trial *trial, struct ronde_memory *memory, uint64_t count,
                     bool in_place);

/** Runs once and yields the time on the backend's clock, or around the run where it has none, ns. Errors: those of run and wait. */
RONDE_MUST_CHECK enum ronde_status ronde_trial_run(struct ronde_trial *trial, double *out_ns,
                                                   struct ronde_error *error);

/** Whether the trial runs on host, which is compared with the definition and all others with it. */
bool ronde_trial_is_specification(const struct ronde_trial *trial);

/** Whether the collective has such a placement: all have out of place, most in place. */
bool ronde_trial_has_placement(const struct ronde_trial *trial, bool in_place);

/**
 * Runs out of place and, where there is such a form, in place on known inputs and counts elements
 * that differ: on any backend from what the host backend computes with the same schedule, on host
 * from the collective's definition (reference.h). out_wrong has two entries. Errors: those of the runs; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status ronde_trial_check(struct ronde_trial *trial,
                                                     struct ronde_memory *memory, uint64_t count,
                                                     uint64_t *out_wrong, struct ronde_error *error);

/** How long a point is measured. */
struct ronde_effort {
    uint32_t warmups;  /**< unmeasured runs */
    uint32_t min_reps; /**< at least so many */
    uint32_t max_reps; /**< at most so many */
    double window_ns;  /**< stop after this much time once min_reps are there */
};

/**
 * Measures trials in turns (bursts of A, B, C, A, B, C ...), so that a disturbance of the machine
 * hits all of them
 * alike; each stops at its own window. out_stats has `count` entries. Errors: those of the runs;
 * NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_trials_measure(struct ronde_trial *trials, uint32_t count, const struct ronde_effort *effort,
                     struct ronde_stats *out_stats, struct ronde_error *error);

#endif
