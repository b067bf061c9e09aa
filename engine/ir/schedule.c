/** The schedule object: shape queries, raw copies, life and death. */
#include "arena.h"
#include "finish.h"

#include <string.h>

uint32_t ronde_schedule_blocks(const struct ronde_schedule *schedule, bool is_input)
{
    return is_input ? ronde_collective_in_blocks(schedule->collective, schedule->ranks)
                    : ronde_collective_out_blocks(schedule->collective, schedule->ranks);
}

uint32_t ronde_schedule_chunks(const struct ronde_schedule *schedule,
                               const struct ronde_program *program, enum ronde_buffer buffer)
{
    if (buffer == RONDE_SCRATCH)
        return program->scratch_chunks;
    /* A caller of the builder may have meant any number. */
    if ((unsigned)buffer >= RONDE_BUFFER_COUNT)
        return 0;
    const uint32_t blocks = ronde_schedule_blocks(schedule, buffer == RONDE_IN);
    return blocks * schedule->chunks_per_block;
}

bool ronde_schedule_has_form(const struct ronde_schedule *schedule, bool in_place)
{
    if (schedule->form != RONDE_FORM_ANY)
        return in_place == (schedule->form == RONDE_FORM_IN_PLACE);
    return !in_place || ronde_collective_traits(schedule->collective)->has_in_place;
}

uint32_t ronde_schedule_source(const struct ronde_schedule *schedule, uint32_t rank)
{
    if (schedule->source_of)
        return schedule->source_of[rank];
    return rank == 0 ? schedule->ranks - 1 : rank - 1;
}

uint32_t ronde_program_lane(const struct ronde_program *program, uint32_t step)
{
    uint32_t low = 0, high = program->lane_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (program->lane_first[middle] <= step)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void ronde_schedule_destroy(struct ronde_schedule *schedule)
{
    if (schedule)
        ronde_arena_destroy(schedule->arena);
}

enum ronde_status ronde_raw_create(const struct ronde_mem *mem,
                                   struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    *out_schedule = NULL;
    struct ronde_arena *arena = ronde_arena_create(mem);
    struct ronde_schedule *schedule = arena ? ronde_arena_new(arena, 1, sizeof *schedule) : NULL;
    if (!schedule) {
        ronde_arena_destroy(arena);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for a schedule");
    }
    schedule->arena = arena;
    *out_schedule = schedule;
    return RONDE_OK;
}

/** Copies an array into an arena; false when there is no memory. NULL copies to NULL. */
static bool copy_array(struct ronde_arena *arena, void *out_copy, const void *array, size_t count,
                       size_t element_bytes)
{
    void *copy = NULL;
    if (array) {
        copy = ronde_arena_new(arena, count, element_bytes);
        if (!copy)
            return false;
        memcpy(copy, array, count * element_bytes);
    }
    memcpy(out_copy, &copy, sizeof copy);
    return true;
}

bool ronde_program_copy(struct ronde_arena *arena, struct ronde_program *copy,
                        const struct ronde_program *program)
{
    *copy = *program;
    copy->scratch_part = NULL;
    copy->scratch_parts = NULL;
    copy->scratch_parts_count = 0;
    copy->lowering = NULL;
    copy->spread = NULL;
    if (!copy_array(arena, &copy->steps, program->steps, program->step_count, sizeof *copy->steps))
        return false;
    for (uint32_t s = 0; s < copy->step_count; s++)
        copy->steps[s].flags &= (uint8_t) ~(RONDE_FLAG_JOINED | RONDE_FLAG_SPREAD);
    return copy_array(arena, &copy->lane_first, program->lane_first,
                      (size_t)program->lane_count + 1, sizeof *copy->lane_first) &&
           copy_array(arena, &copy->connections, program->connections, program->connection_count,
                      sizeof *copy->connections) &&
           copy_array(arena, &copy->dependencies, program->dependencies, program->dependency_count,
                      sizeof *copy->dependencies) &&
           copy_array(arena, &copy->ranges, program->ranges, program->range_count,
                      sizeof *copy->ranges);
}

static bool copy_channels(struct ronde_arena *arena, struct ronde_schedule *copy,
                          const struct ronde_schedule *schedule)
{
    copy->channels = ronde_arena_new(arena, schedule->channel_count, sizeof *schedule->channels);
    if (!copy->channels)
        return false;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        copy->channels[k].weight = schedule->channels[k].weight;
        copy->channels[k].position_of = NULL;
        if (!copy_array(arena, &copy->channels[k].order, schedule->channels[k].order,
                        schedule->ranks, sizeof(uint32_t)))
            return false;
    }
    return true;
}

static bool copy_programs(struct ronde_arena *arena, struct ronde_schedule *copy,
                          const struct ronde_schedule *schedule)
{
    copy->programs = ronde_arena_new(arena, schedule->program_count, sizeof *schedule->programs);
    if (!copy->programs)
        return false;
    for (uint32_t i = 0; i < schedule->program_count; i++)
        if (!ronde_program_copy(arena, &copy->programs[i], &schedule->programs[i]))
            return false;
    return true;
}

enum ronde_status ronde_raw_copy(const struct ronde_schedule *schedule, const struct ronde_mem *mem,
                                 struct ronde_schedule **out_schedule, struct ronde_error *error)
{
    struct ronde_schedule *copy = NULL;
    enum ronde_status status = ronde_raw_create(mem, &copy, error);
    *out_schedule = NULL;
    if (status != RONDE_OK)
        return status;
    struct ronde_arena *arena = copy->arena;
    *copy = *schedule;
    copy->arena = arena;
    memset(&copy->proof, 0, sizeof copy->proof);
    if (!copy_channels(arena, copy, schedule) || !copy_programs(arena, copy, schedule) ||
        !copy_array(arena, &copy->program_of, schedule->program_of, schedule->ranks,
                    sizeof(uint32_t)) ||
        !copy_array(arena, &copy->source_of, schedule->source_of, schedule->ranks,
                    sizeof(uint32_t))) {
        ronde_schedule_destroy(copy);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to copy a schedule");
    }
    *out_schedule = copy;
    return RONDE_OK;
}
