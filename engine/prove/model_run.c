/**
 * Running the model: a worklist of lanes; what stays behind is a deadlock.
 *
 * A lane on the stack may be able to go on. It runs until a step lacks something. Where that is a dependency, or the
 * guard holds it, the lane is parked in the list of the lane that has to move first, whose next step wakes all in the
 * list. Where it is a message or a slot, the next message that passes the other end wakes it (pass_end). So a lane is
 * looked at again only after something has changed, and a run takes time in steps, not in steps times lanes. Which
 * lane is taken from the stack does not matter (ronde_model_complete). The order in which steps were done is kept: it
 * is a topological order of the step graph, and what the walks of the prover go through.
 *
 * The least depth is found by doubling and bisection, since more slots never hold a lane back.
 */
#include "model.h"

#include <string.h>

/** Counters of one run. */
struct ronde_run {
    uint32_t depth;   /**< slots, 0 = unlimited */
    uint32_t *next;   /**< per lane: the step it is at */
    uint32_t *passed; /**< per end: messages sent or received */
    uint32_t *stack;  /**< lanes that may be able to go on */
    uint32_t stack_count;
    bool *is_stacked;      /**< per lane */
    uint32_t *waiter;      /**< per lane: first lane that waits for it */
    uint32_t *next_waiter; /**< per lane: the next in that list */
    bool *is_parked;       /**< per lane: it is in such a list, and only in one */
    uint32_t done;         /**< steps */
};

bool ronde_model_make_run(struct ronde_model *model)
{
    struct ronde_run *run = ronde_arena_new(model->arena, 1, sizeof *run);
    if (!run)
        return false;
    const size_t lanes = model->lane_base[model->actors];
    const size_t ends = model->end_base[model->actors];
    run->next = ronde_arena_new(model->arena, lanes, sizeof *run->next);
    run->passed = ronde_arena_new(model->arena, ends, sizeof *run->passed);
    run->stack = ronde_arena_new(model->arena, lanes, sizeof *run->stack);
    run->is_stacked = ronde_arena_new(model->arena, lanes, sizeof *run->is_stacked);
    run->waiter = ronde_arena_new(model->arena, lanes, sizeof *run->waiter);
    run->next_waiter = ronde_arena_new(model->arena, lanes, sizeof *run->next_waiter);
    run->is_parked = ronde_arena_new(model->arena, lanes, sizeof *run->is_parked);
    if (!run->next || !run->passed || !run->stack || !run->is_stacked || !run->waiter ||
        !run->next_waiter || !run->is_parked)
        return false;
    model->run = run;
    return true;
}

static void wake(struct ronde_run *run, uint32_t lane)
{
    if (run->is_stacked[lane])
        return;
    run->is_stacked[lane] = true;
    run->stack[run->stack_count++] = lane;
}

static void start(struct ronde_model *model, uint32_t depth)
{
    struct ronde_run *run = model->run;
    const uint32_t lanes = model->lane_base[model->actors];
    run->depth = depth;
    run->done = 0;
    run->stack_count = 0;
    memset(run->passed, 0, model->end_base[model->actors] * sizeof *run->passed);
    memset(run->is_stacked, 0, lanes * sizeof *run->is_stacked);
    memset(run->waiter, 0xff, lanes * sizeof *run->waiter);
    memset(run->is_parked, 0, lanes * sizeof *run->is_parked);
    for (uint32_t actor = model->actors; actor-- > 0;) {
        const struct ronde_program *program = ronde_model_view(model, actor).program;
        for (uint32_t lane = program->lane_count; lane-- > 0;) {
            run->next[model->lane_base[actor] + lane] = program->lane_first[lane];
            wake(run, model->lane_base[actor] + lane);
        }
    }
}

/** An actor's lane with what is needed to judge its next step. */
struct runner {
    struct ronde_model *model;
    struct ronde_view view;
    uint32_t actor;
    uint32_t lane; /**< global */
};

