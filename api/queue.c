/* Pending operations of a communicator. See queue.h. */
#include "api/progress.h"
#include "api/stream.h"

/* While other queues need the calling thread, it looks at its own again after this long. */
#define GLANCE_NS UINT64_C(1000000)

/* Of this thread. */
static _Thread_local struct ronde_queue_visit inside;

struct ronde_queue_visit ronde_queue_set_inside(struct ronde_queue_visit now)
{
    const struct ronde_queue_visit before = inside;
    inside = now;
    return before;
}

void ronde_queue_hold(struct ronde_queue *queue)
{
    __atomic_add_fetch(&queue->references, 1, __ATOMIC_RELAXED);
}

void ronde_queue_acquire_helper(struct ronde_queue *queue)
{
    __atomic_add_fetch(&queue->helpers, 1, __ATOMIC_RELAXED);
}

void ronde_queue_release_helper(struct ronde_queue *queue)
{
    ronde_lock_acquire(&queue->lock);
    if (__atomic_sub_fetch(&queue->helpers, 1, __ATOMIC_ACQ_REL) == 0 && queue->is_closed)
        ronde_lock_wake(&queue->lock);
    ronde_lock_release(&queue->lock);
}

static void free_queue(struct ronde_queue *queue)
{
    const struct ronde_mem *mem = queue->mem;
    while (queue->spare) {
        struct ronde_request *request = queue->spare;
        queue->spare = request->next;
        ronde_mem_free(mem, request, 1, sizeof *request);
    }
    ronde_mem_free(mem, queue->in, queue->ranks, sizeof *queue->in);
    ronde_mem_free(mem, queue->out, queue->ranks, sizeof *queue->out);
    ronde_mem_free(mem, queue->in_blocks, queue->ranks, sizeof *queue->in_blocks);
    ronde_mem_free(mem, queue->out_blocks, queue->ranks, sizeof *queue->out_blocks);
    ronde_mem_free(mem, queue->factors, queue->ranks, sizeof(uint64_t));
    ronde_lock_destroy(&queue->lock);
    ronde_mem_free(mem, queue, 1, sizeof *queue);
}

void ronde_queue_release(struct ronde_queue *queue)
{
    if (__atomic_sub_fetch(&queue->references, 1, __ATOMIC_ACQ_REL) == 0)
        free_queue(queue);
}

bool ronde_request_drop(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    if (--request->references > 0)
        return false;
    request->next = queue->spare;
    queue->spare = request;
    return true;
}

/*
 * Under the lock: whether the queue waits for a thread to drive it. One that callers drive does so while a program is loaded
 * for it, too: who then waits for another communicator comes back to it when it is loaded, and the ranks that wait for this
 * one would come to no other before.
 */
static void update_lists(struct ronde_queue *queue)
{
    const bool has_work = queue->first || ronde_queue_has_messages(queue);
    const bool can_move = !queue->is_loading || queue->progress == RONDE_PROGRESS_CALLER;
    ronde_progress_list(queue, has_work && can_move && queue->waiters == 0 && !queue->is_closed &&
                                   (!queue->is_driven || queue->is_polled));
}

static void count_waiter(struct ronde_queue *queue, int more)
{
    __atomic_store_n(&queue->waiters, queue->waiters + (uint32_t)more, __ATOMIC_RELAXED);
}

static void call_back(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_acquire(&queue->lock);
    const ronde_complete callback = request->callback;
    void *self = request->callback_self;
    request->callback = NULL;
    ronde_lock_release(&queue->lock);
    if (callback)
        callback(self, request->error.status, &request->error);
    ronde_lock_acquire(&queue->lock);
    const bool is_last = ronde_request_drop(request);
    ronde_lock_release(&queue->lock);
    if (is_last)
        ronde_queue_release(queue);
}

/* Calls back for what is over. Without the lock; the caller holds a reference. */
static void call_all(struct ronde_request *called)
{
    while (called) {
        struct ronde_request *request = called;
        called = request->next;
        call_back(request);
    }
}

