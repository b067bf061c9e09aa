/**
 * What both engines ask of their arguments.
 */
#ifndef RONDE_SIM_CHECK_H
#define RONDE_SIM_CHECK_H

#include "ronde/sim.h"

/** Host index of a rank. */
uint32_t ronde_sim_host(const struct ronde_sim_options *options, uint32_t rank);

/** Options that mean the defaults. */
extern const struct ronde_sim_options ronde_sim_defaults;

/**
 * Every rank has a host and the graph is one: predecessors first, messages taken by the rank they were sent to.
 * Errors: BAD_INPUT for hosts, BAD_ARGUMENT for the graph; both name the numbers.
 */
enum ronde_status ronde_sim_check(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                  const struct ronde_sim_options *options,
                                  struct ronde_error *error);

/** Whether ranks of this platform share cores or memory. */
bool ronde_sim_is_shared(const struct ronde_platform *platform);

#endif
