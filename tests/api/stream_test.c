/*
 * Operations in streams of a device. The device is emulated, and so is what a stream promises: what is started in it begins
 * when all before it is over.
 */
#include "api/calls.h"
#include "cuda/emulated/one.h"
#include "hw/cuda/job.h"
#include "support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* Communicators of a process: each opens the device for itself. */
#define OPENED_MAX 2

static struct {
    const struct ronde_gpu *inner;
    struct ronde_gpu gpu;
    const unsigned char *first; /* the block the rank has there */
    size_t bytes;
} devices[OPENED_MAX];

/* A start of a kernel, a call of a function, or the end of a kernel in another stream that what follows waits for. */
struct item {
    void *queue; /* of a kernel */
    void (*function)(void *self);
    void *self;
    enum ronde_dtype dtype;
    const struct ronde_job *job;
    struct ronde_given given;
    uint32_t blocks;
    char *after; /* the other stream */
    size_t until;
};

#define ITEMS_MAX 40000u

/* Items in the order in which they begin, each when that before it is over. A graph is one that does not move. */
struct sequence {
    struct item *items;
    size_t count;
    size_t done;
    bool is_running; /* the first that is not done */
};

/* Names of streams: what each has is in a sequence. */
static char streams[2];
static struct sequence sequences[2];
static struct sequence graph;

/* How far a stream was when a queue was marked, by the mark's number. */
struct mark {
    char *stream;
    size_t count;
};

static struct marks {
    void *queue;
    struct mark of[RONDE_GPU_MARKS];
} marks[RONDE_KEPT_PROGRAMS];

static bool is_capturing;
static bool is_lazy; /* kernels are not started */

static enum ronde_status add(struct sequence *to, struct item item, struct ronde_error *error)
{
    if (!to->items)
        to->items = malloc(ITEMS_MAX * sizeof *to->items);
    if (!to->items || to->count == ITEMS_MAX)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for an item of a stream");
    to->items[to->count++] = item;
    return RONDE_OK;
}

/* Moves a stream on as far as it goes. */
static enum ronde_status advance(char *stream, struct ronde_error *error)
{
    struct sequence *of = &sequences[stream - streams];
    const struct ronde_gpu *inner = devices[0].inner;
    enum ronde_status status = RONDE_OK;
    while (of->done < of->count && status == RONDE_OK) {
        const struct item *item = &of->items[of->done];
        void *const in = stream;
        bool is_past = item->after && sequences[item->after - streams].done >= item->until;
        if (item->function)
            item->function(item->self);
        is_past |= item->function != NULL;
        if (item->queue && !of->is_running)
            status = inner->start(item->queue, &in, item->dtype, item->job, &item->given,
                                  item->blocks, error);
        of->is_running = item->queue != NULL;
        if (status == RONDE_OK && item->queue)
            status = inner->is_past(item->queue, 1, &is_past, error);
        if (!is_past)
            break;
        of->is_running = false;
        of->done++;
    }
    return status;
}

static enum ronde_status start(void *queue, void *const *stream, enum ronde_dtype dtype,
                               const struct ronde_job *job, const struct ronde_given *given,
                               uint32_t blocks, struct ronde_error *error)
{
    const struct item item = {
        .queue = queue, .dtype = dtype, .job = job, .given = *given, .blocks = blocks};
    if (!stream)
        return devices[0].inner->start(queue, stream, dtype, job, given, blocks, error);
    if (is_lazy)
        return RONDE_OK;
    return add(is_capturing ? &graph : &sequences[(char *)*stream - streams], item, error);
}

static enum ronde_status call(void *queue, void *stream, void (*function)(void *self), void *self,
                              struct ronde_error *error)
{
    const struct item item = {.function = function, .self = self};
    (void)queue;
    return add(is_capturing ? &graph : &sequences[(char *)stream - streams], item, error);
}

static struct mark *mark_of(void *queue, uint64_t number)
{
    size_t k = 0;
    while (marks[k].queue && marks[k].queue != queue)
        k++;
    marks[k].queue = queue;
    return &marks[k].of[number % RONDE_GPU_MARKS];
}

static enum ronde_status mark(void *queue, void *stream, uint64_t number, struct ronde_error *error)
{
    const struct sequence *of = &sequences[(char *)stream - streams];
    *mark_of(queue, number) = (struct mark){stream, of->count};
    return is_capturing ? ronde_fail(error, RONDE_DEVICE, "marked in a capture") : RONDE_OK;
}

