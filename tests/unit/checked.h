/**
 * Runs of a schedule whose results are compared, bit by bit.
 */
#ifndef RONDE_TESTS_CHECKED_H
#define RONDE_TESTS_CHECKED_H

#include "ronde/collective.h"
#include "ronde/ir.h"

/**
 * Runs a schedule in all its forms on a backend, on several counts, and asserts that no element is wrong: host is compared
 * with the definition, every other backend with host. A backend that is not here is skipped visibly.
 */
void checked_run(const char *backend, const struct ronde_schedule *schedule, enum ronde_op op);

#endif
