/* Threads that work in rounds. See gang.h. */
#include "hw/cpu/gang.h"

#include "hw/cpu/seats.h"
#include "hw/pause.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Pauses before a core is offered to others: a few microseconds, longer than any message between cores takes. */
#define PAUSES_BEFORE_YIELD 100u

/* Rounds of waiting before a worker sleeps: waking it costs tens of microseconds, about what this takes. */
#define IDLE_BEFORE_SLEEP 400u

/* One thread. */
struct worker {
    struct ronde_gang *gang;
    pthread_t thread;
    uint32_t index;
};

struct ronde_gang {
    const struct ronde_mem *mem;
    ronde_gang_work work;
    void *self;
    uint32_t worker_count; /* threads started */
    uint32_t capacity;     /* entries of workers */
    struct worker *workers;
    struct ronde_seats *seats;
    uint64_t arrangement; /* of the processors, set before the round it is for */
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    uint32_t sleeping; /* under mutex */
    bool is_ending;    /* written under mutex before the round that ends */
    char padding_before[128];
    uint64_t round; /* atomic: rounds started */
    char padding_between[128];
    uint64_t over; /* atomic: shares finished in all rounds */
    char padding_after[128];
};

void ronde_gang_relax(uint32_t idle)
{
    if (idle < PAUSES_BEFORE_YIELD)
        ronde_pause_core();
    else
        sched_yield();
}

/* Waits until a round later than `seen` has started. */
static void await_round(struct ronde_gang *gang, uint64_t seen)
{
    for (uint32_t idle = 0; idle < IDLE_BEFORE_SLEEP; idle++) {
        if (__atomic_load_n(&gang->round, __ATOMIC_ACQUIRE) != seen)
            return;
        ronde_gang_relax(idle);
    }
    pthread_mutex_lock(&gang->mutex);
    gang->sleeping++;
    while (__atomic_load_n(&gang->round, __ATOMIC_ACQUIRE) == seen)
        pthread_cond_wait(&gang->wake, &gang->mutex);
    gang->sleeping--;
    pthread_mutex_unlock(&gang->mutex);
}

/* A thread's life: wait for a round, take the seat, work, say so. */
static void *live(void *self)
{
    const struct worker *worker = self;
    struct ronde_gang *gang = worker->gang;
    uint64_t arrangement = 0;
    for (uint64_t round = 0;; round++) {
        await_round(gang, round);
        if (gang->is_ending)
            return NULL;
        if (gang->arrangement != arrangement) {
            arrangement = gang->arrangement;
            ronde_seats_settle(gang->seats, worker->index);
        }
        gang->work(gang->self, worker->index);
        __atomic_fetch_add(&gang->over, 1, __ATOMIC_RELEASE);
    }
}

/* Rounds start under the mutex, so that no worker can fall asleep over one. */
static void start_round(struct ronde_gang *gang, bool is_ending)
{
    pthread_mutex_lock(&gang->mutex);
    gang->is_ending = is_ending;
    __atomic_store_n(&gang->round, gang->round + 1, __ATOMIC_RELEASE);
    if (gang->sleeping > 0)
        pthread_cond_broadcast(&gang->wake);
    pthread_mutex_unlock(&gang->mutex);
}

void ronde_gang_start(struct ronde_gang *gang)
{
    if (gang->worker_count == 0)
        return;
    gang->arrangement = ronde_seats_arrange(gang->seats);
    start_round(gang, false);
}

bool ronde_gang_is_over(const struct ronde_gang *gang)
{
    const uint64_t due = gang->round * gang->worker_count;
    return __atomic_load_n(&gang->over, __ATOMIC_ACQUIRE) == due;
}

void ronde_gang_destroy(struct ronde_gang *gang)
{
    if (!gang)
        return;
    if (gang->worker_count > 0)
        start_round(gang, true);
    for (uint32_t w = 0; w < gang->worker_count; w++)
        pthread_join(gang->workers[w].thread, NULL);
    pthread_cond_destroy(&gang->wake);
    pthread_mutex_destroy(&gang->mutex);
    ronde_seats_destroy(gang->seats);
    ronde_mem_free(gang->mem, gang->workers, gang->capacity, sizeof *gang->workers);
    ronde_mem_free(gang->mem, gang, 1, sizeof *gang);
}

/* Starts the threads; the program's signals stay with the program's own threads. */
static bool start_threads(struct ronde_gang *gang)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = true;
    while (is_started && gang->worker_count < gang->capacity) {
        struct worker *worker = &gang->workers[gang->worker_count];
        worker->gang = gang;
        worker->index = gang->worker_count + 1;
        is_started = pthread_create(&worker->thread, NULL, live, worker) == 0;
        gang->worker_count += is_started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

enum ronde_status ronde_gang_create(uint32_t workers, ronde_gang_work work, void *self,
                                    const struct ronde_bind *bind, struct ronde_gang **out_gang,
                                    struct ronde_error *error)
{
    const struct ronde_mem *mem = bind->mem;
    *out_gang = NULL;
    struct ronde_gang *gang = ronde_mem_new(mem, 1, sizeof *gang);
    if (!gang)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    gang->mem = mem;
    gang->work = work;
    gang->self = self;
    pthread_mutex_init(&gang->mutex, NULL);
    pthread_cond_init(&gang->wake, NULL);
    gang->workers = ronde_mem_new(mem, workers - 1, sizeof *gang->workers);
    gang->seats = ronde_seats_create(bind, workers);
    gang->capacity = gang->workers ? workers - 1 : 0;
    if (!gang->workers || !gang->seats) {
        ronde_gang_destroy(gang);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    }
    if (!start_threads(gang)) {
        const uint32_t started = gang->worker_count;
        ronde_gang_destroy(gang);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses thread %u of %u", started + 1,
                          workers - 1);
    }
    *out_gang = gang;
    return RONDE_OK;
}