static enum ronde_status follow(void *queue, void *stream, uint64_t number,
                                struct ronde_error *error)
{
    const struct mark *of = mark_of(queue, number);
    const struct item item = {.after = of->stream, .until = of->count};
    return add(&sequences[(char *)stream - streams], item, error);
}

static enum ronde_status is_past(void *queue, uint64_t number, bool *out_past,
                                 struct ronde_error *error)
{
    const struct mark *of = mark_of(queue, number);
    enum ronde_status status = advance(&streams[0], error);
    if (status == RONDE_OK)
        status = advance(&streams[1], error);
    *out_past = sequences[of->stream - streams].done >= of->count;
    return status;
}

/* Starts what was captured, once more. */
static enum ronde_status replay(char *stream, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t k = 0; k < graph.count && status == RONDE_OK; k++)
        status = add(&sequences[stream - streams], graph.items[k], error);
    return status;
}

static enum ronde_status synchronise(char *stream, struct ronde_error *error)
{
    const struct sequence *of = &sequences[stream - streams];
    enum ronde_status status = RONDE_OK;
    while (of->done < of->count && status == RONDE_OK)
        status = advance(stream, error);
    return status;
}

static void close_queue(void *queue)
{
    size_t k = 0;
    while (k < RONDE_KEPT_PROGRAMS && marks[k].queue != queue)
        k++;
    for (; k + 1 < RONDE_KEPT_PROGRAMS; k++)
        marks[k] = marks[k + 1];
    devices[0].inner->close_queue(queue);
}

static bool reaches(void *self, const void *memory, uint64_t bytes)
{
    (void)self;
    for (size_t k = 0; k < OPENED_MAX; k++) {
        const uintptr_t offset = (uintptr_t)memory - (uintptr_t)devices[k].first;
        if (devices[k].first && offset <= devices[k].bytes && bytes <= devices[k].bytes - offset)
            return true;
    }
    return false;
}

static enum ronde_status is_captured(void *self, void *stream, bool *out_captured,
                                     struct ronde_error *error)
{
    (void)self;
    (void)stream;
    (void)error;
    *out_captured = is_capturing;
    return RONDE_OK;
}

const struct emulated_options emulated_one_options = {.movers = 3, .resident = 4, .room_bytes = 4096};

const struct ronde_gpu *emulated_one_open(const struct ronde_gpu *inner)
{
    struct ronde_gpu *gpu = &devices[devices[0].inner ? 1 : 0].gpu;
    devices[devices[0].inner ? 1 : 0].inner = inner;
    *gpu = *inner;
    gpu->start = start;
    gpu->call = call;
    gpu->close_queue = close_queue;
    gpu->is_captured = is_captured;
    gpu->mark = mark;
    gpu->follow = follow;
    gpu->is_past = is_past;
    gpu->reaches = reaches;
    return gpu;
}

const struct ronde_gpu *emulated_one_close(const struct ronde_gpu *gpu)
{
    return devices[gpu == &devices[1].gpu].inner;
}

/* A rank with its device and a buffer there. */
struct rank {
    const struct team_member *member;
    struct ronde_comm *comm;
    int32_t *data;
    size_t count;
    uint32_t rank;
    uint32_t ranks;
};

