/**
 * Races: two accesses of a rank to the same memory, one of them a write, that nothing orders.
 */
#ifndef RONDE_ENGINE_PROVE_RACES_H
#define RONDE_ENGINE_PROVE_RACES_H

#include "model.h"

/** What the search concluded. */
enum ronde_race_verdict {
    RONDE_RACE_FREE,     /**< ordered, whatever the depth */
    RONDE_RACE_FOUND,    /**< a finding was added */
    RONDE_RACE_UNDECIDED /**< the quotient cannot decide: prove the expansion */
};

/**
 * Searches all ranks, in place and out of place. Lanes and dependencies of a rank are tried first, per program; what
 * they do not order is looked up in the whole graph, messages included, at unlimited depth. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_races(const struct ronde_schedule *schedule,
                                    const struct ronde_model *model, struct ronde_proof *proof,
                                    enum ronde_race_verdict *out_verdict, struct ronde_error *error);

#endif
