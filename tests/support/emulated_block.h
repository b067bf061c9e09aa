/**
 * A block of hw/cuda/block.h compiled for the CPU, its movers one after another.
 */
#ifndef RONDE_TESTS_EMULATED_BLOCK_H
#define RONDE_TESTS_EMULATED_BLOCK_H

#include "hw/cuda/job.h"

/** Begins a block's part of a run; free() ends it. NULL when there is no memory. */
struct emulated_block *emulated_block_open(const struct ronde_job *job,
                                           const struct ronde_given *given, uint32_t index,
                                           uint32_t movers, uint32_t room_bytes);

/** What a mover did that waited for a line. */
struct emulated_wait {
    uint32_t stop;      /**< what it has set the run's stop flag to */
    bool has_forwarded; /**< it has stored a line with the next message's flag */
};

/**
 * Has a mover wait for a line that is never sent, which it is to forward, in a run that was aborted. Returns only because
 * movers poll that.
 */
struct emulated_wait emulated_block_await_nothing(void);

/**
 * Whether a receiver that begins a run before its sender's counter counts the last run's message, whose lines it has had, takes
 * the next message that arrives in lines.
 */
bool emulated_block_hears_behind_a_late_counter(void);

/** Of the lines that blocks of this process store from now on, the `which`th gets lost; 0 = none. */
void emulated_block_lose_line(uint32_t which);

/** Whether steps are found in shared memory. */
bool emulated_block_has_program(const struct emulated_block *block);

/** What its movers have done so far. */
struct emulated_work {
    uint64_t moved_bytes; /**< read and written */
    uint64_t commands;
    uint64_t waits; /**< times that the deciding thread had no command to follow the last */
};

/** Of a block. */
struct emulated_work emulated_block_work(const struct emulated_block *block);

/** Polls its lanes once. Whether its part is over. */
bool emulated_block_turn(struct emulated_block *block);

#endif
