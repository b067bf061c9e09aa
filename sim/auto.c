/* flat where its certificate holds, else SimGrid. */
#include "check.h"

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
    if (status == RONDE_OK || status == RONDE_UNSUPPORTED)
        return ronde_sim_simgrid(platform, dag, options, out_result, error);
    return ronde_fail(error, status, "%s", flat_error.message);
}
