/**
 * Copies that a rank makes of what it sends, so that it waits for none of its readers.
 *
 * A rank that offers its own buffer waits until the last reader has been scheduled: with more ranks than processors that
 * is a round of context switches in every run, which may take longer than the data. A copy in memory that all ranks map is
 * offered instead. All readers of an operand share one, so it costs one copy where slots cost one each, and a root may be
 * some runs ahead of its readers: there is memory for the copies of so many runs.
 *
 * No counter says when the copies of a run may be overwritten: the handshake does (run_handshake.c). A rank that has begun
 * a run has read all messages of earlier ones, and no rank is further ahead of its peers than there are copies.
 *
 * What is too long for that has copies of its last pieces, where readers share them: one copy into memory where slots
 * would take one for each reader. A piece is copied once all readers have consumed the one that lay there, which the
 * counters of their connections say. That is one more edge from an earlier piece to a later one, so what was proved of a
 * piece still holds.
 */
#ifndef RONDE_HW_SHM_SEND_COPIES_H
#define RONDE_HW_SHM_SEND_COPIES_H

#include "ronde/mem.h"
#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_comm;
struct ronde_comm_program;
struct ronde_lane;
struct ronde_launch;
struct ronde_schedule;

/** An offer of a copy holds an offset instead of an address: no address of a process has this bit. */
#define RONDE_SEND_COPY_BIT ((uint64_t)1 << 63)

/**
 * Runs whose copies are held. While a rank that was ahead by `lead` runs begins the next one, a peer may be reading
 * in the run whose handshake record it has last published, which is lead + 1 back: lead + 2 are needed.
 */
#define RONDE_SEND_COPY_RUNS 8u

/** Where a program has its copies. */
struct ronde_send_copies {
    unsigned char *areas; /**< of all ranks, one after another; NULL: no copies are made */
    uint32_t *copies; /**< per task and step that sends: twice the number of the copy it offers, and 1 if it makes it */
    uint32_t *readers; /**< per task and step that makes a copy: how many sends offer it, this one and those right after it */
    bool is_shared; /**< some have several readers, and no connection has two messages in a piece: pieces may be held */
    uint32_t pitch;     /**< steps of a task in copies */
    uint32_t most;      /**< copies of a task in a piece */
    uint64_t run_bytes; /**< of the copies of a run, or of a piece, in the last launch that made any */
    uint32_t run;       /**< the current one, modulo RONDE_SEND_COPY_RUNS */
    uint32_t pieces;    /**< whose copies are held; 0: those of whole runs */
    uint32_t no_pull; /**< of the frame, were there no copies */
};

/** Bytes of the areas of all ranks; 0 for a schedule whose messages are not copied. The same on all ranks. */
uint64_t ronde_send_copies_bytes(const struct ronde_comm *comm,
                                 const struct ronde_schedule *schedule);

/** Numbers the copies of a program that is loaded, if there are areas. Errors: NO_MEMORY. */
enum ronde_status ronde_send_copies_open(struct ronde_comm_program *program, unsigned char *areas,
                                         struct ronde_error *error);

/** Releases what open took, also after a failed open. */
void ronde_send_copies_close(struct ronde_comm_program *program);

/** Before the next launch is prepared: the frame as it was without copies. */
void ronde_send_copies_undo(struct ronde_comm_program *program);

/**
 * Decides for a launch that was prepared whether its messages are copied, and lays the copies out. True if they lie
 * elsewhere than before: those of earlier runs must have been read.
 */
bool ronde_send_copies_choose(struct ronde_comm_program *program, const struct ronde_launch *launch);

/** Whether the next step of a lane may make its copy, if it makes one: whether its place is free. */
bool ronde_send_copies_may_copy(const struct ronde_comm_program *program,
                                const struct ronde_lane *lane);

/** Selects the memory of the next run's copies. */
void ronde_send_copies_next_run(struct ronde_comm_program *program);

/** Copies what the step being executed offers, unless an earlier one has; returns what the offer holds. */
const unsigned char *ronde_send_copies_copy(const struct ronde_act *act, const unsigned char *start,
                                            uint64_t bytes);

#endif
