/**
 * Bells of a host's ranks that ring through pipes, so that a rank can listen to its bell and to a network at once. Where
 * there is only shared memory, a futex does the same for less.
 */
#ifndef RONDE_HW_COMM_BELLS_H
#define RONDE_HW_COMM_BELLS_H

#include "ronde/status.h"

#include <stdint.h>

struct ronde_comm;
struct ronde_bells;

/** Opens this rank's bell and those of the ranks near it: comm->bells. Collective. Errors: NO_MEMORY, DEVICE. */
enum ronde_status ronde_bells_open(struct ronde_comm *comm, struct ronde_error *error);

/** Closes them, also after a failed open. */
void ronde_bells_close(struct ronde_comm *comm);

/** Rings a near rank's bell. */
void ronde_bells_ring(const struct ronde_bells *bells, uint32_t rank);

/** What becomes readable when this rank's bell has rung. */
int ronde_bells_fd(const struct ronde_bells *bells);

/** Takes back all rings so far. */
void ronde_bells_hush(const struct ronde_bells *bells);

#endif
