/* From options to requests, schedules and platforms. */
#include "common.h"

#include "cli/options/requests.h"
#include "cli/options/topology.h"
#include "cli/print/results.h"
#include "commands.h"

#include "ronde/limits.h"

#include <string.h>

/* What most commands ask of their command line: one collective, one number of ranks, one algorithm at most. */
static enum ronde_status check_single(const struct ronde_options *options,
                                      enum ronde_collective *out_collective,
                                      struct ronde_error *error)
{
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "which collective? `ronde list` names them");
    RONDE_TRY(ronde_parse_collective(options->arguments[0], out_collective, error));
    if (options->what.rank_counts > 1 || options->what.algorithm_count > 1)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "one number of ranks and one algorithm at a time; sweep and validate take several");
    return RONDE_OK;
}

/* Pairs are named by rank, and only send_recv has any. */
static enum ronde_status add_pairs(const struct ronde_options *options,
                                   struct ronde_compile_request *request, struct ronde_error *error)
{
    if (options->what.pairs.ranks == 0)
        return RONDE_OK;
    if (request->collective != RONDE_SEND_RECV)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs are for send_recv, not for %s",
                          ronde_collective_text(request->collective));
    if (options->what.pairs.ranks > request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs name rank %u, there are %u ranks",
                          options->what.pairs.ranks - 1, request->ranks);
    if (request->ranks > RONDE_MAX_PAIRED_RANKS)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--pairs: %u ranks, at most %u",
                          request->ranks, RONDE_MAX_PAIRED_RANKS);
    request->source_of = options->what.pairs.source_of;
    return RONDE_OK;
}

enum ronde_status ronde_compile_request_of(const struct ronde_options *options,
                                           enum ronde_collective collective, uint32_t ranks,
                                           struct ronde_compile_request *out_request,
                                           struct ronde_error *error)
{
    const struct ronde_grid *shape = &options->what.shape;
    struct ronde_compile_request request = {.collective = collective,
                                            .ranks = ranks,
                                            .root = options->what.root,
                                            .channels = options->what.channels,
                                            .shape_count = shape->count};
    memcpy(request.shape, shape->radix, sizeof request.shape);
    if (request.root >= ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u is not below %u ranks", request.root,
                          ranks);
    if (shape->count > 0 && ronde_shape_ranks(shape) != ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "--shape is that of %u ranks, not of %u",
                          ronde_shape_ranks(shape), ranks);
    RONDE_TRY(add_pairs(options, &request, error));
    *out_request = request;
    return RONDE_OK;
}

enum ronde_status
ronde_open_request(const struct ronde_options *options, const struct ronde_platform *platform,
                   struct ronde_compile_request *out_request, struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    uint32_t ranks = options->what.ranks[0];
    RONDE_TRY(check_single(options, &collective, error));
    if (options->what.rank_counts == 0)
        RONDE_TRY(ronde_default_ranks(options, platform, &ranks, error));
    return ronde_compile_request_of(options, collective, ranks, out_request, error);
}

enum ronde_status ronde_single_request(const struct ronde_options *options,
                                       const struct ronde_platform *platform, bool is_predicted,
                                       struct ronde_compile_request *out_request,
                                       struct ronde_error *error)
{
    struct ronde_compile_request request;
    RONDE_TRY(ronde_open_request(options, platform, &request, error));
    if (options->what.algorithm_count == 0 && !ronde_first_algorithm(&request))
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm does %s on %u ranks",
                          ronde_collective_text(request.collective), request.ranks);
    if (ronde_limit_check(RONDE_LIMIT_RANKS, request.ranks, error) != RONDE_OK)
        return RONDE_BAD_ARGUMENT;
    if (options->what.algorithm_count > 0) {
        const struct ronde_algorithm *found =
            (is_predicted
                 ? ronde_parse_carried
                 : ronde_parse_algorithm)(request.collective, options->what.algorithms[0], error);
        if (!found)
            return RONDE_BAD_ARGUMENT;
        request.algorithm = found->name;
    }
    *out_request = request;
    return RONDE_OK;
}

enum ronde_status ronde_schedule_file_or_compiled(const struct ronde_options *options,
                                                  struct ronde_schedule **out_schedule,
                                                  struct ronde_error *error)
{
    struct ronde_compile_request request;
    if (ronde_is_schedule_file(options))
        return ronde_schedule_file_read(options, NULL, NULL, out_schedule, error);
    RONDE_TRY(ronde_single_request(options, NULL, false, &request, error));
    return ronde_compile(&request, ronde_mem_default(), NULL, out_schedule, error);
}

enum ronde_status ronde_open_healthy_platform(const struct ronde_options *options,
                                              struct ronde_platform **out_platform,
                                              struct ronde_error *error)
{
    if (!options->machine.topo)
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "on which machine? --topo is missing; `ronde list` names the shipped ones");
    return ronde_machine_open(options, out_platform, error);
}

enum ronde_status ronde_open_argument(const struct ronde_options *options, uint32_t argument,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    struct ronde_options as_topo = *options;
    as_topo.machine.topo = options->arguments[argument];
    return ronde_open_platform(&as_topo, out_platform, error);
}

enum ronde_status ronde_open_platform(const struct ronde_options *options,
                                      struct ronde_platform **out_platform,
                                      struct ronde_error *error)
{
    RONDE_TRY(ronde_open_healthy_platform(options, out_platform, error));
    return ronde_degrade_links(options, *out_platform, error);
}

/* The commands in the order of help. */

/* The first page of help; then what --help all adds. */
static const struct ronde_command *const commands[] = {
    &ronde_command_doctor,   &ronde_command_explain,   &ronde_command_sim,
    &ronde_command_plan,     &ronde_command_bound,     &ronde_command_synthesize,
    &ronde_command_check,    &ronde_command_run,       &ronde_command_topo,
    &ronde_command_workload, &ronde_command_validate,  &ronde_command_convert,
    &ronde_command_demo,     &ronde_command_list,      &ronde_command_sweep,
    &ronde_command_tune,     &ronde_command_calibrate,
};

const struct ronde_command *const *ronde_commands(uint32_t *out_count)
{
    *out_count = sizeof commands / sizeof commands[0];
    return commands;
}
