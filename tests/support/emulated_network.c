/* A UCX that reports memory of GPUs. See emulated_network.h. */
#include "support/emulated_network.h"

static bool reaches;

void emulated_network_reach(bool reaches_devices)
{
    reaches = reaches_devices;
}

bool ronde_ucx_reaches_devices(struct ucp_context *context, int *out_type)
{
    (void)context;
    /* Memory of the host, which is UCX's first kind. */
    *out_type = 0;
    return reaches;
}
