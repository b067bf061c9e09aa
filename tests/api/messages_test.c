/*
 * Sends and receives: in order by tag, from any rank, of any length, beside collectives and while these load, in groups;
 * and how they end.
 */
#include "api/calls.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

#define RANKS 3u
#define LONGEST (1u << 18)

static uint64_t value_of(uint32_t rank, uint64_t k)
{
    return rank * UINT64_C(1000003) + k;
}

/* A ring by calls that wait: in groups, since long sends wait for their receives. */
static enum ronde_status pass_round(const struct team_member *member, struct ronde_error *error)
{
    static uint64_t in[LONGEST];
    static uint64_t out[LONGEST];
    static const uint64_t counts[] = {0, 1, 100, 5000, LONGEST};
    const uint32_t rank = member->join.rank;
    const uint32_t before = (rank + RANKS - 1) % RANKS;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (uint64_t k = 0; k < LONGEST; k++)
        in[k] = value_of(rank, k);
    for (size_t c = 0; c < sizeof counts / sizeof counts[0] && status == RONDE_OK; c++) {
        const uint64_t count = counts[c];
        uint32_t source = RONDE_NONE;
        memset(out, 0, sizeof out);
        ronde_group_begin();
        status = ronde_send(comm, in, count, RONDE_UINT64, (rank + 1) % RANKS, c, NULL, error);
        if (status == RONDE_OK && c % 2 == 0)
            status = ronde_recv(comm, out, LONGEST, RONDE_UINT64, before, c, NULL, error);
        else if (status == RONDE_OK)
            status = ronde_recv_any(comm, out, LONGEST, RONDE_UINT64, c, &source, NULL, error);
        const enum ronde_status end = ronde_group_end(status == RONDE_OK ? error : NULL);
        status = status == RONDE_OK ? end : status;
        for (uint64_t k = 0; k < count; k++)
            if (out[k] != value_of(before, k))
                return ronde_fail(error, RONDE_BAD_INPUT, "element %llu", (unsigned long long)k);
        (void)team_check(member, count == LONGEST || out[count] == 0, "too much was written");
        (void)team_check(member, c % 2 == 0 || source == before, "the source");
    }
    ronde_comm_destroy(comm);
    return status;
}

static void messages_go_round(void)
{
    team_run_expecting(RANKS, pass_round, NULL, results, RONDE_OK);
}

#define MESSAGES 20u

