/* The number of ranks without -N. See default_ranks.h. */
#include "default_ranks.h"

#include "schedule_file.h"
#include "topology.h"

/* The fewest that have anything to say to each other. */
#define LEAST_RANKS 2u

static enum ronde_status ranks_of_schedule(const struct ronde_options *options, uint32_t *out_ranks,
                                           struct ronde_error *error)
{
    struct ronde_schedule *schedule = NULL;
    const enum ronde_status status = ronde_schedule_file_read(options, NULL, NULL, &schedule, error);
    if (status == RONDE_OK)
        *out_ranks = schedule->ranks;
    ronde_schedule_destroy(schedule);
    return status;
}

static enum ronde_status hosts_of_machine(const struct ronde_options *options, uint32_t *out_ranks,
                                          struct ronde_error *error)
{
    struct ronde_platform *platform = NULL;
    const enum ronde_status status = ronde_machine_open(options, &platform, error);
    if (status == RONDE_OK)
        *out_ranks = ronde_platform_facts(platform)->hosts;
    ronde_platform_destroy(platform);
    return status;
}

enum ronde_status ronde_default_ranks(const struct ronde_options *options, uint32_t *out_ranks,
                                      struct ronde_error *error)
{
    *out_ranks = LEAST_RANKS;
    if (ronde_is_schedule_file(options))
        return ranks_of_schedule(options, out_ranks, error);
    return options->topo ? hosts_of_machine(options, out_ranks, error) : RONDE_OK;
}
