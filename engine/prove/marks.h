/**
 * What the symbolic run leaves in the programs: raw and final marks, and the parts that scratch holds.
 */
#ifndef RONDE_ENGINE_PROVE_MARKS_H
#define RONDE_ENGINE_PROVE_MARKS_H

#include "engine/ir/arena.h"
#include "ronde/ir.h"

/** Whether a result is complete: unknown as long as no chunk has been seen. */
enum ronde_final_state { RONDE_FINAL_UNKNOWN, RONDE_FINAL_NO, RONDE_FINAL_YES };

/** Takes a final state per program and step, all unknown; NULL when there is no memory. */
uint8_t **ronde_marks_create(const struct ronde_schedule *schedule, struct ronde_arena *arena);

/**
 * Gives each program the tables scratch_part and scratch_parts, of the schedule, where it has steps that touch nothing
 * but scratch (rs touches nothing at all). False when there is no memory.
 */
bool ronde_marks_make_parts(struct ronde_schedule *schedule);

/** Sets the flags of all steps from their final states. */
void ronde_marks_keep(struct ronde_schedule *schedule, uint8_t *const *final_state);

#endif
