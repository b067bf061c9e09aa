/**
 * Replay of a step graph (dag.h) on a platform: `simgrid` (contention, the reference) and `flat` (max-plus, exact where
 * no two flows share a link, with a certificate that says so).
 */
#ifndef RONDE_SIM_H
#define RONDE_SIM_H

#include "ronde/dag.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Knobs of a replay; zeroed means the defaults. */
struct ronde_sim_options {
    const uint32_t *host_of; /**< per rank, index of its host; NULL = rank r on host r */
    const char *const *cfg;  /**< extra SimGrid flags "key:value", NULL-terminated, or NULL */
    bool native_latency;  /**< leave link latencies to SimGrid instead of charging them as timers */
    double time_limit_s;  /**< wall time after which the replay is given up; 0 = 600 */
    double *out_start_ns; /**< op_count entries, or NULL: when each operation's delay began */
    double *out_finish_ns; /**< op_count entries, or NULL */
};

/** What a replay found. */
struct ronde_sim_result {
    double time_ns;     /**< end of the run, launch included */
    const char *engine; /**< "simgrid" or "flat" */
    bool is_contention_free; /**< flat: no link was asked for more than it has, so max-plus is exact; simgrid: true */
    char busiest_link[64];      /**< link with the largest utilisation, "" if none */
    double busiest_utilisation; /**< bytes carried / (capacity * time), 0..1 */
};

/**
 * Replays with SimGrid in a forked child with a time limit, so that a solver abort or hang is an error here.
 *
 * Errors: UNAVAILABLE (built without SimGrid; names the package), BAD_INPUT (unknown host, no route, unknown flag),
 * BAD_ARGUMENT (operations out of order or out of range), UNSUPPORTED (this SimGrid cannot cap a flow), TIMEOUT, DEVICE
 * (SimGrid died: the message has its last words), NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_simgrid(const struct ronde_platform *platform, const struct ronde_dag *dag,
                  const struct ronde_sim_options *options, struct ronde_sim_result *out_result,
                  struct ronde_error *error);

/**
 * Replays by the max-plus recurrence over the platform's routes. Result is exact iff is_contention_free.
 * Errors: UNSUPPORTED (shared hosts; zone kinds only SimGrid routes), BAD_INPUT (no route), BAD_ARGUMENT (a graph out of
 * order or range), NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_flat(const struct ronde_platform *platform, const struct ronde_dag *dag,
               const struct ronde_sim_options *options, const struct ronde_mem *mem,
               struct ronde_sim_result *out_result, struct ronde_error *error);

/** flat where its certificate holds, else simgrid; out_result->engine says which. Errors: those of the two. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_auto(const struct ronde_platform *platform, const struct ronde_dag *dag,
               const struct ronde_sim_options *options, const struct ronde_mem *mem,
               struct ronde_sim_result *out_result, struct ronde_error *error);

/** Whether SimGrid was built in; *out_text is its version, or what is missing and the package that brings it. */
RONDE_API bool ronde_sim_simgrid_available(const char **out_text);

#ifdef __cplusplus
}
#endif
#endif
