/** Memory of a walk over steps. See accesses.h. */
#include "engine/prove/accesses.h"

bool ronde_accesses_make(struct ronde_accesses *accesses, const struct ronde_schedule *schedule,
                         struct ronde_arena *arena)
{
    accesses->schedule = schedule;
    accesses->source = ronde_arena_new(arena, schedule->max_chunk_count, sizeof(uint32_t));
    accesses->destination = ronde_arena_new(arena, schedule->max_chunk_count, sizeof(uint32_t));
    return accesses->source && accesses->destination;
}

uint64_t *ronde_accesses_bases(const struct ronde_model *model, uint32_t actors, bool has_inputs,
                               struct ronde_arena *arena)
{
    uint64_t *bases = ronde_arena_new(arena, (size_t)actors + 1, sizeof *bases);
    for (uint32_t actor = 0; bases && actor < actors; actor++) {
        const struct ronde_cells cells =
            ronde_cells_of(model->schedule, ronde_model_view(model, actor).program, 0, 0);
        bases[actor + 1] = bases[actor] + (has_inputs ? cells.total : cells.written);
    }
    return bases;
}
