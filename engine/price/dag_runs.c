/**
 * Finds runs. Within one no step can change what is sent: in the lane nothing lies between, and a step of another lane
 * would have to be waited for, which only the first may.
 */
#include "dag_runs.h"

static bool has_same_source(const struct ronde_step *a, const struct ronde_step *b)
{
    const uint8_t kind = RONDE_FLAG_SOURCE_RANGE;
    return a->source == b->source && a->source_chunk == b->source_chunk &&
           (a->flags & kind) == (b->flags & kind);
}

static bool has_same_destination(const struct ronde_step *a, const struct ronde_step *b)
{
    const uint8_t kind = RONDE_FLAG_DESTINATION_RANGE;
    return a->destination == b->destination && a->destination_chunk == b->destination_chunk &&
           (a->flags & kind) == (b->flags & kind);
}

/** Whether a receive goes on adding to what it finds in its destination. */
static bool accumulates(const struct ronde_step *step)
{
    const bool is_range = step->flags & RONDE_FLAG_SOURCE_RANGE;
    return step->source == step->destination && step->source_chunk == step->destination_chunk &&
           is_range == !!(step->flags & RONDE_FLAG_DESTINATION_RANGE);
}

/** Whether two steps that follow one another in a lane move the same chunks, the second without waiting for a lane. */
static bool go_together(const struct ronde_step *first, const struct ronde_step *next,
                        enum ronde_step_op op)
{
    return first->op == op && next->op == op && next->dependency_count == 0 &&
           next->chunk_count > 0 && first->chunk_count == next->chunk_count;
}

static bool go_on_storing(const struct ronde_step *first, const struct ronde_step *next)
{
    return go_together(first, next, RONDE_STEP_SEND) && has_same_source(first, next);
}

static bool go_on_loading(const struct ronde_step *first, const struct ronde_step *next)
{
    return go_together(first, next, RONDE_STEP_RRC) && has_same_destination(first, next) &&
           accumulates(next);
}

/** Ends at the first step that does not go on with the one before it. */
static uint32_t run_end(const struct ronde_program *program, uint32_t first, uint32_t end)
{
    const struct ronde_step *steps = program->steps;
    uint32_t s = first + 1;
    while (s < end &&
           (go_on_storing(&steps[s - 1], &steps[s]) || go_on_loading(&steps[s - 1], &steps[s])))
        s++;
    return s;
}

uint32_t ronde_dag_find_runs(const struct ronde_program *program, struct ronde_dag_step *steps,
                             struct ronde_dag_run *runs)
{
    uint32_t count = 0;
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t end = program->lane_first[lane + 1];
        for (uint32_t s = program->lane_first[lane], next; s < end; s = next) {
            next = run_end(program, s, end);
            if (next - s < 2)
                continue;
            for (uint32_t member = s; member < next; member++)
                steps[member].run = count;
            runs[count++] = (struct ronde_dag_run){
                .first_step = s,
                .step_count = next - s,
                .is_load = program->steps[s].op == RONDE_STEP_RRC,
            };
        }
    }
    return count;
}
