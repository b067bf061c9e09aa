/**
 * Pieces that a pipelined schedule is cut into by default.
 *
 * A rank of a tree or a chain passes on what it receives: in one piece every level waits for the whole block of the one
 * before, which no library does.
 */
#ifndef RONDE_PIECES_H
#define RONDE_PIECES_H

#include "ronde/dag.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pieces of a chunk at most: beyond, a pipeline of any usual depth is full, and replays only take longer. */
#define RONDE_MOST_DEFAULT_PIECES 128u

/**
 * Whether some lane passes a chunk on as it comes over a connection that carries nothing else, as in trees and chains and in
 * trees between nodes, so that its pieces overlap. Where a connection carries several chunks after each other (all_gather's
 * ring) these overlap already; where ranks exchange what they have, a piece waits for the answer to the one before; where
 * they halve or double what they send there is nothing to overlap.
 */
RONDE_API bool ronde_schedule_is_pipelined(const struct ronde_schedule *schedule);

/**
 * Slot bytes as NCCL cuts such a schedule, for blocks of so many bytes: its Simple protocol's step of 512 KiB, halved down
 * to 32 KiB while there are fewer than 4 pieces for each level of a tree of these ranks (enqueue.cc), to 128 where rings
 * inside nodes come before trees between them; doubled beyond RONDE_MOST_DEFAULT_PIECES pieces. A synthesised schedule
 * (RONDE_SYNTHESIZED) has at least 48 of each of its chunks and, where its messages are few, 16 for each of those in a row,
 * as far as slots of 32 KiB give them. 0 = one piece: what is not pipelined, or a block of no more than a piece.
 */
RONDE_API uint64_t ronde_pipeline_slot(const struct ronde_schedule *schedule, uint64_t block_bytes);

/** Gives a load without slots those of ronde_pipeline_slot: the default of every prediction. */
RONDE_API void ronde_load_cut(struct ronde_load *load, const struct ronde_schedule *schedule);

#ifdef __cplusplus
}
#endif
#endif
