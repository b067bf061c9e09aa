/**
 * Random calls of the front door, compared with the definition of the collective.
 */
#ifndef RONDE_TESTS_CALLS_H
#define RONDE_TESTS_CALLS_H

#include "net/team.h"
#include "support/buffers.h"

#include "ronde/ronde.h"

/** A call and the memory of all ranks for it: this rank's is used, the others' only says what must come. */
struct calls_case {
    struct buffers actual;
    struct buffers expected;
    struct ronde_call call;
    uint32_t rank;
};

/** Draws what is called; the same for the same random state. */
struct buffers_shape calls_draw(uint32_t ranks, uint64_t *random);

/** Memory and a call for a shape. False without memory. Owner: the caller, by calls_close. */
bool calls_open(struct calls_case *out, const struct buffers_shape *shape, uint32_t rank);

/** Checks that this rank's memory is what the definition says, and nothing else was written. */
void calls_check(const struct team_member *member, struct calls_case *one);

/** Frees. */
void calls_close(struct calls_case *one);

/** Opens, runs without a request, checks and closes. */
enum ronde_status calls_run(const struct team_member *member, struct ronde_comm *comm,
                            const struct buffers_shape *shape, struct ronde_error *error);

/** Joins the team's communicator with a time limit for every operation. */
enum ronde_status calls_join(const struct team_member *member, struct ronde_comm **out_comm,
                             struct ronde_error *error);

/** One all_reduce of rank + 1, checked. */
enum ronde_status calls_sum(const struct team_member *member, struct ronde_comm *comm,
                            struct ronde_error *error);

#endif
