/**
 * Two walks over the order of a complete run: liveness backwards, which finds dead work, and accounting forwards.
 *
 * What is alive at the end are the outputs: all of them, or the root's where the collective has none elsewhere. A
 * step that stores into a live cell makes its source alive, and what it received; before the step the cell is dead,
 * unless the step also reads it (a reduction). Backwards a receiver comes before its sender, so a sender knows of
 * each item it sent whether anybody needs it. An item that was received dead is dead work: a finding, or counted
 * where the schedule allows it. On the quotient it counts once a rank.
 *
 * The critical path is counted in messages: a chain in which each was sent after the one before it had arrived, by
 * lanes, dependencies and connections. Time of both walks: steps and items; memory: a byte a cell and item, a number
 * a step.
 */
#include "proofs.h"

#include "engine/prove/accesses.h"

#include <string.h>

/** The backward walk. */
struct backward {
    const struct ronde_schedule *schedule;
    const struct ronde_model *model;
    struct ronde_proof *proof;
    struct ronde_accesses
        accesses; /**< out of place where it can be: in-place sharing only makes more alive */
    uint8_t *live_cells;
    uint64_t *cell_base;  /**< per actor */
    uint8_t *live_items;  /**< per message item, known once its receiver was seen */
    uint64_t *left_items; /**< per end: items not yet walked back over */
};

static void walk_item(struct backward *backward, struct ronde_event event, uint32_t item)
{
    const struct ronde_model *model = backward->model;
    const struct ronde_step *step = backward->accesses.step;
    const struct ronde_operation does = backward->accesses.does;
    const struct ronde_access access = ronde_accesses_item(&backward->accesses, item);
    const uint32_t base = model->end_base[event.actor];
    uint8_t *cells = backward->live_cells + backward->cell_base[event.actor];
    uint8_t is_live = 0;
    if (does.writes) {
        uint8_t *cell = &cells[access.destination];
        is_live = *cell;
        *cell = does.reads_destination ? is_live : 0;
    }
    if (does.sends) {
        const uint32_t end = base + step->send;
        is_live |= backward->live_items[ronde_model_item(model, end, --backward->left_items[end])];
    }
    if (does.receives) {
        const uint32_t end = base + step->receive;
        const uint64_t first = model->item_base[model->partner[end]];
        backward->live_items[first + --backward->left_items[end]] = is_live;
        backward->proof->dead_chunks += !is_live;
        if (!is_live && !backward->schedule->allow_dead_work)
            ronde_find(backward->proof, RONDE_FINDING_DEAD_WORK,
                       ronde_model_place(model, event.actor, event.step, RONDE_NONE),
                       "receives a chunk that reaches no output");
    }
    if (is_live && does.reads)
        cells[access.source] = 1;
}

static void walk_event(struct backward *backward, struct ronde_event event)
{
    ronde_accesses_enter(&backward->accesses, ronde_model_view(backward->model, event.actor));
    ronde_accesses_resolve(&backward->accesses, event.step);
    for (uint32_t item = backward->accesses.step->chunk_count; item-- > 0;)
        walk_item(backward, event, item);
}

/** Outputs are alive at the end; counts how many items each end has passed in all. */
static bool open_backward(struct backward *backward, struct ronde_arena *arena)
{
    const struct ronde_schedule *schedule = backward->schedule;
    const struct ronde_model *model = backward->model;
    const size_t ends = model->end_base[model->actors];
    backward->cell_base = ronde_accesses_bases(model, model->actors, true, arena);
    backward->live_items = ronde_arena_new(arena, model->item_count, 1);
    backward->left_items = ronde_arena_new(arena, ends, sizeof(uint64_t));
    if (!ronde_accesses_make(&backward->accesses, schedule, arena) || !backward->cell_base ||
        !backward->live_items || !backward->left_items)
        return false;
    backward->live_cells = ronde_arena_new(arena, backward->cell_base[model->actors], 1);
    if (!backward->live_cells)
        return false;
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_program *program = ronde_model_view(model, actor).program;
        if (!ronde_collective_traits(schedule->collective)->out_at_root || actor == 0)
            memset(backward->live_cells + backward->cell_base[actor], 1,
                   ronde_schedule_chunks(schedule, program, RONDE_OUT));
        for (uint32_t i = 0; i < program->step_count; i++) {
            const struct ronde_step *step = &program->steps[i];
            if (ronde_step_sends((enum ronde_step_op)step->op))
                backward->left_items[model->end_base[actor] + step->send] += step->chunk_count;
            if (ronde_step_receives((enum ronde_step_op)step->op))
                backward->left_items[model->end_base[actor] + step->receive] += step->chunk_count;
        }
    }
    return true;
}

