/**
 * Tagged messages in tests: what a message holds follows from its number, and cases run over every transport.
 */
#ifndef RONDE_TESTS_NET_TAGGED_H
#define RONDE_TESTS_NET_TAGGED_H

#include "net/team.h"

#include "ronde/p2p.h"

/** The longest time that a test waits for a message, at normal speed. */
#define TAGGED_SECONDS 60u

/** Runs a case over shared memory, over UCX alone and over both (hosts of two ranks); notes what this build lacks. */
void tagged_over_all(void (*run)(void));

/** Makes a member's communicator. */
enum ronde_status tagged_join(const struct team_member *member, struct ronde_comm **out_comm,
                              struct ronde_error *error);

/** Fills a buffer with what message `number` of a rank holds. */
void tagged_fill(unsigned char *buffer, uint64_t bytes, uint32_t rank, uint64_t number);

/** Whether a buffer holds that. */
bool tagged_holds(const unsigned char *buffer, uint64_t bytes, uint32_t rank, uint64_t number);

/** Waits for a send or receive and releases it; out_status may be NULL. Errors: its own; TIMEOUT. */
enum ronde_status tagged_wait(struct ronde_comm *comm, struct ronde_p2p *p2p,
                              struct ronde_p2p_status *out_status, struct ronde_error *error);

/** Posts a send and waits. */
enum ronde_status tagged_send(struct ronde_comm *comm, const void *buffer, uint64_t bytes,
                              uint32_t peer, uint64_t tag, struct ronde_error *error);

/** Posts a receive and waits. */
enum ronde_status tagged_receive(struct ronde_comm *comm, void *buffer, uint64_t bytes,
                                 uint32_t peer, uint64_t tag, struct ronde_p2p_status *out_status,
                                 struct ronde_error *error);

#endif