/* Receives are pending first, in another order of tags than sends, with collectives before, between and behind. */
static enum ronde_status mix(const struct team_member *member, struct ronde_error *error)
{
    const enum ronde_progress *progress = member->self;
    const uint32_t rank = member->join.rank;
    const uint32_t from = (rank + 1) % RANKS;
    const uint32_t to = (rank + RANKS - 1) % RANKS;
    struct ronde_request *requests[2 * MESSAGES] = {NULL};
    uint64_t in[MESSAGES];
    uint64_t out[MESSAGES] = {0};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_progress(comm, *progress, error);
    for (uint32_t k = 0; k < MESSAGES && status == RONDE_OK; k++)
        status = ronde_recv(comm, &out[k], 1, RONDE_UINT64, from, k / 2, &requests[k], error);
    /* The first sum loads while they are pending. */
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    for (uint32_t k = MESSAGES; k-- > 0 && status == RONDE_OK;) {
        /* Two with each tag, in order. */
        const uint32_t at = k ^ 1;
        in[at] = value_of(rank, at);
        status =
            ronde_send(comm, &in[at], 1, RONDE_UINT64, to, at / 2, &requests[MESSAGES + at], error);
        if (status == RONDE_OK && k % 5 == 0)
            status = calls_sum(member, comm, error);
    }
    for (uint32_t k = 0; k < 2 * MESSAGES; k++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        if (status != RONDE_OK || k >= MESSAGES)
            continue;
        const struct ronde_request_status end = ronde_request_status(requests[k]);
        (void)team_check(member, out[k] == value_of(from, k), "a message");
        (void)team_check(member, end.source == from && end.tag == k / 2 && end.bytes == 8,
                         "its status");
    }
    for (uint32_t k = 0; k < 2 * MESSAGES; k++)
        ronde_request_free(requests[k]);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void messages_and_collectives_do_not_wait_for_each_other(void)
{
    for (unsigned k = 0; k < RONDE_PROGRESS_COUNT; k++) {
        const enum ronde_progress progress = (enum ronde_progress)k;
        team_run_expecting(RANKS, mix, &progress, results, RONDE_OK);
    }
}

/* What a thread sends while its process waits in the first call of a collective. */
struct sender {
    struct ronde_comm *comm;
    const uint64_t *data;
    enum ronde_status status;
};

static void *send_long(void *self)
{
    struct sender *sender = self;
    sender->status = ronde_send(sender->comm, sender->data, LONGEST, RONDE_UINT64, 1, 7, NULL, NULL);
    return NULL;
}

/* Rank 1 comes to the barrier only when it has what a thread of rank 0's sends, whose barrier loads meanwhile. */
static enum ronde_status send_while_loading(const struct team_member *member,
                                            struct ronde_error *error)
{
    static uint64_t data[LONGEST];
    struct sender sender = {NULL, data, RONDE_OK};
    pthread_t thread;
    enum ronde_status status = calls_join(member, &sender.comm, error);
    data[LONGEST - 1] = member->join.rank == 0 ? 5 : 0;
    const bool has_thread = status == RONDE_OK && member->join.rank == 0 &&
                            pthread_create(&thread, NULL, send_long, &sender) == 0;
    if (status == RONDE_OK && member->join.rank == 1)
        status = ronde_recv(sender.comm, data, LONGEST, RONDE_UINT64, 0, 7, NULL, error);
    if (status == RONDE_OK)
        status = ronde_barrier(sender.comm, NULL, NULL, error);
    if (has_thread)
        (void)pthread_join(thread, NULL);
    (void)team_check(member, sender.status == RONDE_OK && data[LONGEST - 1] == 5, "a long message");
    ronde_comm_destroy(sender.comm);
    return status;
}

static void messages_move_while_a_collective_loads(void)
{
    for (int k = 0; k < 10; k++) {
        team_run_expecting(2, send_while_loading, NULL, results, RONDE_OK);
    }
}

/* A message that is too long for its receive; a peer that is none; and the communicator goes on. */
static enum ronde_status cut_short(const struct team_member *member, struct ronde_error *error)
{
    uint32_t data[4] = {1, 2, 3, 4};
    struct ronde_comm *comm = NULL;
    struct ronde_error why = {0};
    struct ronde_error bad = {0};
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK && member->join.rank == 0)
        status = ronde_send(comm, data, 4, RONDE_UINT32, 1, 0, NULL, error);
    else if (status == RONDE_OK)
        (void)team_check(member,
                         ronde_recv(comm, data, 2, RONDE_UINT32, 0, 0, NULL, &why) == RONDE_REJECTED,
                         why.message);
    (void)team_check(member,
                     ronde_send(comm, data, 1, RONDE_UINT32, 2, 0, NULL, &bad) == RONDE_BAD_ARGUMENT &&
                         strstr(bad.message, "peer 2") != NULL,
                     bad.message);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void a_message_that_is_too_long_is_refused_alone(void)
{
    team_run_expecting(2, cut_short, NULL, results, RONDE_OK);
}

/* Rank 0 waits for a message that rank 1 never sends. */
static enum ronde_status wait_in_vain(const struct team_member *member, struct ronde_error *error)
{
    int32_t data = 0;
    struct ronde_comm *comm = NULL;
    struct ronde_request *request = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK && member->join.rank == 0)
        status = ronde_recv(comm, &data, 1, RONDE_INT32, 1, 9, &request, error);
    if (status == RONDE_OK && member->join.rank == 0)
        status = ronde_request_wait(request, 50000000, error);
    else if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_request_free(request);
    ronde_comm_destroy(comm);
    return status;
}

static void a_message_that_never_comes_times_out(void)
{
    team_run_expecting(2, wait_in_vain, NULL, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < 2; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1 to send"));
}

/* Receives that nobody serves end with their communicator. */
static enum ronde_status destroy_pending(const struct team_member *member, struct ronde_error *error)
{
    int32_t data[2] = {0};
    struct ronde_comm *comm = NULL;
    struct ronde_request *requests[2] = {NULL};
    enum ronde_status status = calls_join(member, &comm, error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++)
        status = ronde_recv(comm, &data[k], 1, RONDE_INT32, 1 - member->join.rank, 9, &requests[k],
                            error);
    ronde_comm_destroy(comm);
    for (int k = 0; k < 2; k++) {
        (void)team_check(member,
                         !requests[k] || ronde_request_wait(requests[k], 0, NULL) != RONDE_OK,
                         "a receive is over");
        ronde_request_free(requests[k]);
    }
    return status;
}

static void receives_end_with_their_communicator(void)
{
    team_run_expecting(2, destroy_pending, NULL, results, RONDE_OK);
}

static void round_over_ucx(void)
{
    team_over_ucx(messages_go_round);
}

static void mix_over_ucx(void)
{
    team_over_ucx(messages_and_collectives_do_not_wait_for_each_other);
}

static void loading_over_ucx(void)
{
    team_over_ucx(messages_move_while_a_collective_loads);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"messages_go_round", messages_go_round},
        {"messages_and_collectives_do_not_wait_for_each_other",
         messages_and_collectives_do_not_wait_for_each_other},
        {"messages_move_while_a_collective_loads", messages_move_while_a_collective_loads},
        {"a_message_that_is_too_long_is_refused_alone", a_message_that_is_too_long_is_refused_alone},
        {"a_message_that_never_comes_times_out", a_message_that_never_comes_times_out},
        {"receives_end_with_their_communicator", receives_end_with_their_communicator},
        {"round_over_ucx", round_over_ucx},
        {"mix_over_ucx", mix_over_ucx},
        {"loading_over_ucx", loading_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("messages", cases, sizeof cases / sizeof cases[0])
               : 1;
}
