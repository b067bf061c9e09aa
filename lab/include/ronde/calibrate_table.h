/**
 * Calibration from a table that others have measured: what a message of each size takes on a machine, from collectives
 * whose steps are known or from point-to-point times, so that its other collectives can be replayed.
 *
 * What a row fixes (n ranks, S bytes of the collective as nccl-tests counts them, T its time):
 *   all_gather ring                 n - 1 hops of S/n bytes:          a message of S/n bytes takes T/(n - 1)
 *   all_reduce recursive_doubling   log2 n exchanges of S bytes:      an exchange with a sum; beyond a message of S bytes
 *                                   it costs the sum, and where hosts stand in groups, at small sizes, the way between them
 *   send_recv                       one message of S bytes
 *   reduce_scatter ring             whether libraries copy the input of sums that have no room in the output
 * Rows that were disturbed (90th percentile above 1.3 times the 10th) count as their 10th percentile. Exchanges of 16 MiB and more that take
 * longer than shorter ones in proportion go through memory allocated in every call (time.fresh).
 * A time is split by parameterised LogP (Kielmann et al., IPDPS 2000): what a link needs at the rate of the longest
 * messages flows; latency_ns lies between; of the rest the sender has a half and the receiver the other.
 * How much of the shortest message is latency none of these rows can say: it is a prior, see the constants' `how`.
 */
#ifndef RONDE_CALIBRATE_TABLE_H
#define RONDE_CALIBRATE_TABLE_H

#include "ronde/calibrate.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A table, and the machine that is made of it. */
struct ronde_calibrate_table {
    /**
     * CSV with the columns collective, algorithm (or algorithm_meaning), ranks, bytes and time_us_median (or time_us); or
     * what osu_latency prints. Rows of other algorithms are left out.
     */
    const char *path;
    const char *alloc_path; /**< CSV with the columns run, ranks and groups ("16*5 3*7": 16 ranks in group 5, ...), or NULL */
    const char *run; /**< row of that file; NULL where it has one row of so many ranks */
    uint32_t shape[RONDE_MAX_SHAPE]; /**< of the job, slowest axis first, in a network of Tofu's kind */
    uint32_t axis_count;             /**< 0 = no such network */
    uint32_t ranks;                  /**< hosts of the platform file */
    uint32_t node_ranks; /**< consecutive ones of a node, which has one port; 0 = 1. No shape then */
};

/**
 * Fits. *out_report points into itself and must not be moved. Errors: IO; BAD_INPUT for tables that cannot be read or have
 * too few rows ("path:line: ..."); BAD_ARGUMENT for a shape or an allocation of another number of ranks; NO_MEMORY.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_calibrate_from_table(const struct ronde_calibrate_table *table,
                           struct ronde_calibration_report *out_report, struct ronde_error *error);

#ifdef __cplusplus
}
#endif
#endif
