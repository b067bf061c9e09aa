/** A word-wise 64-bit hash (splitmix64 finaliser per word); connections enter by content, not by index. */
#include "finish.h"

#include "ronde/mix.h"

static uint64_t take(uint64_t hash, uint64_t word)
{
    return ronde_mix64(hash ^ (word + RONDE_MIX_STEP));
}

static uint64_t take_operand(uint64_t hash, const struct ronde_program *program, uint8_t buffer,
                             uint32_t chunk, bool is_range)
{
    hash = take(hash, (uint64_t)buffer << 40 | (uint64_t)is_range << 32 | (is_range ? 0 : chunk));
    if (!is_range)
        return hash;
    const struct ronde_range *range = &program->ranges[chunk];
    hash = take(hash, (uint64_t)range->first << 32 | range->count);
    return take(hash, (uint64_t)range->run << 32 | range->stride);
}

static uint64_t take_end(uint64_t hash, const struct ronde_program *program, uint32_t end)
{
    if (end == RONDE_NONE)
        return take(hash, RONDE_NONE);
    return take(hash,
                (uint64_t)program->connections[end].peer << 32 | program->connections[end].tag);
}

static uint64_t take_step(uint64_t hash, const struct ronde_program *program,
                          const struct ronde_step *step)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    hash = take(hash, (uint64_t)step->op << 32 | step->chunk_count);
    if (ronde_step_reads_source(op))
        hash = take_operand(hash, program, step->source, step->source_chunk,
                            step->flags & RONDE_FLAG_SOURCE_RANGE);
    if (ronde_step_writes(op))
        hash = take_operand(hash, program, step->destination, step->destination_chunk,
                            step->flags & RONDE_FLAG_DESTINATION_RANGE);
    hash = take_end(hash, program, ronde_step_receives(op) ? step->receive : RONDE_NONE);
    hash = take_end(hash, program, ronde_step_sends(op) ? step->send : RONDE_NONE);
    hash = take(hash, step->dependency_count);
    for (uint32_t i = 0; i < step->dependency_count; i++)
        hash = take(hash, program->dependencies[step->first_dependency + i]);
    return hash;
}

static uint64_t take_program(uint64_t hash, const struct ronde_program *program)
{
    hash = take(hash, (uint64_t)program->step_count << 32 | program->lane_count);
    hash = take(hash, program->scratch_chunks);
    for (uint32_t lane = 0; lane < program->lane_count; lane++)
        hash = take(hash, program->lane_first[lane]);
    for (uint32_t i = 0; i < program->step_count; i++)
        hash = take_step(hash, program, &program->steps[i]);
    return hash;
}

uint64_t ronde_schedule_hash(const struct ronde_schedule *schedule)
{
    uint64_t hash = take(0, (uint64_t)schedule->collective << 32 | schedule->ranks);
    hash = take(hash, (uint64_t)schedule->root << 32 | schedule->chunks_per_block);
    uint64_t bits = (uint64_t)schedule->symmetry << 8 | (uint64_t)schedule->absolute_peers << 4 |
                    (uint64_t)schedule->allow_dead_work << 5 | (uint64_t)schedule->clobbers << 6 |
                    (uint64_t)schedule->is_unscaled << 7 | (uint64_t)schedule->form << 16;
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++)
        bits |= (uint64_t)schedule->rotates[buffer] << buffer;
    hash = take(hash, bits);
    for (uint32_t i = 0; i < schedule->shape_count && i < RONDE_MAX_SHAPE; i++)
        hash = take(hash, schedule->shape[i]);
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        hash = take(hash, schedule->channels[k].weight);
        for (uint32_t q = 0; schedule->channels[k].order && q < schedule->ranks; q++)
            hash = take(hash, schedule->channels[k].order[q]);
    }
    for (uint32_t p = 0; schedule->program_of && p < schedule->ranks; p++)
        hash = take(hash, schedule->program_of[p]);
    for (uint32_t r = 0; schedule->source_of && r < schedule->ranks; r++)
        hash = take(hash, schedule->source_of[r]);
    for (uint32_t i = 0; i < schedule->program_count; i++)
        hash = take_program(hash, &schedule->programs[i]);
    return hash;
}
