/**
 * Ranks with an emulated device, and what a stream of it promises: what is enqueued begins when all before it is over. Graphs
 * are captured and replayed.
 */
#ifndef RONDE_TESTS_API_STREAMED_H
#define RONDE_TESTS_API_STREAMED_H

#include "net/team.h"

#include "ronde/ronde.h"

/** Streams: their addresses are their names. */
extern char streamed_names[2];

/** All streams are being captured, in one graph. */
extern bool streamed_is_capturing;

/** Kernels are not started. */
extern bool streamed_is_lazy;

/** Kernels in the graph. */
uint32_t streamed_captured(void);

/** Enqueues what was captured, once more. Errors: NO_MEMORY. */
enum ronde_status streamed_replay(char *stream, struct ronde_error *error);

/** Waits until a stream is through. Errors: the device's. */
enum ronde_status streamed_synchronise(char *stream, struct ronde_error *error);

/** A rank with its device and a buffer there. */
struct streamed_rank {
    const struct team_member *member;
    struct ronde_comm *comm;
    int32_t *data;
    size_t count;
    uint32_t rank;
    uint32_t ranks;
};

/** Joins the team, takes the device, and memory there. On failure the caller closes all the same. */
enum ronde_status streamed_open(struct streamed_rank *rank, const struct team_member *member,
                                size_t count, struct ronde_error *error);

/** Takes other memory, which may outlive the communicator: an operation that is pending when that goes needs it. */
enum ronde_status streamed_own_memory(struct streamed_rank *rank, struct ronde_error *error);

/** Ends it. */
void streamed_close(struct streamed_rank *rank);

/** Copies to the device so far. */
uint64_t streamed_writes(void);

/** Runs so far in which others read this rank's buffers in place. */
uint64_t streamed_pulled(void);

#endif
