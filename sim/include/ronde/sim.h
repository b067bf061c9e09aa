/**
 * Replay of a schedule, or of its step graph (dag.h), on a platform.
 *
 * Engines: `simgrid` (max-min sharing, the reference); `flat` (max-plus, exact where no link is overloaded, with a
 * certificate of that; on the quotient of a symmetric schedule no graph is built); `maxmin` (max-min sharing as SimGrid
 * has it, worked out only where it changes); `flat_fifo` (links as queues, for contended work beyond the reach of both);
 * `extrapolate` (verified periodic continuation).
 */
#ifndef RONDE_SIM_H
#define RONDE_SIM_H

#include "ronde/cancel.h"
#include "ronde/dag.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What replays of one schedule on one machine have in common: the routes of its positions. */
struct ronde_sim_memo;

/** Told how far a replay is; a zeroed one is not. */
struct ronde_sim_progress {
    /** How many of its operations or messages are done; on the caller's thread, often: who shows it looks at a clock. May be NULL. */
    void (*on_progress)(void *context, uint64_t done, uint64_t total);
    void *context; /**< passed on */
};

/** Knobs of a replay; zeroed means the defaults. */
struct ronde_sim_options {
    const uint32_t *host_of; /**< per rank, index of its host; NULL = rank r on host r */
    const char *const *cfg;  /**< extra SimGrid flags "key:value", NULL-terminated, or NULL */
    bool native_latency; /**< leave link latencies to SimGrid instead of charging them as timers */
    double time_limit_s; /**< wall time after which the replay ends with TIMEOUT; 0 = 600 */
    /**
     * Work (ronde_sim_result.work) after which sharing links is given up with UNSUPPORTED; 0 = never. It is counted, so a
     * replay is given up on every machine or on none, however busy the machine is. `auto` sets limits of its own below this.
     */
    uint64_t work_limit;
    /**
     * Time of the run, launch included, above which it is of no interest: `auto` and `maxmin` end there, and say so
     * (ronde_sim_result.is_beyond). 0 = any is. Others go on to the end.
     */
    double until_ns;
    const double *release_ns; /**< per rank, before which none of its steps starts; NULL = 0 */
    double *out_start_ns;     /**< op_count entries, or NULL: when each operation's delay began */
    double *out_finish_ns;    /**< op_count entries, or NULL */
    const struct ronde_cancel
        *cancel; /**< ends the replay with CANCELLED once it is requested; NULL = never */
    struct ronde_sim_progress progress; /**< told by simgrid and maxmin how far they are */
    struct ronde_sim_memo
        *memo; /**< of the same schedule, platform and host_of, for one replay at a time; or NULL */
};

/** What a replay found. */
struct ronde_sim_result {
    double time_ns; /**< end of the run, launch included */
    bool is_beyond; /**< the run ends after time_ns, which is above ronde_sim_options.until_ns: nothing else was found */
    const char *engine;      /**< "simgrid", "flat", "maxmin", "flat_fifo", "ports" or "cores" */
    bool is_contention_free; /**< flat: no link was overloaded, so max-plus is exact; simgrid
                                  and maxmin: true */
    bool is_multicast_ignored; /**< switches copy and add there, but a run of the schedule leaves its switch: all are messages */
    bool is_symmetric; /**< replayed on the quotient, without a graph: start and finish times are not kept */
    uint32_t window; /**< periods of the smallest window an extrapolation rests on; 0 = replayed in full */
    double slope_difference; /**< relative, the largest over the phases of an extrapolation */
    double size_difference; /**< extrapolation: relative, by how much the load grew for its chunks to be equal */
    /** maxmin: visits of flows to links and of entries to places in heaps, twice where flows are many; simgrid under auto: as
        many as it is expected to be worth; else 0 */
    uint64_t work;
    char busiest_link[64];      /**< link with the largest utilisation, "" if none */
    double busiest_utilisation; /**< bytes carried / (capacity * time), 0..1 */
};

