/**
 * What several commands do alike: from options to requests, schedules and platform files.
 */
#ifndef RONDE_CLI_COMMON_H
#define RONDE_CLI_COMMON_H

#include "cli/options/options.h"
#include "cli/print/printer.h"

#include "ronde/data_files.h"
#include "ronde/record.h"
#include "ronde/schedules.h"
#include "ronde/topologies.h"

/**
 * What the options ask of a collective on so many ranks: root, channels, shape, pairs; no algorithm
 * yet. Pairs stay in the options, which must outlive it. Errors: BAD_ARGUMENT for a root or a pair
 * beyond the ranks, a shape of other ranks, pairs for anything but send_recv.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_compile_request_of(const struct ronde_options *options, enum ronde_collective collective,
                         uint32_t ranks, struct ronde_compile_request *out_request,
                         struct ronde_error *error);

/**
 * What a command asks that takes one collective and one -N, or ronde_default_ranks of `platform`; no algorithm yet. Errors:
 * BAD_ARGUMENT for anything missing, unknown or plural; as ronde_default_ranks.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_open_request(const struct ronde_options *options, const struct ronde_platform *platform,
                   struct ronde_compile_request *out_request, struct ronde_error *error);

/**
 * The request of a command that takes one collective, one -a and one -N. Without -a the first
 * algorithm that serves
 * the request is taken. What is only predicted may be a library's that puts (-a NAME+puts). Errors: BAD_ARGUMENT for anything missing, unknown or plural.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_single_request(const struct ronde_options *options, const struct ronde_platform *platform,
                     bool is_predicted, struct ronde_compile_request *out_request,
                     struct ronde_error *error);

/**
 * The one schedule a command is about: read, or compiled as ronde_single_request has it. Owner: the caller.
 * Errors: theirs.
 */
RONDE_MUST_CHECK enum ronde_status
ronde_schedule_file_or_compiled(const struct ronde_options *options,
                                struct ronde_schedule **out_schedule, struct ronde_error *error);

/** The machine that an argument names in place of --topo. Errors: as ronde_open_platform. */
RONDE_MUST_CHECK enum ronde_status
ronde_open_argument(const struct ronde_options *options, uint32_t argument,
                    struct ronde_platform **out_platform, struct ronde_error *error);

/** Opens the machine of --topo with all its links as fast as they are in the file, for what degrades them itself. Errors: the same. */
RONDE_MUST_CHECK enum ronde_status ronde_open_healthy_platform(const struct ronde_options *options,
                                                               struct ronde_platform **out_platform,
                                                               struct ronde_error *error);

/** Opens the machine of --topo, --degrade included. Errors: BAD_ARGUMENT when it was not given; as ronde_machine_open. */
RONDE_MUST_CHECK enum ronde_status ronde_open_platform(const struct ronde_options *options,
                                                       struct ronde_platform **out_platform,
                                                       struct ronde_error *error);

struct ronde_invocation;

/** sim --steps: the schedule alone, round by round. Errors: those of the schedule; as ronde_rounds_print. */
RONDE_MUST_CHECK enum ronde_status ronde_steps_command(struct ronde_invocation *call,
                                                       struct ronde_error *error);

#endif
