/* Threads that work in rounds. See thread_pool.h. */
#include "hw/cpu/thread_pool.h"

#include "hw/pause.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

enum ronde_status ronde_threads_check(const char *what, struct ronde_error *error)
{
    return RONDE_HAS_THREADS
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNAVAILABLE,
                            "%s: built without POSIX threads (-DRONDE_CPU=ON, package libc6-dev)",
                            what);
}

/* Which processors the threads of a pool use. */

/* Affinity of a thread pool: which processors each of its threads may use. The kernel tends to wake a thread where
 * its waker runs; two threads that then pass messages by polling share one core while another idles, which is ten
 * times slower. So the usable processors are cut into one group per worker (ronde/bind.h), beginning with the
 * caller's core, and every thread of the pool is bound to its group. The calling thread is never restricted. */

struct ronde_affinity {
    const struct ronde_mem *mem;
    uint32_t workers;
    uint32_t capacity;              /* entries of each list */
    uint32_t count;                 /* usable processors; fewer than workers = nothing to arrange */
    struct ronde_processor *usable; /* in the order of memories and cores */
    struct ronde_processor *turned; /* the same, beginning with the core that worker 0 was on */
    uint32_t own;                   /* entries of turned up to which worker 0's group reaches */
    uint64_t arrangement;           /* counts changes of turned */
};

/* Frees it; NULL is allowed. */
static void affinity_destroy(struct ronde_affinity *affinity)
{
    if (!affinity)
        return;
    ronde_mem_free(affinity->mem, affinity->usable, affinity->capacity, sizeof *affinity->usable);
    ronde_mem_free(affinity->mem, affinity->turned, affinity->capacity, sizeof *affinity->turned);
    ronde_mem_free(affinity->mem, affinity, 1, sizeof *affinity);
}

/* Reads which of the processors are usable. NULL when there is no memory. Owner: the caller destroys it. */
static struct ronde_affinity *affinity_create(const struct ronde_bind *bind, uint32_t workers)
{
    const struct ronde_mem *mem = bind->mem;
    struct ronde_affinity *affinity = ronde_mem_new(mem, 1, sizeof *affinity);
    if (!affinity)
        return NULL;
    affinity->mem = mem;
    affinity->workers = workers;
    affinity->capacity = bind->count;
    affinity->usable = ronde_mem_new(mem, affinity->capacity, sizeof *affinity->usable);
    affinity->turned = ronde_mem_new(mem, affinity->capacity, sizeof *affinity->turned);
    if (affinity->capacity > 0 && (!affinity->usable || !affinity->turned)) {
        affinity_destroy(affinity);
        return NULL;
    }
    affinity->count = ronde_bind_usable(bind, affinity->usable);
    return affinity;
}

/* Index in a list of the processor the calling thread is on; `end` if it is none of them up to there. */
static uint32_t current_index(const struct ronde_processor *list, uint32_t end)
{
    const int cpu = sched_getcpu();
    uint32_t index = 0;
    while (index < end && (int)list[index].cpu != cpu)
        index++;
    return index;
}

/*
 * Called by worker 0 before a round: keeps the groups as they are while worker 0 runs in its own, else begins them
 * anew at its processor. Returns the number of the arrangement; others call affinity_bind when it has changed.
 */
static uint64_t affinity_arrange(struct ronde_affinity *affinity)
{
    if (affinity->count < affinity->workers)
        return 0;
    if (current_index(affinity->turned, affinity->own) < affinity->own)
        return affinity->arrangement;
    uint32_t first = current_index(affinity->usable, affinity->count);
    if (first == affinity->count)
        return affinity->arrangement;
    /* A core is never split between the end of the list and its beginning. */
    while (first > 0 && affinity->usable[first - 1].core == affinity->usable[first].core)
        first--;
    const uint32_t rest = affinity->count - first;
    memcpy(affinity->turned, affinity->usable + first, rest * sizeof *affinity->turned);
    memcpy(affinity->turned + rest, affinity->usable, first * sizeof *affinity->turned);
    affinity->own = ronde_bind_group(affinity->turned, affinity->count, affinity->workers, 0).end;
    return ++affinity->arrangement;
}

/* Binds the calling thread to the group of `worker`. A refusal of the system only costs speed. */
static void affinity_bind(const struct ronde_affinity *affinity, uint32_t worker)
{
    (void)ronde_bind_take(affinity->turned, ronde_bind_group(affinity->turned, affinity->count,
                                                             affinity->workers, worker));
}

/* Pauses before a core is yielded: a few microseconds, longer than any message between cores takes. */
#define PAUSES_BEFORE_YIELD 100u

/* Rounds of waiting before a worker sleeps: waking it costs tens of microseconds, about what this takes. */
#define IDLE_BEFORE_SLEEP 400u

/* One thread. */
struct worker {
    struct ronde_thread_pool *pool;
    pthread_t thread;
    uint32_t index;
};