/**
 * Replays with SimGrid in a forked child with a time limit, so that a solver abort or hang is an error here.
 *
 * Errors: UNAVAILABLE (built without SimGrid; names the package), BAD_INPUT (unknown host, no route, unknown flag),
 * BAD_ARGUMENT (operations out of order or out of range), UNSUPPORTED (this SimGrid cannot cap a flow), TIMEOUT, DEVICE
 * (SimGrid died: the message quotes its last output), NO_MEMORY.
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

/**
 * Replays with max-min sharing of links, in this process: the times of ronde_sim_simgrid to rounding, 10 to 100 times as
 * fast where many flows change at one moment. Memory: 24 bytes an operation with its route, 4 an edge, some 100 a flow
 * on its way. Errors: as ronde_sim_flat; TIMEOUT and UNSUPPORTED where options limit time and work.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_maxmin(const struct ronde_platform *platform, const struct ronde_dag *dag,
                 const struct ronde_sim_options *options, const struct ronde_mem *mem,
                 struct ronde_sim_result *out_result, struct ronde_error *error);

/**
 * Replays with links as queues: a message waits for its turn on every link of its route, in the order of arrival, and
 * holds each for bytes / rate (cut-through: its head goes on at once). An approximation of max-min sharing that goes
 * where SimGrid cannot; docs/notes/engines.md tabulates the difference. Errors: as ronde_sim_flat.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_fifo(const struct ronde_platform *platform, const struct ronde_dag *dag,
               const struct ronde_sim_options *options, const struct ronde_mem *mem,
               struct ronde_sim_result *out_result, struct ronde_error *error);

/** Bytes of a credit message, with everything around it, in ronde_sim_ports. */
#define RONDE_SIM_CREDIT_BYTES 128.0

/**
 * Replays as the executor between hosts runs, on ports that serve packets: sends do not hold up their lane, messages
 * queue at the ports in the order they were posted, packets of several senders mix at a receiver's port, freed slots
 * can be used when the credit message has arrived. For TCP and whatever else buffers; the facts are the platform's
 * (ronde_packet_facts). `dag` has origins. Errors: as ronde_sim_flat; UNSUPPORTED without origins.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_ports(const struct ronde_platform *platform, const struct ronde_dag *dag,
                const struct ronde_sim_options *options, const struct ronde_mem *mem,
                struct ronde_sim_result *out_result, struct ronde_error *error);

/**
 * flat where its certificate holds and no flags are SimGrid's, else simgrid where it is expected to be quick or is the only
 * one, else maxmin; out_result->engine is which. Errors: theirs.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_auto(const struct ronde_platform *platform, const struct ronde_dag *dag,
               const struct ronde_sim_options *options, const struct ronde_mem *mem,
               struct ronde_sim_result *out_result, struct ronde_error *error);

/** A load of a schedule on a platform. */
struct ronde_sim_job {
    const struct ronde_platform *platform;  /**< the machine */
    const struct ronde_schedule *schedule;  /**< what runs */
    const struct ronde_load *load;          /**< on how much */
    const struct ronde_time_params *params; /**< costs that are not links */
};

/**
 * The graph of a job as the engines replay it: with groups (ronde_dag_group) where the platform's switches copy and add and
 * one switch joins the ranks of each group; else without any, and *out_is_multicast_ignored where the params ask for
 * them. With origins where it is named. Owner: the caller destroys *out_dag. Errors: as ronde_dag_create; of routes.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_graph(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                bool is_named, const struct ronde_mem *mem, struct ronde_dag **out_dag,
                bool *out_is_multicast_ignored, struct ronde_error *error);

/**
 * `flat` on the quotient of a symmetric schedule: one vector over all positions per step, no graph. Works for any
 * routes; the certificate is static (no link can be overloaded, whatever the timing) or, where that cannot decide, from
 * the times found. Errors: UNSUPPORTED where the schedule is not symmetric or start and finish times are requested;
 * else as ronde_sim_flat.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_symmetric(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                    const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                    struct ronde_error *error);

/** Operations that are left once a schedule is folded: some 60 bytes each, so 1.5 GB. */
#define RONDE_SIM_MOST_FOLDED_OPS 24000000u

