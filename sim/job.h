/**
 * A job on its way to an engine: what job.c (engines by name) and contended.c (which engine where flows share links)
 * have in common.
 */
#ifndef RONDE_SIM_JOB_H
#define RONDE_SIM_JOB_H

#include "ronde/sim.h"

/** A smaller load of the same schedule, replayed to see what the whole one takes. */
struct ronde_sim_probe {
    struct ronde_dag *dag; /**< NULL = there is none */
    double shared_ns;      /**< what it takes where links are shared */
    double whole_work;     /**< work of the whole load by maxmin, at least */
};

/** The state of a run. */
struct ronde_sim_job_state {
    const struct ronde_sim_job *job;         /**< what */
    const struct ronde_sim_options *options; /**< not NULL */
    const struct ronde_mem *mem;             /**< whose memory */
    struct ronde_sim_result *result;         /**< what comes of it */
    struct ronde_error *error;               /**< where failures are reported */
    struct ronde_dag *dag;                   /**< once it is needed */
    struct ronde_sim_probe probe;            /**< where the load is large enough for one */
    uint32_t most_ops;                       /**< of the graph */
    bool has_folded;                         /**< folding has been tried, and refused */
    bool is_plain; /**< a run of the schedule leaves its switch: the job is `plain`, without groups */
    struct ronde_sim_job plain;
    struct ronde_time_params plain_params;
};

/** Operations of a graph: about 90 bytes each with what its replay needs, so 3.6 GB; where `auto` makes it unasked, 1.5. */
#define RONDE_SIM_MOST_GRAPH_OPS 40000000u
#define RONDE_SIM_MOST_AUTO_OPS (1u << 24)

/** Operations the graph of a job has. */
uint64_t ronde_sim_job_steps(const struct ronde_sim_job *job);

/** The graph of a run, of any size, with origins where it is named. Errors: those of ronde_dag_create. */
enum ronde_status ronde_sim_job_make(struct ronde_sim_job_state *run, bool is_named,
                                     struct ronde_error *error);

/** The graph of a run, unless it is too large. Errors: UNSUPPORTED for one of more operations than the run may have; those of ronde_dag_create. */
enum ronde_status ronde_sim_job_graph(struct ronde_sim_job_state *run, struct ronde_error *error);

/** Work that `auto` does to share links (ronde_sim_options.work_limit) before it looks for something cheaper: some 5 s. */
#define RONDE_SIM_MOST_WORK UINT64_C(300000000)

/**
 * Folds or turns a schedule that SimGrid would not be done with at once, for so much work and what making the whole graph would
 * take (0: as much as options say). Errors: UNSUPPORTED where that is not so, has been tried before, or cannot be; those of
 * ronde_sim_folded.
 */
enum ronde_status ronde_sim_job_fold(struct ronde_sim_job_state *run, uint64_t most_work,
                                     struct ronde_error *error);

/** The options with a limit of work, or with the caller's where that is less. */
struct ronde_sim_options ronde_sim_job_limited(const struct ronde_sim_options *options,
                                               uint64_t most_work);

/** Whether an engine has only refused, so that another may replay; one that is out of time has not: the run is over. */
bool ronde_sim_job_is_refusal(enum ronde_status status);

/**
 * Whether the first pieces of a large load share links, so that the whole does, whose graph need not be made to find that
 * out; run->probe says what it takes. Errors: those that end a run.
 */
enum ronde_status ronde_sim_job_foresee(struct ronde_sim_job_state *run, bool *out_is_contended);

/** Replays where flows share links, by the engine that is right and affordable. Errors: UNSUPPORTED where none is. */
enum ronde_status ronde_sim_job_contended(struct ronde_sim_job_state *run);

#endif
