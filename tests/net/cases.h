/**
 * What every transport must show: results as host's, disagreements, lost ranks, time limits, groups.
 */
#ifndef RONDE_TESTS_CASES_H
#define RONDE_TESTS_CASES_H

#include "ronde/comm.h"

/** Runs all cases over a transport; what main returns. */
int cases_run(const char *name, enum ronde_transport transport);

#endif
