/*
 * Memory that runs out in the middle of a program's work: on a communicator of one rank the n-th allocation of a call
 * fails, for every n. The call reports it or works, outputs are whole or untouched, what was asked before goes on, and
 * the same call works afterwards unless the communicator says that it has failed. tests/oom has whole programs that end
 * at the first failure; here they go on.
 */
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/p2p.h"
#include "ronde/ronde.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A communicator of this process alone, which moves data in the caller. */
struct stage {
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_comm *comm;
};

static void begin(struct stage *stage)
{
    char token[64];
    struct ronde_error error = {0};
    memset(stage, 0, sizeof *stage);
    stage->heap = heap_start(SIZE_MAX, true);
    stage->mem = heap_mem(&stage->heap);
    snprintf(token, sizeof token, "shortage-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, &options, &stage->mem, &stage->comm, &error),
                          RONDE_OK);
    CU_ASSERT_EQUAL(ronde_comm_progress(stage->comm, RONDE_PROGRESS_CALLER, &error), RONDE_OK);
}

static void end(struct stage *stage)
{
    ronde_comm_destroy(stage->comm);
    CU_ASSERT_EQUAL(stage->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(stage->heap.wrong_sizes, 0);
}

#define COUNT 6u

/* What a call is given, and what it makes of it. */
struct data {
    int32_t in[COUNT];
    int32_t out[COUNT];
};

static struct data fresh_data(void)
{
    return (struct data){{3, 1, 4, 1, 5, 9}, {-7, -7, -7, -7, -7, -7}};
}

static bool is_copied(const struct data *data)
{
    return memcmp(data->in, data->out, sizeof data->in) == 0;
}

static bool is_untouched(const struct data *data)
{
    bool is = true;
    for (uint32_t i = 0; i < COUNT; i++)
        is = is && data->out[i] == -7;
    return is;
}

/* Something a program does; true if it got its result. */
typedef bool (*work)(struct stage *stage, struct data *data, const void *context,
                     struct ronde_error *error);

/* Who fails while others wait for him has to end that: the communicator is then failed for whatever else is pending. */
static bool is_lost(const struct ronde_error *error)
{
    return error->status == RONDE_TIMEOUT && strstr(error->message, "aborted the communicator");
}

static bool is_reported(const struct ronde_error *error)
{
    return is_lost(error) || (error->status == RONDE_NO_MEMORY && error->message[0] != '\0');
}

/* One failing allocation of a work, the n-th. False when there are no more. */
static bool attempt(work run, const void *context, size_t n, uint32_t *lost)
{
    struct stage stage;
    struct ronde_error error = {0};
    struct data data = fresh_data();
    begin(&stage);
    stage.heap.refuse_at = stage.heap.requests + n;
    const bool is_done = run(&stage, &data, context, &error);
    const bool has_failed = stage.heap.requests > stage.heap.refuse_at;
    CU_ASSERT(is_done || has_failed);
    CU_ASSERT(is_copied(&data) || (!is_done && is_untouched(&data)));
    CU_ASSERT(is_done || is_reported(&error));
    if (!is_done && !is_reported(&error))
        suite_note("allocation %zu: %s: %s", n, ronde_status_text(error.status), error.message);
    /* There is memory again. */
    stage.heap.refuse_at = SIZE_MAX;
    data = fresh_data();
    memset(&error, 0, sizeof error);
    const bool is_done_again = run(&stage, &data, context, &error);
    CU_ASSERT(is_done_again || (!is_done && is_lost(&error)));
    CU_ASSERT(is_done_again ? is_copied(&data) : is_untouched(&data));
    *lost += !is_done_again;
    end(&stage);
    return has_failed;
}

/* Every allocation of a work, and that most failures cost only the call. */
static void shorten(const char *what, work run, const void *context)
{
    uint32_t lost = 0;
    size_t n = 0;
    while (attempt(run, context, n, &lost))
        n++;
    CU_ASSERT(n > 0);
    CU_ASSERT(2 * lost < n);
    if (n == 0 || 2 * lost >= n)
        suite_note("%s: %zu allocations, the communicator fails with %u", what, n, lost);
}

static bool call_once(struct stage *stage, struct data *data, const void *context,
                      struct ronde_error *error)
{
    const enum ronde_collective *collective = context;
    const struct ronde_call call = {.collective = *collective,
                                    .dtype = RONDE_INT32,
                                    .op = RONDE_MAX,
                                    .in = data->in,
                                    .out = data->out,
                                    .count = COUNT};
    const enum ronde_status status = ronde_start(stage->comm, &call, NULL, error);
    if (status == RONDE_OK && *collective == RONDE_BARRIER)
        memcpy(data->out, data->in, sizeof data->in);
    return status == RONDE_OK;
}

static void every_collective_survives(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const enum ronde_collective collective = (enum ronde_collective)c;
        shorten(ronde_collective_text(collective), call_once, &collective);
    }
}

/* Two calls, of which the first is waited for last. */
static bool call_pending(struct stage *stage, struct data *data, const void *context,
                         struct ronde_error *error)
{
    (void)context;
    struct ronde_request *requests[2] = {NULL, NULL};
    int32_t first = 0;
    const enum ronde_status started = ronde_all_reduce(stage->comm, data->in, &first, 1, RONDE_INT32,
                                                       RONDE_SUM, NULL, &requests[0], error);
    CU_ASSERT_EQUAL(started == RONDE_OK, requests[0] != NULL);
    enum ronde_status status = started;
    if (status == RONDE_OK)
        status = ronde_all_gather(stage->comm, data->in, data->out, COUNT, RONDE_INT32, NULL,
                                  &requests[1], error);
    CU_ASSERT(started != RONDE_OK || (status == RONDE_OK) == (requests[1] != NULL));
    if (status == RONDE_OK)
        status = ronde_request_wait(requests[1], 0, error);
    if (requests[0]) {
        struct ronde_error own = {0};
        const enum ronde_status end = ronde_request_wait(requests[0], 0, &own);
        CU_ASSERT_EQUAL(end == RONDE_OK, first == data->in[0]);
        if (status == RONDE_OK && end != RONDE_OK)
            status = ronde_fail(error, end, "%s", own.message);
    }
    ronde_request_free(requests[0]);
    ronde_request_free(requests[1]);
    return status == RONDE_OK;
}

