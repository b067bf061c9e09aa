/**
 * The backend interface: one vtable through which every executor is reached. Ten slots, none of them NULL.
 *
 * Order of calls: probe, open, (supports), load, run, test/wait/abort, unload, close. An open backend belongs to one
 * thread unless it says otherwise. A loaded program may be run many times, one run at a time; run allocates nothing.
 */
#ifndef RONDE_BACKEND_H
#define RONDE_BACKEND_H

#include "ronde/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is not part of the schedule. Buffers are arrays of one pointer per rank, promised to be dtype-aligned only. */
struct ronde_launch {
    uint64_t count;        /**< elements of a block; 0 returns at once, except for barrier */
    enum ronde_dtype dtype; /**< element type */
    enum ronde_op op;      /**< reduction operator; ignored where nothing is reduced */
    void *const *in;       /**< per rank: its input; may be NULL entries where the collective reads none */
    void *const *out;      /**< per rank: its output; NULL entries where the collective writes none */
    uint64_t slot_bytes;   /**< bytes of a connection's slot; 0 = the backend's default; at least 16 */
    uint32_t depth;        /**< slots of a connection; 0 = max(8, proof.min_depth); less than min_depth is refused */
    uint64_t seed;         /**< host: order of the random interleaving; 0 = in order. Results never depend on it */
    uint64_t timeout_ns;   /**< a run that takes longer fails with TIMEOUT; 0 = no limit */
};

/** What a run reports. */
struct ronde_result {
    double elapsed_ns; /**< time of the run on the backend's clock */
    bool is_virtual;   /**< the clock is simulated */
};

/** What probe found. */
struct ronde_machine {
    char description[128];     /**< one line for `ronde list` */
    uint32_t cores;            /**< usable processors, 0 if it does not apply */
    uint32_t max_ranks;        /**< ranks the backend can run here */
    uint64_t default_slot_bytes; /**< used when a launch leaves slot_bytes 0 */
};

/** An executor. */
struct ronde_backend {
    /** Name on the command line. */
    const char *name;
    /** Is it here, what is it, why not. Errors: UNAVAILABLE with the reason and the package that brings it. */
    enum ronde_status (*probe)(struct ronde_machine *out_machine, struct ronde_error *why_not);
    /** Opens the machine; *out_self is closed by the caller. Errors: NO_MEMORY, UNAVAILABLE, DEVICE. */
    enum ronde_status (*open)(const struct ronde_machine *machine, const struct ronde_mem *mem,
                              void **out_self, struct ronde_error *error);
    /** Whether this launch of this schedule can run; asked, never guessed. Errors: UNSUPPORTED with a reason. */
    enum ronde_status (*supports)(void *self, const struct ronde_schedule *schedule,
                                  const struct ronde_launch *launch, struct ronde_error *why_not);
    /** Prepares a schedule, which must outlive the program. Errors: NO_MEMORY, UNSUPPORTED, DEVICE. */
    enum ronde_status (*load)(void *self, const struct ronde_schedule *schedule, void **out_program,
                              struct ronde_error *error);
    /** Starts a run and returns. Buffers stay the caller's and must stay put until wait. Errors: as supports; DEVICE. */
    enum ronde_status (*run)(void *program, const struct ronde_launch *launch, void **out_run,
                             struct ronde_error *error);
    /** Whether the run is over; never blocks. Errors: those of the run. */
    enum ronde_status (*test)(void *run, bool *out_done, struct ronde_error *error);
    /** Waits for the end of the run and releases it. Errors: TIMEOUT, DEVICE, those of the run. */
    enum ronde_status (*wait)(void *run, struct ronde_result *out_result, struct ronde_error *error);
    /** Asks a run to end early; wait then returns TIMEOUT. */
    void (*abort)(void *run);
    /** Releases a program that is not running; NULL is allowed. */
    void (*unload)(void *program);
    /** Closes the backend after its programs are unloaded; NULL is allowed. */
    void (*close)(void *self);
};

/** The specification: slow, single-threaded, obviously right. Always available. */
extern RONDE_API const struct ronde_backend ronde_backend_host;

/** load, run, wait, unload in one call, for tests and tools. Errors: those of the four. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_backend_run_once(const struct ronde_backend *backend, void *self,
                       const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                       struct ronde_result *out_result, struct ronde_error *error);

/**
 * Checks what every backend refuses alike: unknown dtype or op, slot_bytes below 16, depth below the schedule's
 * minimum, missing buffers. Errors: BAD_ARGUMENT naming the field, its value and the bound.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_launch_check(const struct ronde_schedule *schedule, const struct ronde_launch *launch,
                   struct ronde_error *error);

/** The depth a launch runs with: its own, or max(8, proof.min_depth). */
RONDE_API uint32_t ronde_launch_depth(const struct ronde_schedule *schedule,
                                      const struct ronde_launch *launch);

#ifdef __cplusplus
}
#endif
#endif
