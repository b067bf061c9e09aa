/* Operations in streams of a device: their order, what they prepare, and how they end. */
#include "api/streamed.h"

#include "api/calls.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* Every collective with a reduction or copies of known results, each in place of its own, all pending at once. */
static enum ronde_status chain(struct streamed_rank *rank, struct ronde_error *error)
{
    const uint32_t n = rank->ranks;
    int32_t *data = rank->data;
    struct ronde_request *requests[5] = {NULL};
    void *stream = &streamed_names[0];
    /* sum of r + 1; all of them; turned by one; root's; its own again */
    int32_t *sum = data, *all = data + 8, *turned = all + 8 * n, *last = turned + 8;
    for (int k = 0; k < 8; k++)
        sum[k] = (int32_t)(rank->rank + 1 + (uint32_t)k);
    enum ronde_status status = ronde_all_reduce(rank->comm, sum, sum, 8, RONDE_INT32, RONDE_SUM,
                                                stream, &requests[0], error);
    if (status == RONDE_OK)
        status = ronde_all_gather(rank->comm, sum, all, 8, RONDE_INT32, stream, &requests[1], error);
    if (status == RONDE_OK)
        status =
            ronde_shift(rank->comm, all, turned, 8, RONDE_INT32, 1, stream, &requests[2], error);
    if (status == RONDE_OK)
        status = ronde_broadcast(rank->comm, turned, last, 8, RONDE_INT32, n - 1, stream,
                                 &requests[3], error);
    if (status == RONDE_OK)
        status = ronde_barrier(rank->comm, stream, &requests[4], error);
    for (int k = 5; k-- > 0;) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        ronde_request_free(requests[k]);
    }
    const int32_t first = (int32_t)(n * (n + 1) / 2);
    bool is_right = true;
    for (int k = 0; k < 8; k++)
        is_right = is_right && sum[k] == first + k * (int32_t)n &&
                   all[8 * (n - 1) + (uint32_t)k] == sum[k] && turned[k] == sum[k] &&
                   last[k] == sum[k];
    (void)team_check(rank->member, is_right, "a result of a chain");
    return status;
}

static enum ronde_status run_chains(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 1000, error);
    uint64_t before = 0;
    if (status == RONDE_OK)
        status = chain(&rank, error);
    if (status == RONDE_OK)
        before = streamed_writes();
    for (int k = 0; k < 3 && status == RONDE_OK; k++)
        status = chain(&rank, error);
    (void)team_check(member, status != RONDE_OK || streamed_writes() == before,
                     "a launch that was prepared is prepared again");
    streamed_close(&rank);
    return status;
}

static void pending_operations_follow_one_another_in_a_stream(void)
{
    for (uint32_t ranks = 1; ranks <= 3; ranks++) {
        team_run_expecting(ranks, run_chains, NULL, results, RONDE_OK);
    }
}

/* Operations of the host, of one stream and of another, in turns: each has the result of the one before. */
static enum ronde_status take_turns(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    for (uint32_t turn = 0; turn < 12 && status == RONDE_OK; turn++) {
        struct ronde_request *early = NULL;
        rank.data[0] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[turn % 2], &early, error);
        ronde_request_free(early);
        if (status == RONDE_OK)
            status = calls_sum(member, rank.comm, error);
        /* The host's came after: the stream's is over. */
        (void)team_check(member, rank.data[0] == (int32_t)(turn * rank.ranks), "a sum in a stream");
        if (status == RONDE_OK)
            status = ronde_all_reduce(rank.comm, rank.data, rank.data + 1, 1, RONDE_INT32,
                                      RONDE_MAX, &streamed_names[0], NULL, error);
        (void)team_check(member, rank.data[1] == rank.data[0], "a call that waits");
    }
    streamed_close(&rank);
    return status;
}

static void host_and_streams_take_turns(void)
{
    team_run_expecting(2, take_turns, NULL, results, RONDE_OK);
}

/* One rank has its data elsewhere each time, the other does not: that is its own business. */
static enum ronde_status move_buffers(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 400, error);
    uint32_t prepared = 0;
    for (uint32_t turn = 0; turn < 100 && status == RONDE_OK; turn++) {
        int32_t *data = rank.data + (rank.rank == 0 ? 4 * turn : 0);
        const uint64_t before = streamed_writes();
        data[0] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, data, data, 1, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[0], NULL, error);
        (void)team_check(member, data[0] == (int32_t)(turn * rank.ranks), "a sum");
        prepared += streamed_writes() != before;
    }
    (void)team_check(member, prepared == 1, "preparations");
    streamed_close(&rank);
    return status;
}

