/* Each option struct of lab/ takes the few of the command line's fields that its module reads. */
#include "lab_options.h"
#include "topology.h"

#include "cli/cmd/common.h"
#include "cli/print/report.h"
#include "tune_options.h"

#include "ronde/schedules.h"

#include <stdlib.h>
#include <string.h>

struct ronde_benchmark_options ronde_benchmark_options_of(const struct ronde_options *options)
{
    return (struct ronde_benchmark_options){
        .dtype = options->dtype,
        .op = options->op,
        .slot_bytes = options->slot_bytes,
        .depth = options->depth,
        .protocol = options->protocol,
        .seed = options->seed,
        .timeout_ns = options->timeout_s > 0.0 ? (uint64_t)(options->timeout_s * 1e9) : 0,
    };
}

struct ronde_calibrate_options ronde_calibrate_options_of(const struct ronde_options *options)
{
    return (struct ronde_calibrate_options){.backend = options->backend,
                                            .benchmark = ronde_benchmark_options_of(options),
                                            .reporter = ronde_progress_reporter()};
}

/* The values of one repeated option. */
static enum ronde_status add_all(struct ronde_scenario *scenario, const char *keyword,
                                 const char *const *values, uint32_t count,
                                 struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++) {
        struct ronde_error own = {RONDE_OK, 0, ""};
        status = ronde_scenario_add(scenario, keyword, values[i], &own);
        if (status != RONDE_OK)
            status = ronde_fail(error, status, "--%s: %s", keyword, own.message);
    }
    return status;
}

/* Links of factor 0 are out of the machine itself. */
static enum ronde_status add_degraded(struct ronde_scenario *scenario,
                                      const struct ronde_options *options, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < options->degrade_count && status == RONDE_OK; i++)
        if (!ronde_degrade_is_out(options->degrade[i]))
            status = add_all(scenario, "degrade", &options->degrade[i], 1, error);
    return status;
}

enum ronde_status ronde_scenario_of(const struct ronde_options *options,
                                    struct ronde_scenario *out_scenario, struct ronde_error *error)
{
    struct ronde_scenario *all = out_scenario;
    memset(all, 0, sizeof *all);
    enum ronde_status status =
        options->scenario ? ronde_scenario_read(all, options->scenario, error) : RONDE_OK;
    if (status == RONDE_OK)
        status = add_all(all, "with", options->with, options->with_count, error);
    if (status == RONDE_OK)
        status = add_all(all, "background", options->background, options->background_count, error);
    if (status == RONDE_OK)
        status = add_degraded(all, options, error);
    if (status == RONDE_OK)
        status = add_all(all, "straggler", options->straggler, options->straggler_count, error);
    return status;
}

/* "2/8": the third of eight. */
static enum ronde_status parse_shard(const char *text, uint32_t *out_index, uint32_t *out_count,
                                     struct ronde_error *error)
{
    unsigned long index = 0, count = 1;
    char *end = NULL;
    if (text) {
        index = strtoul(text, &end, 10);
        count = *end == '/' && end != text ? strtoul(end + 1, &end, 10) : 0;
        if (*end != '\0' || count == 0 || count > 1000000 || index >= count || strchr(text, '-'))
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "shard \"%s\" is not i/n with i from 0 to n - 1", text);
    }
    *out_index = (uint32_t)index;
    *out_count = (uint32_t)count;
    return RONDE_OK;
}

static enum ronde_status list_sizes(const struct ronde_options *options,
                                    struct ronde_sweep_options *out_sweep, struct ronde_error *error)
{
    uint64_t bytes = options->min_bytes;
    do {
        if (out_sweep->size_count == RONDE_MAX_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_MAX_SIZES, (unsigned long long)options->factor);
        out_sweep->sizes[out_sweep->size_count++] = bytes;
        bytes = ronde_options_next_size(options, bytes);
    } while (bytes != 0);
    return RONDE_OK;
}

enum ronde_status ronde_sweep_options_of(const struct ronde_options *options,
                                         struct ronde_sweep_options *out_options,
                                         struct ronde_error *error)
{
    struct ronde_sweep_options sweep = {.dtype = options->dtype,
                                        .ranks = options->ranks,
                                        .rank_counts = options->rank_counts,
                                        .algorithms = options->algorithms,
                                        .algorithm_count = options->algorithm_count};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "sweep: say which collective");
    enum ronde_status status =
        ronde_parse_collective(options->arguments[0], &sweep.collective, error);
    if (status == RONDE_OK)
        status = list_sizes(options, &sweep, error);
    if (status == RONDE_OK)
        status = parse_shard(options->shard, &sweep.shard, &sweep.shards, error);
    if (status == RONDE_OK)
        *out_options = sweep;
    return status;
}

/* The sweep ends at the largest size even where the factor steps over it: crossovers sit at the ends. */
static enum ronde_status list_compared_sizes(const struct ronde_options *options,
                                             struct ronde_compare_options *out_options,
                                             struct ronde_error *error)
{
    uint32_t count = 0;
    for (uint64_t bytes = options->min_bytes; count < RONDE_MAX_SIZES;) {
        out_options->sizes[count++] = bytes;
        if (bytes == options->max_bytes)
            break;
        bytes = ronde_options_next_size(options, bytes);
        bytes = bytes ? bytes : options->max_bytes;
    }
    if (out_options->sizes[count - 1] != options->max_bytes)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "more than %u sizes", RONDE_MAX_SIZES);
    out_options->size_count = count;
    return RONDE_OK;
}

/* Every number of ranks has the root, shape and pairs that were asked for. */
static enum ronde_status find_request(const struct ronde_options *options,
                                      struct ronde_compile_request *out_request,
                                      struct ronde_error *error)
{
    enum ronde_collective collective = RONDE_COLLECTIVE_COUNT;
    enum ronde_status status = ronde_parse_collective(options->arguments[0], &collective, error);
    for (uint32_t r = 0; status == RONDE_OK && r < options->rank_counts; r++)
        status =
            ronde_compile_request_of(options, collective, options->ranks[r], out_request, error);
    return status;
}

enum ronde_status
ronde_compare_options_of(const struct ronde_options *options, const struct ronde_platform *platform,
                         struct ronde_compare_options *out_options, struct ronde_error *error)
{
    struct ronde_compare_options compare = {.algorithms = options->algorithms,
                                            .algorithm_count = options->algorithm_count,
                                            .ranks = options->ranks,
                                            .rank_counts = options->rank_counts,
                                            .backend = options->backend,
                                            .benchmark = ronde_benchmark_options_of(options),
                                            .reporter = ronde_progress_reporter()};
    if (options->argument_count == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a collective is needed, e.g. all_reduce -a ring,tree -N 2,4");
    enum ronde_status status = find_request(options, &compare.request, error);
    if (status == RONDE_OK)
        status = list_compared_sizes(options, &compare, error);
    if (status != RONDE_OK)
        return status;
    const struct ronde_tune_options how = ronde_tune_options_of(options);
    compare.forecast = ronde_forecast_of(platform, NULL, &compare.request, &how);
    *out_options = compare;
    return RONDE_OK;
}
