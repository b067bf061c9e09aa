/**
 * What the links of a platform carry of a schedule, and what that takes: from the schedule's steps and the file's routes
 * alone, by nothing that synthesis uses.
 */
#ifndef RONDE_TESTS_SYNTHESIS_LOADS_H
#define RONDE_TESTS_SYNTHESIS_LOADS_H

#include "ronde/ir.h"
#include "ronde/topologies.h"

/** GB/s (nccl-tests' algbw) of large blocks by the busiest link; 0 fails the test. */
double loads_GBps(const struct ronde_schedule *schedule, const struct ronde_platform *platform);

#endif
