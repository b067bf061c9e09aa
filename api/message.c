/* Sends and receives beside the queue of collectives. See queue.h. */
#include "api/queue.h"

#include "ronde/hw.h"

void ronde_queue_add_message(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    if (queue->newest)
        queue->newest->next = request;
    else
        __atomic_store_n(&queue->fresh, request, __ATOMIC_RELAXED);
    queue->newest = request;
    __atomic_store_n(&queue->messages, queue->messages + 1, __ATOMIC_RELAXED);
}

/* What was called since the last time, in order. */
static struct ronde_request *take_fresh(struct ronde_queue *queue)
{
    if (!__atomic_load_n(&queue->fresh, __ATOMIC_RELAXED))
        return NULL;
    ronde_lock_acquire(&queue->lock);
    struct ronde_request *fresh = queue->fresh;
    __atomic_store_n(&queue->fresh, NULL, __ATOMIC_RELAXED);
    queue->newest = NULL;
    ronde_lock_release(&queue->lock);
    return fresh;
}

/* A message is over: it is in no list. */
static void end_message(struct ronde_request *request, enum ronde_status status,
                        const struct ronde_error *error)
{
    struct ronde_queue *queue = request->queue;
    ronde_p2p_release(request->p2p);
    request->p2p = NULL;
    ronde_lock_acquire(&queue->lock);
    __atomic_store_n(&queue->messages, queue->messages - 1, __ATOMIC_RELAXED);
    ronde_lock_release(&queue->lock);
    ronde_queue_end(request, status, error);
}

static enum ronde_status post(struct ronde_request *request, struct ronde_error *error)
{
    const struct ronde_queue *queue = request->queue;
    const struct ronde_call *call = &request->call;
    const uint64_t bytes = call->count * ronde_dtype_bytes(call->dtype);
    if (request->is_send)
        return ronde_comm_send_post(queue->comm, call->in, bytes, request->peer, request->tag,
                                    &request->p2p, error);
    return ronde_comm_recv_post(queue->comm, call->out, bytes, request->peer, request->tag,
                                &request->p2p, error);
}

static void post_fresh(struct ronde_queue *queue)
{
    struct ronde_request *request = take_fresh(queue);
    while (request) {
        struct ronde_request *next = request->next;
        struct ronde_error error = {0};
        const enum ronde_status status = post(request, &error);
        request->next = NULL;
        if (status != RONDE_OK) {
            ronde_queue_note(queue);
            end_message(request, status, &error);
        } else if (queue->recent) {
            queue->recent->next = request;
            queue->recent = request;
        } else {
            queue->posted = request;
            queue->recent = request;
        }
        request = next;
    }
}

/* The time, read at most once in a turn: 0 = not read yet. */
static bool is_late(const struct ronde_request *request, double *now_ns)
{
    const double deadline_ns = ronde_request_deadline_of(request);
    if (deadline_ns == 0)
        return false;
    if (*now_ns == 0)
        *now_ns = ronde_clock_ns();
    return *now_ns >= deadline_ns;
}

/* A message that is not over in time ends the communicator, as a run does. */
static void fail_late(const struct ronde_request *request)
{
    const struct ronde_queue *queue = request->queue;
    struct ronde_error why = {0};
    if (request->peer == RONDE_ANY_RANK)
        (void)ronde_fail(&why, RONDE_TIMEOUT,
                         "rank %u has waited too long for any rank to send a message with tag %llu",
                         queue->rank, (unsigned long long)request->tag);
    else
        (void)ronde_fail(&why, RONDE_TIMEOUT,
                         "rank %u has waited too long for rank %u to %s a message with tag %llu",
                         queue->rank, request->peer, request->is_send ? "receive" : "send",
                         (unsigned long long)request->tag);
    ronde_comm_fail(queue->comm, &why);
}

/* Looks at one message after a round of all; true if it has ended, in success or failure, and what its request says then. */
static bool has_ended(struct ronde_request *request, double *now_ns, enum ronde_status *out_status,
                      struct ronde_error *error)
{
    bool is_done = false;
    error->status = RONDE_OK;
    if (is_late(request, now_ns))
        fail_late(request);
    else if (!ronde_p2p_has_ended(request->p2p))
        return false;
    *out_status = ronde_p2p_test(request->p2p, &is_done, &request->came, error);
    return is_done || *out_status != RONDE_OK;
}

