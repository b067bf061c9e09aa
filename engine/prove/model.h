/**
 * What the prover runs: either every position of a schedule (expansion) or position 0 alone (quotient), whose messages
 * come back to it shifted by the offset they travelled.
 *
 * The model works in positions: channels differ only in their orders, and the definition of every collective follows
 * an order, so one proof holds for all channels. A step of several chunks sorts its message by absolute chunk, which an
 * order may change: such schedules are proved once per distinct order unless quotient.c shows that it does not
 * matter.
 */
#ifndef RONDE_ENGINE_PROVE_MODEL_H
#define RONDE_ENGINE_PROVE_MODEL_H

#include "cells.h"
#include "engine/ir/arena.h"
#include "findings.h"
#include "ronde/cursor.h"

/** Most steps of all positions that are proved one by one. */
#define RONDE_MAX_EXPANSION (1u << 23)

/** A step of an actor. */
struct ronde_event {
    uint32_t actor;
    uint32_t step;
};

struct ronde_model;

/**
 * An extra condition on steps, for lowering: the lane (global) that `step` of `actor` must wait for besides what the
 * contract demands, or RONDE_NONE.
 */
struct ronde_guard {
    uint32_t (*blocker)(const struct ronde_model *model, uint32_t actor, uint32_t step);
};

/** The machine of positions, lanes and connection ends. Ends and lanes of all actors are numbered through. */
struct ronde_model {
    const struct ronde_schedule *schedule;
    struct ronde_channel channel; /**< identity, or the order under proof */
    struct ronde_arena *arena;
    bool is_quotient;
    uint32_t actors;
    uint32_t *lane_base;    /**< per actor + 1: first lane */
    uint32_t *end_base;     /**< per actor + 1: first connection end */
    uint32_t *step_base;    /**< per actor + 1: first step */
    uint32_t *partner;      /**< per end: the other end */
    uint32_t *lane_of_end;  /**< per end: the lane that uses it */
    uint32_t *message_base; /**< per send end: its first message */
    uint64_t *item_base;    /**< per send end: its first message item (chunk) */
    uint32_t *place;        /**< quotient: per message item in the sender's order, which item of the
                                  connection it is to the receiver; NULL = the same (see quotient.c) */
    uint32_t message_count; /**< of all send ends */
    uint64_t item_count;    /**< of all send ends */
    uint32_t most_messages; /**< of any send end */
    struct ronde_event *order; /**< a topological order of all steps, filled in by a complete run */
    struct ronde_run *run;     /**< state of a run */
    const struct ronde_guard *guard; /**< NULL but while lowering */
    const void *guard_self;          /**< for the guard */
};

/** The program of an actor. */
static inline struct ronde_view ronde_model_view(const struct ronde_model *model, uint32_t actor)
{
    struct ronde_view view;
    view.schedule = model->schedule;
    view.channel = &model->channel;
    view.position = actor;
    view.rank = ronde_channel_rank(&model->channel, actor);
    view.program =
        &model->schedule
             ->programs[model->schedule->program_of ? model->schedule->program_of[actor] : 0];
    return view;
}

/** Where the k-th item that is put into a send end lies, so that the k-th one taken out is the receiver's k-th. */
static inline uint64_t ronde_model_item(const struct ronde_model *model, uint32_t end, uint64_t k)
{
    const uint64_t base = model->item_base[end];
    return base + (model->place ? model->place[base + k] : k);
}

/** The place of an actor's step, for findings. */
static inline struct ronde_step_location
ronde_model_place(const struct ronde_model *model, uint32_t actor, uint32_t step, uint32_t chunk)
{
    const struct ronde_view view = ronde_model_view(model, actor);
    return (struct ronde_step_location){view.program, actor, step, chunk};
}

/**
 * Builds the model and pairs the connection ends; unpaired ones become findings. `order` is the channel order under
 * proof (NULL = identity). Owner: ronde_model_destroy. Errors: NO_MEMORY.
 */
enum ronde_status ronde_model_create(const struct ronde_schedule *schedule, bool is_quotient,
                                     const struct ronde_channel *channel,
                                     const struct ronde_mem *mem, struct ronde_proof *proof,
                                     struct ronde_model *out_model, struct ronde_error *error);

/** Frees what create took. */
void ronde_model_destroy(struct ronde_model *model);

/** Allocates what a run needs; part of create. False when there is no memory. */
bool ronde_model_make_run(struct ronde_model *model);

/**
 * Runs every step as soon as its lane, dependencies, message and slot allow; depth 0 is unlimited. Confluent: if one
 * order gets stuck, all do. Returns whether all steps ran; model->order then is a topological order.
 */
bool ronde_model_complete(struct ronde_model *model, uint32_t depth);

/** Goes on with an incomplete run after its guard has become weaker. */
bool ronde_model_resume(struct ronde_model *model);

/** Messages that have passed an end in the current run. */
uint32_t ronde_model_passed(const struct ronde_model *model, uint32_t end);

/**
 * After an incomplete run: the lane (global) that `lane` waits for, RONDE_NONE if it is over; *out_by_guard: whether
 * only the guard holds it.
 */
uint32_t ronde_model_blocker(struct ronde_model *model, uint32_t lane, bool *out_by_guard);

/** The step a lane (global) is at in the current run. */
struct ronde_event ronde_model_at(const struct ronde_model *model, uint32_t lane);

/** After an incomplete run: names a step that never ran and what it waits for. */
void ronde_model_explain(struct ronde_model *model, struct ronde_proof *proof);

/**
 * Splits model->order by actor: actor a's steps in topological order from out_steps[step_base[a]]. `dealt` holds one
 * zeroed counter per actor.
 */
void ronde_model_deal(const struct ronde_model *model, uint32_t *dealt, uint32_t *out_steps);

/** Least depth with which the run completes; it must complete without a limit. */
uint32_t ronde_model_min_depth(struct ronde_model *model);

#endif
