/**
 * Random collectives on a communicator, compared with the host interpreter: what conformance and the soak share.
 */
#ifndef RONDE_TESTS_NET_RUN_H
#define RONDE_TESTS_NET_RUN_H

#include "net/team.h"

#include "ronde/engine.h"

/** Draws a collective that `ranks` ranks can run; the same for the same random state. Owner: the caller destroys it. */
struct ronde_schedule *run_draw_schedule(uint32_t ranks, uint64_t *random);

/**
 * Runs a random launch of a loaded schedule (count, type, operator, placement, slot, blocks) and compares this rank's
 * whole memory with what host leaves there. Every rank must call it with the same random state.
 */
enum ronde_status run_random(const struct team_seat *seat, struct ronde_comm *comm,
                             struct ronde_comm_program *program,
                             const struct ronde_schedule *schedule, uint64_t *random,
                             struct ronde_error *error);

#endif
