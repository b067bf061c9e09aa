/** Bytes of steps, for the step graph and for its quotient. */
#include "dag_index.h"
#include "engine/ir/arena.h"

#include "ronde/split.h"

#include <math.h>

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

double ronde_sized_ns_at(const struct ronde_sized_ns *sized, double bytes)
{
    if (sized->count == 0)
        return 0;
    uint32_t above = 0;
    while (above < sized->count && sized->bytes[above] < bytes)
        above++;
    if (above == 0 || sized->count == 1)
        return sized->ns[0];
    if (above == sized->count)
        above--;
    const double share =
        (bytes - sized->bytes[above - 1]) / (sized->bytes[above] - sized->bytes[above - 1]);
    return fmax(sized->ns[above - 1] + share * (sized->ns[above] - sized->ns[above - 1]), 0);
}

bool ronde_time_is_sized(const struct ronde_time_params *params)
{
    return params->send.count > 0 || params->receive.count > 0 || params->combine.count > 0 ||
           params->fresh.count > 0;
}

/* All others wait for the position at which it does. */
bool ronde_step_wraps(const struct ronde_schedule *schedule, const struct ronde_step *step,
                      uint8_t buffer)
{
    return step->chunk_count > 1 && buffer < RONDE_BUFFER_COUNT && schedule->rotates[buffer] &&
           schedule->symmetry == RONDE_SYMMETRY_ROTATE;
}

/* A message at one of its ends. */
static double end_ns(const struct ronde_time_params *params, const struct ronde_sized_ns *sized,
                     bool is_apart, bool is_copied, double bytes)
{
    double ns = ronde_sized_ns_at(sized, bytes);
    if (is_apart)
        ns += ronde_sized_ns_at(&params->send, bytes) + ronde_sized_ns_at(&params->receive, bytes);
    return is_copied && params->gamma_GBps > 0 ? ns + bytes / params->gamma_GBps : ns;
}

double ronde_time_sized_ns(const struct ronde_time_params *params,
                           const struct ronde_schedule *schedule, const struct ronde_step *step,
                           double bytes)
{
    const enum ronde_step_op op = (enum ronde_step_op)step->op;
    const bool is_from_apart = step->flags & RONDE_FLAG_SOURCE_RANGE;
    const bool is_to_apart = step->flags & RONDE_FLAG_DESTINATION_RANGE;
    double ns = 0;
    if (ronde_step_sends(op))
        ns += end_ns(params, &params->send, is_from_apart,
                     is_from_apart || ronde_step_wraps(schedule, step, step->source), bytes);
    if (ronde_step_receives(op))
        ns += end_ns(params, &params->receive, is_to_apart,
                     is_to_apart || ronde_step_wraps(schedule, step, step->destination), bytes);
    if (params->puts && ronde_step_receives(op) && !ronde_step_reduces(op) &&
        step->destination == RONDE_OUT)
        ns += ronde_sized_ns_at(&params->send, 0) + ronde_sized_ns_at(&params->receive, 0);
    if (ronde_step_reduces(op))
        ns += ronde_sized_ns_at(&params->combine, bytes);
    if (op == RONDE_STEP_COPY && params->gamma_GBps > 0)
        ns += bytes / params->gamma_GBps;
    return ns;
}
