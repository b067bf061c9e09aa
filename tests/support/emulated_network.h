/**
 * A UCX that reports memory of GPUs, and transfers it: that of emulated ones is memory of this process.
 */
#ifndef RONDE_TESTS_EMULATED_NETWORK_H
#define RONDE_TESTS_EMULATED_NETWORK_H

#include <stdbool.h>

/** Whether communicators opened from now on have one; a program that calls this no longer has UCX's own report. */
void emulated_network_reach(bool reaches_devices);

struct ucp_context;

/** What it takes the place of: hw/ucx/net.h, whose includes are UCX's, which need not be installed. */
bool ronde_ucx_reaches_devices(struct ucp_context *context, int *out_type);

#endif
