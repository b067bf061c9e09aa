/**
 * How many ranks there are where -N is absent.
 */
#ifndef RONDE_CLI_DEFAULT_RANKS_H
#define RONDE_CLI_DEFAULT_RANKS_H

#include "options.h"

/**
 * Those of the schedule, where a file is given, else the hosts of --topo, else 2. Errors: as ronde_schedule_file_open and
 * ronde_machine_open.
 */
RONDE_MUST_CHECK enum ronde_status ronde_default_ranks(const struct ronde_options *options,
                                                       uint32_t *out_ranks,
                                                       struct ronde_error *error);

#endif
