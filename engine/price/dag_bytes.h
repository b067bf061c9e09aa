/**
 * How many bytes a step moves: the split rule and the pieces, applied to the chunks of a step.
 */
#ifndef RONDE_ENGINE_PRICE_DAG_BYTES_H
#define RONDE_ENGINE_PRICE_DAG_BYTES_H

#include "ronde/cursor.h"
#include "ronde/dag.h"

struct ronde_arena;

/** The chunks of a load. */
struct ronde_dag_sizes {
    const struct ronde_schedule *schedule;
    uint64_t piece_bytes;  /**< of a full piece of one chunk; without slots more than any chunk */
    uint64_t **part_bytes; /**< per channel: bytes of each part of a block */
};

/** Works out the chunks of every channel; false when there is no memory. */
bool ronde_dag_sizes_make(const struct ronde_schedule *schedule, const struct ronde_load *load,
                          struct ronde_arena *arena, struct ronde_dag_sizes *out_sizes);

/**
 * Bytes of a piece of a step that receives nothing: the sum over the chunks of one of its operands,
 * at the rank of the view.
 */
uint64_t ronde_dag_operand_bytes(const struct ronde_dag_sizes *sizes, const struct ronde_view *view,
                                 uint32_t channel, uint32_t step, uint32_t piece);

/**
 * Whether the symmetry leaves the bytes of every step of a channel the same at all positions:
 * chunks it exchanges are equally long.
 */
bool ronde_dag_sizes_are_symmetric(const struct ronde_dag_sizes *sizes, uint32_t channel);

/** Time a step spends on its bytes before they flow: reduction and staging. */
double ronde_dag_stage_ns(const struct ronde_time_params *params, bool reduces, uint64_t bytes);

#endif
