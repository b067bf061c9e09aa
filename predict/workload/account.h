/**
 * What a replayed step says: how its time divides, rank by rank and along the critical path.
 */
#ifndef RONDE_PREDICT_WORKLOAD_ACCOUNT_H
#define RONDE_PREDICT_WORKLOAD_ACCOUNT_H

#include "graph.h"

/** A graph that was replayed. */
struct workload_replay {
    const struct ronde_workload *workload;    /**< what */
    const struct workload_matching *matching; /**< of it */
    const struct workload_calls *calls;       /**< of it */
    const struct workload_graph *graph;       /**< of it */
    const double *start_ns;                   /**< per operation */
    const double *finish_ns;                  /**< per operation */
    const bool *on_path;                      /**< per operation */
};

/** Fills in what ranks do, and families' exposed times. Needs time, start and end of items. Errors: NO_MEMORY. */
RONDE_MUST_CHECK enum ronde_status workload_account_ranks(const struct workload_replay *replay,
                                                          struct ronde_workload_result *result,
                                                          struct ronde_error *error);

/** Fills in the critical path: of calculations, calls and families; and the calls' mean times. */
void workload_account_path(const struct workload_replay *replay,
                           struct ronde_workload_result *result);

#endif
