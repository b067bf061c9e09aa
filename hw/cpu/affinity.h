/**
 * Affinity of a thread pool: which processors each of its threads may use.
 *
 * The kernel tends to wake a thread where its waker runs; two threads that then pass messages by polling share one core
 * while another idles, which is ten times slower. So the usable processors are cut into one group per worker
 * (ronde/bind.h), beginning with the caller's core, and every thread of the pool is bound to its group. The calling thread
 * is never restricted.
 */
#ifndef RONDE_HW_CPU_AFFINITY_H
#define RONDE_HW_CPU_AFFINITY_H

#include "ronde/bind.h"

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

#endif
