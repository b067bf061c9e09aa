/**
 * Operations in streams of a device.
 *
 * A launch is prepared once for what all ranks know of a call: its kind, length, type and operator. For that they meet. Then it
 * is enqueued any number of times without a word to the others, with the buffers of each call: what is kept follows from
 * the calls and their order, which are the same on all ranks, and kernels find each other's messages by counting them. All
 * of this is done by the calling thread before the call returns, so that what the caller enqueues next in the stream
 * follows the operation.
 */
#ifndef RONDE_API_STREAM_H
#define RONDE_API_STREAM_H

#include "api/queue.h"

/** A launch that is kept. */
struct ronde_stream_launch {
    struct ronde_kind kind;               /**< source_of is the schedule's */
    struct ronde_shared_schedule *shared; /**< NULL = nothing is loaded */
    void *program;
    uint64_t count;   /**< elements of a block, */
    uint32_t dtype;   /**< their type, */
    uint32_t op;      /**< and operator */
    bool is_prepared; /**< on all ranks, and may be enqueued again */
    bool is_captured; /**< in a graph, which may be replayed at any time: it stays */
    uint64_t used;    /**< when, counted in calls */
    uint64_t mark;    /**< of the last run */
    uint32_t pending; /**< operations */
};

/** A communicator's device. Of who drives. */
struct ronde_streams {
    void *cuda; /**< the backend */
    struct ronde_stream_launch kept[RONDE_KEPT_PROGRAMS];
    uint64_t calls;
    const void *stream;               /**< of the last call that was not captured */
    struct ronde_stream_launch *last; /**< what it enqueued; NULL = nothing that is still pending */
};

/** Enqueues a request that is not pending yet, and makes it so. Errors: UNAVAILABLE without a device; those of the launch. */
enum ronde_status ronde_stream_start(struct ronde_request *request, struct ronde_error *error);

/** Looks whether the first operation, which is in a stream, is over, and ends it. */
bool ronde_stream_advance(struct ronde_request *request);

/** Unloads what was loaded for a collective, unless graphs have it, and finds none of it again. Nothing is pending. */
void ronde_streams_drop(struct ronde_queue *queue, enum ronde_collective collective);

/** Ends what is in streams, as the communicator has failed. */
void ronde_streams_stop(struct ronde_queue *queue);

/** Unloads all and closes the device; nothing where there is none. */
void ronde_streams_close(struct ronde_queue *queue);

#endif
