/**
 * Calibration between the hosts of a rig: point-to-point measurements between two of them, and the constants of the
 * network they fix (S = step_ns, A = latency, r = rate, b = bytes).
 *
 *   ping-pong   4 bytes to and fro, k hops                 per hop: S + A; at no hop: launch_ns
 *   messages    k messages of 16 bytes in a row            per message: S
 *   stream      one way, three sizes                       per byte: 1 / r of a port nobody else uses;
 *                                                          the shortest: how much a port passes at once after a pause
 *   exchange    both ways, two sizes                       per byte: 1 / r with acknowledgements beside the data
 *   pairs       4 bytes and 64 KiB both ways, k hops, in all pairs at once (calibrate_pairs.h)
 *                                                          processor time and bytes of a message; how far hops scatter
 *   reduce      a stream that is summed on arrival         beyond the stream: 1 / gamma
 *
 * A packet is what the device says fits into one.
 */
#ifndef RONDE_LAB_RIG_CALIBRATE_RIG_H
#define RONDE_LAB_RIG_CALIBRATE_RIG_H

#include "ronde/calibrate.h"

/** Slot of measurements on a rig where none is asked for. */
#define RONDE_RIG_SLOT_BYTES 65536u

/** As ronde_calibrate, between hosts 0 and 1 of a rig, by its name. Errors: those of ronde_netns_open and ronde_netns_measure. */
RONDE_MUST_CHECK enum ronde_status
ronde_calibrate_rig(const char *rig, const struct ronde_benchmark_options *options, uint32_t hosts,
                    struct ronde_calibration_report *out_report, struct ronde_error *error);

#endif
