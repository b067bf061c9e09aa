/**
 * Well-formedness: everything that must hold before a schedule may even be run symbolically.
 */
#ifndef RONDE_ENGINE_PROVE_CHECK_H
#define RONDE_ENGINE_PROVE_CHECK_H

#include "findings.h"

/** Checks header, channels, programs. Violations go into the proof. Errors: NO_MEMORY. */
enum ronde_status ronde_check(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                              struct ronde_proof *proof, struct ronde_error *error);

#endif
