/**
 * What steps access: the chunks of both operands of a step, and the memory cells these are, item by item.
 *
 * Everything that follows a schedule through memory (values, blocks, liveness, races, lowering) walks its steps with
 * this. A walk is moved to an actor, then to a step of it, and then yields each item of the message:
 *
 *     ronde_accesses_enter(&accesses, ronde_model_view(model, actor));
 *     ronde_accesses_resolve(&accesses, step);
 *     for (uint32_t item = 0; item < accesses.step->chunk_count; item++)
 *         ... ronde_accesses_item(&accesses, item) ...
 */
#ifndef RONDE_ENGINE_PROVE_ACCESSES_H
#define RONDE_ENGINE_PROVE_ACCESSES_H

#include "engine/execute/operation.h"
#include "engine/ir/arena.h"
#include "engine/prove/cells.h"
#include "engine/prove/model.h"

/** A walk over steps. `schedule` and `in_place` are the caller's; the rest is set by the functions below. */
struct ronde_accesses {
    const struct ronde_schedule *schedule;
    bool in_place;            /**< which placement the cells are about */
    struct ronde_view view;   /**< of the actor */
    struct ronde_cells cells; /**< of the actor */
    const struct ronde_step *step;
    struct ronde_operation does;
    uint32_t *source; /**< chunks of the step's source, in message order; stale if it reads none */
    uint32_t *destination; /**< the same of its destination */
};

/** What one item of a step accesses; RONDE_NONE where the step has no such operand. */
struct ronde_access {
    uint32_t source_chunk;
    uint32_t destination_chunk;
    uint32_t source;      /**< cell of the actor */
    uint32_t destination; /**< cell of the actor */
};

/** Room for the chunks of any step of the schedule; false when there is no memory. */
bool ronde_accesses_make(struct ronde_accesses *accesses, const struct ronde_schedule *schedule,
                         struct ronde_arena *arena);

/**
 * Where the cells of each actor begin in a table of the cells of all: `actors` + 1 entries, or NULL when there is no
 * memory. Cells that no step writes, those of an input that is read only, can be left out.
 */
uint64_t *ronde_accesses_bases(const struct ronde_model *model, uint32_t actors, bool has_inputs,
                               struct ronde_arena *arena);

/** Moves to an actor. Programs are shared, so what depends on the program alone is kept while that stays the same. */
static inline void ronde_accesses_enter(struct ronde_accesses *accesses, struct ronde_view view)
{
    if (accesses->view.program != view.program)
        accesses->cells = ronde_cells_of(accesses->schedule, view.program, view.position, view.rank);
    accesses->cells.position = view.position;
    accesses->cells.block = view.rank;
    accesses->view = view;
}

/** Moves to a step of the actor: lists the chunks of its operands. */
static inline void ronde_accesses_resolve(struct ronde_accesses *accesses, uint32_t index)
{
    const struct ronde_step *step = &accesses->view.program->steps[index];
    accesses->step = step;
    accesses->does = ronde_operation_of(step);
    if (accesses->does.reads)
        ronde_view_chunks(&accesses->view, step, true, accesses->cells.chunks[step->source],
                          accesses->source);
    if (accesses->does.writes)
        ronde_view_chunks(&accesses->view, step, false, accesses->cells.chunks[step->destination],
                          accesses->destination);
}

/** Cell of a chunk of the actor. */
static inline uint32_t ronde_accesses_cell(const struct ronde_accesses *accesses, uint8_t buffer,
                                           uint32_t chunk)
{
    return ronde_cell(accesses->schedule, &accesses->cells, accesses->in_place,
                      (enum ronde_buffer)buffer, chunk);
}

/** What an item of the step accesses. */
static inline struct ronde_access ronde_accesses_item(const struct ronde_accesses *accesses,
                                                      uint32_t item)
{
    const struct ronde_step *step = accesses->step;
    struct ronde_access access = {RONDE_NONE, RONDE_NONE, RONDE_NONE, RONDE_NONE};
    if (accesses->does.reads) {
        access.source_chunk = accesses->source[item];
        access.source = ronde_accesses_cell(accesses, step->source, access.source_chunk);
    }
    if (accesses->does.writes) {
        access.destination_chunk = accesses->destination[item];
        access.destination =
            ronde_accesses_cell(accesses, step->destination, access.destination_chunk);
    }
    return access;
}

/** Whether an item leaves memory as it is, see ronde_is_copy_onto_itself. */
static inline bool ronde_accesses_nothing(const struct ronde_accesses *accesses,
                                          struct ronde_access access)
{
    return ronde_is_copy_onto_itself(accesses->schedule, (enum ronde_step_op)accesses->step->op,
                                     access.source, access.destination);
}

#endif