static enum ronde_status open_rank(struct rank *rank, const struct team_member *member,
                                   size_t count, struct ronde_error *error)
{
    *rank = (struct rank){.member = member, .count = count};
    enum ronde_status status = calls_join(member, &rank->comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_use_device(rank->comm, 0, error);
    if (status != RONDE_OK)
        return status;
    rank->rank = ronde_comm_rank(rank->comm);
    rank->ranks = ronde_comm_ranks(rank->comm);
    rank->data = ronde_mem_new(ronde_comm_device_mem(rank->comm), count, sizeof *rank->data);
    const size_t opened = devices[1].inner ? 1 : 0;
    devices[opened].first = (const unsigned char *)rank->data;
    devices[opened].bytes = count * sizeof *rank->data;
    return rank->data ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory of the device");
}

/* Other memory of the device, which may outlive the communicator: an operation that is pending when that goes needs it. */
static enum ronde_status take_own_memory(struct rank *rank, struct ronde_error *error)
{
    ronde_mem_free(ronde_comm_device_mem(rank->comm), rank->data, rank->count, sizeof *rank->data);
    rank->data = calloc(rank->count, sizeof *rank->data);
    devices[0].first = (const unsigned char *)rank->data;
    return rank->data ? RONDE_OK : ronde_fail(error, RONDE_NO_MEMORY, "no memory");
}

static void close_rank(struct rank *rank)
{
    if (rank->data)
        ronde_mem_free(ronde_comm_device_mem(rank->comm), rank->data, rank->count,
                       sizeof *rank->data);
    ronde_comm_destroy(rank->comm);
}

static uint64_t writes(void)
{
    return emulated_gpu_counts(devices[0].inner).writes;
}

/* Every collective with a reduction or copies of known results, each in place of its own, all pending at once. */
static enum ronde_status chain(struct rank *rank, struct ronde_error *error)
{
    const uint32_t n = rank->ranks;
    int32_t *data = rank->data;
    struct ronde_request *requests[5] = {NULL};
    void *stream = &streams[0];
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
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 1000, error);
    uint64_t before = 0;
    if (status == RONDE_OK)
        status = chain(&rank, error);
    if (status == RONDE_OK)
        before = writes();
    for (int k = 0; k < 3 && status == RONDE_OK; k++)
        status = chain(&rank, error);
    (void)team_check(member, status != RONDE_OK || writes() == before,
                     "a launch that was prepared is prepared again");
    close_rank(&rank);
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
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 16, error);
    for (uint32_t turn = 0; turn < 12 && status == RONDE_OK; turn++) {
        struct ronde_request *early = NULL;
        rank.data[0] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                                  &streams[turn % 2], &early, error);
        ronde_request_free(early);
        if (status == RONDE_OK)
            status = calls_sum(member, rank.comm, error);
        /* The host's came after: the stream's is over. */
        (void)team_check(member, rank.data[0] == (int32_t)(turn * rank.ranks), "a sum in a stream");
        if (status == RONDE_OK)
            status = ronde_all_reduce(rank.comm, rank.data, rank.data + 1, 1, RONDE_INT32,
                                      RONDE_MAX, &streams[0], NULL, error);
        (void)team_check(member, rank.data[1] == rank.data[0], "a call that waits");
    }
    close_rank(&rank);
    return status;
}

static void host_and_streams_take_turns(void)
{
    team_run_expecting(2, take_turns, NULL, results, RONDE_OK);
}

/* One rank has its data elsewhere each time, the other does not: that is its own business. */
static enum ronde_status move_buffers(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 400, error);
    uint32_t prepared = 0;
    for (uint32_t turn = 0; turn < 100 && status == RONDE_OK; turn++) {
        int32_t *data = rank.data + (rank.rank == 0 ? 4 * turn : 0);
        const uint64_t before = writes();
        data[0] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, data, data, 1, RONDE_INT32, RONDE_SUM, &streams[0],
                                  NULL, error);
        (void)team_check(member, data[0] == (int32_t)(turn * rank.ranks), "a sum");
        prepared += writes() != before;
    }
    (void)team_check(member, prepared == 1, "preparations");
    close_rank(&rank);
    return status;
}

static void buffers_may_move_without_preparation(void)
{
    team_run_expecting(2, move_buffers, NULL, results, RONDE_OK);
}

/* 70 lengths in turns are more than are kept: each is gone before it comes again. */
static enum ronde_status change_lengths(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 80, error);
    uint32_t prepared = 0;
    for (uint32_t turn = 0; turn < 2 * RONDE_KEPT_PROGRAMS + 20 && status == RONDE_OK; turn++) {
        const uint32_t last = turn % 70;
        const uint64_t before = writes();
        rank.data[last] = (int32_t)turn;
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, last + 1, RONDE_INT32, RONDE_SUM,
                                  &streams[0], NULL, error);
        (void)team_check(member, rank.data[last] == (int32_t)(turn * rank.ranks), "a sum");
        prepared += writes() != before;
    }
    (void)team_check(member, prepared == 2 * RONDE_KEPT_PROGRAMS + 20, "preparations");
    close_rank(&rank);
    return status;
}

static void ranks_prepare_together_what_is_new(void)
{
    team_run_expecting(2, change_lengths, NULL, results, RONDE_OK);
}

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

