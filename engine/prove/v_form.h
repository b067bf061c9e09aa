/**
 * The proof of v-forms: whether a schedule that is right for equal blocks is right for blocks of any lengths.
 */
#ifndef RONDE_ENGINE_PROVE_V_FORM_H
#define RONDE_ENGINE_PROVE_V_FORM_H

#include "model.h"

/** What the blocks of a collective may be at best: NONE where all ranks hold one and the same. */
enum ronde_v_form ronde_v_form_of(enum ronde_collective collective);

/**
 * Follows the blocks through model->order, after the values have been proved, and sets schedule->v_form to NONE unless
 * every block only ever lies where its own length is known:
 * - a chunk of the output holds no block but the one that ends there, so that a step's length, which is that of its
 *   operand in `in` or `out`, is that of the data, and both ends of a message agree item by item;
 * - no step has operands in scratch alone, where nothing says which block, and hence how much, it moves.
 * A message that is passed on without an operand needs neither: its length travels with it. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_v_form(struct ronde_schedule *schedule,
                                     const struct ronde_model *model, struct ronde_error *error);

#endif