struct ronde_thread_pool {
    const struct ronde_mem *mem;
    ronde_thread_pool_work work;
    void *self;
    uint32_t worker_count; /* threads started */
    uint32_t capacity;     /* entries of workers */
    struct worker *workers;
    struct ronde_affinity *affinity;
    uint64_t arrangement; /* of the processors, set before the round it is for */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    uint32_t sleeping; /* under mutex */
    bool is_ending;    /* written under mutex before the round that ends */
    char padding_before[128];
    uint64_t round; /* atomic: rounds started */
    char padding_between[128];
    uint64_t finished; /* atomic: shares finished in all rounds */
    char padding_after[128];
};

void ronde_thread_pool_relax(uint32_t idle)
{
    if (idle < PAUSES_BEFORE_YIELD)
        ronde_pause_core();
    else
        sched_yield();
}

/* Waits until a round later than `seen` has started. */
static void await_round(struct ronde_thread_pool *pool, uint64_t seen)
{
    for (uint32_t idle = 0; idle < IDLE_BEFORE_SLEEP; idle++) {
        if (__atomic_load_n(&pool->round, __ATOMIC_ACQUIRE) != seen)
            return;
        ronde_thread_pool_relax(idle);
    }
    pthread_mutex_lock(&pool->mutex);
    pool->sleeping++;
    while (__atomic_load_n(&pool->round, __ATOMIC_ACQUIRE) == seen)
        pthread_cond_wait(&pool->wake, &pool->mutex);
    pool->sleeping--;
    pthread_mutex_unlock(&pool->mutex);
}

/* A thread: waits for a round, binds itself to its group, works, counts itself as finished. */
static void *run_worker(void *self)
{
    const struct worker *worker = self;
    struct ronde_thread_pool *pool = worker->pool;
    uint64_t arrangement = 0;
    for (uint64_t round = 0;; round++) {
        await_round(pool, round);
        if (pool->is_ending)
            return NULL;
        if (pool->arrangement != arrangement) {
            arrangement = pool->arrangement;
            affinity_bind(pool->affinity, worker->index);
        }
        pool->work(pool->self, worker->index);
        __atomic_fetch_add(&pool->finished, 1, __ATOMIC_RELEASE);
    }
}

/* Rounds start under the mutex, so that no worker can fall asleep over one. */
static void start_round(struct ronde_thread_pool *pool, bool is_ending)
{
    pthread_mutex_lock(&pool->mutex);
    pool->is_ending = is_ending;
    __atomic_store_n(&pool->round, pool->round + 1, __ATOMIC_RELEASE);
    if (pool->sleeping > 0)
        pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->mutex);
}

void ronde_thread_pool_start(struct ronde_thread_pool *pool)
{
    if (pool->worker_count == 0)
        return;
    pool->arrangement = affinity_arrange(pool->affinity);
    start_round(pool, false);
}

bool ronde_thread_pool_is_done(const struct ronde_thread_pool *pool)
{
    const uint64_t due = pool->round * pool->worker_count;
    return __atomic_load_n(&pool->finished, __ATOMIC_ACQUIRE) == due;
}

void ronde_thread_pool_destroy(struct ronde_thread_pool *pool)
{
    if (!pool)
        return;
    if (pool->worker_count > 0)
        start_round(pool, true);
    for (uint32_t w = 0; w < pool->worker_count; w++)
        pthread_join(pool->workers[w].thread, NULL);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    affinity_destroy(pool->affinity);
    ronde_mem_free(pool->mem, pool->workers, pool->capacity, sizeof *pool->workers);
    ronde_mem_free(pool->mem, pool, 1, sizeof *pool);
}

/* Starts the threads; the program's signals stay with the program's own threads. */
static bool start_threads(struct ronde_thread_pool *pool)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = true;
    while (is_started && pool->worker_count < pool->capacity) {
        struct worker *worker = &pool->workers[pool->worker_count];
        worker->pool = pool;
        worker->index = pool->worker_count + 1;
        is_started = pthread_create(&worker->thread, NULL, run_worker, worker) == 0;
        pool->worker_count += is_started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

enum ronde_status ronde_thread_pool_create(uint32_t workers, ronde_thread_pool_work work,
                                           void *self, const struct ronde_bind *bind,
                                           struct ronde_thread_pool **out_pool,
                                           struct ronde_error *error)
{
    const struct ronde_mem *mem = bind->mem;
    *out_pool = NULL;
    struct ronde_thread_pool *pool = ronde_mem_new(mem, 1, sizeof *pool);
    if (!pool)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    pool->mem = mem;
    pool->work = work;
    pool->self = self;
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pool->workers = ronde_mem_new(mem, workers - 1, sizeof *pool->workers);
    pool->affinity = affinity_create(bind, workers);
    pool->capacity = pool->workers ? workers - 1 : 0;
    if (!pool->workers || !pool->affinity) {
        ronde_thread_pool_destroy(pool);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    }
    if (!start_threads(pool)) {
        const uint32_t started = pool->worker_count;
        ronde_thread_pool_destroy(pool);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses thread %u of %u", started + 1,
                          workers - 1);
    }
    *out_pool = pool;
    return RONDE_OK;
}
