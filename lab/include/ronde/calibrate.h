/**
 * Calibration: measures one backend of this machine by point-to-point probes and fits the constants of the time model.
 *
 * What is measured, and which constant it fixes (b = bytes, S = step_ns, A = latency):
 *   ping-pong    one message to and fro, k hops, two cores     slope per hop = S + A; at no hop: launch_ns
 *   messages     k one-grain messages in a row, two cores      slope per message = S
 *                the same with both ranks on one core          slope per message = 2 * core_step
 *   stream       one way, two cores                            per piece = S + b/copy
 *                on one core, every core at once               per piece = 2 * (core_step + b/copy), 4 b of memory
 *   reduce       the same into a reduction                     per piece = that + b/gamma
 *   pairs        ping-pong both ways within cores, k hops       at no hop, a pair a core more: 2 * start
 *   caches       copies by cores and between two of them        curves over distances and messages (ronde/caches.h)
 * Streams of several sizes give a curve of rates over the working set of a core. A copy between cores is slower than
 * one within a core, but the model has one rate per size: the geometric mean, whose spread covers both.
 */
#ifndef RONDE_CALIBRATE_H
#define RONDE_CALIBRATE_H

#include "ronde/benchmark.h"
#include "ronde/reporter.h"
#include "ronde/topologies.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A fitted constant and how sure it is. */
struct ronde_constant {
    const char *name; /**< as in the platform file */
    const char *unit; /**< "ns", "GB/s" ... */
    double value;     /**< 0 in a rate means unlimited */
    double spread; /**< (p95 - median) / median of the measurement it rests on; on a rig: notch / median */
    const char *how; /**< the measurement, one line */
};

/** Constants of a calibration, at most. */
#define RONDE_CONSTANTS 16u

/** What calibration found. */
struct ronde_calibration_report {
    struct ronde_constant constants[RONDE_CONSTANTS]; /**< for people */
    uint32_t constant_count;                          /**< how many */
    uint32_t moved; /**< probes that ran while processors were further apart, or nearer, than usual */
    struct ronde_calibration calibration; /**< for the platform file; texts point into this struct */
    char machine[160];                    /**< processor and cores */
    char measured_by[128];                /**< command and version */
    char measured_on[16];                 /**< date */
};

/** What is calibrated, and how. */
struct ronde_calibrate_options {
    const char *backend; /**< its name, e.g. "cpu" */
    struct ronde_benchmark_options
        benchmark; /**< how probes are launched; type and operator are calibration's own */
    struct ronde_reporter reporter; /**< told what is being measured; zeroes = nobody */
};

/**
 * Measures. Takes some seconds. max_ranks hosts will be written. *out_report points into itself and must not be moved; it
 * holds nothing that has to be freed. Errors: BAD_ARGUMENT for an unknown backend; UNAVAILABLE; those of the runs.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_calibrate(const struct ronde_calibrate_options *options, uint32_t max_ranks,
                struct ronde_calibration_report *out_report, struct ronde_error *error);

/** Fills in where the numbers come from: machine, program, date, and the largest spread; `engine` measured `what`. */
RONDE_API void ronde_calibration_describe(struct ronde_calibration_report *report,
                                          const char *engine, const char *what);

/** A constant that varies by more than its value says nothing, and a file would be believed. */
#define RONDE_ABSURD_SPREAD 1.0

/** Whether the constants may be written. Errors: REJECTED, one varies by more than RONDE_ABSURD_SPREAD. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_calibration_check(const struct ronde_calibration_report *report, struct ronde_error *error);

/** Writes the platform file. Errors: IO; as ronde_platform_write. */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_calibration_store(const struct ronde_calibration_report *report, const char *path,
                        struct ronde_error *error);

/** Constants that vary by more than RONDE_ABSURD_SPREAD. */
RONDE_API uint32_t ronde_calibration_unsure(const struct ronde_calibration_report *report);

#ifdef __cplusplus
}
#endif
#endif
