/**
 * Between the C side and the SimGrid shim: plain data in, plain data out, no exception crosses.
 */
#ifndef RONDE_SIM_SHIM_H
#define RONDE_SIM_SHIM_H

#include "ronde/cancel.h"
#include "ronde/dag.h"
#include "ronde/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A link whose rate is not the file's. */
struct ronde_shim_link {
    const char *name; /**< as SimGrid calls it */
    double rate_GBps; /**< what it has instead */
};

/** What is replayed. Everything is the caller's and only read, but for start_ns and finish_ns. */
struct ronde_shim_job {
    const char *platform_path;   /**< XML that ronde has validated */
    const struct ronde_dag *dag; /**< operations */
    const char *const *hosts;    /**< name of the host of each rank */
    const char *const *cfg;      /**< extra flags, NULL-terminated, or NULL */
    bool is_tcp;                 /**< SimGrid's own network model, calibrated on TCP */
    bool native_latency;         /**< leave link latencies to SimGrid */
    const double *release_ns;    /**< per rank, before which none of its steps starts; or NULL */
    const struct ronde_shim_link *changed; /**< links whose rate is not the file's */
    uint32_t changed_count;                /**< how many */
    const char *memory_link; /**< SHARED link that is the memory of a shared host, or NULL */
    uint32_t cores;          /**< cores of a shared host; 0 = as many as ranks */
    double core_step_ns;     /**< core time of a step; 0 = the step's own */
    bool is_shared; /**< ranks share cores or memory: messages do not flow, steps load the memory */
    double *start_ns;  /**< op_count entries, or NULL */
    double *finish_ns; /**< op_count entries, or NULL */
};

/** What came of it. Lives in shared memory; `is_done` is written last. */
struct ronde_shim_outcome {
    bool is_done;               /**< the run came to an end of its own */
    uint64_t done;              /**< operations that are over, read while the run goes on */
    enum ronde_status status;   /**< its status */
    double time_ns;             /**< end of the last operation, launch not included */
    double busiest_utilisation; /**< of busiest_link */
    char busiest_link[64];      /**< "" if nothing flowed */
    char message[400];          /**< one line where status is not OK */
};

/* The shim's library is loaded when it is first asked for: it takes longer than most commands do. */

/** `ronde_shim_run`: replays in this process, which can do so once: SimGrid allows one engine. Never throws; SimGrid may still abort. */
typedef void ronde_shim_run_call(const struct ronde_shim_job *job,
                                 struct ronde_shim_outcome *outcome);

/** `ronde_shim_version`: version of SimGrid the shim was built for. */
typedef const char *ronde_shim_version_call(void);

RONDE_API ronde_shim_run_call ronde_shim_run;
RONDE_API ronde_shim_version_call ronde_shim_version;

#ifdef __cplusplus
}
#endif

/* Runs work that may take the process down in a forked child with a time limit. */

/** Memory that parent and child share; NULL when there is none. Zeroed. */
void *ronde_guard_share(size_t bytes);

/** Gives it back; NULL is allowed. */
void ronde_guard_unshare(void *block, size_t bytes);

/** Work for a child, and what its parent does meanwhile. */
struct ronde_guarded {
    void (*work)(void *argument); /**< called in the child */
    void (*look)(void *argument); /**< called in the parent 20 times a second while it waits, or NULL */
    void *argument;               /**< of both */
    double limit_s;               /**< wall time, after which the child is ended */
    const struct ronde_cancel *cancel; /**< or NULL */
};

/**
 * Calls the work in a child and waits for it; the child ends with its parent. What the child writes to stdout and stderr is caught; its other
 * effects are what it leaves in shared memory. Signals for a time limit are the child's alone.
 *
 * Errors: TIMEOUT; CANCELLED once it is requested: the child is killed; DEVICE with the signal or exit code and the child's last output, and when there can be no child.
 */
enum ronde_status ronde_guard_run(const struct ronde_guarded *guarded, struct ronde_error *error);

#endif