/**
 * `maxmin` for a symmetric schedule, of which only those positions are replayed that the machine tells apart: the others do
 * what one of them does, at the same time (is_symmetric). The times of ronde_sim_maxmin to rounding. That positions can
 * take each other's places is decided by ronde_platform_symmetry, or by looking up all routes of up to four million.
 * Errors: UNSUPPORTED where the schedule is not symmetric, no two ranks are alike, chunks differ, times of operations are
 * requested or more than RONDE_SIM_MOST_FOLDED_OPS are left; else as ronde_sim_maxmin.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_folded(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                 struct ronde_error *error);

/**
 * `maxmin` for a schedule with a program per position, of which one is replayed of what turns into one another: positions as
 * far apart as all programs are alike, channels of equal weight on other ranks, each where the machine looks the same from
 * both (ronde_platform_symmetry). The times of ronde_sim_maxmin to rounding. Errors: UNSUPPORTED where nothing turns, chunks
 * differ, what messages cost depends on their size, times of operations are requested, switches copy or add, or more than
 * RONDE_SIM_MOST_FOLDED_OPS are left; else as ronde_sim_maxmin.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_turned(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                 struct ronde_error *error);

/**
 * Replays on the cores of one machine: workers poll the lanes of neighbouring ranks as the cpu backend does, out of
 * place and staged, and a step takes as long as reaching its data does, which depends on the core that touched them last
 * and on what was touched since. `dag` is the job's, with origins. Errors: UNSUPPORTED where the platform shares no
 * cores or has no facts of its caches (ronde_cache_facts); BAD_INPUT, BAD_ARGUMENT as ronde_sim_flat; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_cores(const struct ronde_sim_job *job, const struct ronde_dag *dag,
                const struct ronde_sim_options *options, const struct ronde_mem *mem,
                struct ronde_sim_result *out_result, struct ronde_error *error);

/**
 * Replays windows of K, 2K and 3K periods of each phase and continues with their common slope, rank by rank. Chunks that
 * differ by a grain are made equal where that adds less than 2.5e-4 (size_difference). Errors: UNSUPPORTED
 * where nothing is periodic or the slopes differ by more than 1e-9 (names phase and difference); those of the engine
 * that replays the windows.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_extrapolate(const struct ronde_sim_job *job, const struct ronde_sim_options *options,
                      const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                      struct ronde_error *error);

/**
 * Refuses what ronde_sim_job_run would refuse of an engine's name and its flags, before anything is compiled or written.
 * Errors: BAD_ARGUMENT.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_check_engine(const struct ronde_platform *platform, const char *engine,
                       const struct ronde_sim_options *options, struct ronde_error *error);

/**
 * Replays a job with a named engine: auto, flat, simgrid, maxmin, flat_fifo, ports, cores or extrapolate. `auto` takes the cheapest
 * that is right: flat (on the quotient where there is one) if certified, simgrid where it is quick, maxmin, then
 * extrapolate, then flat_fifo where a smaller load shows it within 10 %; out_result->engine is which. SimGrid's flags leave simgrid as the only one. Errors: BAD_ARGUMENT for
 * another name, or flags for an engine that has none; UNSUPPORTED for a graph of more than 40 million operations (names
 * what can do without); those of the engine.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_job_run(const struct ronde_sim_job *job, const char *engine,
                  const struct ronde_sim_options *options, const struct ronde_mem *mem,
                  struct ronde_sim_result *out_result, struct ronde_error *error);

/**
 * Replays a graph that is of no one schedule, a scenario's or a workload's, with a named engine: auto (ronde_sim_auto), flat,
 * simgrid, maxmin or flat_fifo. Errors: BAD_ARGUMENT for another name; those of the engine.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_sim_graph_run(const struct ronde_platform *platform, const struct ronde_dag *dag,
                    const char *engine, const struct ronde_sim_options *options,
                    const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                    struct ronde_error *error);

/** A memo of a schedule, which outlives it; NULL where there is no memory. Owner: the caller, by ronde_sim_memo_destroy. */
RONDE_API struct ronde_sim_memo *ronde_sim_memo_create(const struct ronde_schedule *schedule,
                                                       const struct ronde_mem *mem);

/** Frees a memo; NULL is allowed. */
RONDE_API void ronde_sim_memo_destroy(struct ronde_sim_memo *memo);

/** Whether SimGrid was built in and can be loaded; *out_text is its version, or what is missing and the package that brings it. */
RONDE_API bool ronde_sim_simgrid_available(const char **out_text);

#ifdef __cplusplus
}
#endif
#endif
