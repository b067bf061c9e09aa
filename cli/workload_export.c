/* Schedules as GOAL and Chakra. See workload_export.h. */
#include "workload_export.h"

#include "common.h"

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

enum ronde_status ronde_goal_exported(const struct ronde_options *options,
                                      const struct ronde_schedule *schedule, char **out_text,
                                      size_t *out_bytes, struct ronde_error *error)
{
    struct ronde_workload *workload = NULL;
    enum ronde_status status = ronde_workload_exported(options, schedule, &workload, error);
    if (status == RONDE_OK)
        status = ronde_goal_print(workload, ronde_mem_default(), out_text, out_bytes, error);
    ronde_workload_destroy(workload);
    return status;
}
