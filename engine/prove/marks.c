/** Tables and flags of the programs. See symbolic.h. */
#include "symbolic.h"

#include <string.h>

struct ronde_step_marks **ronde_marks_create(const struct ronde_schedule *schedule,
                                             struct ronde_arena *arena)
{
    struct ronde_step_marks **marks = ronde_arena_new(arena, schedule->program_count, sizeof *marks);
    for (uint32_t i = 0; marks && i < schedule->program_count; i++) {
        marks[i] = ronde_arena_new(arena, schedule->programs[i].step_count, sizeof *marks[i]);
        if (!marks[i])
            return NULL;
    }
    return marks;
}

static bool is_scratch_only(const struct ronde_step *step)
{
    const bool reads = ronde_step_reads_source((enum ronde_step_op)step->op);
    const bool writes = ronde_step_writes((enum ronde_step_op)step->op);
    return step->chunk_count > 0 && (!reads || step->source == RONDE_SCRATCH) &&
           (!writes || step->destination == RONDE_SCRATCH);
}

static bool make_parts(struct ronde_schedule *schedule, struct ronde_program *program)
{
    uint64_t count = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < program->step_count; i++)
        if (is_scratch_only(&program->steps[i])) {
            has_any = true;
            count += program->steps[i].chunk_count;
        }
    if (!has_any || program->scratch_parts)
        return count < RONDE_NONE;
    program->scratch_part = ronde_arena_new(schedule->arena, program->step_count, sizeof(uint32_t));
    program->scratch_parts = ronde_arena_new(schedule->arena, count, sizeof(uint32_t));
    if (!program->scratch_part || !program->scratch_parts || count >= RONDE_NONE)
        return false;
    program->scratch_parts_count = (uint32_t)count;
    memset(program->scratch_parts, 0xff, count * sizeof(uint32_t));
    uint32_t next = 0;
    for (uint32_t i = 0; i < program->step_count; i++) {
        const bool needs = is_scratch_only(&program->steps[i]);
        program->scratch_part[i] = needs ? next : RONDE_NONE;
        next += needs ? program->steps[i].chunk_count : 0;
    }
    return true;
}

bool ronde_marks_make_parts(struct ronde_schedule *schedule)
{
    bool is_made = true;
    for (uint32_t i = 0; i < schedule->program_count && is_made; i++)
        is_made = make_parts(schedule, &schedule->programs[i]);
    return is_made;
}

void ronde_marks_keep(struct ronde_schedule *schedule, struct ronde_step_marks *const *marks)
{
    for (uint32_t i = 0; i < schedule->program_count; i++) {
        struct ronde_program *program = &schedule->programs[i];
        for (uint32_t s = 0; s < program->step_count; s++) {
            struct ronde_step *step = &program->steps[s];
            step->flags &= (uint8_t) ~(RONDE_FLAG_RAW | RONDE_FLAG_FINAL);
            if (marks[i][s].raw == RONDE_MARK_YES)
                step->flags |= RONDE_FLAG_RAW;
            if (marks[i][s].final == RONDE_MARK_YES)
                step->flags |= RONDE_FLAG_FINAL;
        }
    }
}
