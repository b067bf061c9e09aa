/**
 * What a schedule does to ranks that come at different times.
 */
#ifndef RONDE_PREDICT_ARRIVALS_H
#define RONDE_PREDICT_ARRIVALS_H

#include "ronde/ir.h"

/**
 * Replays the steps of a schedule on a network that takes no time, rank r taking no step before
 * come_ns[r], and yields when each rank's last step is over. Both arrays have an entry per rank.
 * Errors: NO_MEMORY; those of ronde_dag_create.
 */
RONDE_API RONDE_MUST_CHECK enum ronde_status
ronde_arrivals_replay(const struct ronde_schedule *schedule, const double *come_ns,
                      double *out_leave_ns, struct ronde_error *error);

#endif
