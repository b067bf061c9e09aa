/* Pending operations of a communicator. See queue.h. */
#include "api/progress.h"

#include "ronde/hw.h"

#include <string.h>

/* While other queues need the calling thread, it looks at its own again after this long. */
#define GLANCE_NS UINT64_C(1000000)

/* The queue that this thread has entered, or loads for, and how often: what it then calls enters again. */
static _Thread_local struct ronde_queue *inside;
static _Thread_local uint32_t inside_depth;

static bool is_loading(const struct ronde_queue *queue)
{
    return __atomic_load_n(&queue->is_loading, __ATOMIC_ACQUIRE);
}

static enum ronde_request_stage stage_of(const struct ronde_request *request)
{
    return __atomic_load_n(&request->stage, __ATOMIC_ACQUIRE);
}

static void set_stage(struct ronde_request *request, enum ronde_request_stage stage)
{
    __atomic_store_n(&request->stage, stage, __ATOMIC_RELEASE);
}

void ronde_queue_hold(struct ronde_queue *queue)
{
    __atomic_add_fetch(&queue->references, 1, __ATOMIC_RELAXED);
}

void ronde_queue_come(struct ronde_queue *queue)
{
    __atomic_add_fetch(&queue->helpers, 1, __ATOMIC_RELAXED);
}

