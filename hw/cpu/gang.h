/**
 * A crew: threads that do the same work again and again, parked in between.
 *
 * The thread that owns the crew is worker 0 and does its own share; the crew holds workers 1 .. workers-1. Between
 * rounds a worker spins a little, since the next round often follows at once, and then sleeps.
 */
#ifndef RONDE_HW_CPU_CREW_H
#define RONDE_HW_CPU_CREW_H

#include "ronde/mem.h"

/** One worker's share of a round; returns when it is done. */
typedef void (*ronde_crew_work)(void *self, uint32_t worker);

struct ronde_crew;

/**
 * Starts workers - 1 threads that wait for the first round. Owner: the caller destroys *out_crew.
 * Errors: NO_MEMORY; DEVICE when the system refuses a thread.
 */
enum ronde_status ronde_crew_create(uint32_t workers, ronde_crew_work work, void *self,
                                    const struct ronde_mem *mem, struct ronde_crew **out_crew,
                                    struct ronde_error *error);

/** Starts a round; the last one must be over. Everything written before is visible to the workers. */
void ronde_crew_start(struct ronde_crew *crew);

/** Whether all threads are over with the round; then everything they wrote is visible. Never blocks. */
bool ronde_crew_is_over(const struct ronde_crew *crew);

/** Ends the threads, between rounds; NULL is allowed. */
void ronde_crew_destroy(struct ronde_crew *crew);

/** Waits a moment, longer if nothing has happened for `idle` calls: a pause of the core, then a turn for others. */
void ronde_crew_relax(uint32_t idle);

#endif