/** The lane (global) a step still depends on, or RONDE_NONE. */
static uint32_t unmet_lane(const struct runner *runner, const struct ronde_step *step)
{
    const struct ronde_program *program = runner->view.program;
    const uint32_t base = runner->model->lane_base[runner->actor];
    for (uint32_t i = 0; i < step->dependency_count; i++) {
        const uint32_t on = program->dependencies[step->first_dependency + i];
        const uint32_t lane = base + ronde_program_lane(program, on);
        if (runner->model->run->next[lane] <= on)
            return lane;
    }
    return RONDE_NONE;
}

static bool has_message(const struct runner *runner, const struct ronde_step *step)
{
    const struct ronde_model *model = runner->model;
    if (!ronde_step_receives((enum ronde_step_op)step->op))
        return true;
    const uint32_t end = model->end_base[runner->actor] + step->receive;
    return model->run->passed[model->partner[end]] > model->run->passed[end];
}

static bool has_slot(const struct runner *runner, const struct ronde_step *step)
{
    const struct ronde_model *model = runner->model;
    if (!ronde_step_sends((enum ronde_step_op)step->op) || model->run->depth == 0)
        return true;
    const uint32_t end = model->end_base[runner->actor] + step->send;
    return model->run->passed[end] - model->run->passed[model->partner[end]] < model->run->depth;
}

static void pass_end(struct ronde_model *model, uint32_t end)
{
    model->run->passed[end]++;
    wake(model->run, model->lane_of_end[model->partner[end]]);
}

static void finish_step(const struct runner *runner, const struct ronde_step *step)
{
    struct ronde_model *model = runner->model;
    struct ronde_run *run = model->run;
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    model->order[run->done++] = (struct ronde_event){runner->actor, run->next[runner->lane]};
    run->next[runner->lane]++;
    if (ronde_step_receives(op))
        pass_end(model, model->end_base[runner->actor] + step->receive);
    if (ronde_step_sends(op))
        pass_end(model, model->end_base[runner->actor] + step->send);
    while (run->waiter[runner->lane] != RONDE_NONE) {
        const uint32_t waiter = run->waiter[runner->lane];
        run->waiter[runner->lane] = run->next_waiter[waiter];
        run->is_parked[waiter] = false;
        wake(run, waiter);
    }
}

/** The lane the guard makes a step wait for, or RONDE_NONE. */
static uint32_t guarding_lane(const struct runner *runner)
{
    const struct ronde_model *model = runner->model;
    return model->guard ? model->guard->blocker(model, runner->actor, model->run->next[runner->lane])
                        : RONDE_NONE;
}

/** Parks a lane until another has moved; a message that arrives meanwhile does not change what it waits for. */
static void park(struct ronde_run *run, uint32_t lane, uint32_t behind)
{
    run->is_parked[lane] = true;
    run->next_waiter[lane] = run->waiter[behind];
    run->waiter[behind] = lane;
}

/** Runs a lane until it has to wait. */
static void run_lane(const struct runner *runner)
{
    struct ronde_run *run = runner->model->run;
    const struct ronde_program *program = runner->view.program;
    const uint32_t local = runner->lane - runner->model->lane_base[runner->actor];
    while (!run->is_parked[runner->lane] &&
           run->next[runner->lane] < program->lane_first[local + 1]) {
        const struct ronde_step *step = &program->steps[run->next[runner->lane]];
        const uint32_t unmet = unmet_lane(runner, step);
        if (unmet != RONDE_NONE) {
            park(run, runner->lane, unmet);
            return;
        }
        if (!has_message(runner, step) || !has_slot(runner, step))
            return;
        const uint32_t guard = guarding_lane(runner);
        if (guard != RONDE_NONE) {
            park(run, runner->lane, guard);
            return;
        }
        finish_step(runner, step);
    }
}

