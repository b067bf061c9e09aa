/**
 * How long a schedule takes on a platform at one size, for choosing among schedules.
 */
#ifndef RONDE_SYNTHESIS_TIMING_H
#define RONDE_SYNTHESIS_TIMING_H

#include "ronde/ir.h"
#include "ronde/topologies.h"

/**
 * Predicts a launch of so many bytes, cut into pieces as by default. Errors: those of the replay.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_synthesis_time(const struct ronde_platform *platform, const struct ronde_schedule *schedule,
                     uint64_t bytes, double *out_ns, struct ronde_error *error);

#endif
