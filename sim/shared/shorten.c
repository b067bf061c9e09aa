/*
 * Shortening a schedule. A ring on 16,384 ranks is one program of 32,767 steps, all but five of which are one of two:
 * receive, add, pass on; and receive, keep, pass on. How long it takes follows from how long a few of each take, and
 * those are got by leaving the others out of the program. What remains is no collective, but its steps send, wait and
 * take time as those of the whole do: sizes of passed-on messages come from where they started.
 */
#include "shorten.h"

#include "ronde/cursor.h"
#include "ronde/split.h"

#include <string.h>

/* Whether two neighbouring steps differ in nothing but their chunks. */
static bool is_alike(const struct ronde_step *a, const struct ronde_step *b)
{
    return a->op == b->op && a->source == b->source && a->destination == b->destination &&
           a->flags == b->flags && a->chunk_count == b->chunk_count && a->send == b->send &&
           a->receive == b->receive;
}

/* Whether what a step sends is what the same step of a peer receives: then both go when it does. */
static bool closes_on_itself(const struct ronde_schedule *schedule,
                             const struct ronde_program *program, const struct ronde_step *step)
{
    if (step->send == RONDE_NONE || step->receive == RONDE_NONE)
        return false;
    const struct ronde_connection *send = &program->connections[step->send];
    const struct ronde_connection *receive = &program->connections[step->receive];
    return send->tag == receive->tag && ronde_group_negate(schedule, send->peer) == receive->peer;
}

/* Whether a step waits for another lane or another lane waits for it. */
static bool is_tied(const struct ronde_program *program, uint32_t index)
{
    bool is_tied = program->steps[index].dependency_count > 0;
    for (uint32_t i = 0; i < program->dependency_count && !is_tied; i++)
        is_tied = program->dependencies[i] == index;
    return is_tied;
}

/* Length of the run of steps from `first` on that are alike and free, before the end of its lane. */
static uint32_t run_length(const struct ronde_program *program, uint32_t first, uint32_t end)
{
    uint32_t length = 1;
    if (is_tied(program, first))
        return length;
    while (first + length < end &&
           is_alike(&program->steps[first], &program->steps[first + length]) &&
           !is_tied(program, first + length))
        length++;
    return length;
}

uint32_t ronde_sim_phases(const struct ronde_schedule *schedule, uint32_t least,
                          struct ronde_sim_phase *out_phases)
{
    uint32_t count = 0;
    if (schedule->symmetry == RONDE_SYMMETRY_NONE || schedule->program_count != 1 ||
        schedule->absolute_peers)
        return 0;
    const struct ronde_program *program = &schedule->programs[0];
    for (uint32_t lane = 0; lane < program->lane_count; lane++) {
        const uint32_t end = program->lane_first[lane + 1];
        uint32_t length;
        for (uint32_t step = program->lane_first[lane]; step < end; step += length) {
            length = run_length(program, step, end);
            if (length > least && count < RONDE_SIM_MAX_PHASES &&
                closes_on_itself(schedule, program, &program->steps[step]))
                out_phases[count++] = (struct ronde_sim_phase){lane, step, length};
        }
    }
    return count;
}

/* What is cut: phases in ascending order of their steps, as they are found. */
struct cut {
    const struct ronde_sim_phase *phases;
    const uint32_t *lengths;
    uint32_t count;
};

/* Place of a step in the shortened program; for one that is left out, that of the next one that stays. */
static uint32_t new_place(const struct cut *cut, uint32_t step)
{
    uint32_t removed = 0;
    for (uint32_t i = 0; i < cut->count; i++) {
        const uint32_t keep_end = cut->phases[i].first + cut->lengths[i];
        const uint32_t end = cut->phases[i].first + cut->phases[i].length;
        if (step > keep_end)
            removed += (step < end ? step : end) - keep_end;
    }
    return step - removed;
}

/* Moves what stays between two cuts in one go. */
static void copy_steps(const struct ronde_program *from, struct ronde_program *to,
                       const struct cut *cut)
{
    uint32_t begin = 0;
    for (uint32_t i = 0; i <= cut->count; i++) {
        const bool is_last = i == cut->count;
        const uint32_t end = is_last ? from->step_count : cut->phases[i].first + cut->lengths[i];
        const uint32_t place = new_place(cut, begin);
        memcpy(to->steps + place, from->steps + begin, (end - begin) * sizeof *to->steps);
        if (from->scratch_part)
            memcpy(to->scratch_part + place, from->scratch_part + begin,
                   (end - begin) * sizeof *to->scratch_part);
        begin = is_last ? end : cut->phases[i].first + cut->phases[i].length;
    }
}

bool ronde_sim_shorten(const struct ronde_schedule *schedule, const struct ronde_sim_phase *phases,
                       const uint32_t *lengths, uint32_t count, struct ronde_store *store,
                       struct ronde_sim_short *out_short)
{
    const struct cut cut = {phases, lengths, count};
    const struct ronde_program *from = &schedule->programs[0];
    struct ronde_program *to = &out_short->program;
    out_short->schedule = *schedule;
    out_short->schedule.programs = to;
    *to = *from;
    to->step_count = new_place(&cut, from->step_count);
    to->lowering = NULL;
    to->spread = NULL;
    to->steps = ronde_store_new(store, to->step_count, sizeof *to->steps);
    to->lane_first = ronde_store_new(store, to->lane_count + 1, sizeof *to->lane_first);
    to->dependencies = ronde_store_new(store, to->dependency_count, sizeof *to->dependencies);
    to->scratch_part =
        from->scratch_part ? ronde_store_new(store, to->step_count, sizeof *to->scratch_part) : NULL;
    if (store->is_short)
        return false;
    copy_steps(from, to, &cut);
    for (uint32_t lane = 0; lane <= from->lane_count; lane++)
        to->lane_first[lane] = new_place(&cut, from->lane_first[lane]);
    for (uint32_t i = 0; i < from->dependency_count; i++)
        to->dependencies[i] = new_place(&cut, from->dependencies[i]);
    return true;
}

uint64_t ronde_sim_pieces(const struct ronde_schedule *schedule, const struct ronde_load *load)
{
    return load->slot_bytes == 0
               ? 1
               : ronde_piece_count(schedule, load->count, ronde_dtype_bytes(load->dtype),
                                   load->slot_bytes);
}

struct ronde_load ronde_sim_fewer_pieces(const struct ronde_schedule *schedule,
                                         const struct ronde_load *load, uint64_t fewer)
{
    struct ronde_load shorter = *load;
    const uint64_t piece =
        ronde_piece_bytes(schedule, load->slot_bytes) / ronde_dtype_bytes(load->dtype);
    shorter.count -= fewer * piece * schedule->chunks_per_block * schedule->channel_count;
    return shorter;
}
