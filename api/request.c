/* Pending operations as the caller sees them. See ronde/ronde.h. */
#include "api/progress.h"

#include "ronde/hw.h"

#include <stddef.h>
#include <string.h>

/* An unused request of the queue's, or a new one. Under the lock. */
static struct ronde_request *new_request(struct ronde_queue *queue)
{
    struct ronde_request *request = queue->spare;
    if (request) {
        queue->spare = request->next;
        memset(request, 0, offsetof(struct ronde_request, error));
        request->error.status = RONDE_OK;
        request->error.message[0] = '\0';
        return request;
    }
    return ronde_mem_new(queue->mem, 1, sizeof *request);
}

/* A table of one block is often made for the call alone. */
static const struct ronde_blocks *copy_blocks(struct ronde_request *request, int side,
                                              const struct ronde_blocks *given, bool is_single)
{
    struct ronde_blocks *own = &request->blocks[side];
    if (!given)
        return NULL;
    *own = *given;
    if (is_single && given->counts) {
        request->single[side][0] = given->counts[0];
        own->counts = &request->single[side][0];
    }
    if (is_single && given->offsets) {
        request->single[side][1] = given->offsets[0];
        own->offsets = &request->single[side][1];
    }
    if (is_single && given->pointers) {
        request->pointer[side] = given->pointers[0];
        own->pointers = &request->pointer[side];
    }
    return own;
}

static void fill(struct ronde_request *request, const struct ronde_call *call)
{
    struct ronde_queue *queue = request->queue;
    const struct ronde_collective_traits *traits = ronde_collective_traits(call->collective);
    const uint64_t timeout_ns = call->timeout_ns ? call->timeout_ns : queue->timeout_ns;
    request->call = *call;
    request->call.in_blocks = copy_blocks(request, 0, call->in_blocks, !traits->in_per_rank);
    request->call.out_blocks = copy_blocks(request, 1, call->out_blocks, !traits->out_per_rank);
    if (traits->reduces && call->op == RONDE_PREMUL_SUM) {
        memcpy(request->factor, call->factor, ronde_dtype_bytes(call->dtype));
        request->call.factor = request->factor;
    }
    if (timeout_ns > 0)
        ronde_request_set_deadline(request, ronde_clock_ns() + (double)timeout_ns);
}

/* The progress thread, from the first operation on that may be left to it. Under the lock. */
static enum ronde_status use_thread(struct ronde_queue *queue, struct ronde_error *error)
{
    if (queue->progress != RONDE_PROGRESS_THREAD || queue->uses_thread)
        return RONDE_OK;
    const enum ronde_status status = ronde_progress_acquire(error);
    queue->uses_thread = status == RONDE_OK;
    return status;
}

enum ronde_status ronde_queue_take(struct ronde_queue *queue, const struct ronde_call *call,
                                   struct ronde_request **out_request, struct ronde_error *error)
{
    *out_request = NULL;
    ronde_lock_acquire(&queue->lock);
    enum ronde_status status = use_thread(queue, error);
    struct ronde_request *request = status == RONDE_OK ? new_request(queue) : NULL;
    if (request) {
        request->queue = queue;
        request->references = 2;
        ronde_queue_hold(queue);
        fill(request, call);
        *out_request = request;
    } else if (status == RONDE_OK) {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory for an operation");
    }
    ronde_lock_release(&queue->lock);
    return status;
}

static enum ronde_status status_of(const struct ronde_request *request, struct ronde_error *error)
{
    return request->error.status == RONDE_OK
               ? RONDE_OK
               : ronde_fail(error, request->error.status, "%s", request->error.message);
}

static enum ronde_status refuse_null(const char *what, struct ronde_error *error)
{
    return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s is NULL", what);
}

enum ronde_status ronde_request_test(struct ronde_request *request, bool *out_done,
                                     struct ronde_error *error)
{
    if (!request || !out_done)
        return refuse_null(request ? "out_done" : "request", error);
    *out_done = ronde_request_is_over(request);
    if (!*out_done && ronde_queue_is_foreign(request->queue))
        return ronde_queue_refuse_child(request->queue, error);
    if (!*out_done) {
        (void)ronde_queue_poll(request->queue, false);
        (void)ronde_progress_callers(request->queue);
    }
    *out_done = ronde_request_is_over(request);
    return *out_done ? status_of(request, error) : RONDE_OK;
}

enum ronde_status ronde_request_wait(struct ronde_request *request, uint64_t timeout_ns,
                                     struct ronde_error *error)
{
    if (!request)
        return refuse_null("request", error);
    struct ronde_queue *queue = request->queue;
    if (!ronde_request_is_over(request) && ronde_queue_is_foreign(queue))
        return ronde_queue_refuse_child(queue, error);
    if (ronde_group_holds(request))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "the operation begins at the end of the group that this thread has open "
                          "(ronde_group_end), and cannot be waited for before");
    if (!ronde_request_is_over(request) && timeout_ns > 0) {
        const double deadline_ns = ronde_clock_ns() + (double)timeout_ns;
        ronde_lock_acquire(&queue->lock);
        if (!ronde_request_is_over(request))
            ronde_queue_set_deadline(request, deadline_ns);
        ronde_lock_release(&queue->lock);
    }
    if (!ronde_request_is_over(request))
        ronde_queue_await(request);
    return status_of(request, error);
}

struct ronde_request_status ronde_request_status(const struct ronde_request *request)
{
    if (!request || !ronde_request_is_over(request))
        return (struct ronde_request_status){.is_done = false};
    struct ronde_request_status status = {.is_done = true,
                                          .status = request->error.status,
                                          .source = RONDE_NONE};
    if (!request->is_message)
        return status;
    status.source = request->is_send ? RONDE_NONE : request->came.source;
    status.tag = request->came.tag;
    status.bytes = request->came.bytes;
    return status;
}

void ronde_request_free(struct ronde_request *request)
{
    /* A child's copy of its parent's stays: the queue's lock may be held there by a thread that is not here. */
    if (!request || ronde_queue_is_foreign(request->queue))
        return;
    struct ronde_queue *queue = request->queue;
    ronde_lock_acquire(&queue->lock);
    const bool is_last = ronde_request_drop(request);
    ronde_lock_release(&queue->lock);
    if (is_last)
        ronde_queue_release(queue);
}

/* False: the request is over. */
static bool set_callback(struct ronde_request *request, ronde_complete callback, void *self)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_acquire(&queue->lock);
    const bool is_over = ronde_request_is_over(request);
    if (!is_over) {
        request->callback = callback;
        request->callback_self = self;
    }
    ronde_lock_release(&queue->lock);
    return !is_over;
}

void ronde_on_complete(struct ronde_request *request, ronde_complete callback, void *self)
{
    struct ronde_error error = {0};
    if (!request)
        return;
    struct ronde_queue *queue = request->queue;
    const bool is_foreign = ronde_queue_is_foreign(queue);
    const bool is_over = is_foreign || !set_callback(request, callback, self);
    if (!is_over || !callback)
        return;
    if (ronde_request_is_over(request))
        callback(self, request->error.status, &request->error);
    else
        callback(self, ronde_queue_refuse_child(queue, &error), &error);
}
