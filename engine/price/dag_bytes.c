/** Bytes of steps, for the step graph and for its quotient. */
#include "dag_bytes.h"
#include "engine/ir/arena.h"

#include "ronde/split.h"

bool ronde_dag_sizes_make(const struct ronde_schedule *schedule, const struct ronde_load *load,
                          struct ronde_arena *arena, struct ronde_dag_sizes *out_sizes)
{
    const uint32_t dtype_bytes = ronde_dtype_bytes(load->dtype);
    out_sizes->schedule = schedule;
    out_sizes->piece_bytes =
        load->slot_bytes ? ronde_piece_bytes(schedule, load->slot_bytes) : UINT64_MAX;
    out_sizes->part_bytes =
        ronde_arena_new(arena, schedule->channel_count, sizeof *out_sizes->part_bytes);
    if (!out_sizes->part_bytes)
        return false;
    for (uint32_t k = 0; k < schedule->channel_count; k++) {
        const struct ronde_slice slice = ronde_slice_of(schedule, k, load->count, dtype_bytes);
        uint64_t *parts = ronde_arena_new(arena, slice.chunks, sizeof *parts);
        if (!parts)
            return false;
        for (uint32_t part = 0; part < slice.chunks; part++)
            parts[part] = ronde_slice_chunk(&slice, part).count * dtype_bytes;
        out_sizes->part_bytes[k] = parts;
    }
    return true;
}

/** Bytes of the piece of one chunk. */
static uint64_t chunk_piece_bytes(const struct ronde_dag_sizes *sizes, uint32_t channel,
                                  uint32_t chunk, uint32_t piece)
{
    const uint64_t bytes = sizes->part_bytes[channel][chunk % sizes->schedule->chunks_per_block];
    const uint64_t skip = piece * sizes->piece_bytes;
    const uint64_t left = bytes > skip ? bytes - skip : 0;
    return left < sizes->piece_bytes ? left : sizes->piece_bytes;
}

static bool says_part(uint8_t buffer)
{
    return buffer == RONDE_IN || buffer == RONDE_OUT;
}

/** Part of the block that an item holds which lies in scratch only, as the prover found it. */
static uint32_t scratch_part(const struct ronde_view *view, uint32_t step, uint32_t item)
{
    const struct ronde_program *program = view->program;
    const struct ronde_schedule *schedule = view->schedule;
    const uint32_t parts = schedule->chunks_per_block;
    const uint32_t part = program->scratch_parts[program->scratch_part[step] + item];
    /*
     * Collectives of one block rotate its parts with the position; a block per rank keeps its
     * parts.
     */
    return ronde_schedule_chunks(schedule, program, RONDE_IN) == parts
               ? ronde_view_shift(view, RONDE_IN, parts, part)
               : part;
}

uint64_t ronde_dag_operand_bytes(const struct ronde_dag_sizes *sizes, const struct ronde_view *view,
                                 uint32_t channel, uint32_t step, uint32_t piece)
{
    const struct ronde_step *what = &view->program->steps[step];
    const bool is_source = says_part(what->source);
    const enum ronde_buffer buffer =
        (enum ronde_buffer)(is_source ? what->source : what->destination);
    const uint32_t chunks = ronde_schedule_chunks(sizes->schedule, view->program, buffer);
    uint64_t bytes = 0;
    for (uint32_t item = 0; item < what->chunk_count; item++) {
        const uint32_t chunk = says_part((uint8_t)buffer)
                                   ? ronde_view_item(view, what, is_source, chunks, item)
                                   : scratch_part(view, step, item);
        bytes += chunk_piece_bytes(sizes, channel, chunk, piece);
    }
    return bytes;
}

bool ronde_dag_sizes_are_symmetric(const struct ronde_dag_sizes *sizes, uint32_t channel)
{
    const struct ronde_schedule *schedule = sizes->schedule;
    const uint64_t *parts = sizes->part_bytes[channel];
    /* With a block per rank it is whole blocks that trade places, and they are equally long. */
    if (schedule->chunks_per_block % schedule->ranks != 0)
        return true;
    const uint32_t stay = schedule->chunks_per_block / schedule->ranks;
    for (uint32_t part = stay; part < schedule->chunks_per_block; part++)
        if (parts[part] != parts[part - stay])
            return false;
    return true;
}

double ronde_dag_stage_ns(const struct ronde_time_params *params, bool reduces, uint64_t bytes)
{
    double stage_ns = 0;
    if (reduces && params->gamma_GBps > 0)
        stage_ns += (double)bytes / params->gamma_GBps;
    if (params->copy_GBps > 0)
        stage_ns += (double)bytes / params->copy_GBps;
    return stage_ns;
}
