/* Hosts that run ahead of others: what is enqueued, captured and replayed without a word to other ranks. */
#include "api/streamed.h"

#include "api/calls.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* What rank 1 waits for on the host before it enqueues anything, and rank 0 writes when it has enqueued all. */
static int gate[2];

static bool wait_for_rank_0(uint32_t rank)
{
    char byte = 0;
    return rank == 0 || read(gate[0], &byte, 1) == 1;
}

static bool open_gate(uint32_t rank)
{
    return rank != 0 || write(gate[1], "", 1) == 1;
}

/* Over a network each is a hundred times as long. */
#define AHEAD 10000u
#define AHEAD_OVER_NETWORK 200u

/* Sums in one stream or in two by turns, each of the one before; every one has a place of its own. */
static enum ronde_status run_ahead(const struct team_member *member, struct ronde_error *error)
{
    const uint32_t used = *(const uint32_t *)member->self;
    const uint32_t ahead = team_transport == RONDE_TRANSPORT_SHM ? AHEAD : AHEAD_OVER_NETWORK;
    struct streamed_rank rank;
    struct ronde_request *request = NULL;
    enum ronde_status status = streamed_open(&rank, member, AHEAD + 16, error);
    int32_t *sums = rank.data + 16;
    /* Agreed on: from here on no rank meets the other on the host. */
    if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, sums, 1, RONDE_UINT32, RONDE_SUM,
                                  &streamed_names[0], NULL, error);
    rank.data[0] = (int32_t)rank.rank + 1;
    if (status == RONDE_OK)
        (void)team_check(member, wait_for_rank_0(rank.rank), "the gate");
    for (uint32_t k = 0; k < ahead && status == RONDE_OK; k++) {
        const int32_t *in = k == 0 ? rank.data : &sums[k - 1];
        ronde_request_free(request);
        status = ronde_all_reduce(rank.comm, in, &sums[k], 1, RONDE_UINT32, RONDE_SUM,
                                  &streamed_names[k % used], &request, error);
    }
    if (status == RONDE_OK)
        (void)team_check(member, open_gate(rank.rank), "the gate");
    if (status == RONDE_OK)
        status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    uint32_t wrong = 0;
    for (uint32_t k = 0, sum = 3; k < ahead && status == RONDE_OK; k++, sum *= 2)
        wrong += (uint32_t)sums[k] != sum;
    (void)team_check(member, wrong == 0, "a sum");
    streamed_close(&rank);
    return status;
}

static void a_host_runs_ahead_of_one_that_sleeps(void)
{
    for (uint32_t used = 1; used <= 2; used++) {
        CU_ASSERT_FATAL(pipe(gate) == 0);
        team_run_expecting(2, run_ahead, &used, results, RONDE_OK);
        close(gate[0]);
        close(gate[1]);
    }
}

static void over_a_network_a_host_runs_ahead(void)
{
    team_over_ucx(a_host_runs_ahead_of_one_that_sleeps);
}

#define REPLAYS 1000u

/* x := x of rank 0 + 2 * x of rank 1, then all of them side by side. */
static enum ronde_status step(struct streamed_rank *rank, struct ronde_request **out_request,
                              struct ronde_error *error)
{
    const uint32_t factor = rank->rank + 1;
    const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                    .dtype = RONDE_UINT32,
                                    .op = RONDE_PREMUL_SUM,
                                    .in = rank->data,
                                    .out = rank->data,
                                    .count = 1,
                                    .factor = &factor,
                                    .stream = &streamed_names[0]};
    enum ronde_status status = ronde_start(rank->comm, &call, NULL, error);
    return status == RONDE_OK
               ? ronde_all_gather(rank->comm, rank->data, rank->data + 4, 1, RONDE_UINT32,
                                  &streamed_names[0], out_request, error)
               : status;
}

static enum ronde_status capture(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_request *request = NULL;
    uint32_t expected = 1;
    bool is_done = false;
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    if (status != RONDE_OK)
        return status;
    rank.data[0] = 7;
    streamed_is_capturing = true;
    status = step(&rank, &request, error);
    if (status == RONDE_OK)
        status = ronde_request_test(request, &is_done, error);
    (void)team_check(member, is_done && rank.data[0] == 7 && streamed_captured() == 2, "a capture");
    streamed_is_capturing = false;
    ronde_request_free(request);
    rank.data[0] = 1;
    for (uint32_t k = 0; k < REPLAYS && status == RONDE_OK; k++, expected *= 3) {
        status = streamed_replay(&streamed_names[0], error);
        /* Between replays the same launches run as ever, elsewhere, in order after them. */
        if (status == RONDE_OK && k % 100 == 0)
            status = ronde_all_gather(rank.comm, rank.data + 1, rank.data + 8, 1, RONDE_UINT32,
                                      &streamed_names[0], NULL, error);
    }
    if (status == RONDE_OK)
        status = streamed_synchronise(&streamed_names[0], error);
    (void)team_check(member,
                     (uint32_t)rank.data[0] == expected && (uint32_t)rank.data[4] == expected &&
                         (uint32_t)rank.data[5] == expected,
                     "what replays left");
    streamed_close(&rank);
    return status;
}

