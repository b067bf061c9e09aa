/**
 * From the command line to the option structs of lab/.
 */
#ifndef RONDE_CLI_LAB_OPTIONS_H
#define RONDE_CLI_LAB_OPTIONS_H

#include "lab/validate/compare.h"
#include "options.h"

#include "ronde/calibrate.h"
#include "ronde/scenario.h"
#include "ronde/sweep.h"

/** How runs are launched: -d, --op, --slot, --depth, --protocol, --seed, --timeout. */
struct ronde_benchmark_options ronde_benchmark_options_of(const struct ronde_options *options);

/** What is calibrated: --backend, and as above; progress goes to stderr. */
struct ronde_calibrate_options ronde_calibrate_options_of(const struct ronde_options *options);

/**
 * The statements of --scenario's file and of --with, --background, --degrade, --straggler. The caller frees *out_scenario by
 * ronde_scenario_free in every case. Errors: as ronde_scenario_read and ronde_scenario_add, naming the option.
 */
RONDE_MUST_CHECK enum ronde_status ronde_scenario_of(const struct ronde_options *options,
                                                     struct ronde_scenario *out_scenario,
                                                     struct ronde_error *error);

/**
 * What `ronde sweep` asks for: the collective, -N, -a, -d, the sizes, --shard. It points into the options. Errors:
 * BAD_ARGUMENT for what is missing or unknown, more than RONDE_MAX_SIZES sizes, a shard that is not i/n.
 */
RONDE_MUST_CHECK enum ronde_status ronde_sweep_options_of(const struct ronde_options *options,
                                                          struct ronde_sweep_options *out_options,
                                                          struct ronde_error *error);

/**
 * What `ronde validate` asks for: the collective, -N, -a, the sizes from -b to -e, --backend, how runs are launched and
 * replays are made. It points into the options and the platform; who measures is left open. Errors: BAD_ARGUMENT for what
 * is missing or unknown, too many sizes, and as ronde_compile_request_of.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_compare_options_of(const struct ronde_options *options, const struct ronde_platform *platform,
                         struct ronde_compare_options *out_options, struct ronde_error *error);

#endif