/* Sums of one kind and chains of two more, in turns, in one stream or two; every one has a place of its own. */
static enum ronde_status run_ahead(const struct team_member *member, struct ronde_error *error)
{
    const uint32_t used = *(const uint32_t *)member->self;
    const uint32_t ahead = team_transport == RONDE_TRANSPORT_SHM ? AHEAD : AHEAD_OVER_NETWORK;
    struct rank rank;
    struct ronde_request *request = NULL;
    enum ronde_status status = open_rank(&rank, member, AHEAD + 16, error);
    int32_t *sums = rank.data + 16;
    if (status == RONDE_OK)
        status = chain(&rank, error);
    /* Agreed on: from here on no rank meets the other on the host. */
    if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, sums, 1, RONDE_UINT32, RONDE_SUM,
                                  &streams[0], NULL, error);
    rank.data[0] = (int32_t)rank.rank + 1;
    if (status == RONDE_OK)
        (void)team_check(member, wait_for_rank_0(rank.rank), "the gate");
    for (uint32_t k = 0; k < ahead && status == RONDE_OK; k++) {
        const int32_t *in = k == 0 ? rank.data : &sums[k - 1];
        ronde_request_free(request);
        status = ronde_all_reduce(rank.comm, in, &sums[k], 1, RONDE_UINT32, RONDE_SUM,
                                  &streams[k % used], &request, error);
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
    close_rank(&rank);
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

static void over_a_network_operations_follow_one_another(void)
{
    team_over_ucx(pending_operations_follow_one_another_in_a_stream);
}

#define REPLAYS 1000u

/* x := x of rank 0 + 2 * x of rank 1, then all of them side by side. */
static enum ronde_status step(struct rank *rank, struct ronde_request **out_request,
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
                                    .stream = &streams[0]};
    enum ronde_status status = ronde_start(rank->comm, &call, NULL, error);
    return status == RONDE_OK ? ronde_all_gather(rank->comm, rank->data, rank->data + 4, 1,
                                                 RONDE_UINT32, &streams[0], out_request, error)
                              : status;
}

static enum ronde_status capture(const struct team_member *member, struct ronde_error *error)
{
    const uint64_t counts[2] = {1, 2};
    struct rank rank;
    struct ronde_request *request = NULL;
    struct ronde_error why = {0};
    uint32_t expected = 1;
    bool is_done = false;
    enum ronde_status status = open_rank(&rank, member, 16, error);
    if (status != RONDE_OK)
        return status;
    rank.data[0] = 7;
    is_capturing = true;
    status = step(&rank, &request, error);
    if (status == RONDE_OK)
        status = ronde_request_test(request, &is_done, error);
    (void)team_check(member, is_done && rank.data[0] == 7 && graph.count == 2, "a capture");
    (void)team_check(member,
                     ronde_all_gather_v(rank.comm, rank.data, rank.data + 4, counts, counts,
                                        RONDE_INT32, &streams[0], NULL, &why) == RONDE_UNSUPPORTED &&
                         strstr(why.message, "captured"),
                     why.message);
    is_capturing = false;
    ronde_request_free(request);
    rank.data[0] = 1;
    for (uint32_t k = 0; k < REPLAYS && status == RONDE_OK; k++, expected *= 3) {
        status = replay(&streams[0], error);
        /* Between replays the same launches run as ever, elsewhere, in order after them. */
        if (status == RONDE_OK && k % 100 == 0)
            status = ronde_all_gather(rank.comm, rank.data + 1, rank.data + 8, 1, RONDE_UINT32,
                                      &streams[0], NULL, error);
    }
    if (status == RONDE_OK)
        status = synchronise(&streams[0], error);
    (void)team_check(member,
                     (uint32_t)rank.data[0] == expected && (uint32_t)rank.data[4] == expected &&
                         (uint32_t)rank.data[5] == expected,
                     "what replays left");
    close_rank(&rank);
    return status;
}

static void captured_operations_are_replayed(void)
{
    team_run_expecting(2, capture, NULL, results, RONDE_OK);
}

