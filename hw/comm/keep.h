/**
 * Copies that a rank keeps of what it sends, so that it waits for none of its readers.
 *
 * Who offers its own buffer is held up until the last reader has had its turn on a processor: with more ranks than
 * processors that is a round of switches in every run, which may take longer than the data. A copy in memory that all
 * ranks map is offered instead. All readers of an operand share one, so it costs one copy where slots cost one each, and
 * a root may be some runs ahead of its readers: the copies of so many runs have room.
 *
 * No counter says when the room of a run is free again: agreement does (agree.c). A rank that has begun a run has read
 * all there was in earlier ones, and nobody is further ahead of its neighbours than there is room.
 */
#ifndef RONDE_HW_COMM_KEEP_H
#define RONDE_HW_COMM_KEEP_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_comm;
struct ronde_comm_program;
struct ronde_launch;
struct ronde_schedule;

/** What offers a copy tells a distance instead of an address: no address of a process has this bit. */
#define RONDE_KEPT_BIT ((uint64_t)1 << 63)

/**
 * Runs whose copies have room. While a rank that was ahead by `lead` runs begins the next one, a neighbour may be reading
 * in the run it has last shown, which is lead + 1 back: room for lead + 2 is needed.
 */
#define RONDE_KEEP_RUNS 8u

/** Where a program keeps its copies. */
struct ronde_keep {
    unsigned char *rooms; /**< of all ranks, one after another; NULL: nothing is kept */
    uint32_t *copies; /**< per task and step that sends: twice the number of the copy it offers, and 1 if it makes it */
    uint32_t pitch;     /**< steps of a task in copies */
    uint32_t most;      /**< copies of a task in a piece */
    uint64_t run_bytes; /**< of the copies of a run, in the last launch that kept any */
    uint32_t run;       /**< the current one, modulo RONDE_KEEP_RUNS */
};

/** Bytes of the rooms of all ranks; 0 for a schedule whose messages are not kept. The same on all ranks. */
uint64_t ronde_keep_bytes(const struct ronde_comm *comm, const struct ronde_schedule *schedule);

/** Numbers the copies of a program that is loaded, if there are rooms. Errors: NO_MEMORY. */
enum ronde_status ronde_keep_open(struct ronde_comm_program *program, unsigned char *rooms,
                                  struct ronde_error *error);

/** Releases what open took, also after a failed open. */
void ronde_keep_close(struct ronde_comm_program *program);

/**
 * Decides for a launch that was prepared whether its messages are kept, and arranges the room. True if copies lie
 * elsewhere than before: those of earlier runs must have been read.
 */
bool ronde_keep_choose(struct ronde_comm_program *program, const struct ronde_launch *launch);

/** Turns to the room of the next run. */
void ronde_keep_turn(struct ronde_comm_program *program);

/** Copies what the step being executed offers, unless an earlier one has; returns what the offer tells. */
const unsigned char *ronde_keep_copy(const struct ronde_act *act, const unsigned char *start,
                                     uint64_t bytes);

#endif
