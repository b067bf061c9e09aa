/* Ranks and algorithms of a grid without -N and -a. See default_grid.h. */
#include "default_grid.h"

#include "cli/cmd/common.h"
#include "values.h"

#include "ronde/schedules.h"

static bool serves_all_ranks(const struct ronde_algorithm *algorithm,
                             const struct ronde_options *options)
{
    for (uint32_t r = 0; r < options->rank_counts; r++) {
        struct ronde_compile_request request;
        struct ronde_error unused = {0};
        if (ronde_compile_request_of(options, algorithm->collective, options->ranks[r], &request,
                                     &unused) != RONDE_OK)
            return false;
        request.algorithm = algorithm->name;
        if (algorithm->supports(&request, &unused) != RONDE_OK)
            return false;
    }
    return true;
}

enum ronde_status ronde_default_grid(const struct ronde_platform *platform, bool must_serve_all,
                                     struct ronde_options *options, struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    uint32_t total = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&total);
    if (options->rank_counts == 0)
        options->ranks[options->rank_counts++] = ronde_platform_facts(platform)->hosts;
    if (options->algorithm_count > 0 || options->argument_count == 0)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_parse_collective(options->arguments[0], &collective, error);
    for (uint32_t i = 0; i < total && status == RONDE_OK; i++) {
        if (all[i]->collective != collective ||
            (must_serve_all && !serves_all_ranks(all[i], options)))
            continue;
        if (options->algorithm_count == RONDE_MAX_NAMES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u algorithms: say which with -a", RONDE_MAX_NAMES);
        options->algorithms[options->algorithm_count++] = all[i]->name;
    }
    return status;
}