/* Rank 1 enqueues its second operation only when rank 0 knows that the first is over, with a second one behind it. */
static enum ronde_status look_back(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    struct ronde_request *requests[2] = {NULL, NULL};
    enum ronde_status status = open_rank(&rank, member, 16, error);
    for (uint32_t k = 0; k < 2 && status == RONDE_OK; k++) {
        if (k == 1)
            (void)team_check(member, wait_for_rank_0(rank.rank), "the gate");
        status = ronde_all_reduce(rank.comm, rank.data, rank.data + 1 + k, 1, RONDE_INT32,
                                  RONDE_SUM, &streams[0], &requests[k], error);
        if (k == 0 && rank.rank == 1 && status == RONDE_OK)
            status = ronde_request_wait(requests[0], 0, error);
    }
    for (uint32_t k = 0; k < 2; k++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[k], 0, error);
        (void)team_check(member, open_gate(rank.rank), "the gate");
        ronde_request_free(requests[k]);
    }
    close_rank(&rank);
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
    struct rank rank;
    struct ronde_error why = {0};
    enum ronde_status status = open_rank(&rank, member, 16, error);
    const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                    .dtype = RONDE_INT32,
                                    .in = rank.data,
                                    .out = rank.data,
                                    .count = 4,
                                    .timeout_ns = 100000000,
                                    .stream = &streams[0]};
    is_capturing = true;
    if (status == RONDE_OK)
        status = ronde_start(rank.comm, &call, NULL, error);
    is_capturing = false;
    if (status == RONDE_OK && rank.rank == 0)
        status = replay(&streams[0], error);
    if (status == RONDE_OK)
        status = synchronise(&streams[0], error);
    if (status == RONDE_OK && rank.rank == 0)
        (void)team_check(member,
                         ronde_barrier(rank.comm, &streams[0], NULL, &why) == RONDE_TIMEOUT &&
                             strstr(why.message, "a replayed graph: "),
                         why.message);
    if (status == RONDE_OK)
        status = ronde_barrier(rank.comm, NULL, NULL, error);
    close_rank(&rank);
    return status;
}

static void a_replay_that_was_stopped_is_told(void)
{
    team_run_expecting(2, replay_alone, NULL, results, RONDE_TIMEOUT);
}

/* Two communicators in streams of their own, each as far ahead as it likes. */
static enum ronde_status use_two(const struct team_member *member, struct ronde_error *error)
{
    struct rank of[2] = {{.comm = NULL}, {.comm = NULL}};
    struct ronde_request *requests[2] = {NULL, NULL};
    enum ronde_status status = open_rank(&of[0], member, 16, error);
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
                                  RONDE_INT32, RONDE_SUM, &streams[c], &requests[c], error);
    }
    for (uint32_t c = 0; c < 2; c++) {
        if (status == RONDE_OK)
            status = ronde_request_wait(requests[c], 0, error);
        ronde_request_free(requests[c]);
    }
    (void)team_check(member, (uint32_t)of[0].data[0] == 0 && of[0].data[8] == 1 << 20, "a sum");
    close_rank(&of[1]);
    close_rank(&of[0]);
    return status;
}

static void communicators_have_streams_of_their_own(void)
{
    team_run_expecting(2, use_two, NULL, results, RONDE_OK);
}

/* Blocks of different lengths, factors, and an algorithm of the caller's. */
static enum ronde_status call_special(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 64, error);
    if (status != RONDE_OK)
        return status;
    const uint64_t counts[3] = {1, 2, 3};
    const uint64_t offsets[3] = {0, 1, 3};
    for (uint32_t turn = 0; turn < 3 && status == RONDE_OK; turn++) {
        int32_t *mine = rank.data, *all = rank.data + 16;
        for (uint32_t k = 0; k <= rank.rank; k++)
            mine[k] = (int32_t)(100 * rank.rank + 10 * turn + k);
        status = ronde_all_gather_v(rank.comm, mine, all, counts, offsets, RONDE_INT32, &streams[0],
                                    NULL, error);
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
                                        .stream = &streams[0]};
        rank.data[40] = 5;
        status = ronde_start(rank.comm, &call, NULL, error);
        (void)team_check(member, rank.data[41] == 15 * factor, "a sum of products");
    }
    if (status == RONDE_OK)
        status = ronde_comm_choose(rank.comm, RONDE_ALL_REDUCE, "tree", error);
    rank.data[0] = 1;
    if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                                  &streams[0], NULL, error);
    (void)team_check(member, rank.data[0] == 3, "a sum by a tree");
    close_rank(&rank);
    return status;
}

static void blocks_factors_and_algorithms_are_the_callers(void)
{
    team_run_expecting(3, call_special, NULL, results, RONDE_OK);
}

