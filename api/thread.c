/* POSIX threads. See thread.h. */
#include "api/thread.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#define NS_PER_S UINT64_C(1000000000)

void ronde_lock_init(struct ronde_lock *lock)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&lock->mutex, NULL);
    pthread_cond_init(&lock->changed, &attributes);
    pthread_condattr_destroy(&attributes);
}

void ronde_lock_destroy(struct ronde_lock *lock)
{
    pthread_cond_destroy(&lock->changed);
    pthread_mutex_destroy(&lock->mutex);
}

void ronde_lock_acquire(struct ronde_lock *lock)
{
    pthread_mutex_lock(&lock->mutex);
}

void ronde_lock_release(struct ronde_lock *lock)
{
    pthread_mutex_unlock(&lock->mutex);
}

void ronde_lock_wait(struct ronde_lock *lock, uint64_t most_ns)
{
    struct timespec until;
    if (most_ns == 0) {
        pthread_cond_wait(&lock->changed, &lock->mutex);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + most_ns;
    until.tv_sec += (time_t)(ns / NS_PER_S);
    until.tv_nsec = (long)(ns % NS_PER_S);
    pthread_cond_timedwait(&lock->changed, &lock->mutex, &until);
}

void ronde_lock_wake(struct ronde_lock *lock)
{
    pthread_cond_broadcast(&lock->changed);
}

enum ronde_status ronde_thread_start(struct ronde_thread *out_thread, void *(*work)(void *self),
                                     void *self, struct ronde_error *error)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    /* A thread inherits its creator's mask: the program's handlers stay with the program's threads. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int reason = pthread_create(&out_thread->id, NULL, work, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reason == 0
               ? RONDE_OK
               : ronde_fail(error, RONDE_DEVICE, "the system gives no thread: %s", strerror(reason));
}

void ronde_thread_join(struct ronde_thread *thread)
{
    pthread_join(thread->id, NULL);
}

void ronde_thread_detach(struct ronde_thread *thread)
{
    pthread_detach(thread->id);
}

bool ronde_thread_on_fork(void (*child)(void))
{
    return pthread_atfork(NULL, NULL, child) == 0;
}

void ronde_thread_rest(uint64_t for_ns)
{
    const struct timespec nap = {(time_t)(for_ns / NS_PER_S), (long)(for_ns % NS_PER_S)};
    if (for_ns == 0)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}
