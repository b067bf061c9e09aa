/**
 * The symbolic run: what every chunk holds, as the multiset of contributions that went into it.
 */
#ifndef RONDE_ENGINE_PROVE_VALUES_H
#define RONDE_ENGINE_PROVE_VALUES_H

#include "model.h"

/**
 * Follows the values through model->order, once out of place and once in place: undefined data, extents, double
 * contributions, outputs, raw and final marks, equal expressions on all ranks, parts held by scratch. Marks and parts
 * are written into the programs (of `schedule`, the model's own). Violations go into the proof. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_values(struct ronde_schedule *schedule, struct ronde_model *model,
                                     struct ronde_proof *proof, struct ronde_error *error);

#endif
