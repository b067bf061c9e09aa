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
    if (ronde_request_deadline_of(request) > 0)
        ronde_queue_limit_message(request);
}

void ronde_queue_limit_message(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    const uint64_t deadline_ns = (uint64_t)ronde_request_deadline_of(request);
    const uint64_t before_ns = __atomic_load_n(&queue->message_ns, __ATOMIC_RELAXED);
    if (before_ns == 0 || deadline_ns < before_ns)
        __atomic_store_n(&queue->message_ns, deadline_ns, __ATOMIC_RELAXED);
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

static void add_posted(struct ronde_queue *queue, struct ronde_request *request)
{
    request->next = NULL;
    request->previous = queue->recent;
    *(queue->recent ? &queue->recent->next : &queue->posted) = request;
    queue->recent = request;
    ronde_p2p_watch(request->p2p, request);
}

static void take_posted(struct ronde_queue *queue, struct ronde_request *request)
{
    *(request->previous ? &request->previous->next : &queue->posted) = request->next;
    *(request->next ? &request->next->previous : &queue->recent) = request->previous;
}

static void post_fresh(struct ronde_queue *queue)
{
    struct ronde_request *request = take_fresh(queue);
    while (request) {
        struct ronde_request *next = request->next;
        struct ronde_error error = {0};
        const enum ronde_status status = post(request, &error);
        request->next = NULL;
        if (status == RONDE_OK) {
            add_posted(queue, request);
        } else {
            ronde_queue_note(queue);
            end_message(request, status, &error);
        }
        request = next;
    }
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

/* A message may have ended: in success or failure, and what its request says then. */
static bool end_if_over(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    struct ronde_error error;
    bool is_done = false;
    error.status = RONDE_OK;
    queue->looks++;
    const enum ronde_status status = ronde_p2p_test(request->p2p, &is_done, &request->came, &error);
    if (!is_done && status == RONDE_OK)
        return false;
    take_posted(queue, request);
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    end_message(request, status, &error);
    return true;
}

/* Looks for messages that are late, where one may be; true if one is, which has ended the communicator. */
static bool find_late(struct ronde_queue *queue)
{
    const uint64_t known_ns = __atomic_load_n(&queue->message_ns, __ATOMIC_RELAXED);
    const double now_ns = known_ns > 0 ? ronde_clock_ns() : 0;
    const struct ronde_request *late = NULL;
    double earliest_ns = 0;
    if (known_ns == 0 || now_ns < (double)known_ns)
        return false;
    ronde_lock_acquire(&queue->lock);
    for (const struct ronde_request *at = queue->posted; at && !late; at = at->next, queue->looks++) {
        const double deadline_ns = ronde_request_deadline_of(at);
        if (deadline_ns > 0 && deadline_ns <= now_ns)
            late = at;
        if (deadline_ns > 0 && (earliest_ns == 0 || deadline_ns < earliest_ns))
            earliest_ns = deadline_ns;
    }
    __atomic_store_n(&queue->message_ns, (uint64_t)earliest_ns, __ATOMIC_RELAXED);
    for (struct ronde_request *at = queue->fresh; at; at = at->next)
        if (ronde_request_deadline_of(at) > 0)
            ronde_queue_limit_message(at);
    ronde_lock_release(&queue->lock);
    if (late)
        fail_late(late);
    return late != NULL;
}

/* Thousands may be posted: those that have ended are told by the communicator, and all are looked at when it fails alone. */
bool ronde_queue_move_messages(struct ronde_queue *queue)
{
    struct ronde_error failure;
    struct ronde_request *request;
    bool has_moved = false;
    post_fresh(queue);
    failure.status = RONDE_OK;
    const enum ronde_status status = ronde_comm_p2p_progress(queue->comm, NULL, &failure);
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    while ((request = ronde_comm_p2p_take_ended(queue->comm)) != NULL)
        has_moved |= end_if_over(request);
    if (status == RONDE_OK && !find_late(queue))
        return has_moved;
    for (struct ronde_request *at = queue->posted; at; at = request) {
        request = at->next;
        has_moved |= end_if_over(at);
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
    RONDE_TRY(ronde_queue_of(comm, &queue, error));
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
