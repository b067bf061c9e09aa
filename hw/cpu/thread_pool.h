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
