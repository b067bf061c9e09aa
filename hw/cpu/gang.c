/* Threads that work in rounds. See crew.h. */
#include "hw/cpu/crew.h"

#include "hw/cpu/seats.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Pauses before a core is offered to others: a few microseconds, longer than any message between cores takes. */
#define PAUSES_BEFORE_YIELD 100u

/* Rounds of waiting before a worker sleeps: waking it costs tens of microseconds, about what this takes. */
#define IDLE_BEFORE_SLEEP 400u

/* One thread. */
struct worker {
    struct ronde_crew *crew;
    pthread_t thread;
    uint32_t index;
};

struct ronde_crew {
    const struct ronde_mem *mem;
    ronde_crew_work work;
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

/* Tells the core that it is waiting; a core that runs two threads then gives the other one more. */
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE_CORE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE_CORE() __asm__ volatile("yield")
#else
#define PAUSE_CORE() ((void)0)
#endif

void ronde_crew_relax(uint32_t idle)
{
    if (idle < PAUSES_BEFORE_YIELD)
        PAUSE_CORE();
    else
        sched_yield();
}

/* Waits until a round later than `seen` has started. */
static void await_round(struct ronde_crew *crew, uint64_t seen)
{
    for (uint32_t idle = 0; idle < IDLE_BEFORE_SLEEP; idle++) {
        if (__atomic_load_n(&crew->round, __ATOMIC_ACQUIRE) != seen)
            return;
        ronde_crew_relax(idle);
    }
    pthread_mutex_lock(&crew->mutex);
    crew->sleeping++;
    while (__atomic_load_n(&crew->round, __ATOMIC_ACQUIRE) == seen)
        pthread_cond_wait(&crew->wake, &crew->mutex);
    crew->sleeping--;
    pthread_mutex_unlock(&crew->mutex);
}

/* A thread's life: wait for a round, take the seat, work, say so. */
static void *live(void *self)
{
    const struct worker *worker = self;
    struct ronde_crew *crew = worker->crew;
    uint64_t arrangement = 0;
    for (uint64_t round = 0;; round++) {
        await_round(crew, round);
        if (crew->is_ending)
            return NULL;
        if (crew->arrangement != arrangement) {
            arrangement = crew->arrangement;
            ronde_seats_settle(crew->seats, worker->index);
        }
        crew->work(crew->self, worker->index);
        __atomic_fetch_add(&crew->over, 1, __ATOMIC_RELEASE);
    }
}

/* Rounds start under the mutex, so that no worker can fall asleep over one. */
static void start_round(struct ronde_crew *crew, bool is_ending)
{
    pthread_mutex_lock(&crew->mutex);
    crew->is_ending = is_ending;
    __atomic_store_n(&crew->round, crew->round + 1, __ATOMIC_RELEASE);
    if (crew->sleeping > 0)
        pthread_cond_broadcast(&crew->wake);
    pthread_mutex_unlock(&crew->mutex);
}

void ronde_crew_start(struct ronde_crew *crew)
{
    if (crew->worker_count == 0)
        return;
    crew->arrangement = ronde_seats_arrange(crew->seats);
    start_round(crew, false);
}

bool ronde_crew_is_over(const struct ronde_crew *crew)
{
    const uint64_t due = crew->round * crew->worker_count;
    return __atomic_load_n(&crew->over, __ATOMIC_ACQUIRE) == due;
}

void ronde_crew_destroy(struct ronde_crew *crew)
{
    if (!crew)
        return;
    if (crew->worker_count > 0)
        start_round(crew, true);
    for (uint32_t w = 0; w < crew->worker_count; w++)
        pthread_join(crew->workers[w].thread, NULL);
    pthread_cond_destroy(&crew->wake);
    pthread_mutex_destroy(&crew->mutex);
    ronde_seats_destroy(crew->seats);
    ronde_mem_free(crew->mem, crew->workers, crew->capacity, sizeof *crew->workers);
    ronde_mem_free(crew->mem, crew, 1, sizeof *crew);
}

/* Starts the threads; the program's signals stay with the program's own threads. */
static bool start_threads(struct ronde_crew *crew)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_started = true;
    while (is_started && crew->worker_count < crew->capacity) {
        struct worker *worker = &crew->workers[crew->worker_count];
        worker->crew = crew;
        worker->index = crew->worker_count + 1;
        is_started = pthread_create(&worker->thread, NULL, live, worker) == 0;
        crew->worker_count += is_started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

enum ronde_status ronde_crew_create(uint32_t workers, ronde_crew_work work, void *self,
                                    const struct ronde_mem *mem, struct ronde_crew **out_crew,
                                    struct ronde_error *error)
{
    *out_crew = NULL;
    struct ronde_crew *crew = ronde_mem_new(mem, 1, sizeof *crew);
    if (!crew)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    crew->mem = mem;
    crew->work = work;
    crew->self = self;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->wake, NULL);
    crew->workers = ronde_mem_new(mem, workers - 1, sizeof *crew->workers);
    crew->seats = ronde_seats_create(mem, workers);
    crew->capacity = crew->workers ? workers - 1 : 0;
    if (!crew->workers || !crew->seats) {
        ronde_crew_destroy(crew);
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u workers", workers);
    }
    if (!start_threads(crew)) {
        const uint32_t started = crew->worker_count;
        ronde_crew_destroy(crew);
        return ronde_fail(error, RONDE_DEVICE, "the system refuses thread %u of %u", started + 1,
                          workers - 1);
    }
    *out_crew = crew;
    return RONDE_OK;
}
