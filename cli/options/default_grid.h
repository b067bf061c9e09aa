/**
 * Which ranks and algorithms a grid has where -N and -a are absent.
 */
#ifndef RONDE_CLI_DEFAULT_GRID_H
#define RONDE_CLI_DEFAULT_GRID_H

#include "options.h"

#include "ronde/topologies.h"

/**
 * Adds to options: without -N the hosts of the platform, without -a the algorithms of the collective, all of them or only
 * those that serve every number of ranks. Nothing without a collective. Errors: BAD_ARGUMENT for an unknown collective, or
 * too many algorithms.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_default_grid(const struct ronde_platform *platform, bool must_serve_all,
                   struct ronde_options *options, struct ronde_error *error);

#endif
