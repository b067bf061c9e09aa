/* A build without threads (-DRONDE_CPU=OFF): one thread makes all calls. See thread.h. */
#include "api/thread.h"

#include <sched.h>
#include <time.h>

const bool ronde_has_threads = false;

void ronde_lock_init(struct ronde_lock *lock)
{
    (void)lock;
}

void ronde_lock_destroy(struct ronde_lock *lock)
{
    (void)lock;
}

void ronde_lock_acquire(struct ronde_lock *lock)
{
    (void)lock;
}

void ronde_lock_release(struct ronde_lock *lock)
{
    (void)lock;
}

void ronde_lock_wait(struct ronde_lock *lock, uint64_t most_ns)
{
    (void)lock;
    (void)most_ns;
}

void ronde_lock_wake(struct ronde_lock *lock)
{
    (void)lock;
}

enum ronde_status ronde_thread_start(struct ronde_thread *out_thread, void *(*work)(void *self),
                                     void *self, struct ronde_error *error)
{
    (void)out_thread;
    (void)work;
    (void)self;
    return ronde_fail(error, RONDE_UNAVAILABLE,
                      "this build has no threads (package libc6-dev, -DRONDE_CPU=ON)");
}

void ronde_thread_join(struct ronde_thread *thread)
{
    (void)thread;
}

void ronde_thread_detach(struct ronde_thread *thread)
{
    (void)thread;
}

bool ronde_thread_is_self(const struct ronde_thread *thread)
{
    (void)thread;
    return true;
}

bool ronde_thread_on_fork(void (*child)(void))
{
    (void)child;
    return true;
}

void ronde_thread_rest(uint64_t for_ns)
{
    const struct timespec nap = {0, (long)for_ns};
    if (for_ns == 0)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}