void ronde_queue_go(struct ronde_queue *queue)
{
    ronde_lock_take(&queue->lock);
    if (__atomic_sub_fetch(&queue->helpers, 1, __ATOMIC_ACQ_REL) == 0 && queue->is_closed)
        ronde_lock_wake(&queue->lock);
    ronde_lock_give(&queue->lock);
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
    ronde_lock_fini(&queue->lock);
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

/* Under the lock: whether the queue waits for a thread to drive it. */
static void settle(struct ronde_queue *queue)
{
    const bool has_work = queue->first || ronde_queue_has_messages(queue);
    ronde_progress_list(queue, has_work && !queue->is_loading && queue->waiters == 0 &&
                                   !queue->is_closed && (!queue->is_driven || queue->is_polled));
}

static void count_waiter(struct ronde_queue *queue, int more)
{
    __atomic_store_n(&queue->waiters, queue->waiters + (uint32_t)more, __ATOMIC_RELAXED);
}

static void call_back(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_take(&queue->lock);
    const ronde_complete callback = request->callback;
    void *self = request->callback_self;
    request->callback = NULL;
    ronde_lock_give(&queue->lock);
    if (callback)
        callback(self, request->error.status, &request->error);
    ronde_lock_take(&queue->lock);
    const bool is_last = ronde_request_drop(request);
    ronde_lock_give(&queue->lock);
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
    ronde_lock_take(&queue->lock);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    queue->is_driven = false;
    queue->is_polled = false;
    if (queue->first || queue->list || ronde_queue_has_messages(queue))
        settle(queue);
    if (queue->waiters > 0)
        ronde_lock_wake(&queue->lock);
    ronde_lock_give(&queue->lock);
    call_all(called);
}

/* Under the lock: the earliest deadline of what is pending. */
static void find_earliest(struct ronde_queue *queue)
{
    double earliest_ns = 0;
    for (const struct ronde_request *at = queue->first; at; at = at->next)
        if (at->deadline_ns > 0 && (earliest_ns == 0 || at->deadline_ns < earliest_ns))
            earliest_ns = at->deadline_ns;
    __atomic_store_n(&queue->earliest_ns, (uint64_t)earliest_ns, __ATOMIC_RELAXED);
}

static double earliest_of(const struct ronde_queue *queue)
{
    return (double)__atomic_load_n(&queue->earliest_ns, __ATOMIC_RELAXED);
}

void ronde_queue_hurry(struct ronde_request *request, double deadline_ns)
{
    struct ronde_queue *queue = request->queue;
    const double earliest_ns = earliest_of(queue);
    if (request->deadline_ns == 0 || deadline_ns < request->deadline_ns)
        request->deadline_ns = deadline_ns;
    if (request->is_message)
        return;
    if (earliest_ns > 0 && earliest_ns <= deadline_ns)
        return;
    __atomic_store_n(&queue->earliest_ns, (uint64_t)deadline_ns, __ATOMIC_RELAXED);
    if (queue->is_loading)
        ronde_comm_hurry(queue->comm, deadline_ns);
}

void ronde_queue_end(struct ronde_request *request, enum ronde_status status,
                     const struct ronde_error *error)
{
    struct ronde_queue *queue = request->queue;
    bool is_last = false;
    if (status != RONDE_OK)
        request->error = *error;
    request->error.status = status;
    ronde_lock_take(&queue->lock);
    set_stage(request, RONDE_STAGE_OVER);
    if (request->callback) {
        request->next = queue->called;
        queue->called = request;
    } else {
        is_last = ronde_request_drop(request);
    }
    if (queue->waiters > 0)
        ronde_lock_wake(&queue->lock);
    ronde_lock_give(&queue->lock);
    /* Never the queue's last reference: who drives it has one. */
    if (is_last)
        ronde_queue_release(queue);
}

/* The first operation is over. Without the lock. */
static void end_first(struct ronde_queue *queue, enum ronde_status status,
                      const struct ronde_error *error)
{
    struct ronde_request *request = queue->first;
    ronde_lock_take(&queue->lock);
    __atomic_store_n(&queue->first, request->next, __ATOMIC_RELEASE);
    if (!request->next)
        queue->last = NULL;
    if (request->deadline_ns > 0)
        find_earliest(queue);
    ronde_lock_give(&queue->lock);
    ronde_queue_end(request, status, error);
}

enum ronde_status ronde_queue_load(struct ronde_queue *queue, const struct ronde_kind *kind,
                                   struct ronde_error *error)
{
    inside = queue;
    inside_depth = 1;
    queue->is_tended = true;
    const enum ronde_status status = ronde_cache_load(&queue->cache, kind, error);
    queue->is_tended = false;
    ronde_comm_limit(queue->comm, 0);
    inside = NULL;
    return status;
}

static void *load(void *self)
{
    struct ronde_queue *queue = self;
    struct ronde_error error = {0};
    const enum ronde_status status = ronde_queue_load(queue, &queue->load_kind, &error);
    if (status != RONDE_OK)
        ronde_queue_note(queue);
    ronde_lock_take(&queue->lock);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    queue->load_status = status;
    queue->load_error = error;
    __atomic_store_n(&queue->is_loading, false, __ATOMIC_RELEASE);
    settle(queue);
    ronde_lock_wake(&queue->lock);
    ronde_lock_give(&queue->lock);
    call_all(called);
    ronde_queue_go(queue);
    return NULL;
}

/* The first operation needs a program that is not loaded. */
static void start_loading(struct ronde_queue *queue, const struct ronde_kind *kind)
{
    struct ronde_thread thread;
    ronde_queue_come(queue);
    ronde_lock_take(&queue->lock);
    queue->load_kind = *kind;
    __atomic_store_n(&queue->is_loading, true, __ATOMIC_RELAXED);
    ronde_queue_limit(queue, earliest_of(queue));
    ronde_lock_give(&queue->lock);
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
        end_first(queue, status, &error);
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
    status = ronde_queue_launch(queue, kept, call, call->count, earliest_of(queue), &error);
    if (status == RONDE_OK) {
        set_stage(request, agrees ? RONDE_STAGE_AGREEING : RONDE_STAGE_RUNNING);
        return;
    }
    ronde_queue_note(queue);
    end_first(queue, status, &error);
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
    if (status == RONDE_OK)
        status = ronde_comm_wait(queue->running, &result, error);
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
    if (stage_of(request) == RONDE_STAGE_WAITING) {
        begin(queue, request);
        return true;
    }
    error.status = RONDE_OK;
    const enum ronde_status status = ronde_queue_move_run(queue, &is_done, &error);
    if (!is_done)
        return false;
    if (status == RONDE_OK && stage_of(request) == RONDE_STAGE_AGREEING && queue->agreed[1] > 0) {
        request->call.count = queue->agreed[1];
        set_stage(request, RONDE_STAGE_WAITING);
        return true;
    }
    end_first(queue, status, &error);
    return true;
}

/* Moves on what is pending; returns whether that made a difference. Of who drives, while nothing is loaded. */
static bool advance(struct ronde_queue *queue)
{
    bool has_moved = ronde_queue_has_messages(queue) && ronde_queue_move_messages(queue);
    has_moved |= advance_first(queue);
    queue->idle = has_moved ? 0 : queue->idle + 1;
    return has_moved;
}

/* Waits a moment, after a turn in which nothing moved. */
static void rest(struct ronde_queue *queue)
{
    if (queue->running)
        ronde_comm_run_rest(queue->running);
    else if (ronde_queue_has_messages(queue))
        ronde_comm_p2p_rest(queue->comm, queue->idle);
}

/* Nothing moved: other queues may, or the thread waits a moment. */
void ronde_queue_idle(struct ronde_queue *queue)
{
    if (!ronde_progress_callers(queue))
        rest(queue);
}

bool ronde_queue_poll(struct ronde_queue *queue, bool alone)
{
    ronde_lock_take(&queue->lock);
    const bool has_work = queue->first || ronde_queue_has_messages(queue);
    if (!has_work || queue->is_driven || queue->is_loading || queue->waiters > 0) {
        settle(queue);
        ronde_lock_give(&queue->lock);
        return false;
    }
    queue->is_driven = true;
    queue->is_polled = true;
    ronde_lock_give(&queue->lock);
    const bool has_moved = advance(queue);
    while (alone && !is_loading(queue) && !queue->called &&
           (__atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) || ronde_queue_has_messages(queue)) &&
           ronde_progress_is_alone() && __atomic_load_n(&queue->waiters, __ATOMIC_RELAXED) == 0)
        if (!advance(queue))
            rest(queue);
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
            ronde_lock_give(&queue->lock);
            (void)ronde_progress_callers(queue);
            ronde_lock_take(&queue->lock);
        }
    }
    if (request && ronde_request_is_over(request))
        return false;
    queue->is_driven = true;
    settle(queue);
    return true;
}

