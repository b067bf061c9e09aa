/*
 * The functions of the front door one by one, on a communicator of one rank: each is its collective, for every element type,
 * with and without a request, and writes its output and nothing beside it; offsets are kept, and what one function refuses
 * the next is not harmed by.
 */
#include "support/buffers.h"
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/ronde.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COUNT 7u
#define ROOM 4u /* elements that stay as they are on either side */
#define BYTES_MAX 16u

/* A communicator of this process alone, and memory of one call. */
static struct {
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_comm *comm;
    unsigned char in[(COUNT + 2 * ROOM) * BYTES_MAX], out[(COUNT + 2 * ROOM) * BYTES_MAX];
    unsigned char before[(COUNT + 2 * ROOM) * BYTES_MAX]; /* out before the call, then as it is to be */
    uint64_t counts[1], offsets[1];
    uint32_t sources[1];
} one;

static bool begin(void)
{
    char token[64];
    struct ronde_error error = {.status = RONDE_OK};
    memset(&one, 0, sizeof one);
    one.heap = heap_start(SIZE_MAX, false);
    one.mem = heap_mem(&one.heap);
    one.counts[0] = COUNT;
    snprintf(token, sizeof token, "wrappers-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL(ronde_comm_join(&join, &options, &one.mem, &one.comm, &error), RONDE_OK);
    return one.comm != NULL;
}

static void end(void)
{
    ronde_comm_destroy(one.comm);
    CU_ASSERT_EQUAL(one.heap.live_blocks, 0);
    CU_ASSERT_EQUAL(one.heap.wrong_sizes, 0);
}

/* One of the functions, with everything that is usual. */
typedef enum ronde_status (*caller)(const void *in, void *out, enum ronde_dtype dtype,
                                    struct ronde_request **out_request, struct ronde_error *error);

#define CALLER(name)                                                                               \
    static enum ronde_status call_##name(const void *in, void *out, enum ronde_dtype dtype,        \
                                         struct ronde_request **out_request,                       \
                                         struct ronde_error *error)

CALLER(broadcast)
{
    return ronde_broadcast(one.comm, in, out, COUNT, dtype, 0, NULL, out_request, error);
}

CALLER(scatter)
{
    return ronde_scatter(one.comm, in, out, COUNT, dtype, 0, NULL, out_request, error);
}

CALLER(gather)
{
    return ronde_gather(one.comm, in, out, COUNT, dtype, 0, NULL, out_request, error);
}

CALLER(all_gather)
{
    return ronde_all_gather(one.comm, in, out, COUNT, dtype, NULL, out_request, error);
}

CALLER(reduce)
{
    return ronde_reduce(one.comm, in, out, COUNT, dtype, RONDE_MAX, 0, NULL, out_request, error);
}

CALLER(all_reduce)
{
    return ronde_all_reduce(one.comm, in, out, COUNT, dtype, RONDE_MIN, NULL, out_request, error);
}

CALLER(reduce_scatter)
{
    return ronde_reduce_scatter(one.comm, in, out, COUNT, dtype, RONDE_MAX, NULL, out_request,
                                error);
}

CALLER(all_to_all)
{
    return ronde_all_to_all(one.comm, in, out, COUNT, dtype, NULL, out_request, error);
}

CALLER(send_recv)
{
    return ronde_send_recv(one.comm, in, out, COUNT, dtype, one.sources, NULL, out_request, error);
}

CALLER(shift)
{
    return ronde_shift(one.comm, in, out, COUNT, dtype, 3, NULL, out_request, error);
}

CALLER(all_gather_v)
{
    return ronde_all_gather_v(one.comm, in, out, one.counts, one.offsets, dtype, NULL, out_request,
                              error);
}

CALLER(reduce_scatter_v)
{
    return ronde_reduce_scatter_v(one.comm, in, out, one.counts, one.offsets, dtype, RONDE_MIN,
                                  NULL, out_request, error);
}

CALLER(all_to_all_v)
{
    return ronde_all_to_all_v(one.comm, in, one.counts, one.offsets, out, one.counts, one.offsets,
                              COUNT, dtype, NULL, out_request, error);
}

CALLER(gather_v)
{
    return ronde_gather_v(one.comm, in, COUNT, out, one.counts, one.offsets, COUNT, dtype, 0, NULL,
                          out_request, error);
}

CALLER(scatter_v)
{
    return ronde_scatter_v(one.comm, in, one.counts, one.offsets, out, COUNT, COUNT, dtype, 0, NULL,
                           out_request, error);
}

