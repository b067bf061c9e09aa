/**
 * Point-to-point schedules: what calibration runs. They are ordinary schedules, stated through the builder and proved
 * like any other, but none of them is an algorithm that validation predicts. Exported for the rig's calibration, not
 * installed.
 */
#ifndef RONDE_LAB_CALIBRATE_PROBES_H
#define RONDE_LAB_CALIBRATE_PROBES_H

#include "ronde/benchmark.h"
#include "ronde/builder.h"
#include "ronde/calibrate.h"
#include "ronde/topologies.h"

/** Most ranks of a probe of pairs, or with ranks that wait. */
#define RONDE_PROBE_RANKS 16u

/** Kind of a probe. */
enum ronde_probe {
    RONDE_PROBE_LAUNCH, /**< one rank copies its input: a run with next to nothing in it */
    RONDE_PROBE_PING_PONG, /**< one message goes to and fro `length` times, each time passed on at once */
    RONDE_PROBE_MESSAGES, /**< `length` messages of one chunk each in a row, one way */
    RONDE_PROBE_STREAM,   /**< the whole block one way, piece after piece */
    RONDE_PROBE_REDUCE,   /**< the same, combined with the receiver's input on arrival */
    RONDE_PROBE_EXCHANGE, /**< the whole block both ways at once */
    RONDE_PROBE_PAIRS, /**< ping-pong both ways at once, `length` times, between ranks 0 and 1, 2 and 3, and so on */
    RONDE_PROBE_WAITING /**< ping-pong between ranks 0 and 1, while all others wait for what comes of it */
};

/**
 * Makes a probe for `ranks`: an even number for PAIRS, 3 or more for WAITING, one for LAUNCH and else two; in equal channels
 * that each do it with a share of the block (PAIRS, WAITING: one). `length` is odd and 3 or more for PING_PONG, so that the
 * message ends at rank 1 and has come back once, odd for WAITING, and ignored where nothing above mentions it.
 * Owner: the caller destroys *out_schedule. Errors: BAD_ARGUMENT for ranks or a length that PAIRS or WAITING cannot have; as
 * ronde_schedule_finish.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_probe_make(enum ronde_probe probe, uint32_t ranks, uint32_t length, uint32_t channels,
                 struct ronde_schedule **out_schedule, struct ronde_error *error);

/* Probes on all cores at once, or alone: each core runs both ranks of its own probe, and all start together. */

/** One probe on several targets at once. */
struct ronde_parallel_probe {
    const char *backend;                           /**< its name */
    const struct ronde_schedule *schedule;         /**< what all members run */
    const struct ronde_benchmark_options *options; /**< how it is launched */
    uint64_t count;                                /**< elements of a block */
    bool in_place;                                 /**< placement of the buffers */
    uint32_t cores_each;                           /**< cores a member's ranks may use; 0 = all */
    uint32_t members;                              /**< probes at once */
};

/**
 * Runs the members at the same time, a thread each, for the effort's window, and yields the
 * statistics of the member
 * whose median is the middle one. Errors: those of the members; DEVICE when the system refuses a
 * thread; NO_MEMORY.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_parallel_probe_measure(const struct ronde_parallel_probe *probe,
                             const struct ronde_effort *effort, struct ronde_stats *out_stats,
                             struct ronde_error *error);

/* What writing into a slot that another core has read costs, from how long a message of that length takes to and
 * fro. */

/**
 * A point of cross_write_curve, ns: a hop of `bytes` takes `beyond_ns` longer than one of 16 bytes; all other curves of
 * *facts are known. What the replay of engine cores adds up for such a hop is taken off: fetching the message instead of
 * its one line. At least 1 ps a byte.
 */
RONDE_API double ronde_crossing_write_ns(const struct ronde_cache_facts *facts, double bytes,
                                         double beyond_ns);

/** Adds a constant to a calibration's list. */
RONDE_API void ronde_calibration_note(struct ronde_calibration_report *report, const char *name,
                                      const char *unit, double value, double spread,
                                      const char *how);

#endif
