/**
 * An all_reduce whose messages are not copied: what tests of pulling and pushing run.
 */
#ifndef RONDE_TESTS_LARGE_H
#define RONDE_TESTS_LARGE_H

#include "net/run.h"

/** Elements: more than one piece. */
#define LARGE_COUNT 100000u

/** How the messages are to travel. */
struct large_how {
    enum ronde_protocol protocol;
    bool is_registered;          /**< the buffers are from ronde_comm_mem */
    const struct ronde_mem *mem; /**< of the communicator; NULL = the default */
};

/** A rank's part of it. */
struct large {
    struct ronde_comm *comm;
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    const struct ronde_mem *mem; /**< of the buffers */
    float *values;               /**< LARGE_COUNT in, LARGE_COUNT out */
    void *in[TEAM_MAX];
    void *out[TEAM_MAX];
    struct ronde_launch launch;
};

/** Joins, loads a ring and fills the buffers. Where the kernel does not read, what is not registered is staged. */
enum ronde_status large_open(const struct team_member *member, struct large_how how,
                             const struct ronde_comm_options *options, struct large *large,
                             struct ronde_error *error);

/** Runs, and notes whether the sums are right and messages travelled as they were to. */
enum ronde_status large_run(const struct team_member *member, struct large *large,
                            struct ronde_error *error);

/** Frees the buffers; they are gone then. */
void large_free(struct large *large);

/** Gives everything back. */
void large_close(struct large *large);

#endif