bool ronde_queue_move_messages(struct ronde_queue *queue)
{
    struct ronde_request **at = &queue->posted;
    struct ronde_request *before = NULL;
    struct ronde_error failure;
    bool has_moved = false;
    double now_ns = 0;
    post_fresh(queue);
    /* One round for all of them; a failure then ends each, below. */
    failure.status = RONDE_OK;
    if (ronde_comm_p2p_progress(queue->comm, NULL, &failure) != RONDE_OK)
        ronde_queue_note(queue);
    while (*at) {
        struct ronde_request *request = *at;
        enum ronde_status status;
        struct ronde_error error;
        if (!has_ended(request, &now_ns, &status, &error)) {
            before = request;
            at = &request->next;
            continue;
        }
        *at = request->next;
        if (queue->recent == request)
            queue->recent = before;
        if (status != RONDE_OK)
            ronde_queue_note(queue);
        end_message(request, status, &error);
        has_moved = true;
    }
    return has_moved;
}

void ronde_queue_end_messages(struct ronde_queue *queue, const struct ronde_error *why)
{
    struct ronde_request *lists[2] = {queue->posted, take_fresh(queue)};
    queue->posted = NULL;
    queue->recent = NULL;
    for (int k = 0; k < 2; k++)
        while (lists[k]) {
            struct ronde_request *request = lists[k];
            lists[k] = request->next;
            end_message(request, why->status, why);
        }
}

/* Starts a send or receive as any operation. */
static enum ronde_status start(struct ronde_comm *comm, const struct ronde_call *call,
                               const struct ronde_request *kind, struct ronde_request **out_request,
                               uint32_t *out_source, struct ronde_error *error)
{
    struct ronde_queue *queue = NULL;
    const char *name = kind->is_send ? "send" : "recv";
    if (out_request)
        *out_request = NULL;
    const enum ronde_status status = ronde_queue_of(comm, &queue, error);
    if (status != RONDE_OK)
        return status;
    const uint32_t ranks = ronde_comm_ranks(comm);
    if ((unsigned)call->dtype >= RONDE_DTYPE_COUNT)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: dtype %u, there are %u", name,
                          (unsigned)call->dtype, (unsigned)RONDE_DTYPE_COUNT);
    if (kind->peer >= ranks && (kind->is_send || kind->peer != RONDE_ANY_RANK))
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: peer %u, the communicator has %u ranks",
                          name, kind->peer, ranks);
    if (call->count > 0 && !call->in && !call->out)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%s: the buffer is NULL", name);
    if (call->count > (uint64_t)INT64_MAX / ronde_dtype_bytes(call->dtype))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "%s: count %llu, a buffer would exceed the address space", name,
                          (unsigned long long)call->count);
    return ronde_queue_start_message(queue, call, kind, out_request, out_source, error);
}

enum ronde_status ronde_send(struct ronde_comm *comm, const void *in, uint64_t count,
                             enum ronde_dtype dtype, uint32_t peer, uint64_t tag,
                             struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.dtype = dtype, .in = in, .count = count};
    const struct ronde_request kind = {.is_send = true, .peer = peer, .tag = tag};
    return start(comm, &call, &kind, out_request, NULL, error);
}

enum ronde_status ronde_recv(struct ronde_comm *comm, void *out, uint64_t count,
                             enum ronde_dtype dtype, uint32_t peer, uint64_t tag,
                             struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.dtype = dtype, .out = out, .count = count};
    const struct ronde_request kind = {.peer = peer, .tag = tag};
    if (out_request)
        *out_request = NULL;
    if (peer == RONDE_ANY_RANK)
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "recv: peer is RONDE_ANY_RANK, which ronde_recv_any is for");
    return start(comm, &call, &kind, out_request, NULL, error);
}

enum ronde_status ronde_recv_any(struct ronde_comm *comm, void *out, uint64_t count,
                                 enum ronde_dtype dtype, uint64_t tag, uint32_t *out_source,
                                 struct ronde_request **out_request, struct ronde_error *error)
{
    const struct ronde_call call = {.dtype = dtype, .out = out, .count = count};
    const struct ronde_request kind = {.peer = RONDE_ANY_RANK, .tag = tag};
    return start(comm, &call, &kind, out_request, out_source, error);
}
