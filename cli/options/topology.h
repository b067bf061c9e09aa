/**
 * Machines by the name of a file or of a shipped one.
 */
#ifndef RONDE_CLI_TOPOLOGY_H
#define RONDE_CLI_TOPOLOGY_H

#include "options.h"

#include "ronde/topologies.h"

/**
 * Reads a file, or the shipped one of that name. Errors: BAD_ARGUMENT naming the nearest where a bare name is neither; as
 * ronde_platform_read.
 */
RONDE_MUST_CHECK enum ronde_status ronde_topology_open(const char *text,
                                                       struct ronde_platform **out_platform,
                                                       struct ronde_error *error);

#endif
