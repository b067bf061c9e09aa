/**
 * A UCX that reports memory of GPUs, and transfers it: that of emulated ones is memory of this process.
 */
#ifndef RONDE_TESTS_EMULATED_NETWORK_H
#define RONDE_TESTS_EMULATED_NETWORK_H

#include <stdbool.h>

/** Whether communicators opened from now on have one; a program that calls this no longer has UCX's own report. */
void emulated_network_reach(bool reaches_devices);

#endif
