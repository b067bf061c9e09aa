/* flat where its certificate holds, else shared links: by SimGrid, the reference, where that is quick, else by maxmin. */
#include "check.h"

/* The reference is taken where it is expected to take no more than this: maxmin gives the same times. */
#define SIMGRID_MOST_S 0.02

/* What a visit of a flow to a link takes maxmin, roughly, to count SimGrid's work in the same unit. */
#define VISIT_S 15e-9

/*
 * Wall time SimGrid takes, in seconds. Where flows share, it solves for all that hang together at every event, so a
 * message costs more the more ranks there are: 25, 43 and 85 us on double trees of 64, 128 and 256 (SimGrid 3.32).
 */
static double simgrid_s(uint64_t steps, uint32_t ranks)
{
    return (double)steps * (1.0 + ranks / 3.0) * 1e-6;
}

bool ronde_sim_is_simgrid_quick(const struct ronde_platform *platform, uint64_t steps,
                                uint32_t ranks)
{
    const char *version;
    return simgrid_s(steps, ranks) <= SIMGRID_MOST_S && ronde_sim_simgrid_available(&version) &&
           !ronde_platform_has_detours(platform);
}

enum ronde_status
ronde_sim_share_links(const struct ronde_platform *platform, const struct ronde_dag *dag,
                      const struct ronde_sim_options *options, const struct ronde_mem *mem,
                      struct ronde_sim_result *out_result, struct ronde_error *error)
{
    if (dag->group_of || !ronde_sim_is_simgrid_quick(platform, dag->op_count, dag->ranks))
        return ronde_sim_maxmin(platform, dag, options, mem, out_result, error);
    const enum ronde_status status = ronde_sim_simgrid(platform, dag, options, out_result, error);
    out_result->work = (uint64_t)(simgrid_s(dag->op_count, dag->ranks) / VISIT_S);
    return status;
}

enum ronde_status ronde_sim_auto(const struct ronde_platform *platform, const struct ronde_dag *dag,
                                 const struct ronde_sim_options *options,
                                 const struct ronde_mem *mem, struct ronde_sim_result *out_result,
                                 struct ronde_error *error)
{
    /* Its own record: what flat cannot do is no failure yet. */
    struct ronde_error flat_error = {RONDE_OK, 0, ""};
    if (ronde_sim_has_flags(platform, options ? options : &ronde_sim_defaults))
        return ronde_sim_simgrid(platform, dag, options, out_result, error);
    const enum ronde_status status =
        ronde_sim_flat(platform, dag, options, mem, out_result, &flat_error);
    if (status == RONDE_OK && out_result->is_contention_free)
        return RONDE_OK;
    if (status == RONDE_OK)
        return ronde_sim_share_links(platform, dag, options, mem, out_result, error);
    /* Machines and zones that only SimGrid knows, which knows no groups. */
    if (status == RONDE_UNSUPPORTED && !dag->group_of)
        return ronde_sim_simgrid(platform, dag, options, out_result, error);
    return ronde_fail(error, status, "%s", flat_error.message);
}