/* What is refused on one rank is refused on all, and the communicator goes on. */
static enum ronde_status give_wrong(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    int32_t of_host[4] = {0};
    struct ronde_error why = {0};
    struct ronde_request *request = NULL;
    enum ronde_status status = open_rank(&rank, member, 16, error);
    if (status != RONDE_OK)
        return status;
    int32_t *out = rank.rank == 1 ? of_host : rank.data;
    (void)team_check(member,
                     ronde_all_reduce(rank.comm, rank.data, out, 4, RONDE_INT32, RONDE_SUM,
                                      &streams[0], &request, &why) == RONDE_BAD_ARGUMENT &&
                         !request && strstr(why.message, "not memory of the device"),
                     why.message);
    (void)team_check(member, ronde_comm_use_device(rank.comm, 0, &why) == RONDE_BAD_ARGUMENT,
                     "a second device");
    rank.data[0] = 4;
    status = ronde_all_reduce(rank.comm, rank.data, rank.data, 1, RONDE_INT32, RONDE_SUM,
                              &streams[0], NULL, error);
    (void)team_check(member, rank.data[0] == 8, "a sum after refusals");
    close_rank(&rank);
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
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, 64, error);
    if (status == RONDE_OK && rank.rank == 0)
        status = ronde_all_gather(rank.comm, rank.data, rank.data + 8, 2, RONDE_INT32, &streams[0],
                                  NULL, error);
    else if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 2, RONDE_INT32, RONDE_SUM,
                                  &streams[0], NULL, error);
    close_rank(&rank);
    return status;
}

static void different_calls_are_refused_on_all(void)
{
    team_run_expecting(2, call_differently, NULL, results, RONDE_REJECTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[1].message, "rank 0 calls all_gather"));
}

/* Ends of rank 0's operation, whose kernel waits for rank 1's, which never starts. */
enum end { END_ABORT, END_DESTROY, END_LIMIT, END_KINDS };

static enum ronde_status hang_back(struct rank *rank, bool aborts, struct ronde_error *error)
{
    is_lazy = true;
    enum ronde_status status = ronde_all_reduce(rank->comm, rank->data, rank->data, 4, RONDE_INT32,
                                                RONDE_SUM, &streams[0], NULL, error);
    if (aborts)
        ronde_comm_abort(rank->comm);
    return status == RONDE_OK ? ronde_barrier(rank->comm, NULL, NULL, error) : status;
}

static enum ronde_status end_early(const struct team_member *member, struct ronde_error *error)
{
    const enum end *end = member->self;
    struct rank rank;
    struct ronde_request *request = NULL;
    enum ronde_status status = open_rank(&rank, member, 16, error);
    int32_t *own = NULL;
    if (status == RONDE_OK && *end == END_DESTROY) {
        status = take_own_memory(&rank, error);
        own = rank.data;
    }
    if (status == RONDE_OK && rank.rank == 1)
        status = hang_back(&rank, *end == END_ABORT, error);
    else if (status == RONDE_OK)
        status = ronde_all_reduce(rank.comm, rank.data, rank.data, 4, RONDE_INT32, RONDE_SUM,
                                  &streams[0], &request, error);
    if (request && *end != END_DESTROY)
        status = ronde_request_wait(request, *end == END_LIMIT ? 100000000 : 0, error);
    rank.data = own ? NULL : rank.data;
    close_rank(&rank);
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
                         ronde_barrier(comm, &streams[0], NULL, &why) == RONDE_UNAVAILABLE &&
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
        SUITE_CASE(a_host_runs_ahead_of_one_that_sleeps),
        SUITE_CASE(over_a_network_a_host_runs_ahead),
        SUITE_CASE(over_a_network_operations_follow_one_another),
        SUITE_CASE(an_operation_is_over_whatever_follows),
        SUITE_CASE(captured_operations_are_replayed),
        SUITE_CASE(a_replay_that_was_stopped_is_told),
        SUITE_CASE(communicators_have_streams_of_their_own),
        SUITE_CASE(blocks_factors_and_algorithms_are_the_callers),
        SUITE_CASE(what_one_rank_cannot_do_none_does),
        SUITE_CASE(different_calls_are_refused_on_all),
        SUITE_CASE(operations_in_streams_end_with_their_communicator),
        SUITE_CASE(a_stream_without_a_device_is_refused),
    };
    return suite_run("stream", cases, sizeof cases / sizeof cases[0]);
}
