/**
 * A gang: threads that do the same work again and again, parked in between.
 *
 * The thread that owns the gang is worker 0 and does its own share; the gang holds workers 1 .. workers-1. Between
 * rounds a worker spins a little, since the next round often follows at once, and then sleeps.
 */
#ifndef RONDE_HW_CPU_GANG_H
#define RONDE_HW_CPU_GANG_H

#include "ronde/bind.h"

/** One worker's share of a round; returns when it is done. */
typedef void (*ronde_gang_work)(void *self, uint32_t worker);

struct ronde_gang;

/**
 * Starts workers - 1 threads that wait for the first round, on seats among the processors of `bind`; without any they
 * are left to the system. Memory comes from where the list does. Owner: the caller destroys *out_gang.
 * Errors: NO_MEMORY; DEVICE when the system refuses a thread.
 */
enum ronde_status ronde_gang_create(uint32_t workers, ronde_gang_work work, void *self,
                                    const struct ronde_bind *bind, struct ronde_gang **out_gang,
                                    struct ronde_error *error);

/** Starts a round; the last one must be over. Everything written before is visible to the workers. */
void ronde_gang_start(struct ronde_gang *gang);

/** Whether all threads are over with the round; then everything they wrote is visible. Never blocks. */
bool ronde_gang_is_over(const struct ronde_gang *gang);

/** Ends the threads, between rounds; NULL is allowed. */
void ronde_gang_destroy(struct ronde_gang *gang);

/** Waits a moment, longer if nothing has happened for `idle` calls: a pause of the core, then a turn for others. */
void ronde_gang_relax(uint32_t idle);

#endif
