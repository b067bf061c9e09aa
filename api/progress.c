/* The progress thread. See progress.h. */
#include "api/progress.h"
#include "api/thread.h"

#include "ronde/hw.h"

/* So long naps take the place of yields after one that a computing thread used up. */
#define NO_YIELDS_NS 200e6

/* The longest nap. Beside a thread that computes each costs some 20 us of it on a virtual machine. */
#define LONGEST_NAP_NS 1e6

/** Turns of the thread in which nothing moved. */
struct ronde_progress_idle {
    uint32_t turns;
    double since_ns;      /**< when the first ended */
    double naps_until_ns; /**< until when yields are left out */
};

/** Queues of one kind of progress. */
struct ronde_progress_list {
    struct ronde_queue *first;
    uint32_t count; /**< atomic: written under the lock */
};

static struct {
    struct ronde_lock lock;
    struct ronde_lock start; /* who starts and ends the thread */
    struct ronde_lock
        nap; /* made with the thread: its times are limited, as those of a static one cannot be */
    bool is_called; /* under nap: the thread shall look at once */
    struct ronde_progress_list by_thread;
    struct ronde_progress_list by_callers;
    struct ronde_queue *polled; /* under lock: which the thread moves on, or NULL */
    struct ronde_thread thread;
    uint32_t users;        /* under start */
    bool is_ending;        /* under lock */
    bool has_fork_handler; /* under start */
} progress = {.lock = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER},
              .start = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER}};

static _Thread_local bool is_progress_thread;

/* A child has neither the thread nor a part in its parent's communicators. */
static void forget_all(void)
{
    ronde_lock_init(&progress.lock);
    ronde_lock_init(&progress.start);
    ronde_lock_init(&progress.nap);
    progress.by_thread = (struct ronde_progress_list){NULL, 0};
    progress.by_callers = (struct ronde_progress_list){NULL, 0};
    progress.polled = NULL;
    progress.users = 0;
    progress.is_ending = false;
}

static uint32_t count_of(const struct ronde_progress_list *list)
{
    return __atomic_load_n(&list->count, __ATOMIC_RELAXED);
}

static void insert(struct ronde_progress_list *list, struct ronde_queue *queue)
{
    struct ronde_queue *first = list->first;
    queue->list = list;
    queue->next = first ? first : queue;
    queue->previous = first ? first->previous : queue;
    queue->next->previous = queue;
    queue->previous->next = queue;
    if (!first)
        list->first = queue;
    __atomic_store_n(&list->count, list->count + 1, __ATOMIC_RELAXED);
}

static void take_out(struct ronde_queue *queue)
{
    struct ronde_progress_list *list = queue->list;
    queue->next->previous = queue->previous;
    queue->previous->next = queue->next;
    if (list->first == queue)
        list->first = queue->next == queue ? NULL : queue->next;
    queue->list = NULL;
    __atomic_store_n(&list->count, list->count - 1, __ATOMIC_RELAXED);
}

/* Ends the thread's nap, or the next one. Under the lock. */
static void end_nap(void)
{
    ronde_lock_acquire(&progress.nap);
    progress.is_called = true;
    ronde_lock_wake(&progress.nap);
    ronde_lock_release(&progress.nap);
}

static void nap(uint64_t for_ns)
{
    ronde_lock_acquire(&progress.nap);
    if (!progress.is_called)
        ronde_lock_wait(&progress.nap, for_ns);
    progress.is_called = false;
    ronde_lock_release(&progress.nap);
}

void ronde_progress_list(struct ronde_queue *queue, bool is_listed)
{
    if (is_listed == (queue->list != NULL))
        return;
    ronde_lock_acquire(&progress.lock);
    if (!is_listed) {
        take_out(queue);
    } else if (queue->progress == RONDE_PROGRESS_CALLER) {
        insert(&progress.by_callers, queue);
    } else {
        insert(&progress.by_thread, queue);
        ronde_lock_wake(&progress.lock);
        end_nap();
        /* It may be asleep until something comes for another one. */
        if (progress.polled && progress.polled != queue)
            ronde_comm_wake(progress.polled->comm);
    }
    ronde_lock_release(&progress.lock);
}

/* The next queue in turn, which the caller lets go. NULL where the list is empty. The lock is the caller's. */
static struct ronde_queue *next_of(struct ronde_progress_list *list)
{
    struct ronde_queue *queue = list->first;
    if (!queue)
        return NULL;
    list->first = queue->next;
    ronde_queue_acquire_helper(queue);
    return queue;
}

