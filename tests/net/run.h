/**
 * Random collectives on a communicator, compared with the host interpreter: what conformance and the soak share.
 */
#ifndef RONDE_TESTS_NET_RUN_H
#define RONDE_TESTS_NET_RUN_H

#include "net/team.h"

#include "ronde/engine.h"
#include "support/buffers.h"

/** Draws a collective that `ranks` ranks can run; the same for the same random state. Owner: the caller destroys it. */
struct ronde_schedule *run_draw_schedule(uint32_t ranks, uint64_t *random);

/**
 * Runs a random launch of a loaded schedule (count, type, operator, placement, slot, blocks) and compares this rank's
 * whole memory with what host leaves there. Every rank must call it with the same random state. How messages travel is
 * random too; member->result->number counts the launches in which this rank's were read or written in place.
 */
enum ronde_status run_random(const struct team_member *member, struct ronde_comm *comm,
                             struct ronde_comm_program *program,
                             const struct ronde_schedule *schedule, uint64_t *random,
                             struct ronde_error *error);

/** A program loaded on a backend whose ranks are processes. */
struct run_target {
    const struct ronde_backend *backend;
    struct ronde_comm *comm; /**< the backend's self; NULL where the transport is not the test's to choose */
    void *program;
    uint32_t rank;                /**< this process's, or its first */
    uint32_t rank_count;          /**< how many it has; 0 = one */
    const struct ronde_mem *mem;  /**< which buffers are from; NULL = as may be */
    enum ronde_protocol protocol; /**< then */
};

/** One launch. */
struct run_case {
    struct buffers_shape shape;   /**< of the buffers */
    const struct ronde_mem *mem;  /**< which they are from */
    uint64_t slot_bytes;          /**< 0 = the program's */
    uint32_t depth;               /**< the same */
    enum ronde_protocol protocol; /**< where this rank can; else what the backend picks */
};

/** Runs a launch and compares this rank's whole memory with what host leaves there. */
enum ronde_status run_case(const struct team_member *member, const struct run_target *target,
                           const struct ronde_schedule *schedule, const struct run_case *given,
                           struct ronde_result *out_result, struct ronde_error *error);

/** The same as run_random of any such program. */
enum ronde_status run_random_on(const struct team_member *member, const struct run_target *target,
                                const struct ronde_schedule *schedule, uint64_t *random,
                                struct ronde_error *error);

/** Compiles one algorithm. Owner: the caller destroys *out. */
enum ronde_status run_compile(enum ronde_collective collective, const char *algorithm,
                              uint32_t ranks, uint32_t root, struct ronde_schedule **out,
                              struct ronde_error *error);

/** An all_reduce of one float32 per rank, summed: what it must give is plain. */
struct run_sum {
    float value;         /**< this rank's */
    float total;         /**< of all */
    void *in[TEAM_MAX];  /**< this rank's entry alone */
    void *out[TEAM_MAX]; /**< likewise */
};

/** Fills a sum in and launches it: rank + 1 of every rank. */
struct ronde_launch run_sum_launch(struct run_sum *sum, uint32_t rank);

/** Runs a launch to its end. */
enum ronde_status run_launch(struct ronde_comm_program *program, const struct ronde_launch *launch,
                             struct ronde_error *error);

/** Loads an all_reduce and sums so many times, with checks. */
enum ronde_status run_sums(const struct team_member *member, struct ronde_comm *comm,
                           const char *algorithm, uint32_t times, struct ronde_error *error);

#endif
