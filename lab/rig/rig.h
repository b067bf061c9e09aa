/**
 * A rig: hosts made of network namespaces on this machine, whose links are known. Its processes, measurements on it,
 * and its calibration.
 */
#ifndef RONDE_LAB_RIG_RIG_H
#define RONDE_LAB_RIG_RIG_H

#include "ronde/benchmark.h"
#include "ronde/calibrate.h"
#include "ronde/measurer.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Workers: one process per host of a virtual cluster (tests/rig/up), each in its network namespace, that run
 * collectives between them when told to. The hosts share a machine and hence a clock, so a run's time is exact:
 * from the moment the last of them began to the moment the last was done. */

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
    uint32_t discarded; /**< others used too much of the machine meanwhile */
};

/**
 * Measures runs in turns, after an unmeasured one each. Repetitions that others disturbed (ronde_cpu_noise_disturbs) are
 * thrown away and repeated, up to as many as were asked for; io_tally counts. out_stats has `count` entries; one without
 * enough repetitions left (half of those asked for) has count 0. Errors: those of the runs; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_netns_measure(struct ronde_netns_workers *workers, const struct ronde_netns_run *runs,
                    uint32_t count, const struct ronde_netns_effort *effort,
                    struct ronde_stats *out_stats, struct ronde_netns_tally *io_tally,
                    struct ronde_error *error);

/* What a process in a host of a rig does, and what is said to it. */

/** What a rank is told to do. */
enum ronde_netns_verb {
    RONDE_NETNS_RUN,   /**< run at a moment */
    RONDE_NETNS_CHECK, /**< run and compare */
    RONDE_NETNS_QUIT   /**< end */
};

/** An order, the same to all ranks. */
struct ronde_netns_order {
    enum ronde_netns_verb verb;
    struct ronde_netns_run run;
    double start_ns; /**< of the clock, when to begin */
};

/** A rank's answer; also its first word, when everything is loaded. */
struct ronde_netns_reply {
    enum ronde_status status;
    char message[240];
    double start_ns;   /**< when it began */
    double end_ns;     /**< when it was done */
    double own_ns;     /**< processor time of this rank since its last answer */
    double wire_bytes; /**< that left its device since then, headers included */
    uint64_t wrong;    /**< elements */
    double mtu_bytes;  /**< with the first word: what fits into a packet of eth0 */
};

/** A worker process, from its namespace to the order to quit. */
struct ronde_netns_worker {
    const struct ronde_netns_plan *plan;
    uint32_t rank;     /**< which */
    const char *token; /**< of the rendezvous */
    int orders;        /**< where orders come from and answers go */
};

/** Never returns. */
_Noreturn void ronde_netns_be_rank(const struct ronde_netns_worker *worker);

/* How much of the machine others use: processor time that neither this program nor the processes it answers for
 * took. */

/** Processor time of a process of one thread, ns; 0 where the system does not say. */
double ronde_process_ns(pid_t process);

/** A reading; the difference of two says what happened in between. */
struct ronde_cpu_noise {
    double at_ns;     /**< of the clock */
    double busy_ns;   /**< all processors in user and system mode */
    double stolen_ns; /**< taken by the host of this virtual machine */
    double own_ns;    /**< this process, and the process named */
};

/** Reads. `helper` is a process that belongs to the measurement, or 0. */
struct ronde_cpu_noise ronde_cpu_noise_read(pid_t helper);

/**
 * Whether others disturbed what ran between two readings: processes kept more than 0.3 processors busy, or the host of
 * this virtual machine took more than 0.02. `netns_ns` is what belongs to the measurement beyond what the readings know.
 * Spans of less than a tenth of a second say nothing, since the system counts in hundredths.
 */
bool ronde_cpu_noise_disturbs(const struct ronde_cpu_noise *before,
                              const struct ronde_cpu_noise *after, double netns_ns);

/* The measurer of a comparison between the hosts of a rig. */

/** A rig and what is loaded in its hosts. */
struct ronde_rig_measurer {
    const char *rig;                     /**< its name, as tests/rig/up was told */
    struct ronde_netns_workers *workers; /**< while a job is open */
    struct ronde_netns_job jobs[RONDE_MEASURED_SCHEDULES]; /**< what those run */
    uint32_t count;                                        /**< how many */
    struct ronde_netns_tally tally; /**< repetitions that count, and the others, all jobs */
};

/** The functions; *rig outlives them, starts with its name and zeroes, and is not moved. */
struct ronde_measurer ronde_rig_measurer(struct ronde_rig_measurer *rig);

/*
 * Calibration between the hosts of a rig: point-to-point measurements between two of them, and the constants of the
 * network they fix (S = step_ns, A = latency, r = rate, b = bytes).
 *
 *   ping-pong   4 bytes to and fro, k hops                 per hop: S + A; at no hop: launch_ns
 *   messages    k messages of 16 bytes in a row            per message: S
 *   stream      one way, three sizes                       per byte: 1 / r of a port nobody else uses;
 *                                                          the shortest: how much a port passes at once after a pause
 *   exchange    both ways, two sizes                       per byte: 1 / r with acknowledgements beside the data
 *   pairs       4 bytes and 64 KiB both ways, k hops, in all pairs at once
 *                                                          processor time and bytes of a message; how far hops scatter
 *   reduce      a stream that is summed on arrival         beyond the stream: 1 / gamma
 *
 * A packet is what the device says fits into one.
 */

/** Slot of measurements on a rig where none is asked for. */
#define RONDE_RIG_SLOT_BYTES 65536u

/** As ronde_calibrate, between hosts of a rig, by its name; of the options the backend does not matter. Errors: those of ronde_netns_open and ronde_netns_measure. */
RONDE_MUST_CHECK enum ronde_status
ronde_calibrate_rig(const char *rig, const struct ronde_calibrate_options *options, uint32_t hosts,
                    struct ronde_calibration_report *out_report, struct ronde_error *error);

#endif
