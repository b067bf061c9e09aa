/**
 * What hosts of a rig do with all of them at work: messages both ways in all pairs at once, so that caches and
 * processors are as awake, and as much in demand, as in a collective.
 */
#ifndef RONDE_LAB_RIG_CALIBRATE_PAIRS_H
#define RONDE_LAB_RIG_CALIBRATE_PAIRS_H

#include "ronde/benchmark.h"

/** Bytes of a long message. */
#define RONDE_PAIRS_BYTES 65536u

/** A time per hop, found in several rounds. */
struct ronde_pairs_estimate {
    double value_ns; /**< median; 0 where it cannot be told from nothing */
    double notch_ns; /**< how far off that may be */
    double hop_ns;   /**< what a hop takes in all */
};

/** What the pairs say. */
struct ronde_pairs_report {
    struct ronde_pairs_estimate work; /**< processor time of a message of 4 bytes, hosts and switch */
    struct ronde_pairs_estimate short_jitter; /**< deviation of a hop of 4 bytes */
    struct ronde_pairs_estimate long_jitter;  /**< the same of RONDE_PAIRS_BYTES */
    double wire_bytes; /**< of a message of 4 bytes, with the credit and the acknowledgements that come with it */
    double wire_notch; /**< how far off that may be, bytes */
};

/**
 * Measures, in so many of the rig's hosts as make pairs. What scatters whole runs (which processor a host happens to be on)
 * looks like jitter of hops, the shorter the hops the more. Errors: those of ronde_netns_open and ronde_netns_measure; REJECTED where others keep the
 * machine busy.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_pairs_measure(const char *rig, const struct ronde_benchmark_options *options, uint32_t hosts,
                    struct ronde_pairs_report *out_report, struct ronde_error *error);

#endif
