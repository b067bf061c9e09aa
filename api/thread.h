/**
 * Locks, conditions and threads of the front door.
 */
#ifndef RONDE_API_THREAD_H
#define RONDE_API_THREAD_H

#include "ronde/status.h"

#include <pthread.h>
#include <stdbool.h>

/** Mutual exclusion and a condition that waits on it. */
struct ronde_lock {
    pthread_mutex_t mutex;
    pthread_cond_t changed; /**< measured on the monotonic clock */
};

/** A thread that was started. */
struct ronde_thread {
    pthread_t id;
};

/** Prepares a lock. */
void ronde_lock_init(struct ronde_lock *lock);
/** Ends a lock that no thread holds. */
void ronde_lock_destroy(struct ronde_lock *lock);
/** Takes it. */
void ronde_lock_acquire(struct ronde_lock *lock);
/** Gives it back. */
void ronde_lock_release(struct ronde_lock *lock);
/** Gives it back, waits for ronde_lock_wake, at most `most_ns` (0 = no limit), and takes it again. */
void ronde_lock_wait(struct ronde_lock *lock, uint64_t most_ns);
/** Wakes all that wait. */
void ronde_lock_wake(struct ronde_lock *lock);

/** Starts a thread that receives no signals of the process. Errors: DEVICE with the system's reason. */
enum ronde_status ronde_thread_start(struct ronde_thread *out_thread, void *(*work)(void *self),
                                     void *self, struct ronde_error *error);
/** Waits for its end. */
void ronde_thread_join(struct ronde_thread *thread);
/** Lets it end by itself. */
void ronde_thread_detach(struct ronde_thread *thread);
/** Has a function called in every child that a fork makes, before fork returns there; false if the system refuses. */
bool ronde_thread_on_fork(void (*child)(void));
/** Offers the processor to others for so long; 0: only where another thread is ready. */
void ronde_thread_rest(uint64_t for_ns);

#endif
