/* What outputs hold in the end, against what the collective says they hold. See symbolic.h. */
#include "symbolic.h"

/** What an output chunk must hold. */
static struct ronde_value expected_value(const struct ronde_symbolic *symbolic, uint32_t rank,
                                         uint32_t chunk)
{
    const struct ronde_collective_traits *traits = symbolic->traits;
    const uint32_t parts = symbolic->schedule->chunks_per_block;
    struct ronde_value expected = {{0, 0}, 0, 0, 0};
    const uint32_t block = chunk / parts;
    if (traits->in_per_rank)
        expected.label = 1 + rank * parts + chunk % parts;
    else
        expected.label = 1 + (traits->out_per_rank ? chunk % parts : chunk);
    if (symbolic->schedule->collective == RONDE_SEND_RECV)
        expected.origin = ronde_schedule_source(symbolic->schedule, rank);
    else
        expected.origin =
            traits->in_at_root ? ronde_channel_rank(&symbolic->model->channel, 0) : block;
    return expected;
}

/** `value` is what the chunk of the current position's output holds in the end. */
static void check_output(struct ronde_symbolic *symbolic, const struct ronde_value *value,
                         uint32_t chunk)
{
    const struct ronde_view *view = &symbolic->accesses.view;
    const struct ronde_value expected = expected_value(symbolic, view->rank, chunk);
    const struct ronde_step_location place = {NULL, view->position, RONDE_NONE, chunk};
    const char *placement = symbolic->accesses.in_place ? " (in place)" : "";
    if (symbolic->schedule->collective == RONDE_SEND_RECV && expected.origin == RONDE_NONE) {
        if (value->label != 0)
            ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                       "the output of a rank that receives nothing is written%s", placement);
        return;
    }
    /* In place memory may hold a rank's own block already: then it counts as written. */
    if (value->label == 0)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output is never written%s", placement);
    else if (value->label != expected.label)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output ends with input chunk %u instead of %u%s", value->label - 1,
                   expected.label - 1, placement);
    else if (symbolic->traits->reduces && !ronde_symbolic_is_full(symbolic, value))
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output does not hold every rank's contribution once%s", placement);
    else if (!symbolic->traits->reduces && value->origin != expected.origin)
        ronde_find(symbolic->proof, RONDE_FINDING_WRONG_VALUE, place,
                   "the output comes from rank %u instead of %u%s", value->origin, expected.origin,
                   placement);
}

/** all_reduce: every rank must have combined in the same tree, or ranks differ in the last bits. */
static void compare_expressions(struct ronde_symbolic *symbolic, const struct ronde_value *value,
                                uint32_t chunk)
{
    if (symbolic->schedule->collective != RONDE_ALL_REDUCE)
        return;
    /* rotated expressions are relative to their block: all blocks of position 0 stand for all positions */
    const uint32_t parts = symbolic->accesses.cells.chunks[RONDE_OUT] / symbolic->schedule->ranks;
    const struct ronde_value *reference =
        &symbolic->cells[symbolic->is_relative ? chunk % parts : chunk];
    if (value->expression != reference->expression)
        symbolic->proof->rank_dependent_bits = true;
}

void ronde_symbolic_judge(struct ronde_symbolic *symbolic, const struct ronde_value *value,
                          uint32_t chunk)
{
    check_output(symbolic, value, chunk);
    compare_expressions(symbolic, value, chunk);
}
