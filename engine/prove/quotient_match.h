/**
 * Which chunks are paired in messages and steps of several chunks, on the quotient.
 *
 * All operands of a step, and both ends of a message, are sorted by absolute chunk, and the k-th of one goes with the
 * k-th of the other. A shift or an order may change what is the k-th; position 0 can stand for all only where the pairs
 * stay the same.
 */
#ifndef RONDE_ENGINE_PROVE_QUOTIENT_MATCH_H
#define RONDE_ENGINE_PROVE_QUOTIENT_MATCH_H

#include "model.h"

/**
 * Finds the pairs of a quotient without findings and stores them in model->place. *out_is_same: whether they are the
 * pairs of all positions under the orders of all channels; if not, only the expansion has the pairs. Errors: NO_MEMORY.
 */
enum ronde_status ronde_pair_items(struct ronde_model *model, bool *out_is_same,
                                   struct ronde_error *error);

/** Whether chunks of a buffer have the same numbers at all positions, whatever the order. */
bool ronde_is_numbered_alike(const struct ronde_schedule *schedule,
                             const struct ronde_program *program, uint8_t buffer);

/** Whether channel `index` has an order that no channel before it has. */
bool ronde_is_new_order(const struct ronde_schedule *schedule, uint32_t index);

#endif
