/* Memory of a rank's device that others read in place: operations in streams with buffers in it, and beside it. */
#include "api/streamed.h"

#include "api/calls.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* Long enough that messages of two ranks are read in place. */
#define COUNT 80000u
#define BUFFERS 8u

/* Of a rank's memory the first half is registered, from another place on each. */
static enum ronde_status open_half(struct streamed_rank *rank, const struct team_member *member,
                                   struct ronde_registration **out_registration,
                                   struct ronde_error *error)
{
    enum ronde_status status = streamed_open(rank, member, (size_t)BUFFERS * COUNT, error);
    if (status == RONDE_OK)
        status = ronde_register(rank->comm, rank->data + rank->rank,
                                (size_t)BUFFERS / 2 * COUNT * sizeof *rank->data, out_registration,
                                error);
    return status;
}

/* A buffer, registered or not: the ranks' places there differ. */
static int32_t *buffer_of(const struct streamed_rank *rank, uint32_t number)
{
    return rank->data + (size_t)number * COUNT + 17 * (rank->rank + 1);
}

static void fill(int32_t *buffer, int32_t value)
{
    for (uint32_t k = 0; k < COUNT / 2; k++)
        buffer[k] = value + (int32_t)k;
}

static bool holds(const int32_t *buffer, int32_t value, int32_t step)
{
    bool is_right = true;
    for (uint32_t k = 0; k < COUNT / 2; k++)
        is_right &= buffer[k] == value + step * (int32_t)k;
    return is_right;
}

static enum ronde_status sum(const struct streamed_rank *rank, const int32_t *in, int32_t *out,
                             struct ronde_request **out_request, struct ronde_error *error)
{
    return ronde_all_reduce(rank->comm, in, out, COUNT / 2, RONDE_INT32, RONDE_SUM,
                            &streamed_names[0], out_request, error);
}

/* What rank 1 waits for before it enqueues anything, and rank 0 writes when it has enqueued all. */
static int gate[2];

/*
 * One launch is kept for all: buffers are registered in one operation and not in the next, in place here and out of place
 * there, and not alike on the ranks. Rank 0 is ahead of the other by all of them.
 */
static enum ronde_status mix(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_registration *registration = NULL;
    struct ronde_request *requests[BUFFERS] = {NULL};
    char byte = 0;
    enum ronde_status status = open_half(&rank, member, &registration, error);
    if (status == RONDE_OK)
        status = sum(&rank, buffer_of(&rank, 6), buffer_of(&rank, 7), NULL, error);
    (void)team_check(member, streamed_pulled() == 0, "it is not registered");
    const uint64_t writes = streamed_writes();
    if (rank.rank == 1)
        (void)team_check(member, read(gate[0], &byte, 1) == 1, "the gate");
    for (uint32_t k = 0; k < BUFFERS - 1 && status == RONDE_OK; k++) {
        /* Each other half of a buffer: a sum of any number is beside that of its neighbour. */
        const bool is_in_place = (k + rank.rank) % 3 == 0;
        int32_t *in = buffer_of(&rank, (k + rank.rank) % (BUFFERS - 1));
        int32_t *out = is_in_place ? in : in + COUNT / 2;
        fill(in, (int32_t)(100 * k + rank.rank));
        status = sum(&rank, in, out, &requests[k], error);
        if (status == RONDE_OK && rank.rank == 1)
            status = ronde_request_wait(requests[k], 0, error);
        if (status == RONDE_OK && rank.rank == 1)
            (void)team_check(member, holds(out, (int32_t)(200 * k + 1), 2), "a sum");
    }
    if (rank.rank == 0)
        (void)team_check(member, write(gate[1], "", 1) == 1, "the gate");
    for (uint32_t k = 0; k < BUFFERS - 1; k++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        ronde_request_free(requests[k]);
    }
    (void)team_check(member, streamed_writes() == writes, "something was prepared anew");
    (void)team_check(member, streamed_pulled() > 0 && streamed_pulled() < BUFFERS,
                     "what is registered is read in place, and nothing else");
    if (status == RONDE_OK)
        status = ronde_deregister(rank.comm, registration, error);
    streamed_close(&rank);
    return status;
}

static void registered_and_other_buffers_take_turns(void)
{
    CU_ASSERT_FATAL(pipe(gate) == 0);
    team_run_expecting(2, mix, NULL, results, RONDE_OK);
    close(gate[0]);
    close(gate[1]);
}