static const struct {
    const char *name;
    caller call;
    bool reduces;
    bool offsets_in, offsets_out; /* whose table has an offset */
} functions[] = {
    {"broadcast", call_broadcast, false, false, false},
    {"scatter", call_scatter, false, false, false},
    {"gather", call_gather, false, false, false},
    {"all_gather", call_all_gather, false, false, false},
    {"reduce", call_reduce, true, false, false},
    {"all_reduce", call_all_reduce, true, false, false},
    {"reduce_scatter", call_reduce_scatter, true, false, false},
    {"all_to_all", call_all_to_all, false, false, false},
    {"send_recv", call_send_recv, false, false, false},
    {"shift", call_shift, false, false, false},
    {"all_gather_v", call_all_gather_v, false, false, true},
    {"reduce_scatter_v", call_reduce_scatter_v, true, true, false},
    {"all_to_all_v", call_all_to_all_v, false, true, true},
    {"gather_v", call_gather_v, false, false, true},
    {"scatter_v", call_scatter_v, false, true, false},
};
#define FUNCTIONS (sizeof functions / sizeof functions[0])

static void fill(void)
{
    uint64_t random = 11;
    for (size_t i = 0; i < sizeof one.in; i++)
        one.in[i] = (unsigned char)(buffers_draw(&random) % 2);
    memset(one.out, 0xe7, sizeof one.out);
    memcpy(one.before, one.out, sizeof one.out);
}

/* Runs one of them and compares all of its output's surroundings. */
static void check_one(size_t f, enum ronde_dtype dtype, uint64_t offset, bool is_pending)
{
    struct ronde_request *request = NULL;
    struct ronde_error error = {.status = RONDE_OK};
    const size_t bytes = ronde_dtype_bytes(dtype);
    const size_t in_at = ROOM * bytes, out_at = ROOM * bytes;
    const size_t in_off = functions[f].offsets_in ? offset * bytes : 0;
    const size_t out_off = functions[f].offsets_out ? offset * bytes : 0;
    fill();
    one.offsets[0] = offset;
    enum ronde_status status = functions[f].call(one.in + in_at, one.out + out_at, dtype,
                                                 is_pending ? &request : NULL, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT_EQUAL(request != NULL, is_pending && status == RONDE_OK);
    if (request)
        status = ronde_request_wait(request, UINT64_C(60000000000), &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK)
        suite_note("%s of %s: %s", functions[f].name, ronde_dtype_text(dtype), error.message);
    memcpy(one.before + out_at + out_off, one.in + in_at + in_off, COUNT * bytes);
    CU_ASSERT_EQUAL(memcmp(one.out, one.before, sizeof one.out), 0);
    if (memcmp(one.out, one.before, sizeof one.out) != 0)
        suite_note("%s of %s, offset %llu: wrong", functions[f].name, ronde_dtype_text(dtype),
                   (unsigned long long)offset);
    ronde_request_free(request);
}

static void each_function_moves_its_block_and_nothing_else(void)
{
    if (!begin())
        return;
    for (size_t f = 0; f < FUNCTIONS; f++)
        for (unsigned d = 0; d < RONDE_DTYPE_COUNT; d++)
            if (!functions[f].reduces || reference_is_defined((enum ronde_dtype)d, RONDE_MAX))
                for (int is_pending = 0; is_pending < 2; is_pending++)
                    check_one(f, (enum ronde_dtype)d, 0, is_pending);
    end();
}

static void offsets_are_those_of_the_tables(void)
{
    if (!begin())
        return;
    for (size_t f = 0; f < FUNCTIONS; f++)
        for (uint64_t offset = 1; offset < ROOM; offset++)
            if (functions[f].offsets_in || functions[f].offsets_out)
                check_one(f, offset % 2 ? RONDE_INT64 : RONDE_UINT8, offset, false);
    end();
}

/* Refused with a message that says what is wrong. */
static void expect_refused(enum ronde_status status, struct ronde_error *error, const char *says)
{
    CU_ASSERT_EQUAL(status, RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, says));
    if (!strstr(error->message, says))
        suite_note("\"%s\" lacks \"%s\"", error->message, says);
    *error = (struct ronde_error){.status = RONDE_OK};
}

