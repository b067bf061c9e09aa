/**
 * What finishing a schedule proves, in this order: shape and matching, values, deadlock and races, volume, barriers,
 * v-forms.
 */
#ifndef RONDE_ENGINE_PROVE_PROOFS_H
#define RONDE_ENGINE_PROVE_PROOFS_H

#include "findings.h"
#include "model.h"

#include "ronde/ir.h"

/* Barriers move no data: what is proved is that every rank leaves after all have arrived. */

/**
 * Follows, through model->order, the set of ranks whose first step precedes each step. A rank whose last steps do not
 * follow every rank's first leaves too early: a finding. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_barrier(const struct ronde_schedule *schedule,
                                      const struct ronde_model *model, struct ronde_proof *proof,
                                      struct ronde_error *error);

/* Well-formedness: everything that must hold before a schedule may even be run symbolically. */

/** Checks header, channels, programs. Violations go into the proof. Errors: NO_MEMORY. */
enum ronde_status ronde_check(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                              struct ronde_proof *proof, struct ronde_error *error);

/* Dead work and accounting: what is sent in vain, and how much is sent at all. */

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

/* Which chunks are paired in messages and steps of several chunks, on the quotient. All operands of a step, and
 * both ends of a message, are sorted by absolute chunk, and the k-th of one goes with the k-th of the other. A
 * shift or an order may change what is the k-th; position 0 can stand for all only where the pairs stay the same. */

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

/* Races: two accesses of a rank to the same memory, one of them a write, that nothing orders. */

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

/* Which position sends what to which, derived from the steps of a schedule: see struct ronde_traffic. */

/** The traffic of a schedule that was checked. Time: linear in its steps and in the connections of all positions. */
struct ronde_traffic ronde_traffic_of(const struct ronde_schedule *schedule);

/* The proof of v-forms: whether a schedule that is right for equal blocks is right for blocks of any lengths. */

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

/* The symbolic run: what every chunk holds, as the multiset of contributions that went into it. */

/**
 * Follows the values through model->order, once out of place and once in place: undefined data, extents, double
 * contributions, outputs, raw and final marks, equal expressions on all ranks, parts held by scratch. Marks and parts
 * are written into the programs (of `schedule`, the model's own). Violations go into the proof. Errors: NO_MEMORY.
 */
enum ronde_status ronde_prove_values(struct ronde_schedule *schedule, struct ronde_model *model,
                                     struct ronde_proof *proof, struct ronde_error *error);

#endif