static void captured_operations_are_replayed(void)
{
    team_run_expecting(2, capture, NULL, results, RONDE_OK);
}

/* Blocks of rank + 1 elements, one after another. */
#define V_RANKS 3u
#define V_ELEMENTS (V_RANKS * (V_RANKS + 1) / 2)
static const uint64_t lengths[V_RANKS] = {1, 2, 3};
static const uint64_t places[V_RANKS] = {0, 1, 3};

/*
 * All ranks get all blocks, then each its own times the number of ranks, and then the next rank has it too. The tables are gone
 * when the graph is replayed.
 */
static enum ronde_status step_v(const struct streamed_rank *rank, struct ronde_error *error)
{
    int32_t *const all = rank->data, *const own = all + places[rank->rank];
    int32_t *const previous = rank->data + V_ELEMENTS;
    const uint32_t from = (rank->rank + V_RANKS - 1) % V_RANKS;
    uint64_t counts[V_RANKS], offsets[V_RANKS];
    uint64_t sent[V_RANKS] = {0}, received[V_RANKS] = {0};
    const uint64_t nowhere[V_RANKS] = {0};
    memcpy(counts, lengths, sizeof counts);
    memcpy(offsets, places, sizeof offsets);
    sent[(rank->rank + 1) % V_RANKS] = lengths[rank->rank];
    received[from] = lengths[from];
    enum ronde_status status = ronde_all_gather_v(rank->comm, own, all, counts, offsets,
                                                  RONDE_INT32, &streamed_names[0], NULL, error);
    if (status == RONDE_OK)
        status = ronde_reduce_scatter_v(rank->comm, all, own, counts, offsets, RONDE_INT32,
                                        RONDE_SUM, &streamed_names[0], NULL, error);
    if (status == RONDE_OK)
        status = ronde_all_to_all_v(rank->comm, own, sent, nowhere, previous, received, nowhere, 0,
                                    RONDE_INT32, &streamed_names[0], NULL, error);
    memset(counts, 0xff, sizeof counts);
    memset(offsets, 0xff, sizeof offsets);
    memset(sent, 0xff, sizeof sent);
    memset(received, 0xff, sizeof received);
    return status;
}

/* Between replays other blocks are gathered elsewhere: the same kind of operation, which is prepared anew. */
static enum ronde_status gather_others(const struct streamed_rank *rank, uint32_t k,
                                       struct ronde_error *error)
{
    const uint64_t counts[V_RANKS] = {k % 3, 1, 2}, offsets[V_RANKS] = {4, 0, 1};
    int32_t *const out = rank->data + 2 * V_ELEMENTS;
    out[offsets[rank->rank]] = (int32_t)k;
    return ronde_all_gather_v(rank->comm, out + offsets[rank->rank], out, counts, offsets,
                              RONDE_INT32, &streamed_names[0], NULL, error);
}

static enum ronde_status capture_v(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    uint32_t factor = 1;
    bool is_right = true;
    enum ronde_status status = streamed_open(&rank, member, 4u * V_ELEMENTS, error);
    if (status != RONDE_OK)
        return status;
    for (uint32_t k = 0; k < V_ELEMENTS; k++)
        rank.data[k] = (int32_t)k + 1;
    streamed_is_capturing = true;
    status = step_v(&rank, error);
    streamed_is_capturing = false;
    (void)team_check(member, streamed_captured() == 3 && rank.data[0] == 1, "a capture");
    for (uint32_t k = 0; k < REPLAYS && status == RONDE_OK; k++, factor *= V_RANKS) {
        status = streamed_replay(&streamed_names[0], error);
        if (status == RONDE_OK && k % 100 == 0)
            status = gather_others(&rank, k, error);
    }
    if (status == RONDE_OK)
        status = streamed_synchronise(&streamed_names[0], error);
    const uint32_t from = (rank.rank + V_RANKS - 1) % V_RANKS;
    for (uint32_t k = 0; k < lengths[rank.rank]; k++)
        is_right &= (uint32_t)rank.data[places[rank.rank] + k] ==
                    (uint32_t)(places[rank.rank] + k + 1) * factor;
    for (uint32_t k = 0; k < lengths[from]; k++)
        is_right &= (uint32_t)rank.data[V_ELEMENTS + k] == (uint32_t)(places[from] + k + 1) * factor;
    (void)team_check(member, is_right, "what replays left");
    streamed_close(&rank);
    return status;
}

