/* Operations that start together, and the one way in for all of them. See ronde/ronde.h. */
#include "api/stream.h"

/* The group that a thread has open: what was called in it, in order. */
static _Thread_local struct {
    uint32_t depth;
    struct ronde_request *first;
    struct ronde_request *last;
} group;

static void add(struct ronde_request *request)
{
    if (group.last)
        group.last->next = request;
    else
        group.first = request;
    group.last = request;
}

bool ronde_group_holds(const struct ronde_request *request)
{
    const struct ronde_request *at = group.first;
    while (at && at != request)
        at = at->next;
    return at != NULL;
}

/* Waits for a request with no other reference, and frees it. */
static enum ronde_status finish(struct ronde_request *request, struct ronde_error *error)
{
    const enum ronde_status status = ronde_request_wait(request, 0, error);
    if (request->out_source)
        *request->out_source = request->came.source;
    ronde_request_free(request);
    return status;
}

/* A new request becomes the caller's and pending, or the open group's, or is waited for. */
static enum ronde_status begin(struct ronde_request *request, struct ronde_request **out_request,
                               uint32_t *out_source, struct ronde_error *error)
{
    if (out_request)
        *out_request = request;
    request->is_waited = !out_request;
    request->out_source = out_request ? NULL : out_source;
    if (group.depth > 0) {
        add(request);
        return RONDE_OK;
    }
    ronde_queue_append(request);
    return out_request ? RONDE_OK : finish(request, error);
}

/* Enqueued before this returns, in groups as well: what the caller enqueues next must come after it. */
static enum ronde_status start_in_stream(struct ronde_queue *queue, const struct ronde_call *call,
                                         struct ronde_request **out_request,
                                         struct ronde_error *error)
{
    struct ronde_request *request = NULL;
    RONDE_TRY(ronde_queue_take(queue, call, &request, error));
    const enum ronde_status status = ronde_stream_start(request, error);
    if (status != RONDE_OK) {
        /* Both references: the caller's and the queue's, which has not seen it. */
        ronde_request_free(request);
        ronde_request_free(request);
        return status;
    }
    if (!out_request)
        return finish(request, error);
    *out_request = request;
    return RONDE_OK;
}

enum ronde_status ronde_start(struct ronde_comm *comm, const struct ronde_call *call,
                              struct ronde_request **out_request, struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    struct ronde_request *request = NULL;
    if (out_request)
        *out_request = NULL;
    enum ronde_status status = ronde_queue_of(comm, &queue, error);
    RONDE_THEN(status, ronde_call_check(call, queue->rank, queue->ranks, queue->mem, error));
    if (status != RONDE_OK)
        return status;
    if (call->stream)
        return start_in_stream(queue, call, out_request, error);
    if (!out_request && group.depth == 0 && ronde_queue_run(queue, call, &status, error))
        return status;
    status = ronde_queue_take(queue, call, &request, error);
    return status == RONDE_OK ? begin(request, out_request, NULL, error) : status;
}

enum ronde_status ronde_queue_start_message(struct ronde_queue *queue, const struct ronde_call *call,
                                            const struct ronde_request *kind,
                                            struct ronde_request **out_request,
                                            uint32_t *out_source, struct ronde_error *error)
{
    struct ronde_request *request = NULL;
    RONDE_TRY(ronde_queue_take(queue, call, &request, error));
    request->is_message = true;
    request->is_send = kind->is_send;
    request->peer = kind->peer;
    request->tag = kind->tag;
    return begin(request, out_request, out_source, error);
}

void ronde_group_begin(void)
{
    group.depth++;
}

enum ronde_status ronde_group_end(struct ronde_error *error)
{
    struct ronde_request *waited = NULL;
    struct ronde_request **last = &waited;
    enum ronde_status status = RONDE_OK;
    if (group.depth == 0)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "group_end without group_begin");
    if (--group.depth > 0)
        return RONDE_OK;
    struct ronde_request *request = group.first;
    group.first = NULL;
    group.last = NULL;
    while (request) {
        struct ronde_request *next = request->next;
        const bool is_waited = request->is_waited;
        request->next = NULL;
        request->beside = NULL;
        /* One that the caller has may be over, and freed by a callback, before append returns. */
        ronde_queue_append(request);
        if (is_waited) {
            *last = request;
            last = &request->beside;
        }
        request = next;
    }
    while (waited) {
        request = waited;
        waited = request->beside;
        const enum ronde_status own = finish(request, error);
        status = status == RONDE_OK ? own : status;
    }
    return status;
}
