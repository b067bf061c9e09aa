/* Calls that wait while nothing is pending: they run on the calling thread. See queue.h. */
#include "api/progress.h"

#include "ronde/hw.h"

enum ronde_status ronde_queue_run_here(struct ronde_queue *queue, const struct ronde_call *call,
                                       uint64_t count, double deadline_ns, struct ronde_error *error)
{
    const struct ronde_kind kind = ronde_kind_of(call, count);
    const struct ronde_cached_program *kept = ronde_cache_find(&queue->cache, &kind);
    enum ronde_status status = RONDE_OK;
    bool is_done = false;
    if (!kept) {
        ronde_queue_limit(queue, deadline_ns);
        status = ronde_queue_load(queue, &kind, error);
        kept = status == RONDE_OK ? ronde_cache_find(&queue->cache, &kind) : NULL;
    }
    if (kept)
        status = ronde_queue_launch(queue, kept, call, count, deadline_ns, error);
    if (status != RONDE_OK) {
        ronde_queue_note(queue);
        return status;
    }
    while (!is_done) {
        status = ronde_queue_move_run(queue, &is_done, error);
        if (!is_done && !(ronde_queue_has_messages(queue) && ronde_queue_move_messages(queue)))
            ronde_queue_idle(queue);
    }
    return status;
}

/* All parts of a call. */
static enum ronde_status perform(struct ronde_queue *queue, const struct ronde_call *call,
                                 double deadline_ns, struct ronde_error *error)
{
    uint64_t count = call->count;
    enum ronde_status status = RONDE_OK;
    if (queue->failure.status != RONDE_OK)
        return ronde_queue_failed(queue, error);
    if (call->is_v && count == 0) {
        status =
            ronde_queue_run_here(queue, ronde_queue_agreement(queue, call), 1, deadline_ns, error);
        count = queue->agreed[1];
    }
    return status == RONDE_OK && !ronde_call_is_empty(call, count)
               ? ronde_queue_run_here(queue, call, count, deadline_ns, error)
               : status;
}

bool ronde_queue_run(struct ronde_queue *queue, const struct ronde_call *call,
                     enum ronde_status *out_status, struct ronde_error *error)
{
    ronde_lock_acquire(&queue->lock);
    const bool is_free = !queue->first && !queue->is_driven && !queue->is_loading &&
                         !queue->is_closed && !ronde_progress_has_callers();
    const uint64_t timeout_ns = call->timeout_ns ? call->timeout_ns : queue->timeout_ns;
    queue->is_driven |= is_free;
    ronde_lock_release(&queue->lock);
    if (!is_free)
        return false;
    const double deadline_ns = timeout_ns > 0 ? ronde_clock_ns() + (double)timeout_ns : 0;
    *out_status = perform(queue, call, deadline_ns, error);
    ronde_queue_stop_driving(queue);
    return true;
}