static void captured_blocks_of_different_lengths_are_replayed(void)
{
    team_run_expecting(V_RANKS, capture_v, NULL, results, RONDE_OK);
}

/* Rank 1 enqueues its second operation only when rank 0 knows that the first is over, with a second one behind it. */
static enum ronde_status look_back(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_request *requests[2] = {NULL, NULL};
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    for (uint32_t k = 0; k < 2 && status == RONDE_OK; k++) {
        if (k == 1)
            (void)team_check(member, wait_for_rank_0(rank.rank), "the gate");
        status = ronde_all_reduce(rank.comm, rank.data, rank.data + 1 + k, 1, RONDE_INT32,
                                  RONDE_SUM, &streamed_names[0], &requests[k], error);
        if (k == 0 && rank.rank == 1 && status == RONDE_OK)
            status = ronde_request_wait(requests[0], 0, error);
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        (void)team_check(member, open_gate(rank.rank), "the gate");
        ronde_request_free(requests[k]);
    }
    streamed_close(&rank);
    return status;
}

static void an_operation_is_over_whatever_follows(void)
{
    CU_ASSERT_FATAL(pipe(gate) == 0);
    team_run_expecting(2, look_back, NULL, results, RONDE_OK);
    close(gate[0]);
    close(gate[1]);
}

/* Rank 1 does not replay: rank 0's replay ends by its limit, which the next call tells. */
static enum ronde_status replay_alone(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank rank;
    struct ronde_error why = {0};
    enum ronde_status status = streamed_open(&rank, member, 16, error);
    const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                    .dtype = RONDE_INT32,
                                    .in = rank.data,
                                    .out = rank.data,
                                    .count = 4,
                                    .timeout_ns = 100000000,
                                    .stream = &streamed_names[0]};
    streamed_is_capturing = true;
    if (status == RONDE_OK)
        status = ronde_start(rank.comm, &call, NULL, error);
    streamed_is_capturing = false;
    if (status == RONDE_OK && rank.rank == 0)
        status = streamed_replay(&streamed_names[0], error);
    if (status == RONDE_OK)
        status = streamed_synchronise(&streamed_names[0], error);
    if (status == RONDE_OK && rank.rank == 0)
        (void)team_check(member,
                         ronde_barrier(rank.comm, &streamed_names[0], NULL, &why) == RONDE_TIMEOUT &&
                             strstr(why.message, "a replayed graph: "),
                         why.message);
    if (status == RONDE_OK)
        status = ronde_barrier(rank.comm, NULL, NULL, error);
    streamed_close(&rank);
    return status;
}

static void a_replay_that_was_stopped_is_told(void)
{
    team_run_expecting(2, replay_alone, NULL, results, RONDE_TIMEOUT);
}

/* Two communicators in streams of their own, each as far ahead as it likes. */
static enum ronde_status use_two(const struct team_member *member, struct ronde_error *error)
{
    struct streamed_rank of[2] = {{.comm = NULL}, {.comm = NULL}};
    struct ronde_request *requests[2] = {NULL, NULL};
    enum ronde_status status = streamed_open(&of[0], member, 16, error);
    if (status != RONDE_OK)
        return status;
    of[1] = of[0];
    of[1].data = NULL;
    status = ronde_comm_split(of[0].comm, 0, of[0].ranks - of[0].rank, &of[1].comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_use_device(of[1].comm, 0, error);
    of[0].data[0] = of[0].data[8] = 1;
    for (uint32_t k = 0; k < 60 && status == RONDE_OK; k++) {
        const uint32_t c = k % 3 == 0;
        ronde_request_free(requests[c]);
        status = ronde_all_reduce(of[c].comm, of[0].data + 8 * c, of[0].data + 8 * c, 1,
                                  RONDE_INT32, RONDE_SUM, &streamed_names[c], &requests[c], error);
    }
    for (uint32_t c = 0; c < 2; c++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[c], 0, error);
        ronde_request_free(requests[c]);
    }
    (void)team_check(member, (uint32_t)of[0].data[0] == 0 && of[0].data[8] == 1 << 20, "a sum");
    streamed_close(&of[1]);
    streamed_close(&of[0]);
    return status;
}

static void communicators_have_streams_of_their_own(void)
{
    team_run_expecting(2, use_two, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(a_host_runs_ahead_of_one_that_sleeps),
        SUITE_CASE(over_a_network_a_host_runs_ahead),
        SUITE_CASE(an_operation_is_over_whatever_follows),
        SUITE_CASE(captured_operations_are_replayed),
        SUITE_CASE(captured_blocks_of_different_lengths_are_replayed),
        SUITE_CASE(a_replay_that_was_stopped_is_told),
        SUITE_CASE(communicators_have_streams_of_their_own),
    };
    return suite_run("stream ahead", cases, sizeof cases / sizeof cases[0]);
}
