/**
 * Who measures the schedules of a comparison: this machine's backends, or what a caller brings (the hosts of a rig).
 */
#ifndef RONDE_MEASURER_H
#define RONDE_MEASURER_H

#include "ronde/benchmark.h"
#include "ronde/record.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Schedules that are measured at once, at most. */
#define RONDE_MEASURED_SCHEDULES 16u

/** What is loaded together and measured in turns. */
struct ronde_measurer_job {
    const struct ronde_schedule *const *schedules; /**< of one collective and number of ranks; outlive it */
    uint32_t count;                         /**< how many, at most RONDE_MEASURED_SCHEDULES */
    uint64_t max_count;                     /**< elements of a block, at most */
    struct ronde_benchmark_options options; /**< how runs are launched */
    double line_ns; /**< how far processors were from each other when predictions' constants were measured; 0 = not known */
};

/** The functions of a measurer. One job is open at a time. */
struct ronde_measurer {
    void *self; /**< passed to all of them */
    /** Loads a job. `close` is called in every case. Errors: the measurer's. */
    enum ronde_status (*open)(void *self, const struct ronde_measurer_job *job,
                              struct ronde_error *error);
    /** Compares a schedule's results with host's; elements that differ, out of place and in place. Errors: those of the runs. */
    enum ronde_status (*check)(void *self, uint32_t schedule, uint64_t count, uint64_t out_wrong[2],
                               struct ronde_error *error);
    /** Measures all schedules in turns, each for some window_ns; out_stats has an entry per schedule, ns. Errors: those of the runs. */
    enum ronde_status (*measure)(void *self, uint64_t count, double window_ns,
                                 struct ronde_stats *out_stats, struct ronde_error *error);
    /** Sets what is particular to it in the record of a measurement: engine, labels. */
    void (*describe)(const void *self, struct ronde_record *record);
    /** Unloads the job; also one that was not opened, or half. */
    void (*close)(void *self);
    bool is_network; /**< ranks are hosts of a network, whose ports and packets count */
};

#ifdef __cplusplus
}
#endif
#endif
