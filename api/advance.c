/* Moving pending operations on: loading, starting and running their programs. See queue.h. */
#include "api/progress.h"
#include "api/stream.h"
#include "api/thread.h"

void ronde_queue_end_first(struct ronde_queue *queue, enum ronde_status status,
                           const struct ronde_error *error)
{
    struct ronde_request *request = queue->first;
    ronde_lock_acquire(&queue->lock);
    __atomic_store_n(&queue->first, request->next, __ATOMIC_RELEASE);
    if (ronde_request_stage_of(request) != RONDE_STAGE_IN_STREAM)
        __atomic_store_n(&queue->on_host, queue->on_host - 1, __ATOMIC_RELEASE);
    if (!request->next)
        queue->last = NULL;
    ronde_queue_drop_limit(request);
    ronde_lock_release(&queue->lock);
    ronde_queue_end(request, status, error);
}

enum ronde_status ronde_queue_load(struct ronde_queue *queue, const struct ronde_kind *kind,
                                   struct ronde_error *error)
{
    const struct ronde_queue_visit before =
        ronde_queue_set_inside((struct ronde_queue_visit){queue, 1});
    const bool was_tended = queue->is_tended;
    queue->is_tended = true;
    const enum ronde_status status = ronde_cache_load(&queue->cache, kind, error);
    queue->is_tended = was_tended;
    ronde_comm_limit(queue->comm, 0);
    (void)ronde_queue_set_inside(before);
    return status;
}

static void *load(void *self)
{
    struct ronde_queue *queue = self;
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_queue_load(queue, &queue->load_kind, &error);
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    ronde_queue_end_load(queue, status, &error);
    ronde_queue_release_helper(queue);
    return NULL;
}

/* The first operation needs a program that is not loaded. */
static void start_loading(struct ronde_queue *queue, const struct ronde_kind *kind)
{
    struct ronde_thread thread;
    ronde_queue_acquire_helper(queue);
    ronde_lock_acquire(&queue->lock);
    queue->load_kind = *kind;
    __atomic_store_n(&queue->is_loading, true, __ATOMIC_RELAXED);
    ronde_queue_limit(queue, ronde_queue_earliest(queue));
    ronde_lock_release(&queue->lock);
    /* Without a thread loading blocks here; only who mixes the order of communicators among ranks depends on it. */
    if (ronde_thread_start(&thread, load, queue, NULL) == RONDE_OK)
        ronde_thread_detach(&thread);
    else
        (void)load(queue);
}

/* Begins the first operation, or its next part. */
static void begin(struct ronde_queue *queue, struct ronde_request *request)
{
    const struct ronde_call *call = &request->call;
    const bool agrees = call->is_v && call->count == 0;
    struct ronde_error error = {0};
    enum ronde_status status = queue->load_status;
    if (status != RONDE_OK)
        error = queue->load_error;
    else if (queue->failure.status != RONDE_OK)
        status = ronde_queue_failed(queue, &error);
    queue->load_status = RONDE_OK;
    if (status != RONDE_OK || (!agrees && ronde_call_is_empty(call, call->count))) {
        ronde_queue_end_first(queue, status, &error);
        return;
    }
    if (agrees)
        call = ronde_queue_agreement(queue, call);
    const struct ronde_kind kind = ronde_kind_of(call, call->count);
    const struct ronde_cached_program *kept = ronde_cache_find(&queue->cache, &kind);
    if (!kept) {
        start_loading(queue, &kind);
        return;
    }
    status = ronde_queue_launch(queue, kept, call, call->count, ronde_queue_earliest(queue), &error);
    if (status == RONDE_OK) {
        ronde_request_set_stage(request, agrees ? RONDE_STAGE_AGREEING : RONDE_STAGE_RUNNING);
        return;
    }
    ronde_queue_note(queue);
    ronde_queue_end_first(queue, status, &error);
}

/* Operations that wait behind the running one may have deadlines, too. */
static void apply_earliest(struct ronde_queue *queue)
{
    const uint64_t earliest_ns = __atomic_load_n(&queue->earliest_ns, __ATOMIC_RELAXED);
    if (earliest_ns == 0 || (queue->applied_ns > 0 && queue->applied_ns <= earliest_ns))
        return;
    ronde_comm_limit_run(queue->running, (double)earliest_ns);
    queue->applied_ns = earliest_ns;
}

/* Moves the running program on; *out_done: it is over, well or not. */
enum ronde_status ronde_queue_move_run(struct ronde_queue *queue, bool *out_done,
                                       struct ronde_error *error)
{
    struct ronde_result result;
    apply_earliest(queue);
    enum ronde_status status = ronde_comm_test(queue->running, out_done, error);
    if (status == RONDE_OK && !*out_done)
        return RONDE_OK;
    RONDE_THEN(status, ronde_comm_wait(queue->running, &result, error));
    *out_done = true;
    queue->running = NULL;
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    return status;
}

/* Moves the first operation on; returns whether that made a difference. */
static bool advance_first(struct ronde_queue *queue)
{
    struct ronde_request *request = __atomic_load_n(&queue->first, __ATOMIC_ACQUIRE);
    struct ronde_error error;
    bool is_done = false;
    if (!request)
        return false;
    if (ronde_request_stage_of(request) == RONDE_STAGE_IN_STREAM)
        return ronde_stream_advance(request);
    if (ronde_request_stage_of(request) == RONDE_STAGE_WAITING) {
        begin(queue, request);
        return true;
    }
    error.status = RONDE_OK;
    const enum ronde_status status = ronde_queue_move_run(queue, &is_done, &error);
    if (!is_done)
        return false;
    if (status == RONDE_OK && ronde_request_stage_of(request) == RONDE_STAGE_AGREEING &&
        queue->agreed[1] > 0) {
        request->call.count = queue->agreed[1];
        ronde_request_set_stage(request, RONDE_STAGE_WAITING);
        return true;
    }
    ronde_queue_end_first(queue, status, &error);
    return true;
}

/* Moves on what is pending; returns whether that made a difference. Of who drives, while nothing is loaded. */
bool ronde_queue_advance(struct ronde_queue *queue)
{
    bool has_moved = ronde_queue_has_messages(queue) && ronde_queue_move_messages(queue);
    has_moved |= advance_first(queue);
    queue->idle = has_moved ? 0 : queue->idle + 1;
    return has_moved;
}

/* Waits a moment, after a turn in which nothing moved. */
void ronde_queue_rest(struct ronde_queue *queue)
{
    if (queue->running)
        ronde_comm_run_rest(queue->running);
    else if (ronde_queue_has_messages(queue))
        ronde_comm_p2p_rest(queue->comm, queue->idle);
    else if (queue->first)
        ronde_thread_rest(queue->idle < RONDE_YIELDS ? 0 : RONDE_NAP_NS);
}

/* Nothing moved: other queues may, or the thread waits a moment. */
void ronde_queue_idle(struct ronde_queue *queue)
{
    if (!ronde_progress_callers(queue))
        ronde_queue_rest(queue);
}
