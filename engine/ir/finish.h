/**
 * Finishing a schedule, for the makers of raw schedules (builder, text reader) and for tests.
 *
 * A raw schedule has programs, channels and a header filled in by its maker; everything that check, prove and lower
 * find is still empty. ronde_finish_raw is the only function that fills it in.
 */
#ifndef RONDE_ENGINE_IR_FINISH_H
#define RONDE_ENGINE_IR_FINISH_H

#include "engine/prove/model.h"

#include "ronde/ir.h"

/** Creates an empty raw schedule with its arena. Errors: NO_MEMORY. */
enum ronde_status ronde_raw_create(const struct ronde_mem *mem,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error);

/** Copies a program into an arena, without what proofs and lowering have found; false when there is no memory. */
bool ronde_program_copy(struct ronde_arena *arena, struct ronde_program *copy,
                        const struct ronde_program *program);

/** Deep copy without the derived fields, to be changed and finished again (mutation tests). */
enum ronde_status ronde_raw_copy(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                                 struct ronde_schedule **out_schedule, struct ronde_error *error);

/**
 * Fills in derived fields (sums, maxima, inverse orders, hash), checks, proves and lowers. The schedule stays the
 * caller's, who destroys it on failure. Errors: NO_MEMORY; REJECTED with the first finding as message.
 */
enum ronde_status ronde_finish_raw(struct ronde_schedule *schedule, struct ronde_proof *out_proof,
                                   struct ronde_error *error);

/**
 * Fills in the derived fields only and claims a minimum depth: what the mutation test runs on `host` to see whether a
 * mutant misbehaves. Errors: NO_MEMORY; REJECTED when it is not even well-formed (bounds), so that it cannot run.
 */
enum ronde_status ronde_finish_unproved(struct ronde_schedule *schedule, uint32_t min_depth,
                                        struct ronde_error *error);

/* The hash of a schedule's canonical content: equal hash, equal results bit for bit. */

/** Hash of everything that ronde_finish_raw does not derive, the algorithm's name left out. */
uint64_t ronde_schedule_hash(const struct ronde_schedule *schedule);

/* Lowering for zero-copy backends: reuse edges, post points, and which sends must go through a slot. A *reuse edge*
 * leads from the end of a receive to the first later step of the sender that overwrites the source. A *post point*
 * is the last earlier step of the receiver that touches the destination: from then on the sender may write there.
 * Where the reuse edges close a cycle, one send on it is marked `buffered`. All per program and per placement. */

/** A cell that a step reads which is joined to those around it. */
struct ronde_joined_read {
    uint32_t first; /**< of these steps */
    uint32_t item;  /**< of the step */
};

struct ronde_accesses;

/** Who reads what steps write (readers.c). */
struct ronde_readers {
    struct ronde_accesses *accesses; /**< of the rank that is visited, in a placement */
    uint32_t *reader; /**< per cell: of what it holds, as of the step that is visited */
    struct ronde_joined_read *joined; /**< per cell: the last such read */
};

/** Room for so many cells; false when there is no memory. */
bool ronde_readers_make(struct ronde_readers *readers, size_t cells, struct ronde_arena *arena);

/** Sets the JOINED flags that a program allows by itself. */
void ronde_readers_propose(struct ronde_program *program);

/** Visits a rank: sets is_read of its program's lowering and drops JOINED flags. `mine`: its steps in a topological order. */
void ronde_readers_visit(struct ronde_readers *readers, struct ronde_program *program,
                         const uint32_t *mine);

/** Notes the step that wrote what a send of one chunk sends, in a placement; spread[] is all NEVER before the first. */
void ronde_spread_note(struct ronde_program *program, uint32_t send, uint32_t writer);

/** Once all is noted and lowered: sets SPREAD flags and program->spread. `rooms`: per program, for a number per step. */
void ronde_spread_find(struct ronde_schedule *schedule, const struct ronde_model *model,
                       uint32_t *const *rooms);

/** Fills in program->lowering, program->spread, the BUFFERED, JOINED and SPREAD flags. `min_depth` as proved. Errors: NO_MEMORY. */
enum ronde_status ronde_lower(struct ronde_schedule *schedule, struct ronde_model *model,
                              uint32_t min_depth, struct ronde_error *error);

#endif