enum ronde_status ronde_prove_liveness(const struct ronde_schedule *schedule,
                                       const struct ronde_model *model, struct ronde_proof *proof,
                                       struct ronde_error *error)
{
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    struct backward backward = {.schedule = schedule, .model = model, .proof = proof};
    backward.accesses.in_place = !ronde_schedule_has_form(schedule, false);
    enum ronde_status status = RONDE_OK;
    if (arena && open_backward(&backward, arena))
        for (uint32_t i = model->step_base[model->actors]; i-- > 0;)
            walk_event(&backward, model->order[i]);
    else
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to look for dead work");
    ronde_arena_destroy(arena);
    if (model->is_quotient)
        proof->dead_chunks *= schedule->ranks;
    return status;
}

/* --- accounting ---------------------------------------------------------------------------- */

static void count_program(const struct ronde_program *program, uint64_t positions,
                          struct ronde_proof *proof)
{
    uint64_t sent = 0, received = 0, reduced = 0, messages = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const struct ronde_step *step = &program->steps[i];
        const enum ronde_step_op op = (enum ronde_step_op)step->op;
        sent += ronde_step_sends(op) ? step->chunk_count : 0;
        received += ronde_step_receives(op) ? step->chunk_count : 0;
        reduced += ronde_step_reduces(op) ? step->chunk_count : 0;
        messages += ronde_step_sends(op);
    }
    proof->steps += program->step_count * positions;
    proof->messages += messages * positions;
    proof->sent_chunks_max = sent > proof->sent_chunks_max ? sent : proof->sent_chunks_max;
    proof->received_chunks_max =
        received > proof->received_chunks_max ? received : proof->received_chunks_max;
    proof->reduced_chunks_max =
        reduced > proof->reduced_chunks_max ? reduced : proof->reduced_chunks_max;
}

/** Longest chain of messages before each step and message. */
struct chain {
    uint32_t *steps;    /**< per step of all actors */
    uint32_t *messages; /**< per message */
    uint32_t *passed;   /**< per end */
    uint32_t longest;
};

static void extend_chain(const struct ronde_model *model, struct chain *chain,
                         struct ronde_event event)
{
    const struct ronde_program *program = ronde_model_view(model, event.actor).program;
    const struct ronde_step *step = &program->steps[event.step];
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    uint32_t *mine = chain->steps + model->step_base[event.actor];
    const uint32_t lane = ronde_program_lane(program, event.step);
    uint32_t depth = event.step > program->lane_first[lane] ? mine[event.step - 1] : 0;
    for (uint32_t i = 0; i < step->dependency_count; i++) {
        const uint32_t on = mine[program->dependencies[step->first_dependency + i]];
        depth = on > depth ? on : depth;
    }
    if (ronde_step_receives(op)) {
        const uint32_t end = model->end_base[event.actor] + step->receive;
        const uint32_t message =
            chain->messages[model->message_base[model->partner[end]] + chain->passed[end]++];
        depth = message > depth ? message : depth;
    }
    mine[event.step] = depth;
    if (ronde_step_sends(op)) {
        const uint32_t end = model->end_base[event.actor] + step->send;
        chain->messages[model->message_base[end] + chain->passed[end]++] = depth + 1;
        chain->longest = depth + 1 > chain->longest ? depth + 1 : chain->longest;
    }
}

enum ronde_status ronde_account(const struct ronde_schedule *schedule,
                                const struct ronde_model *model, struct ronde_proof *proof,
                                struct ronde_error *error)
{
    proof->steps = 0;
    proof->messages = 0;
    for (uint32_t actor = 0; actor < model->actors; actor++)
        count_program(ronde_model_view(model, actor).program,
                      model->is_quotient ? schedule->ranks : 1, proof);
    struct ronde_arena *arena = ronde_arena_create(ronde_arena_mem(schedule->arena));
    struct chain chain = {NULL, NULL, NULL, 0};
    const uint32_t steps = model->step_base[model->actors];
    if (arena) {
        chain.steps = ronde_arena_new(arena, steps, sizeof(uint32_t));
        chain.messages = ronde_arena_new(arena, model->message_count, sizeof(uint32_t));
        chain.passed = ronde_arena_new(arena, model->end_base[model->actors], sizeof(uint32_t));
    }
    const bool has_room = chain.steps && chain.messages && chain.passed;
    for (uint32_t i = 0; has_room && i < steps; i++)
        extend_chain(model, &chain, model->order[i]);
    proof->critical_path = chain.longest;
    ronde_arena_destroy(arena);
    return has_room ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory to account");
}