/* Moves every queue on that was listed when the round began; returns whether anything moved. */
static bool go_round(void)
{
    bool has_moved = false;
    for (uint32_t left = progress.by_thread.count; left > 0; left--) {
        struct ronde_queue *queue = next_of(&progress.by_thread);
        if (!queue)
            break;
        progress.polled = queue;
        ronde_lock_release(&progress.lock);
        has_moved |= ronde_queue_poll(queue, true);
        ronde_lock_acquire(&progress.lock);
        progress.polled = NULL;
        ronde_lock_release(&progress.lock);
        ronde_queue_release_helper(queue);
        ronde_lock_acquire(&progress.lock);
    }
    return has_moved;
}

/* As long as it has been idle: what then comes has waited twice as long at most, and naps are few. */
static uint64_t nap_ns(const struct ronde_progress_idle *idle, double now_ns)
{
    const double waited_ns = now_ns - idle->since_ns;
    if (waited_ns < (double)RONDE_NAP_NS)
        return RONDE_NAP_NS;
    return (uint64_t)(waited_ns < LONGEST_NAP_NS ? waited_ns : LONGEST_NAP_NS);
}

/*
 * Waits a moment. A thread that computes keeps the processor it is yielded for a whole time slice, some ms, whereas the end
 * of a nap preempts it. Such a yield is noticed by how long it took.
 */
static void rest(struct ronde_progress_idle *idle)
{
    const double now_ns = ronde_clock_ns();
    if (idle->turns == 1)
        idle->since_ns = now_ns;
    if (idle->turns >= RONDE_YIELDS || now_ns < idle->naps_until_ns) {
        nap(nap_ns(idle, now_ns));
        return;
    }
    ronde_thread_rest(0);
    if (ronde_clock_ns() - now_ns > (double)RONDE_NAP_NS)
        idle->naps_until_ns = now_ns + NO_YIELDS_NS;
}

static void *work(void *unused)
{
    struct ronde_progress_idle idle = {0, 0, 0};
    is_progress_thread = true;
    ronde_lock_acquire(&progress.lock);
    while (!progress.is_ending) {
        if (!progress.by_thread.first) {
            ronde_lock_wait(&progress.lock, 0);
            idle.turns = 0;
            continue;
        }
        idle.turns = go_round() ? 0 : idle.turns + 1;
        if (idle.turns == 0)
            continue;
        ronde_lock_release(&progress.lock);
        rest(&idle);
        ronde_lock_acquire(&progress.lock);
    }
    ronde_lock_release(&progress.lock);
    return unused;
}

void ronde_progress_forget_on_fork(void)
{
    ronde_lock_acquire(&progress.start);
    if (!progress.has_fork_handler)
        progress.has_fork_handler = ronde_thread_on_fork(forget_all);
    ronde_lock_release(&progress.start);
}

enum ronde_status ronde_progress_acquire(struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    ronde_lock_acquire(&progress.start);
    if (progress.users == 0) {
        ronde_lock_init(&progress.nap);
        progress.is_called = false;
        status = ronde_thread_start(&progress.thread, work, NULL, error);
    }
    progress.users += status == RONDE_OK;
    ronde_lock_release(&progress.start);
    return status;
}

void ronde_progress_release(void)
{
    ronde_lock_acquire(&progress.start);
    if (--progress.users == 0) {
        ronde_lock_acquire(&progress.lock);
        progress.is_ending = true;
        ronde_lock_wake(&progress.lock);
        end_nap();
        ronde_lock_release(&progress.lock);
        ronde_thread_join(&progress.thread);
        ronde_lock_destroy(&progress.nap);
        progress.is_ending = false;
    }
    ronde_lock_release(&progress.start);
}

void ronde_progress_forget(const struct ronde_queue *queue)
{
    ronde_lock_acquire(&progress.lock);
    if (progress.polled == queue)
        progress.polled = NULL;
    ronde_lock_release(&progress.lock);
}

bool ronde_progress_has_callers(void)
{
    return count_of(&progress.by_callers) > 0;
}

bool ronde_progress_is_this_thread(void)
{
    return is_progress_thread;
}

bool ronde_progress_is_alone(void)
{
    return count_of(&progress.by_thread) <= 1;
}

bool ronde_progress_callers(const struct ronde_queue *except)
{
    const uint32_t count = count_of(&progress.by_callers);
    for (uint32_t k = 0; k < count; k++) {
        ronde_lock_acquire(&progress.lock);
        struct ronde_queue *queue = next_of(&progress.by_callers);
        ronde_lock_release(&progress.lock);
        if (!queue)
            break;
        if (queue != except)
            (void)ronde_queue_poll(queue, false);
        ronde_queue_release_helper(queue);
    }
    return count > 0;
}