/** The actor of a global lane, by binary search. */
static uint32_t actor_of_lane(const struct ronde_model *model, uint32_t lane)
{
    uint32_t low = 0, high = model->actors;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (model->lane_base[middle] <= lane)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct runner runner_of(struct ronde_model *model, uint32_t lane)
{
    const uint32_t actor = actor_of_lane(model, lane);
    return (struct runner){model, ronde_model_view(model, actor), actor, lane};
}

/** Runs until no lane can go on. */
static bool work_off(struct ronde_model *model)
{
    struct ronde_run *run = model->run;
    while (run->stack_count > 0) {
        const uint32_t lane = run->stack[--run->stack_count];
        run->is_stacked[lane] = false;
        const struct runner runner = runner_of(model, lane);
        run_lane(&runner);
    }
    return run->done == model->step_base[model->actors];
}

bool ronde_model_complete(struct ronde_model *model, uint32_t depth)
{
    start(model, depth);
    return work_off(model);
}

bool ronde_model_resume(struct ronde_model *model)
{
    struct ronde_run *run = model->run;
    const uint32_t lanes = model->lane_base[model->actors];
    memset(run->waiter, 0xff, lanes * sizeof *run->waiter);
    memset(run->is_parked, 0, lanes * sizeof *run->is_parked);
    for (uint32_t lane = lanes; lane-- > 0;)
        wake(run, lane);
    return work_off(model);
}

uint32_t ronde_model_passed(const struct ronde_model *model, uint32_t end)
{
    return model->run->passed[end];
}

struct ronde_event ronde_model_at(const struct ronde_model *model, uint32_t lane)
{
    return (struct ronde_event){actor_of_lane(model, lane), model->run->next[lane]};
}

uint32_t ronde_model_blocker(struct ronde_model *model, uint32_t lane, bool *out_by_guard)
{
    const struct runner runner = runner_of(model, lane);
    const struct ronde_program *program = runner.view.program;
    const uint32_t local = lane - model->lane_base[runner.actor];
    const uint32_t next = model->run->next[lane];
    *out_by_guard = false;
    if (next >= program->lane_first[local + 1])
        return RONDE_NONE;
    const struct ronde_step *step = &program->steps[next];
    const uint32_t base = model->end_base[runner.actor];
    const uint32_t unmet = unmet_lane(&runner, step);
    if (unmet != RONDE_NONE)
        return unmet;
    if (!has_message(&runner, step))
        return model->lane_of_end[model->partner[base + step->receive]];
    if (!has_slot(&runner, step))
        return model->lane_of_end[model->partner[base + step->send]];
    *out_by_guard = true;
    return guarding_lane(&runner);
}

void ronde_model_explain(struct ronde_model *model, struct ronde_proof *proof)
{
    for (uint32_t actor = 0; actor < model->actors; actor++) {
        const struct ronde_view view = ronde_model_view(model, actor);
        for (uint32_t lane = 0; lane < view.program->lane_count; lane++) {
            const uint32_t global = model->lane_base[actor] + lane;
            const uint32_t next = model->run->next[global];
            if (next >= view.program->lane_first[lane + 1])
                continue;
            const struct ronde_step *step = &view.program->steps[next];
            const struct runner runner = {model, view, actor, global};
            const bool is_dependency = unmet_lane(&runner, step) != RONDE_NONE;
            ronde_find(proof, RONDE_FINDING_CYCLE,
                       (struct ronde_step_location){view.program, actor, next, RONDE_NONE},
                       "%s never starts: it waits for %s",
                       ronde_step_op_text((enum ronde_step_op)step->op),
                       is_dependency ? "a dependency" : "a message");
            return;
        }
    }
}

uint32_t ronde_model_min_depth(struct ronde_model *model)
{
    uint32_t low = 0, high = 1; /* low fails (0 slots), high is tried */
    bool is_complete = ronde_model_complete(model, high);
    while (!is_complete && high < model->most_messages) {
        low = high;
        high = high > model->most_messages / 2 ? model->most_messages : high * 2;
        is_complete = ronde_model_complete(model, high);
    }
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        is_complete = ronde_model_complete(model, middle);
        if (is_complete)
            high = middle;
        else
            low = middle;
    }
    /* What comes next reads the order of a whole run, and the last try may have been one that stalled. */
    if (!is_complete)
        (void)ronde_model_complete(model, high);
    return high;
}

void ronde_model_deal(const struct ronde_model *model, uint32_t *dealt, uint32_t *out_steps)
{
    const uint32_t steps = model->step_base[model->actors];
    for (uint32_t i = 0; i < steps; i++) {
        const struct ronde_event event = model->order[i];
        out_steps[model->step_base[event.actor] + dealt[event.actor]++] = event.step;
    }
}