/* A type that is none, and buffers that are missing. The next call is not harmed. */
static void wrong_arguments_are_refused_by_each(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    if (!begin())
        return;
    for (size_t f = 0; f < FUNCTIONS; f++) {
        struct ronde_request *request = (struct ronde_request *)(void *)&one;
        fill();
        expect_refused(functions[f].call(one.in, one.out, RONDE_DTYPE_COUNT, &request, &error),
                       &error, "dtype");
        CU_ASSERT_PTR_NULL(request);
        expect_refused(functions[f].call(NULL, one.out, RONDE_INT32, NULL, &error), &error,
                       "in is NULL");
        expect_refused(functions[f].call(one.in, NULL, RONDE_INT32, NULL, &error), &error,
                       "out is NULL");
        CU_ASSERT_EQUAL(memcmp(one.out, one.before, sizeof one.out), 0);
        check_one(f, RONDE_FLOAT32, 0, false);
    }
    end();
}

/* A longest block that a table contradicts would be written beyond what was made for it. */
static void blocks_longer_than_the_longest_are_refused(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    if (!begin())
        return;
    fill();
    for (uint64_t most = 1; most < COUNT; most++) {
        CU_ASSERT_NOT_EQUAL(ronde_all_to_all_v(one.comm, one.in, one.counts, one.offsets, one.out,
                                               one.counts, one.offsets, most, RONDE_UINT8, NULL,
                                               NULL, &error),
                            RONDE_OK);
        CU_ASSERT(error.message[0] != '\0');
        CU_ASSERT_EQUAL(memcmp(one.out, one.before, sizeof one.out), 0);
    }
    end();
}

/* Messages to itself: numbers that are none, and what a request says of the message. */
static void messages_are_checked(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_request *request = NULL;
    if (!begin())
        return;
    fill();
    expect_refused(ronde_send(one.comm, one.in, 1, RONDE_DTYPE_COUNT, 0, 5, NULL, &error), &error,
                   "send: dtype");
    expect_refused(ronde_recv(one.comm, one.out, 1, RONDE_DTYPE_COUNT, 0, 5, NULL, &error), &error,
                   "recv: dtype");
    expect_refused(ronde_send(one.comm, one.in, UINT64_MAX / 8, RONDE_INT64, 0, 5, NULL, &error),
                   &error, "address space");
    expect_refused(ronde_send(one.comm, one.in, 1, RONDE_INT32, RONDE_ANY_RANK, 5, NULL, &error),
                   &error, "peer");
    CU_ASSERT_EQUAL(ronde_recv(one.comm, one.out, COUNT, RONDE_INT32, 0, 77, &request, &error),
                    RONDE_OK);
    CU_ASSERT(!ronde_request_status(request).is_done);
    CU_ASSERT_EQUAL(ronde_send(one.comm, one.in, 3, RONDE_INT32, 0, 77, NULL, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_request_wait(request, UINT64_C(60000000000), &error), RONDE_OK);
    const struct ronde_request_status status = ronde_request_status(request);
    CU_ASSERT(status.is_done && status.source == 0 && status.tag == 77 && status.bytes == 12);
    CU_ASSERT_EQUAL(memcmp(one.out, one.in, 12), 0);
    CU_ASSERT_EQUAL(memcmp(one.out + 12, one.before + 12, sizeof one.out - 12), 0);
    ronde_request_free(request);
    end();
}

/* What a caller finds in its request after a refusal can be freed, whatever stood there before. */
static void refused_calls_leave_no_request(void)
{
    struct ronde_error error = {.status = RONDE_OK};
    struct ronde_request *request = (struct ronde_request *)(void *)&one;
    if (!begin())
        return;
    expect_refused(ronde_recv(one.comm, one.out, 1, RONDE_INT32, RONDE_ANY_RANK, 5, &request, &error),
                   &error, "ronde_recv_any");
    CU_ASSERT_PTR_NULL(request);
    request = (struct ronde_request *)(void *)&one;
    expect_refused(ronde_send(one.comm, NULL, 1, RONDE_INT32, 0, 5, &request, &error), &error,
                   "NULL");
    CU_ASSERT_PTR_NULL(request);
    end();
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"each_function_moves_its_block_and_nothing_else",
         each_function_moves_its_block_and_nothing_else},
        {"offsets_are_those_of_the_tables", offsets_are_those_of_the_tables},
        {"wrong_arguments_are_refused_by_each", wrong_arguments_are_refused_by_each},
        {"blocks_longer_than_the_longest_are_refused", blocks_longer_than_the_longest_are_refused},
        {"messages_are_checked", messages_are_checked},
        {"refused_calls_leave_no_request", refused_calls_leave_no_request},
    };
    return suite_run("wrappers", cases, sizeof cases / sizeof cases[0]);
}
