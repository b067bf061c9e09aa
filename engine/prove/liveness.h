/**
 * Dead work and accounting: what is sent in vain, and how much is sent at all.
 */
#ifndef RONDE_ENGINE_PROVE_LIVENESS_H
#define RONDE_ENGINE_PROVE_LIVENESS_H

#include "model.h"

/**
 * Goes backwards through model->order from the outputs: a received chunk that nothing depends on is dead work, an error
 * unless the schedule allows it. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_liveness(const struct ronde_schedule *schedule,
                                       const struct ronde_model *model, struct ronde_proof *proof,
                                       struct ronde_error *error);

/** Fills in steps, messages, chunk counts and the critical path in messages. Errors: NO_MEMORY. */
enum ronde_status ronde_account(const struct ronde_schedule *schedule,
                                const struct ronde_model *model, struct ronde_proof *proof,
                                struct ronde_error *error);

#endif
