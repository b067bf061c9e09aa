/**
 * One schedule of the height that is asked for: routes, trees, lanes, proof.
 */
#ifndef RONDE_SYNTHESIS_ONCE_H
#define RONDE_SYNTHESIS_ONCE_H

#include "ronde/synthesize.h"

/** Makes it; out->bound is known. Errors: those of ronde_synthesize. */
RONDE_MUST_CHECK enum ronde_status
ronde_synthesis_once(const struct ronde_platform *platform,
                     const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                     struct ronde_schedule **out_schedule, struct ronde_synthesis *out,
                     struct ronde_error *error);

#endif
