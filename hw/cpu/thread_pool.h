/**
 * A thread pool: threads that do the same work again and again, parked in between.
 *
 * The thread that owns the pool is worker 0 and does its own share; the pool holds workers 1 .. workers-1. Between
 * rounds a worker spins a little, since the next round often follows at once, and then sleeps.
 */
#ifndef RONDE_HW_CPU_THREAD_POOL_H
#define RONDE_HW_CPU_THREAD_POOL_H

#include "ronde/bind.h"

/** Refuses what takes threads in a build without them. Errors: UNAVAILABLE. */
enum ronde_status ronde_threads_check(const char *what, struct ronde_error *error);

/* Affinity of a thread pool: which processors each of its threads may use. The kernel tends to wake a thread where
 * its waker runs; two threads that then pass messages by polling share one core while another idles, which is ten
 * times slower. So the usable processors are cut into one group per worker (ronde/bind.h), beginning with the
 * caller's core, and every thread of the pool is bound to its group. The calling thread is never restricted. */

struct ronde_affinity;

/** Reads which of the processors are usable. NULL when there is no memory. Owner: the caller destroys it. */
struct ronde_affinity *ronde_affinity_create(const struct ronde_bind *bind, uint32_t workers);

/** Frees it; NULL is allowed. */
void ronde_affinity_destroy(struct ronde_affinity *affinity);

/**
 * Called by worker 0 before a round: keeps the groups as they are while worker 0 runs in its own, else begins them
 * anew at its processor. Returns the number of the arrangement; others call ronde_affinity_bind when it has changed.
 */
uint64_t ronde_affinity_arrange(struct ronde_affinity *affinity);

/** Binds the calling thread to the group of `worker`. A refusal of the system only costs speed. */
void ronde_affinity_bind(const struct ronde_affinity *affinity, uint32_t worker);

/** One worker's share of a round; returns when it is done. */
typedef void (*ronde_thread_pool_work)(void *self, uint32_t worker);

struct ronde_thread_pool;

/**
 * Starts workers - 1 threads that wait for the first round, bound to processors of `bind`; without any they are left to
 * the system. Memory comes from bind->mem. Owner: the caller destroys *out_pool.
 * Errors: NO_MEMORY; DEVICE when the system refuses a thread.
 */
enum ronde_status ronde_thread_pool_create(uint32_t workers, ronde_thread_pool_work work,
                                           void *self, const struct ronde_bind *bind,
                                           struct ronde_thread_pool **out_pool,
                                           struct ronde_error *error);

/** Starts a round; the last one must be over. Everything written before is visible to the workers. */
void ronde_thread_pool_start(struct ronde_thread_pool *pool);

/** Whether all threads have finished the round; then everything they wrote is visible. Never blocks. */
bool ronde_thread_pool_is_done(const struct ronde_thread_pool *pool);

/** Ends the threads, between rounds; NULL is allowed. */
void ronde_thread_pool_destroy(struct ronde_thread_pool *pool);

/** Backs off after `idle` calls without progress: a pause of the core, later a yield. */
void ronde_thread_pool_relax(uint32_t idle);

#endif
