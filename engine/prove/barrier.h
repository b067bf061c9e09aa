/**
 * Barriers move no data: what is proved is that every rank leaves after all have arrived.
 */
#ifndef RONDE_ENGINE_PROVE_BARRIER_H
#define RONDE_ENGINE_PROVE_BARRIER_H

#include "model.h"

/**
 * Follows, through model->order, the set of ranks whose first step precedes each step. A rank whose last steps do not
 * follow every rank's first leaves too early: a finding. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_barrier(const struct ronde_schedule *schedule,
                                      const struct ronde_model *model, struct ronde_proof *proof,
                                      struct ronde_error *error);

#endif