static void buffers_may_move_without_preparation(void)
{
    team_run_expecting(2, move_buffers, NULL, results, RONDE_OK);
}

/* 70 lengths in turns are more than are kept: each is gone before it comes again. */
static enum ronde_status change_lengths(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 80, error);
    uint32_t prepared = 0;
    for (uint32_t turn = 0; turn < 2 * RONDE_KEPT_PROGRAMS + 20 && status == RONDE_OK; turn++) {
        const uint32_t last = turn % 70;
        const uint64_t before = streamed_writes();
        rank.data[last] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, last + 1, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[0], NULL, error);
        (void)team_check(member, rank.data[last] == (int32_t)(turn * rank.ranks), "a sum");
        prepared += streamed_writes() != before;
    }
    (void)team_check(member, prepared == 2 * RONDE_KEPT_PROGRAMS + 20, "preparations");
    streamed_close(&rank);
    return status;
}

static void ranks_prepare_together_what_is_new(void)
{
    team_run_expecting(2, change_lengths, NULL, results, RONDE_OK);
}

static void over_a_network_operations_follow_one_another(void)
{
    team_over_ucx(pending_operations_follow_one_another_in_a_stream);
}

/* Blocks of different lengths, factors, and an algorithm of the caller's. */
static enum ronde_status call_special(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 64, error);
    if (status != RONDE_OK)
        return status;
    const uint64_t counts[3] = {1, 2, 3};
    const uint64_t offsets[3] = {0, 1, 3};
    for (uint32_t turn = 0; turn < 3 && status == RONDE_OK; turn++) {
        int32_t *mine = rank.data, *all = rank.data + 16;
        for (uint32_t k = 0; k <= rank.rank; k++)
            mine[k] = (int32_t)(100 * rank.rank + 10 * turn + k);
        status = ronde_all_gather_v(rank.comm, mine, all, counts, offsets, RONDE_INT32,
                                    &streamed_names[0], NULL, error);
        for (uint32_t r = 0; r < 3 && status == RONDE_OK; r++)
            for (uint32_t k = 0; k < counts[r]; k++)
                (void)team_check(member, all[offsets[r] + k] == (int32_t)(100 * r + 10 * turn + k),
                                 "a block");
    }
    for (int32_t factor = 1; factor < 4 && status == RONDE_OK; factor++) {
        const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                        .dtype = RONDE_INT32,
                                        .op = RONDE_PREMUL_SUM,
                                        .in = rank.data + 40,
                                        .out = rank.data + 41,
                                        .count = 1,
                                        .factor = &factor,
                                        .stream = &streamed_names[0]};
        rank.data[40] = 5;
        status = ronde_start(rank.comm, &call, NULL, error);
        (void)team_check(member, rank.data[41] == 15 * factor, "a sum of products");
    }
    if (status == RONDE_OK)
        status = ronde_comm_choose(rank.comm, RONDE_ALL_REDUCE, "tree", error);
    rank.data[0] = 1;
    if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[0], NULL, error);
    (void)team_check(member, rank.data[0] == 3, "a sum by a tree");
    streamed_close(&rank);
    return status;
}

static void blocks_factors_and_algorithms_are_the_callers(void)
{
    team_run_expecting(3, call_special, NULL, results, RONDE_OK);
}

/* What is refused on one rank is refused on all, and the communicator goes on. */
static enum ronde_status give_wrong(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    int32_t of_host[4] = {0};
    struct ronde_error why = {0};
    struct ronde_request *request = NULL;
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    if (status != RONDE_OK)
        return status;
    int32_t *out = rank.rank == 1 ? of_host : rank.data;
    (void)team_check(member,
                     ronde_all_reduce(rank.comm, rank.data, out, 4, RONDE_INT32, RONDE_SUM,
                                      &streamed_names[0], &request, &why) == RONDE_BAD_ARGUMENT &&
                         !request && strstr(why.message, "not memory of the device"),
                     why.message);
    (void)team_check(member, ronde_comm_use_device(rank.comm, 0, &why) == RONDE_BAD_ARGUMENT,
                     "a second device");
    rank.data[0] = 4;
    status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                              &streamed_names[0], NULL, error);
    (void)team_check(member, rank.data[0] == 8, "a sum after refusals");
    streamed_close(&rank);
    return status;
}