/* Lets others drive, and calls back for what was completed meanwhile. The caller holds a reference. */
void ronde_queue_stop_driving(struct ronde_queue *queue)
{
    ronde_lock_acquire(&queue->lock);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    queue->is_driven = false;
    queue->is_polled = false;
    if (queue->first || queue->list || ronde_queue_has_messages(queue))
        update_lists(queue);
    if (queue->waiters > 0)
        ronde_lock_wake(&queue->lock);
    ronde_lock_release(&queue->lock);
    call_all(called);
}

/* Under the lock: a pending operation has a deadline, or an earlier one. */
static void limit_pending(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    const double before_ns = ronde_queue_earliest(queue);
    ronde_queue_add_limit(request);
    const double earliest_ns = ronde_queue_earliest(queue);
    if (queue->is_loading && earliest_ns != before_ns)
        ronde_comm_hurry(queue->comm, earliest_ns);
}

void ronde_queue_set_deadline(struct ronde_request *request, double deadline_ns)
{
    const double before_ns = ronde_request_deadline_of(request);
    if (before_ns > 0 && before_ns <= deadline_ns)
        return;
    ronde_request_set_deadline(request, deadline_ns);
    if (request->is_message)
        ronde_queue_limit_message(request);
    else
        limit_pending(request);
}

void ronde_queue_end(struct ronde_request *request, enum ronde_status status,
                     const struct ronde_error *error)
{
    struct ronde_queue *queue = request->queue;
    bool is_last = false;
    if (status != RONDE_OK)
        request->error = *error;
    request->error.status = status;
    ronde_lock_acquire(&queue->lock);
    ronde_request_set_stage(request, RONDE_STAGE_OVER);
    if (request->callback) {
        request->next = queue->called;
        queue->called = request;
    } else {
        is_last = ronde_request_drop(request);
    }
    if (queue->waiters > 0)
        ronde_lock_wake(&queue->lock);
    ronde_lock_release(&queue->lock);
    /* Never the queue's last reference: who drives it has one. */
    if (is_last)
        ronde_queue_release(queue);
}

void ronde_queue_end_load(struct ronde_queue *queue, enum ronde_status status,
                          const struct ronde_error *error)
{
    ronde_lock_acquire(&queue->lock);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    queue->load_status = status;
    queue->load_error = *error;
    __atomic_store_n(&queue->is_loading, false, __ATOMIC_RELEASE);
    update_lists(queue);
    ronde_lock_wake(&queue->lock);
    ronde_lock_release(&queue->lock);
    call_all(called);
}

bool ronde_queue_poll(struct ronde_queue *queue, bool alone)
{
    ronde_lock_acquire(&queue->lock);
    const bool has_work = queue->first || ronde_queue_has_messages(queue);
    if (!has_work || queue->is_driven || queue->is_loading || queue->waiters > 0) {
        update_lists(queue);
        ronde_lock_release(&queue->lock);
        return false;
    }
    queue->is_driven = true;
    queue->is_polled = true;
    ronde_lock_release(&queue->lock);
    ronde_comm_set_background(queue->comm, alone);
    const bool has_moved = ronde_queue_advance(queue);
    while (alone && !ronde_queue_is_loading(queue) && !queue->called &&
           (__atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) || ronde_queue_has_messages(queue)) &&
           ronde_progress_is_alone() && __atomic_load_n(&queue->waiters, __ATOMIC_RELAXED) == 0)
        if (!ronde_queue_advance(queue))
            ronde_queue_rest(queue);
    ronde_comm_set_background(queue->comm, false);
    ronde_queue_stop_driving(queue);
    return has_moved;
}

