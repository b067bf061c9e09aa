/**
 * Seats of a gang: which processors each of its threads may use.
 *
 * The kernel likes to wake a thread where its waker runs; two threads that then pass messages by polling share one core
 * while another idles, which is ten times slower. So the usable processors are cut into one group per worker
 * (ronde/bind.h), beginning with the caller's core, and every thread of the gang keeps to its group. The calling thread
 * is never restricted.
 */
#ifndef RONDE_HW_CPU_SEATS_H
#define RONDE_HW_CPU_SEATS_H

#include "ronde/bind.h"

struct ronde_seats;

/** Reads which of the processors are usable. NULL when there is no memory. Owner: the caller destroys it. */
struct ronde_seats *ronde_seats_create(const struct ronde_bind *bind, uint32_t workers);

/** Frees it; NULL is allowed. */
void ronde_seats_destroy(struct ronde_seats *seats);

/**
 * Called by worker 0 before a round: keeps the groups as they are while worker 0 runs in its own, else begins them
 * anew at its processor. Returns the number of the arrangement; others call ronde_seats_settle when it has changed.
 */
uint64_t ronde_seats_arrange(struct ronde_seats *seats);

/** Restricts the calling thread to the group of `worker`. A refusal of the system only costs speed. */
void ronde_seats_settle(const struct ronde_seats *seats, uint32_t worker);

#endif