void ronde_queue_await(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_take(&queue->lock);
    count_waiter(queue, 1);
    while (!ronde_request_is_over(request) && start_driving(queue, request)) {
        ronde_lock_give(&queue->lock);
        while (!ronde_request_is_over(request) && !is_loading(queue) && !queue->called)
            if (!advance(queue))
                ronde_queue_idle(queue);
        ronde_queue_stop_driving(queue);
        ronde_lock_take(&queue->lock);
    }
    count_waiter(queue, -1);
    settle(queue);
    ronde_lock_give(&queue->lock);
}

void ronde_queue_enter(struct ronde_queue *queue)
{
    if (inside == queue) {
        inside_depth++;
        return;
    }
    ronde_lock_take(&queue->lock);
    count_waiter(queue, 1);
    while (start_driving(queue, NULL) && queue->first) {
        ronde_lock_give(&queue->lock);
        while (__atomic_load_n(&queue->first, __ATOMIC_ACQUIRE) && !is_loading(queue) &&
               !queue->called)
            if (!advance(queue))
                ronde_queue_idle(queue);
        ronde_queue_stop_driving(queue);
        ronde_lock_take(&queue->lock);
    }
    count_waiter(queue, -1);
    ronde_lock_give(&queue->lock);
    queue->is_tended = true;
    inside = queue;
    inside_depth = 1;
}

void ronde_queue_leave(struct ronde_queue *queue)
{
    if (--inside_depth > 0)
        return;
    inside = NULL;
    queue->is_tended = false;
    ronde_queue_stop_driving(queue);
}

bool ronde_queue_tend(struct ronde_queue *queue)
{
    if (!queue->is_tended || !ronde_queue_has_messages(queue))
        return false;
    /* What is called here may wait in turn. */
    queue->is_tended = false;
    (void)ronde_queue_move_messages(queue);
    queue->is_tended = true;
    return ronde_queue_has_messages(queue);
}

/* Under the lock. */
static void add_last(struct ronde_queue *queue, struct ronde_request *request)
{
    if (queue->last)
        queue->last->next = request;
    else
        __atomic_store_n(&queue->first, request, __ATOMIC_RELEASE);
    queue->last = request;
    if (request->deadline_ns > 0)
        ronde_queue_hurry(request, request->deadline_ns);
}

void ronde_queue_append(struct ronde_request *request)
{
    struct ronde_queue *queue = request->queue;
    ronde_lock_take(&queue->lock);
    if (queue->is_closed) {
        (void)ronde_fail(&request->error, RONDE_TIMEOUT, "the communicator was destroyed");
        set_stage(request, RONDE_STAGE_OVER);
        const bool is_last = ronde_request_drop(request);
        ronde_lock_give(&queue->lock);
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
        settle(queue);
    /* The driving thread posts the message; it may be asleep. */
    if (!is_next && request->is_message && queue->is_driven)
        ronde_comm_wake(queue->comm);
    ronde_lock_give(&queue->lock);
    if (!is_next)
        return;
    if (advance(queue) && !is_loading(queue))
        (void)advance(queue);
    ronde_queue_stop_driving(queue);
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
    settle(queue);
}

void ronde_queue_close(struct ronde_queue *queue)
{
    ronde_lock_take(&queue->lock);
    drive_for_ever(queue);
    ronde_lock_give(&queue->lock);
    ronde_progress_forget(queue);
    /* Its memory is the communicator's allocator's: no thread may free it later. */
    ronde_lock_take(&queue->lock);
    while (__atomic_load_n(&queue->helpers, __ATOMIC_ACQUIRE) > 0)
        ronde_lock_wait(&queue->lock, 0);
    ronde_lock_give(&queue->lock);
    if ((queue->first || ronde_queue_has_messages(queue)) && queue->failure.status == RONDE_OK)
        (void)ronde_fail(&queue->failure, RONDE_TIMEOUT,
                         "rank %u destroyed the communicator before its operations were over",
                         queue->rank);
    while (queue->first)
        end_first(queue, queue->failure.status, &queue->failure);
    ronde_queue_end_messages(queue, &queue->failure);
    struct ronde_request *called = queue->called;
    queue->called = NULL;
    call_all(called);
    inside = queue;
    inside_depth = 1;
    ronde_cache_fini(&queue->cache);
    inside = NULL;
}