/* Under the lock: waits until no thread drives the queue, and drives it. False: `request` is over meanwhile. */
static bool start_driving(struct ronde_queue *queue, const struct ronde_request *request)
{
    while (queue->is_driven || queue->is_loading) {
        const bool has_callers = ronde_progress_has_callers();
        /* The progress thread releases the queue once it sees a waiter; it may be asleep. */
        if (queue->is_polled)
            ronde_comm_wake(queue->comm);
        ronde_lock_wait(&queue->lock, has_callers ? GLANCE_NS : 0);
        if (request && ronde_request_is_over(request))
            return false;
        if (has_callers) {
            ronde_lock_release(&queue->lock);
            (void)ronde_progress_callers(queue);
            ronde_lock_acquire(&queue->lock);
        }
    }
    if (request && ronde_request_is_over(request))
        return false;
    queue->is_driven = true;
    update_lists(queue);
    return true;
}

void ronde_queue_await(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_acquire(&queue->lock);
    count_waiter(queue, 1);
    while (!ronde_request_is_over(request) && start_driving(queue, request)) {
        ronde_lock_release(&queue->lock);
        while (!ronde_request_is_over(request) && !ronde_queue_is_loading(queue) && !queue->called)
            if (!ronde_queue_advance(queue))
                ronde_queue_idle(queue);
        ronde_queue_stop_driving(queue);
        ronde_lock_acquire(&queue->lock);
    }
    count_waiter(queue, -1);
    update_lists(queue);
    ronde_lock_release(&queue->lock);
}

/* Whether something is pending that a thread which enters waits for. */
static bool must_wait(const struct ronde_queue *queue, bool besides_streams)
{
    return besides_streams ? __atomic_load_n(&queue->on_host, __ATOMIC_ACQUIRE) > 0
                           : __atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) != NULL;
}

void ronde_queue_enter(struct ronde_queue *queue, bool besides_streams)
{
    if (inside.queue == queue) {
        inside.depth++;
        return;
    }
    ronde_lock_acquire(&queue->lock);
    count_waiter(queue, 1);
    while (start_driving(queue, NULL) && must_wait(queue, besides_streams)) {
        ronde_lock_release(&queue->lock);
        while (must_wait(queue, besides_streams) && !ronde_queue_is_loading(queue) && !queue->called)
            if (!ronde_queue_advance(queue))
                ronde_queue_idle(queue);
        ronde_queue_stop_driving(queue);
        ronde_lock_acquire(&queue->lock);
    }
    count_waiter(queue, -1);
    ronde_lock_release(&queue->lock);
    queue->is_tended = true;
    queue->outer = inside;
    inside = (struct ronde_queue_visit){queue, 1};
}

void ronde_queue_leave(struct ronde_queue *queue)
{
    if (--inside.depth > 0)
        return;
    inside = queue->outer;
    queue->is_tended = false;
    ronde_queue_stop_driving(queue);
}

/* What is called here may wait in turn. */
static void move_messages_inside(struct ronde_queue *queue)
{
    queue->is_tended = false;
    (void)ronde_queue_move_messages(queue);
    queue->is_tended = true;
}

bool ronde_queue_progress(void)
{
    struct ronde_queue *queue = inside.queue;
    const bool has_messages = queue && queue->is_tended && ronde_queue_has_messages(queue);
    if (has_messages)
        move_messages_inside(queue);
    /* Callbacks are called by who moves an operation on: never by a thread that the program has not. */
    if (ronde_progress_is_this_thread() || (queue && ronde_queue_is_loading(queue)))
        return has_messages;
    return ronde_progress_callers(queue) || has_messages;
}