static void what_one_rank_cannot_do_none_does(void)
{
    team_run_expecting(2, give_wrong, NULL, results, RONDE_OK);
}

/* Calls that differ are refused on both ranks. */
static enum ronde_status call_differently(const struct team_member *member,
                                          struct ronde_error *error)
{
    struct streamed_rank rank;
    enum ronde_status status = streamed_open(&rank, member, 64, error);
    if (status == RONDE_OK && rank.rank == 0)
        status = ronde_all_gather(rank.comm, rank.data, rank.data + 8, 2, RONDE_INT32,
                                  &streamed_names[0], NULL, error);
    else if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 2, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[0], NULL, error);
    streamed_close(&rank);
    return status;
}

static void different_calls_are_refused_on_all(void)
{
    team_run_expecting(2, call_differently, NULL, results, RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[1].message, "rank 0 calls all_gather"));
}

/* Ends of rank 0's operation, whose kernel waits for rank 1's, which never starts. */
enum end { END_ABORT, END_DESTROY, END_LIMIT, END_KINDS };

static enum ronde_status hang_back(struct streamed_rank *rank, bool aborts,
                                   struct ronde_error *error)
{
    streamed_is_lazy = true;
    enum ronde_status status = ronde_all_reduce(rank->comm, rank->data, rank->data, 4, RONDE_INT32,
                                                RONDE_SUM, &streamed_names[0], NULL, error);
    if (aborts)
        ronde_comm_abort(rank->comm);
    return status == RONDE_OK ? ronde_barrier(rank->comm, NULL, NULL, error) : status;
}

static enum ronde_status end_early(const struct team_member *member, struct ronde_error *error)
{
    const enum end *end = member->self;
    struct streamed_rank rank;
    struct ronde_request *request = NULL;
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    int32_t *own = NULL;
    if (status == RONDE_OK && *end == END_DESTROY) {
        status = streamed_own_memory(&rank, error);
        own = rank.data;
    }
    if (status == RONDE_OK && rank.rank == 1)
        status = hang_back(&rank, *end == END_ABORT, error);
    else if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 4, RONDE_INT32, RONDE_SUM,
                                  &streamed_names[0], &request, error);
    if (request && *end != END_DESTROY)
        status = ronde_request_wait(request, *end == END_LIMIT ? 100000000 : 0, error);
    rank.data = own ? NULL : rank.data;
    streamed_close(&rank);
    if (request && *end == END_DESTROY)
        status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    free(own);
    return status;
}

static void operations_in_streams_end_with_their_communicator(void)
{
    for (unsigned k = 0; k < END_KINDS; k++) {
        const enum end end = (enum end)k;
        team_run_expecting(2, end_early, &end, results, RONDE_TIMEOUT);
    }
}

static enum ronde_status have_no_device(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    struct ronde_error why = {0};
    enum ronde_status status = calls_join(member, &comm, error);
    (void)team_check(member, status != RONDE_OK || !ronde_comm_device_mem(comm),
                     "memory of no device");
    if (status == RONDE_OK)
        (void)team_check(member,
                         ronde_barrier(comm, &streamed_names[0], NULL, &why) == RONDE_UNAVAILABLE &&
                             strstr(why.message, "ronde_comm_use_device"),
                         why.message);
    /* On one rank alone. */
    if (status == RONDE_OK)
        (void)team_check(member,
                         ronde_comm_use_device(comm, member->join.rank == 1 ? 7 : 0, &why) ==
                             RONDE_BAD_ARGUMENT,
                         why.message);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void a_stream_without_a_device_is_refused(void)
{
    team_run_expecting(2, have_no_device, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(pending_operations_follow_one_another_in_a_stream),
        SUITE_CASE(host_and_streams_take_turns),
        SUITE_CASE(buffers_may_move_without_preparation),
        SUITE_CASE(ranks_prepare_together_what_is_new),
        SUITE_CASE(over_a_network_operations_follow_one_another),
        SUITE_CASE(blocks_factors_and_algorithms_are_the_callers),
        SUITE_CASE(what_one_rank_cannot_do_none_does),
        SUITE_CASE(different_calls_are_refused_on_all),
        SUITE_CASE(operations_in_streams_end_with_their_communicator),
        SUITE_CASE(a_stream_without_a_device_is_refused),
    };
    return suite_run("stream", cases, sizeof cases / sizeof cases[0]);
}