/* Deregistering waits for what reads the memory, on this rank and on the other. */
static enum ronde_status wait_first(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_registration *registration = NULL;
    struct ronde_request *request = NULL;
    enum ronde_status status = open_half(&rank, member, &registration, error);
    int32_t *in = buffer_of(&rank, 1);
    fill(in, (int32_t)rank.rank);
    if (rank.rank == 1)
        usleep(100000);
    if (status == RONDE_OK)
        status = sum(&rank, in, in, &request, error);
    if (status == RONDE_OK)
        status = ronde_deregister(rank.comm, registration, error);
    (void)team_check(member, ronde_request_status(request).is_done && holds(in, 1, 2), "a sum");
    ronde_request_free(request);
    (void)team_check(member, streamed_pulled() == 1, "it was registered");
    if (status == RONDE_OK)
        status = sum(&rank, buffer_of(&rank, 2), buffer_of(&rank, 3), NULL, error);
    (void)team_check(member, streamed_pulled() == 1, "it is registered no more");
    streamed_close(&rank);
    return status;
}

static void deregistering_waits_for_pending_operations(void)
{
    team_run_expecting(2, wait_first, NULL, results, RONDE_OK);
}

#define REPLAYS 20u

/* A graph keeps what it reads. */
static enum ronde_status capture(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_registration *registration = NULL;
    struct ronde_error why = {0};
    enum ronde_status status = open_half(&rank, member, &registration, error);
    int32_t *in = buffer_of(&rank, 1);
    int32_t *out = buffer_of(&rank, 2);
    streamed_is_capturing = true;
    if (status == RONDE_OK)
        status = sum(&rank, in, out, NULL, error);
    streamed_is_capturing = false;
    for (uint32_t k = 0; k < REPLAYS && status == RONDE_OK; k++) {
        fill(in, (int32_t)(k + rank.rank));
        status = streamed_replay(&streamed_names[0], error);
        if (status == RONDE_OK)
            status = streamed_synchronise(&streamed_names[0], error);
        (void)team_check(member, holds(out, (int32_t)(2 * k + 1), 2), "a sum");
        /* The next numbers are for both ranks to see only when none adds up the last ones. */
        if (status == RONDE_OK)
            status = ronde_barrier(rank.comm, NULL, NULL, error);
    }
    (void)team_check(member, streamed_pulled() == REPLAYS, "replays read in place");
    (void)team_check(member,
                     ronde_deregister(rank.comm, registration, &why) == RONDE_BAD_ARGUMENT &&
                         strstr(why.message, "captured graph"),
                     why.message);
    streamed_close(&rank);
    return status;
}

static void a_captured_graph_keeps_what_it_reads(void)
{
    team_run_expecting(2, capture, NULL, results, RONDE_OK);
}

/* A rank that has nothing to register, and calls that are wrong. */
static enum ronde_status err(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_registration *registration = NULL;
    struct ronde_error why = {0};
    struct ronde_comm *part = NULL;
    int on_host = 0;
    enum ronde_status status = streamed_open(&rank, member, (size_t)BUFFERS * COUNT, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(rank.comm, 0, 0, &part, error);
    (void)team_check(member,
                     ronde_register(part, rank.data, 64, &registration, &why) == RONDE_UNAVAILABLE &&
                         strstr(why.message, "ronde_comm_use_device"),
                     why.message);
    ronde_comm_destroy(part);
    memset(&why, 0, sizeof why);
    (void)team_check(member,
                     ronde_register(rank.comm, rank.rank == 1 ? (void *)&on_host : rank.data, 4,
                                    &registration, &why) == RONDE_BAD_ARGUMENT &&
                         !registration,
                     why.message);
    memset(&why, 0, sizeof why);
    (void)team_check(member, ronde_deregister(rank.comm, registration, &why) == RONDE_BAD_ARGUMENT,
                     why.message);
    if (status == RONDE_OK)
        status = ronde_register(rank.comm, rank.rank == 1 ? NULL : rank.data,
                                rank.count * sizeof *rank.data, &registration, error);
    fill(buffer_of(&rank, 1), (int32_t)rank.rank);
    if (status == RONDE_OK)
        status = sum(&rank, buffer_of(&rank, 1), buffer_of(&rank, 2), NULL, error);
    (void)team_check(member, holds(buffer_of(&rank, 2), 1, 2), "a sum");
    (void)team_check(member, streamed_pulled() == (rank.rank == 0), "what was read in place");
    streamed_close(&rank);
    return status;
}

static void a_rank_may_have_nothing_and_mistakes_are_told(void)
{
    team_run_expecting(2, err, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(registered_and_other_buffers_take_turns),
        SUITE_CASE(deregistering_waits_for_pending_operations),
        SUITE_CASE(a_captured_graph_keeps_what_it_reads),
        SUITE_CASE(a_rank_may_have_nothing_and_mistakes_are_told),
    };
    return suite_run("stream registered", cases, sizeof cases / sizeof cases[0]);
}
