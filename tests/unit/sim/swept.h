/**
 * Replays as operations of the allocation sweep (support/sweep.h).
 */
#ifndef RONDE_TESTS_SWEPT_H
#define RONDE_TESTS_SWEPT_H

#include "ronde/sim.h"

#include "support/sweep.h"

/** An engine that replays a graph. */
typedef enum ronde_status (*swept_graph_engine)(const struct ronde_platform *platform,
                                                const struct ronde_dag *dag,
                                                const struct ronde_sim_options *options,
                                                const struct ronde_mem *mem,
                                                struct ronde_sim_result *out_result,
                                                struct ronde_error *error);

/** An engine that makes of a job what it needs. */
typedef enum ronde_status (*swept_job_engine)(const struct ronde_sim_job *job,
                                              const struct ronde_sim_options *options,
                                              const struct ronde_mem *mem,
                                              struct ronde_sim_result *out_result,
                                              struct ronde_error *error);

/** Sweeps the replay of a graph, which must allocate more often than `least`. */
void swept_graph(swept_graph_engine engine, const struct ronde_platform *platform,
                 const struct ronde_dag *dag, size_t least);

/** Sweeps the replay of a job, likewise. */
void swept_job(swept_job_engine engine, const struct ronde_sim_job *job, size_t least);

#endif
