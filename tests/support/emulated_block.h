/**
 * A block of hw/cuda/block.h compiled for the CPU, its movers one after another.
 */
#ifndef RONDE_TESTS_EMULATED_BLOCK_H
#define RONDE_TESTS_EMULATED_BLOCK_H

#include "hw/cuda/job.h"

/** Begins a block's part of a run; free() ends it. NULL when there is no memory. */
struct emulated_block *emulated_block_open(const struct ronde_job *job, uint32_t index,
                                           uint32_t movers, uint32_t room_bytes);

/**
 * Has a mover wait for a line that is never sent, in a run that was aborted. Returns, with the value it has set the run's
 * stop flag to, only because movers poll it.
 */
uint32_t emulated_block_await_nothing(void);

/** Polls its lanes once. Whether its part is over. */
bool emulated_block_turn(struct emulated_block *block);

#endif
