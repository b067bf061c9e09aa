/* The UCX transport of a build without UCX: communicators that ask for it are refused before anything of it is called. */
#include "hw/p2p/path.h"

const char *const ronde_wire_ucx_missing =
    "ucx: built without UCX (-DRONDE_UCX=ON, package libucx-dev)";

enum ronde_status ronde_gpu_direct_probe(struct ronde_error *why_not)
{
    return ronde_fail(why_not, RONDE_UNAVAILABLE, "%s", ronde_wire_ucx_missing);
}

const struct ronde_wire ronde_wire_ucx = {.open = NULL};

const struct ronde_p2p_net ronde_p2p_net = {.connect = NULL};
