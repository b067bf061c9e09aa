/**
 * Memory cells of a rank: which chunks of its buffers are the same memory, in place and out of place.
 *
 * In place (NCCL): all_reduce, broadcast and reduce share the whole buffer; the input of all_gather and of gather's root
 * is its own block of the output; the output of reduce_scatter and of scatter's root is its own block of the input.
 * all_to_all and send_recv have no form in place: nothing is shared, and there is one placement to look at.
 */
#ifndef RONDE_ENGINE_PROVE_CELLS_H
#define RONDE_ENGINE_PROVE_CELLS_H

#include "engine/execute/operation.h"

/** Cells of one rank: output chunks, then scratch, then input. */
struct ronde_cells {
    uint32_t chunks[RONDE_BUFFER_COUNT]; /**< of each buffer */
    uint32_t total;                      /**< cells; an aliased input cell stays unused */
    uint32_t written; /**< cells that steps can write: all but those of an input that is read only, which come last */
    uint32_t position; /**< of the rank; 0 is the root */
    uint32_t block;    /**< the rank's own block: its number under the order in use */
    const struct ronde_collective_traits *traits; /**< of the collective: which buffers are
                                                       shared in place */
};

/** The cells of the rank at a position that runs a program and owns a block. */
static inline struct ronde_cells ronde_cells_of(const struct ronde_schedule *schedule,
                                                const struct ronde_program *program,
                                                uint32_t position, uint32_t block)
{
    struct ronde_cells cells;
    cells.total = 0;
    cells.position = position;
    cells.block = block;
    cells.traits = ronde_collective_traits(schedule->collective);
    for (unsigned buffer = 0; buffer < RONDE_BUFFER_COUNT; buffer++) {
        cells.chunks[buffer] = ronde_schedule_chunks(schedule, program, (enum ronde_buffer)buffer);
        cells.total += cells.chunks[buffer];
    }
    cells.written = schedule->clobbers ? cells.total : cells.total - cells.chunks[RONDE_IN];
    return cells;
}

/** Output chunk that shares memory with an input chunk in place, or RONDE_NONE. */
static inline uint32_t ronde_place_alias(const struct ronde_schedule *schedule,
                                         const struct ronde_cells *cells, uint32_t in_chunk)
{
    const struct ronde_collective_traits *traits = cells->traits;
    const uint32_t parts = schedule->chunks_per_block;
    const bool is_other = traits->has_root && cells->position != 0;
    if (!traits->has_in_place)
        return RONDE_NONE;
    if (traits->in_per_rank == traits->out_per_rank)
        return in_chunk;
    if (is_other)
        return RONDE_NONE;
    if (traits->out_per_rank)
        return cells->block * parts + in_chunk;
    return in_chunk / parts == cells->block ? in_chunk % parts : RONDE_NONE;
}

/** Input chunk that is there already in an output chunk in place, or RONDE_NONE: ronde_place_alias the other way round. */
static inline uint32_t ronde_place_origin(const struct ronde_schedule *schedule,
                                          const struct ronde_cells *cells, uint32_t out_chunk)
{
    const struct ronde_collective_traits *traits = cells->traits;
    const uint32_t parts = schedule->chunks_per_block;
    const bool is_other = traits->has_root && cells->position != 0;
    if (!traits->has_in_place || (traits->in_at_root && is_other))
        return RONDE_NONE;
    if (traits->in_per_rank == traits->out_per_rank)
        return out_chunk;
    if (is_other)
        return RONDE_NONE;
    if (traits->out_per_rank)
        return out_chunk / parts == cells->block ? out_chunk % parts : RONDE_NONE;
    return cells->block * parts + out_chunk;
}

/** Cell of a chunk. */
static inline uint32_t ronde_cell(const struct ronde_schedule *schedule,
                                  const struct ronde_cells *cells, bool in_place,
                                  enum ronde_buffer buffer, uint32_t chunk)
{
    if (buffer == RONDE_OUT)
        return chunk;
    if (buffer == RONDE_SCRATCH)
        return cells->chunks[RONDE_OUT] + chunk;
    const uint32_t alias = in_place ? ronde_place_alias(schedule, cells, chunk) : RONDE_NONE;
    return alias != RONDE_NONE ? alias
                               : cells->chunks[RONDE_OUT] + cells->chunks[RONDE_SCRATCH] + chunk;
}

/**
 * Whether a copy leaves memory as it is: in place, where nothing is scaled, a rank's own block is already there. Such a
 * copy is no access at all.
 */
static inline bool ronde_is_copy_onto_itself(const struct ronde_schedule *schedule,
                                             enum ronde_step_op op, uint32_t source_cell,
                                             uint32_t destination_cell)
{
    return ronde_op_is_in(op, RONDE_OPS_THAT_COPY) && source_cell == destination_cell &&
           (schedule->is_unscaled || !ronde_collective_traits(schedule->collective)->reduces);
}

#endif