/* Under the lock. */
static void count_on_host(struct ronde_queue *queue, const struct ronde_request *request)
{
    if (ronde_request_stage_of(request) != RONDE_STAGE_IN_STREAM)
        __atomic_store_n(&queue->on_host, queue->on_host + 1, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void add_last(struct ronde_queue *queue, struct ronde_request *request)
{
    count_on_host(queue, request);
    if (queue->last)
        queue->last->next = request;
    else
        __atomic_store_n(&queue->first, request, __ATOMIC_RELEASE);
    queue->last = request;
    request->order = queue->calls++;
    if (ronde_request_deadline_of(request) > 0)
        limit_pending(request);
}

/* A group that was open when this process was forked ends here. Without the lock, which no other thread has. */
static void end_foreign(struct ronde_request *request)
{
    (void)ronde_queue_refuse_child(request->queue, &request->error);
    ronde_request_set_stage(request, RONDE_STAGE_OVER);
    if (request->callback)
        request->callback(request->callback_self, request->error.status, &request->error);
}

void ronde_queue_append(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    if (ronde_queue_is_foreign(queue)) {
        end_foreign(request);
        return;
    }
    ronde_lock_acquire(&queue->lock);
    if (queue->is_closed) {
        (void)ronde_fail(&request->error, RONDE_TIMEOUT, "the communicator was destroyed");
        ronde_request_set_stage(request, RONDE_STAGE_OVER);
        const bool is_last = ronde_request_drop(request);
        ronde_lock_release(&queue->lock);
        if (is_last)
            ronde_queue_release(queue);
        return;
    }
    if (request->is_message)
        ronde_queue_add_message(request);
    else
        add_last(queue, request);
    /* Its first messages leave at once, and need no other thread. */
    const bool is_next =
        (request->is_message || queue->first == request) && !queue->is_driven && !queue->is_loading;
    queue->is_driven |= is_next;
    if (!is_next)
        update_lists(queue);
    /* The driving thread posts the message; it may be asleep. */
    if (!is_next && request->is_message && queue->is_driven)
        ronde_comm_wake(queue->comm);
    ronde_lock_release(&queue->lock);
    if (!is_next)
        return;
    if (ronde_queue_advance(queue) && !ronde_queue_is_loading(queue))
        (void)ronde_queue_advance(queue);
    ronde_queue_stop_driving(queue);
}

void ronde_queue_append_stream(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_acquire(&queue->lock);
    ronde_request_set_stage(request, RONDE_STAGE_IN_STREAM);
    add_last(queue, request);
    ronde_lock_release(&queue->lock);
}

/* Waits until no thread is on the communicator, and keeps all from it. Under the lock. */
static void drive_for_ever(struct ronde_queue *queue)
{
    queue->is_closed = true;
    if (queue->first || queue->is_driven || queue->is_loading || ronde_queue_has_messages(queue))
        ronde_comm_abort(queue->comm);
    count_waiter(queue, 1);
    while (queue->is_driven || queue->is_loading)
        ronde_lock_wait(&queue->lock, 0);
    count_waiter(queue, -1);
    queue->is_driven = true;
    update_lists(queue);
}

void ronde_queue_close(struct ronde_queue *queue)
{
    ronde_lock_acquire(&queue->lock);
    drive_for_ever(queue);
    ronde_lock_release(&queue->lock);
    ronde_progress_forget(queue);
    /* Its memory is the communicator's allocator's: no thread may free it later. */
    ronde_lock_acquire(&queue->lock);
    while (__atomic_load_n(&queue->helpers, __ATOMIC_ACQUIRE) > 0)
        ronde_lock_wait(&queue->lock, 0);
    ronde_lock_release(&queue->lock);
    if ((queue->first || ronde_queue_has_messages(queue)) && queue->failure.status == RONDE_OK)
        (void)ronde_fail(&queue->failure, RONDE_TIMEOUT,
                         "rank %u destroyed the communicator before its operations were over",
                         queue->rank);
    if (queue->streams)
        ronde_streams_stop(queue);
    while (queue->first)
        ronde_queue_end_first(queue, queue->failure.status, &queue->failure);
    ronde_queue_end_messages(queue, &queue->failure);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    call_all(called);
    const struct ronde_queue_visit before =
        ronde_queue_set_inside((struct ronde_queue_visit){queue, 1});
    ronde_streams_close(queue);
    ronde_cache_fini(&queue->cache);
    (void)ronde_queue_set_inside(before);
}