static void pending_calls_survive(void)
{
    shorten("two pending calls", call_pending, NULL);
}

/* Messages to itself, more at once than a pool has room for at first. One that was not sent is not waited for. */
static bool send_many(struct stage *stage, struct data *data, const void *context,
                      struct ronde_error *error)
{
    enum { MANY = 90 };
    (void)context;
    uint32_t received = 0;
    bool is_sent[MANY] = {false};
    for (uint32_t k = 0; k < MANY; k++) {
        struct ronde_request *request = NULL;
        is_sent[k] = ronde_send(stage->comm, &data->in[k % COUNT], 1, RONDE_INT32, 0, k, &request,
                                error) == RONDE_OK &&
                     ronde_request_wait(request, 0, error) == RONDE_OK;
        ronde_request_free(request);
    }
    for (uint32_t k = 0; k < MANY; k++) {
        int32_t got = 0;
        enum ronde_status status = RONDE_NO_MEMORY;
        /* A message is not lost because there was no memory to ask for it. */
        for (uint32_t round = 0; is_sent[k] && round < 2 && status != RONDE_OK; round++)
            status = ronde_recv(stage->comm, &got, 1, RONDE_INT32, 0, k, NULL, error);
        CU_ASSERT(!is_sent[k] || (status == RONDE_OK && got == data->in[k % COUNT]));
        received += is_sent[k];
    }
    if (received == MANY)
        memcpy(data->out, data->in, sizeof data->in);
    return received == MANY;
}

static void messages_survive(void)
{
    shorten("messages to itself", send_many, NULL);
}

/* A group as large as makes its list grow; it is ended whatever was refused within. */
static bool call_group(struct stage *stage, struct data *data, const void *context,
                       struct ronde_error *error)
{
    (void)context;
    enum ronde_status status = RONDE_OK;
    int32_t scratch[COUNT];
    ronde_group_begin();
    for (uint32_t k = 0; k < 20 && status == RONDE_OK; k++)
        status = ronde_broadcast(stage->comm, data->in, k < 19 ? scratch : data->out, COUNT,
                                 RONDE_INT32, 0, NULL, NULL, error);
    const enum ronde_status end = ronde_group_end(status == RONDE_OK ? error : NULL);
    return status == RONDE_OK && end == RONDE_OK;
}

static void groups_survive(void)
{
    shorten("a group", call_group, NULL);
}

/* Settings: an algorithm is chosen anew, so what was loaded goes and has to be loaded again. */
static bool choose_and_call(struct stage *stage, struct data *data, const void *context,
                            struct ronde_error *error)
{
    static const enum ronde_collective collective = RONDE_ALL_REDUCE;
    char algorithm[RONDE_ALGORITHM_BYTES];
    (void)context;
    if (ronde_comm_choose(stage->comm, collective, "ring", error) != RONDE_OK ||
        ronde_comm_timeout(stage->comm, UINT64_C(60000000000), error) != RONDE_OK ||
        !call_once(stage, data, &collective, error))
        return false;
    ronde_comm_algorithm(stage->comm, algorithm);
    CU_ASSERT_STRING_EQUAL(algorithm, "ring");
    return true;
}

static void settings_survive(void)
{
    shorten("a chosen algorithm", choose_and_call, NULL);
}

/* Data that could not be kept take nothing of the room there is for others: a short message still needs no receive. */
static void a_message_that_was_not_kept_takes_no_room(void)
{
    static const unsigned char data[1000];
    struct ronde_p2p *send = NULL, *receive = NULL;
    bool is_done = false;
    struct stage stage;
    begin(&stage);
    CU_ASSERT_EQUAL(ronde_comm_send_post(stage.comm, data, 1, 0, 1, &send, NULL), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_comm_recv_post(stage.comm, (unsigned char[1]){0}, 1, 0, 1, &receive, NULL),
                    RONDE_OK);
    ronde_p2p_release(send);
    ronde_p2p_release(receive);
    stage.heap.refuse_at = stage.heap.requests;
    stage.heap.refuse_once = false;
    for (uint32_t k = 0; k < 10000; k++)
        if (ronde_comm_send_post(stage.comm, data, sizeof data, 0, 2, &send, NULL) != RONDE_NO_MEMORY)
            CU_FAIL("a message without memory was taken");
    stage.heap.refuse_at = SIZE_MAX;
    CU_ASSERT_EQUAL(ronde_comm_send_post(stage.comm, data, sizeof data, 0, 3, &send, NULL),
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_p2p_test(send, &is_done, NULL, NULL), RONDE_OK);
    CU_ASSERT_TRUE(is_done);
    ronde_p2p_release(send);
    end(&stage);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_collective_survives", every_collective_survives},
        {"pending_calls_survive", pending_calls_survive},
        {"messages_survive", messages_survive},
        {"groups_survive", groups_survive},
        {"settings_survive", settings_survive},
        {"a_message_that_was_not_kept_takes_no_room", a_message_that_was_not_kept_takes_no_room},
    };
    return suite_run("shortage", cases, sizeof cases / sizeof cases[0]);
}
