/**
 * What the symbolic run leaves in the programs: raw and final marks, and the parts that scratch holds.
 */
#ifndef RONDE_ENGINE_PROVE_MARKS_H
#define RONDE_ENGINE_PROVE_MARKS_H

#include "engine/ir/arena.h"
#include "ronde/ir.h"

/** Whether a mark is set: unknown as long as no chunk has been seen. */
enum ronde_mark_state { RONDE_MARK_UNKNOWN, RONDE_MARK_NO, RONDE_MARK_YES };

/** What was seen of a step, enum ronde_mark_state each. */
struct ronde_step_marks {
    uint8_t raw;   /**< its source is the rank's unmodified input */
    uint8_t final; /**< its result is complete */
};

/** Takes marks per program and step, all unknown; NULL when there is no memory. */
struct ronde_step_marks **ronde_marks_create(const struct ronde_schedule *schedule,
                                             struct ronde_arena *arena);

/**
 * Gives each program the tables scratch_part and scratch_parts, of the schedule, where it has steps that touch nothing
 * but scratch (rs touches nothing at all). False when there is no memory.
 */
bool ronde_marks_make_parts(struct ronde_schedule *schedule);

/** Sets the flags of all steps from what was seen. */
void ronde_marks_keep(struct ronde_schedule *schedule, struct ronde_step_marks *const *marks);

#endif
