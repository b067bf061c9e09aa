/**
 * Workers: one process per host of a virtual cluster (tests/rig/up), each in its network namespace, that run collectives
 * between them when told to. The hosts share a machine and hence a clock, so a run's time is exact: from the moment the
 * last of them began to the moment the last was done.
 */
#ifndef RONDE_LAB_RIG_NETNS_WORKERS_H
#define RONDE_LAB_RIG_NETNS_WORKERS_H

#include "ronde/benchmark.h"

#include <sys/types.h>

/** Most hosts of a rig. */
#define RONDE_NETNS_RANKS 16u

/** What workers can run. */
struct ronde_netns_job {
    const struct ronde_schedule *schedule; /**< outlives the workers */
    uint64_t max_count;                    /**< elements of a block, at most */
};

/** What workers are made of. */
struct ronde_netns_plan {
    const char *rig;        /**< its name, as tests/rig/up was told */
    uint32_t ranks;         /**< of every schedule */
    bool is_oversubscribed; /**< ranks wait as if there were more of them than processors */
    struct ronde_benchmark_options options; /**< how runs are launched */
    const struct ronde_netns_job *jobs;     /**< job_count entries; outlives the workers */
    uint32_t job_count;                     /**< how many */
};

struct ronde_netns_workers;

/** One run. */
struct ronde_netns_run {
    uint32_t job;   /**< index into the jobs */
    uint64_t count; /**< elements of a block */
    bool in_place;  /**< input and output share memory */
    bool by_rank;   /**< what it took each rank is a sample, in turns, not what it took the last */
};

/**
 * Starts the processes, connects them and loads all jobs. Owner: the caller closes *out_netns. Errors: UNAVAILABLE (no
 * UCX, no such namespace, not permitted); those of loading.
 */
RONDE_MUST_CHECK enum ronde_status ronde_netns_open(const struct ronde_netns_plan *plan,
                                                    struct ronde_netns_workers **out_netns,
                                                    struct ronde_error *error);

/** Ends the processes; NULL is allowed. */
void ronde_netns_close(struct ronde_netns_workers *workers);

/** What fits into a packet of the hosts' device, headers included, bytes. */
double ronde_netns_mtu(const struct ronde_netns_workers *workers);

/** Compares results with those of the host backend, as ronde_benchmark_check. *out_wrong: elements of all ranks. */
RONDE_MUST_CHECK enum ronde_status ronde_netns_check(struct ronde_netns_workers *workers,
                                                     const struct ronde_netns_run *run,
                                                     uint64_t *out_wrong, struct ronde_error *error);

/** What workers have taken since they were opened. */
struct ronde_netns_work {
    double processor_ns; /**< processor time of their ranks, and of the rig's switch */
    double wire_bytes;   /**< that their ranks have sent, headers and acknowledgements included */
    uint32_t runs;       /**< how often they ran */
};

/** The difference of two says what the runs in between took. */
struct ronde_netns_work ronde_netns_work(const struct ronde_netns_workers *workers);

/** How workers measure. */
struct ronde_netns_effort {
    uint32_t reps;   /**< of one job in a row */
    uint32_t rounds; /**< through all jobs, so that a disturbance hits all of them alike */
};

/** What became of the repetitions. */
struct ronde_netns_tally {
    uint32_t kept;      /**< they count */
    uint32_t discarded; /**< other processes used too much of the machine meanwhile */
};

/**
 * Measures runs in turns, after an unmeasured one each. Repetitions during which other processes used more than 0.3
 * core are thrown away and repeated, up to as many as were asked for; io_tally counts. out_stats has `count` entries;
 * one without enough repetitions left (half of those asked for) has count 0. Errors: those of the runs; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_netns_measure(struct ronde_netns_workers *workers, const struct ronde_netns_run *runs,
                    uint32_t count, const struct ronde_netns_effort *effort,
                    struct ronde_stats *out_stats, struct ronde_netns_tally *io_tally,
                    struct ronde_error *error);

#endif
