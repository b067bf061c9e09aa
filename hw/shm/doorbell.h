/**
 * Doorbells of a host's ranks as pipes, so that a rank can sleep in poll() on its doorbell and on a network at once. Where
 * there is only shared memory, a futex does the same for less.
 */
#ifndef RONDE_HW_SHM_DOORBELL_H
#define RONDE_HW_SHM_DOORBELL_H

#include "ronde/status.h"

#include <stdint.h>

struct ronde_comm;
struct ronde_doorbells;

/** Opens this rank's doorbell and those of its host's ranks: comm->doorbells. Collective. Errors: NO_MEMORY, DEVICE. */
enum ronde_status ronde_doorbells_open(struct ronde_comm *comm, struct ronde_error *error);

/** Closes them, also after a failed open. */
void ronde_doorbells_close(struct ronde_comm *comm);

/** Rings the doorbell of a rank of this host, or of this rank. */
void ronde_doorbells_ring(const struct ronde_doorbells *doorbells, uint32_t rank);

/** The descriptor that becomes readable when this rank's doorbell rings. */
int ronde_doorbells_fd(const struct ronde_doorbells *doorbells);

/** Empties the pipe: clears all rings so far. */
void ronde_doorbells_clear(const struct ronde_doorbells *doorbells);

#endif
