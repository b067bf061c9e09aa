/**
 * A UCX that reports memory of GPUs: emulated ones have theirs in this process, so it can be as good as its word.
 */
#ifndef RONDE_TESTS_EMULATED_NETWORK_H
#define RONDE_TESTS_EMULATED_NETWORK_H

#include <stdbool.h>

/** Whether communicators opened from now on have one; a program that calls this has UCX's own answer no more. */
void emulated_network_reach(bool reaches_devices);

#endif
