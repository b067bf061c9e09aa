/**
 * Operations in streams of a device.
 *
 * A launch on a device is prepared together with its buffers, for which all ranks meet; after that it is enqueued any number
 * of times. So launches are kept with their buffers. Whether a call is one that is kept is a question to all ranks, since
 * each has buffers of its own: an all_reduce of 32 bytes on the host answers it. All of this is done by the calling thread
 * before the call returns, so that what the caller enqueues next in the stream follows the operation.
 */
#ifndef RONDE_API_STREAM_H
#define RONDE_API_STREAM_H

#include "api/queue.h"

/** What this rank gave: two calls with equal ones are the same launch here. Compared as bytes: fill with zeros first. */
struct ronde_stream_key {
    const void *in;
    void *out;
    uint64_t count;
    uint64_t timeout_ns;
    uint32_t dtype;
    uint32_t op;
    unsigned char factor[8];
};

/** A launch that is kept. */
struct ronde_stream_launch {
    struct ronde_kind kind;               /**< source_of is the schedule's */
    struct ronde_shared_schedule *shared; /**< NULL = nothing is loaded */
    void *program;
    struct ronde_stream_key key;
    bool is_prepared; /**< on all ranks, and may be enqueued again */
    uint64_t used;    /**< when, counted in calls */
    uint32_t pending; /**< operations */
};

/** A communicator's device. Of who drives. */
struct ronde_streams {
    void *cuda; /**< the backend */
    struct ronde_stream_launch kept[RONDE_KEPT_PROGRAMS];
    uint64_t calls;
    const void *stream; /**< of the last call */
};

/** Enqueues a request that is not pending yet, and makes it so. Errors: UNAVAILABLE without a device; those of the launch. */
enum ronde_status ronde_stream_start(struct ronde_request *request, struct ronde_error *error);

/** Looks whether the first operation, which is in a stream, is over, and ends it. */
bool ronde_stream_advance(struct ronde_request *request);

/** Unloads what was loaded for a collective. Nothing is pending. */
void ronde_streams_drop(struct ronde_queue *queue, enum ronde_collective collective);

/** Ends what is in streams, as the communicator has failed. */
void ronde_streams_stop(struct ronde_queue *queue);

/** Unloads all and closes the device; nothing where there is none. */
void ronde_streams_close(struct ronde_queue *queue);

#endif
