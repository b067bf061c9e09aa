/**
 * What executes a run: the backend that was named, or the one that the other options and a launcher call for.
 */
#ifndef RONDE_CLI_RUN_BACKEND_H
#define RONDE_CLI_RUN_BACKEND_H

#include "cli/options/options.h"

#include "ronde/comm.h"

/**
 * Fills in options->backend where --backend was not given: that of processes where an option is only for these or a
 * launcher has started this process as one of several, else cpu. *out_launcher is the launcher that was found on the
 * way, or zeroed; the caller closes it.
 *
 * Errors: BAD_ARGUMENT for an option that the backend has no use for; those of ronde_launcher_find.
 */
RONDE_MUST_CHECK enum ronde_status ronde_run_backend(struct ronde_options *options,
                                                     struct ronde_launcher *out_launcher,
                                                     struct ronde_error *error);

#endif
