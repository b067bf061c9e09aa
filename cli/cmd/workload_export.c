/* Schedules as GOAL and Chakra. See workload_export.h. */
#include "workload_export.h"

#include "cli/options/schedule_file.h"
#include "common.h"

#include <string.h>

/* What its steps cost there; nothing where no machine is named. */
static enum ronde_status find_costs(const struct ronde_options *options,
                                    const struct ronde_schedule *schedule, struct ronde_load *load,
                                    struct ronde_time_params *out_params, struct ronde_error *error)
{
    struct ronde_platform *platform = NULL;
    *out_params = (struct ronde_time_params){0};
    if (!options->topo)
        return RONDE_OK;
    const enum ronde_status status = ronde_open_platform(options, &platform, error);
    if (status != RONDE_OK)
        return status;
    const uint64_t bytes =
        ronde_collective_bytes(schedule->collective, schedule->ranks, load->count, load->dtype);
    *out_params = ronde_platform_time(platform, schedule->ranks, 2 * bytes);
    if (load->slot_bytes == 0)
        load->slot_bytes = ronde_platform_facts(platform)->slot_bytes;
    ronde_platform_destroy(platform);
    return RONDE_OK;
}

enum ronde_status
ronde_workload_exported(const struct ronde_options *options, const struct ronde_schedule *schedule,
                        struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct ronde_time_params params;
    struct ronde_load load = {.dtype = options->dtype, .slot_bytes = options->slot_bytes};
    load.count = ronde_collective_count(schedule->collective, schedule->ranks, options->min_bytes,
                                        options->dtype);
    const enum ronde_status status = find_costs(options, schedule, &load, &params, error);
    return status == RONDE_OK ? ronde_workload_of_schedule(schedule, &load, &params,
                                                           ronde_mem_default(), out_workload, error)
                              : status;
}

static bool ends_in(const char *name, const char *suffix)
{
    const size_t length = name ? strlen(name) : 0;
    return length > strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
}

static bool is_format(const struct ronde_options *options, const char *name, const char *suffix)
{
    return options->to ? strcmp(options->to, name) == 0 : ends_in(options->output, suffix);
}

bool ronde_workload_is_goal(const struct ronde_options *options)
{
    return is_format(options, "goal", ".goal");
}

/* PREFIX.et and PREFIX are written as PREFIX.0.et and so on. */
static enum ronde_status write_chakra(const struct ronde_options *options,
                                      const struct ronde_workload *workload,
                                      struct ronde_error *error)
{
    char prefix[4096];
    if (!options->output || strcmp(options->output, "-") == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "Chakra traces are a file a rank: name them, as in step.et");
    const size_t length = strlen(options->output) - (ends_in(options->output, ".et") ? 3 : 0);
    if (length >= sizeof prefix)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "the name of the output is too long");
    memcpy(prefix, options->output, length);
    prefix[length] = '\0';
    return ronde_chakra_write(workload, prefix, ronde_mem_default(), error);
}

enum ronde_status ronde_workload_write(const struct ronde_options *options,
                                       const struct ronde_workload *workload,
                                       struct ronde_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    if (is_format(options, "chakra", ".et"))
        return write_chakra(options, workload, error);
    if (!ronde_workload_is_goal(options))
        return ronde_fail(
            error, RONDE_BAD_ARGUMENT,
            "written as what? name a file that ends in .goal or .et, or say --to goal "
            "or --to chakra");
    const enum ronde_status status =
        ronde_goal_print(workload, ronde_mem_default(), &text, &bytes, error);
    return status == RONDE_OK ? ronde_schedule_text_write(options, text, bytes, error) : status;
}
