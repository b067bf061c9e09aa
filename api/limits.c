/*
 * The earliest deadline of what is pending, without looking through it. See queue.h.
 *
 * Operations end in the order of the calls. One matters to the earliest deadline of now or later if no later one has an
 * earlier deadline: these are listed, and their deadlines ascend. The first is the earliest.
 */
#include "api/queue.h"

/* Under the lock, as all here. */
static void set_earliest(struct ronde_queue *queue)
{
    const struct ronde_request *first = queue->first_limit;
    __atomic_store_n(&queue->earliest_ns, first ? (uint64_t)ronde_request_deadline_of(first) : 0,
                     __ATOMIC_RELAXED);
}

static void unlist(struct ronde_queue *queue, struct ronde_request *request)
{
    struct ronde_request *before = request->limit_before, *after = request->limit_after;
    *(before ? &before->limit_after : &queue->first_limit) = after;
    *(after ? &after->limit_before : &queue->last_limit) = before;
    request->limit_before = NULL;
    request->limit_after = NULL;
    request->is_limit = false;
}

/* The listed operation that was called next after one. */
static struct ronde_request *find_after(struct ronde_queue *queue,
                                        const struct ronde_request *request)
{
    struct ronde_request *after = NULL;
    if (queue->first_limit && queue->first_limit->order > request->order)
        return queue->first_limit;
    for (struct ronde_request *at = queue->last_limit; at && at->order > request->order;
         at = at->limit_before, queue->looks++)
        after = at;
    return after;
}

void ronde_queue_add_limit(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    const double deadline_ns = ronde_request_deadline_of(request);
    struct ronde_request *after =
        request->is_limit ? request->limit_after : find_after(queue, request);
    if (after && ronde_request_deadline_of(after) <= deadline_ns)
        return;
    if (request->is_limit)
        unlist(queue, request);
    struct ronde_request *before = after ? after->limit_before : queue->last_limit;
    while (before && ronde_request_deadline_of(before) >= deadline_ns) {
        struct ronde_request *useless = before;
        before = before->limit_before;
        unlist(queue, useless);
        queue->looks++;
    }
    request->is_limit = true;
    request->limit_before = before;
    request->limit_after = after;
    *(before ? &before->limit_after : &queue->first_limit) = request;
    *(after ? &after->limit_before : &queue->last_limit) = request;
    set_earliest(queue);
}

void ronde_queue_drop_limit(struct ronde_request *request)
{
    if (!request->is_limit)
        return;
    unlist(request->queue, request);
    set_earliest(request->queue);
}
