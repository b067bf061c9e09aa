/**
 * Messages that a sender writes where the receiver keeps them, from process to process.
 *
 * The interpreter needs to know of a receiver what engine/aim.h asks: how far its lanes are, what of it others have yet to
 * read, and where its buffers lie. So lanes of processes count in shared memory; a sender loads the receiver's part of the
 * schedule once more, as a stand-in whose connections and counters are the receiver's own; and with its card a rank shows
 * where its buffers are, if they are registered: its welcome. Nobody writes to a rank before that rank has begun the same
 * run and welcomes it.
 *
 * A run that fails may leave ranks behind that have not heard of it and still write. They write into the heap they have
 * mapped, which outlives its owner; and the owner's heap hands nothing out again (ronde_heap_freeze), so what they write
 * hits nobody's new memory.
 */
#ifndef RONDE_HW_COMM_PUSH_H
#define RONDE_HW_COMM_PUSH_H

#include "ronde/status.h"

#include <stdbool.h>
#include <stdint.h>

struct ronde_act;
struct ronde_boxes;
struct ronde_comm_program;
struct ronde_habits;
struct ronde_launch;
struct ronde_offer;
struct ronde_reach;
struct ronde_schedule;
struct ronde_stand_in;
struct ronde_twin;
struct ronde_welcome;

/** What a program needs to push. */
struct ronde_push {
    struct ronde_welcome *welcomes; /**< of all ranks; NULL where no memory is shared */
    const struct ronde_boxes *boxes;
    struct ronde_reach *reach;
    bool has_results;                 /**< ranks send sums that are kept as they are */
    struct ronde_stand_in *stand_ins; /**< by neighbour; NULL until a run pushes */
    struct ronde_twin *twins;         /**< by connection end of the own part; likewise */
    uint64_t digest;                  /**< of the run's card, whatever its rank offers */
};

/** Bytes that the ranks of a host share for it; the same on all ranks. */
uint64_t ronde_push_bytes(const struct ronde_schedule *schedule);

/** Lets a program push through zeroed shared memory, which its lanes count in from now on. */
void ronde_push_open(struct ronde_comm_program *program, unsigned char *start,
                     const struct ronde_boxes *boxes, struct ronde_reach *reach);

/** Decides whether a launch is pushed whose buffers others may write, and from which share of a chunk on. */
void ronde_push_settle(const struct ronde_comm_program *program, const struct ronde_launch *launch,
                       struct ronde_habits *io_habits);

/** Gets ready for runs as the one that is prepared, whose card is filled in. Errors: NO_MEMORY. */
enum ronde_status ronde_push_prepare(struct ronde_comm_program *program, struct ronde_error *error);

/** Shows where this rank's buffers are, before its card. */
void ronde_push_welcome(const struct ronde_comm_program *program);

/** RONDE_TWIN (engine/machine.h): NULL until the receiver welcomes what the step sends. */
const struct ronde_twin *ronde_push_twin(const struct ronde_act *act);

/** RONDE_SEEN: of ranks that are pushed to. */
const unsigned char *ronde_push_seen(const struct ronde_act *act, const struct ronde_offer *offer);

/** Releases what prepare took. */
void ronde_push_close(struct ronde_comm_program *program);

#endif
