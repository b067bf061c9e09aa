/* What stands in for the SimGrid engine where it was not built in. */
#include "ronde/sim.h"

#include <string.h>

static const char reason[] = "built without SimGrid (install libsimgrid-dev)";

enum ronde_status ronde_sim_simgrid(const struct ronde_platform *platform,
                                    const struct ronde_dag *dag,
                                    const struct ronde_sim_options *options,
                                    struct ronde_sim_result *out_result, struct ronde_error *error)
{
    (void)platform;
    (void)dag;
    (void)options;
    memset(out_result, 0, sizeof *out_result);
    return ronde_fail(error, RONDE_UNAVAILABLE, "the simgrid engine is not here: %s", reason);
}

bool ronde_sim_simgrid_available(const char **out_text)
{
    *out_text = reason;
    return false;
}
