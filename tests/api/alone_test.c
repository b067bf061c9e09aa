/*
 * The front door on a communicator of one rank, in this process: every collective copies its input, whatever is asked of
 * requests, groups, callbacks and messages to itself; what is wrong is refused and the communicator goes on.
 */
#include "support/heap.h"
#include "support/suite.h"

#include "ronde/ronde.h"
#include "ronde/schedules.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A communicator of this process alone, on a heap that must be empty in the end. */
struct alone {
    struct heap heap;
    struct ronde_mem mem;
    struct ronde_comm *comm;
    struct ronde_error error;
};

static bool begin(struct alone *alone, enum ronde_progress progress)
{
    char token[64];
    memset(alone, 0, sizeof *alone);
    alone->heap = heap_start(SIZE_MAX, false);
    alone->mem = heap_mem(&alone->heap);
    snprintf(token, sizeof token, "alone-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL(ronde_comm_join(&join, &options, &alone->mem, &alone->comm, &alone->error),
                    RONDE_OK);
    if (!alone->comm)
        return false;
    const enum ronde_status status = ronde_comm_progress(alone->comm, progress, &alone->error);
    if (status == RONDE_UNAVAILABLE)
        suite_skip("%s", alone->error.message);
    else
        CU_ASSERT_EQUAL(status, RONDE_OK);
    memset(&alone->error, 0, sizeof alone->error);
    return status == RONDE_OK;
}

static void end(struct alone *alone)
{
    ronde_comm_destroy(alone->comm);
    CU_ASSERT_EQUAL(alone->heap.live_blocks, 0);
    CU_ASSERT_EQUAL(alone->heap.wrong_sizes, 0);
}

static void for_both(void (*run)(struct alone *alone))
{
    for (uint32_t progress = 0; progress < RONDE_PROGRESS_COUNT; progress++) {
        struct alone alone;
        if (begin(&alone, (enum ronde_progress)progress))
            run(&alone);
        end(&alone);
    }
}

#define COUNT 5u

/* A call of a collective on one rank: out must become in. */
static struct ronde_call call_of(enum ronde_collective collective, const int32_t *in, int32_t *out)
{
    return (struct ronde_call){.collective = collective,
                               .dtype = RONDE_INT32,
                               .op = RONDE_SUM,
                               .in = in,
                               .out = out,
                               .count = COUNT};
}

static void copy_each(struct alone *alone)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (int is_pending = 0; is_pending < 2; is_pending++) {
            const int32_t in[COUNT] = {1, -2, 3, -4, (int32_t)c};
            int32_t out[COUNT] = {0};
            struct ronde_request *request = NULL;
            const struct ronde_call call = call_of((enum ronde_collective)c, in, out);
            CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, is_pending ? &request : NULL,
                                        &alone->error),
                            RONDE_OK);
            CU_ASSERT_EQUAL(request != NULL, is_pending != 0);
            if (request)
                CU_ASSERT_EQUAL(ronde_request_wait(request, 0, &alone->error), RONDE_OK);
            CU_ASSERT(c == RONDE_BARRIER || memcmp(in, out, sizeof in) == 0);
            if (alone->error.status != RONDE_OK)
                suite_note("%s: %s", ronde_collective_text((enum ronde_collective)c),
                           alone->error.message);
            if (request)
                CU_ASSERT(ronde_request_status(request).is_done);
            ronde_request_free(request);
        }
}

static void every_collective_copies(void)
{
    for_both(copy_each);
}

static void copy_in_place(struct alone *alone)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        int32_t both[COUNT] = {5, 4, 3, 2, 1};
        const int32_t before[COUNT] = {5, 4, 3, 2, 1};
        const struct ronde_call call = call_of((enum ronde_collective)c, both, both);
        const bool has_form =
            c == RONDE_BARRIER || ronde_collective_traits((enum ronde_collective)c)->has_in_place;
        const enum ronde_status status = ronde_start(alone->comm, &call, NULL, &alone->error);
        CU_ASSERT_EQUAL(status, has_form ? RONDE_OK : RONDE_BAD_ARGUMENT);
        CU_ASSERT_EQUAL(memcmp(both, before, sizeof both), 0);
        memset(&alone->error, 0, sizeof alone->error);
    }
}

static void in_place_changes_nothing_or_is_refused(void)
{
    for_both(copy_in_place);
}

static void count_nothing(struct alone *alone)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        struct ronde_call call = call_of((enum ronde_collective)c, NULL, NULL);
        call.count = 0;
        CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, NULL, &alone->error), RONDE_OK);
    }
}

static void nothing_may_be_sent(void)
{
    for_both(count_nothing);
}

/* Operators of a single rank: sum, min, max and the rest leave the element; avg divides by one; premul_sum multiplies. */
static void reduce_alone(struct alone *alone)
{
    static const double factor = 2.5;
    for (uint32_t op = 0; op < RONDE_OP_COUNT; op++) {
        const double in[2] = {3.0, -0.5};
        double out[2] = {0, 0};
        const struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                                        .dtype = RONDE_FLOAT64,
                                        .op = (enum ronde_op)op,
                                        .in = in,
                                        .out = out,
                                        .count = 2,
                                        .factor = &factor};
        const enum ronde_status status = ronde_start(alone->comm, &call, NULL, &alone->error);
        const bool is_bitwise = op == RONDE_BAND || op == RONDE_BOR || op == RONDE_BXOR;
        CU_ASSERT_EQUAL(status == RONDE_OK, !is_bitwise);
        const double expected = op == RONDE_PREMUL_SUM ? factor : 1.0;
        CU_ASSERT(is_bitwise || (out[0] == 3.0 * expected && out[1] == -0.5 * expected));
        memset(&alone->error, 0, sizeof alone->error);
    }
}

static void operators_leave_a_single_input_or_scale_it(void)
{
    for_both(reduce_alone);
}

/* Many operations of several kinds are pending, and freed in another order than they were started in. */
static void start_many(struct alone *alone)
{
    enum { MANY = 50 };
    struct ronde_request *requests[MANY] = {NULL};
    int32_t in[MANY], out[MANY];
    for (int32_t k = 0; k < MANY; k++) {
        struct ronde_call call = call_of(k % 3 == 0   ? RONDE_ALL_REDUCE
                                         : k % 3 == 1 ? RONDE_BROADCAST
                                                      : RONDE_ALL_GATHER,
                                         &in[k], &out[k]);
        in[k] = 7 * k;
        out[k] = -1;
        call.count = 1;
        CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, &requests[k], &alone->error), RONDE_OK);
    }
    for (int32_t k = 0; k < MANY; k++) {
        const int32_t at = 17 * k % MANY;
        bool is_done = k % 2 == 0;
        if (k % 2 == 0)
            CU_ASSERT_EQUAL(ronde_request_wait(requests[at], UINT64_C(60000000000), &alone->error),
                            RONDE_OK);
        enum ronde_status status = RONDE_OK;
        while (!is_done && status == RONDE_OK)
            status = ronde_request_test(requests[at], &is_done, &alone->error);
        CU_ASSERT_EQUAL(status, RONDE_OK);
        CU_ASSERT_EQUAL(out[at], 7 * at);
        ronde_request_free(requests[at]);
    }
}

static void pending_operations_end_in_any_order_of_waits(void)
{
    for_both(start_many);
}

/* What a callback has seen. */
struct seen {
    uint32_t calls;
    enum ronde_status status;
};

static void see(void *self, enum ronde_status status, const struct ronde_error *error)
{
    struct seen *seen = self;
    (void)error;
    seen->calls++;
    seen->status = status;
}

static void call_back(struct alone *alone)
{
    struct seen seen = {0, RONDE_IO};
    struct ronde_request *request = NULL;
    const int32_t in = 1;
    int32_t out = 0;
    CU_ASSERT_EQUAL(ronde_all_reduce(alone->comm, &in, &out, 1, RONDE_INT32, RONDE_SUM, NULL,
                                     &request, &alone->error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_request_wait(request, 0, &alone->error), RONDE_OK);
    /* It is over: the callback is called before this returns. */
    ronde_on_complete(request, see, &seen);
    CU_ASSERT_EQUAL(seen.calls, 1);
    CU_ASSERT_EQUAL(seen.status, RONDE_OK);
    ronde_request_free(request);
    ronde_request_free(NULL);
}

static void a_late_callback_is_called_at_once(void)
{
    for_both(call_back);
}

static void send_to_itself(struct alone *alone)
{
    for (uint64_t bytes = 0; bytes <= 1u << 20; bytes = bytes * 32 + 1) {
        static unsigned char sent[(1u << 20) + 32], got[(1u << 20) + 32];
        struct ronde_request *send = NULL;
        uint32_t source = RONDE_NONE;
        for (uint64_t k = 0; k < bytes; k++)
            sent[k] = (unsigned char)(k * 31 + bytes);
        memset(got, 0, sizeof got);
        CU_ASSERT_EQUAL(ronde_send(alone->comm, sent, bytes, RONDE_UINT8, 0, bytes, &send,
                                   &alone->error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(ronde_recv_any(alone->comm, got, bytes, RONDE_UINT8, bytes, &source, NULL,
                                       &alone->error),
                        RONDE_OK);
        CU_ASSERT_EQUAL(source, 0);
        CU_ASSERT_EQUAL(ronde_request_wait(send, 0, &alone->error), RONDE_OK);
        CU_ASSERT_EQUAL(ronde_request_status(send).bytes, bytes);
        CU_ASSERT_EQUAL(memcmp(sent, got, (size_t)bytes), 0);
        CU_ASSERT_EQUAL(got[bytes], 0);
        ronde_request_free(send);
    }
}

static void messages_to_itself_are_whole(void)
{
    for_both(send_to_itself);
}

/* Refusals: the call, and what its message says. */
static void refuse_each(struct alone *alone)
{
    const int32_t in[2] = {1, 2};
    int32_t out[2] = {0, 0};
    const uint64_t counts[1] = {1}, offsets[1] = {0};
    const uint64_t far[1] = {UINT64_MAX};
    const uint32_t sources[1] = {3};
    struct ronde_comm *part = NULL;
    struct ronde_comm_program *program = NULL;
    bool is_done = false;
    struct ronde_request *request = (struct ronde_request *)(void *)out;
#define REFUSED(call, text)                                                                        \
    do {                                                                                           \
        memset(&alone->error, 0, sizeof alone->error);                                             \
        const enum ronde_status refused = call;                                                    \
        CU_ASSERT_EQUAL(refused, RONDE_BAD_ARGUMENT);                                              \
        if (refused != RONDE_BAD_ARGUMENT)                                                         \
            suite_note("%s: %s", ronde_status_text(refused), alone->error.message);                \
        CU_ASSERT_PTR_NOT_NULL(strstr(alone->error.message, text));                                \
        if (!strstr(alone->error.message, text))                                                   \
            suite_note("\"%s\" lacks \"%s\"", alone->error.message, text);                         \
    } while (0)
    struct ronde_error *error = &alone->error;
    struct ronde_comm *comm = alone->comm;
    REFUSED(ronde_broadcast(comm, in, out, 1, RONDE_INT32, 1, NULL, NULL, error), "root 1");
    REFUSED(ronde_all_reduce(comm, NULL, out, 1, RONDE_INT32, RONDE_SUM, NULL, NULL, error),
            "in is NULL");
    REFUSED(ronde_all_reduce(comm, in, NULL, 1, RONDE_INT32, RONDE_SUM, NULL, &request, error),
            "out is NULL");
    CU_ASSERT_PTR_NULL(request);
    REFUSED(ronde_all_reduce(comm, in, out, 1, RONDE_INT32, RONDE_PREMUL_SUM, NULL, NULL, error),
            "premul_sum needs a factor");
    REFUSED(ronde_all_to_all(comm, in, (int32_t *)(uintptr_t)in, 1, RONDE_INT32, NULL, NULL, error),
            "overlap");
    REFUSED(ronde_all_gather_v(comm, in, out, NULL, offsets, RONDE_INT32, NULL, NULL, error),
            "counts");
    REFUSED(ronde_send(comm, in, 1, RONDE_INT32, 1, 0, NULL, error), "peer 1");
    REFUSED(ronde_recv(comm, NULL, 1, RONDE_INT32, 0, 0, NULL, error), "NULL");
    REFUSED(ronde_comm_choose(comm, RONDE_ALL_REDUCE, "rign", error), "ring");
    REFUSED(ronde_comm_choose(comm, (enum ronde_collective)77, "ring", error), "77");
    REFUSED(ronde_comm_progress(comm, (enum ronde_progress)9, error), "9");
    REFUSED(ronde_group_end(error), "group");
    REFUSED(ronde_all_reduce(NULL, in, out, 1, RONDE_INT32, RONDE_SUM, NULL, NULL, error),
            "communicator is NULL");
    REFUSED(ronde_send(NULL, in, 1, RONDE_INT32, 0, 0, NULL, error), "communicator is NULL");
    REFUSED(ronde_comm_choose(NULL, RONDE_ALL_REDUCE, "ring", error), "communicator is NULL");
    REFUSED(ronde_all_gather_v(NULL, in, out, counts, offsets, RONDE_INT32, NULL, NULL, error),
            "communicator is NULL");
    REFUSED(ronde_comm_timeout(NULL, 1, error), "communicator is NULL");
    REFUSED(ronde_start(comm, NULL, NULL, error), "call is NULL");
    REFUSED(ronde_start(comm, NULL, &request, error), "call is NULL");
    REFUSED(ronde_comm_use_schedule(comm, NULL, error), "schedule is NULL");
    REFUSED(ronde_request_wait(NULL, 0, error), "request is NULL");
    REFUSED(ronde_request_test(NULL, &is_done, error), "request is NULL");
    REFUSED(ronde_comm_allgather(NULL, in, 4, out, error), "communicator is NULL");
    REFUSED(ronde_comm_split(NULL, 0, 0, &part, error), "communicator is NULL");
    REFUSED(ronde_comm_load(comm, NULL, NULL, &program, error), "schedule is NULL");
    REFUSED(ronde_all_gather_v(comm, in, out, counts, far, RONDE_INT32, NULL, NULL, error),
            "address space");
    ronde_on_complete(NULL, NULL, NULL);
    CU_ASSERT_FALSE(ronde_request_status(NULL).is_done);
#undef REFUSED
    memset(&alone->error, 0, sizeof alone->error);
    /* Which sources there are is the algorithm's to say. */
    CU_ASSERT_EQUAL(ronde_send_recv(comm, in, out, 1, RONDE_INT32, sources, NULL, NULL, error),
                    RONDE_UNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "rank 0 wants what rank 3 has"));
    memset(error, 0, sizeof *error);
    /* None of them has done any harm. */
    CU_ASSERT_EQUAL(ronde_all_gather_v(comm, in, out, counts, offsets, RONDE_INT32, NULL, NULL,
                                       &alone->error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(out[0], 1);
}

static void what_is_wrong_is_refused_and_harms_nothing(void)
{
    for_both(refuse_each);
}

/* Groups within groups: everything starts at the outermost end, and what had no request is over then. */
static void nest_groups(struct alone *alone)
{
    const int32_t in = 9;
    int32_t out[3] = {0, 0, 0}, got = 0;
    struct ronde_request *request = NULL;
    ronde_group_begin();
    CU_ASSERT_EQUAL(ronde_all_reduce(alone->comm, &in, &out[0], 1, RONDE_INT32, RONDE_SUM, NULL,
                                     NULL, &alone->error),
                    RONDE_OK);
    ronde_group_begin();
    CU_ASSERT_EQUAL(ronde_broadcast(alone->comm, &in, &out[1], 1, RONDE_INT32, 0, NULL, &request,
                                    &alone->error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_group_end(&alone->error), RONDE_OK);
    CU_ASSERT(out[0] == 0 && out[1] == 0);
    CU_ASSERT_EQUAL(ronde_send(alone->comm, &in, 1, RONDE_INT32, 0, 4, NULL, &alone->error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(ronde_recv(alone->comm, &got, 1, RONDE_INT32, 0, 4, NULL, &alone->error),
                    RONDE_OK);
    CU_ASSERT_EQUAL(got, 0);
    CU_ASSERT_EQUAL(ronde_group_end(&alone->error), RONDE_OK);
    CU_ASSERT(out[0] == 9 && got == 9);
    CU_ASSERT_EQUAL(ronde_request_wait(request, 0, &alone->error), RONDE_OK);
    CU_ASSERT_EQUAL(out[1], 9);
    ronde_request_free(request);
}

/* What begins at the end of a group is over never before: such a wait is refused, another one goes on. */
static void wait_in_group(struct alone *alone)
{
    const int32_t in = 7;
    int32_t out[2] = {0};
    struct ronde_request *before = NULL, *inside = NULL;
    struct ronde_call call = call_of(RONDE_ALL_REDUCE, &in, &out[0]);
    call.count = 1;
    CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, &before, &alone->error), RONDE_OK);
    call.out = &out[1];
    ronde_group_begin();
    CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, &inside, &alone->error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_request_wait(before, 0, &alone->error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_request_wait(inside, 0, &alone->error), RONDE_BAD_ARGUMENT);
    CU_ASSERT_PTR_NOT_NULL(strstr(alone->error.message, "ronde_group_end"));
    memset(&alone->error, 0, sizeof alone->error);
    CU_ASSERT_EQUAL(ronde_group_end(&alone->error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_request_wait(inside, 0, &alone->error), RONDE_OK);
    CU_ASSERT(out[0] == 7 && out[1] == 7);
    ronde_request_free(before);
    ronde_request_free(inside);
}

static void an_operation_of_an_open_group_is_not_waited_for(void)
{
    for_both(wait_in_group);
}

static void groups_start_at_their_outermost_end(void)
{
    for_both(nest_groups);
}

static void abort_it(struct alone *alone)
{
    const int32_t in = 1;
    int32_t out = 0;
    struct ronde_request *request = NULL;
    CU_ASSERT_EQUAL(ronde_recv(alone->comm, &out, 1, RONDE_INT32, 0, 5, &request, &alone->error),
                    RONDE_OK);
    ronde_comm_abort(alone->comm);
    CU_ASSERT_EQUAL(ronde_request_wait(request, 0, &alone->error), RONDE_TIMEOUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(alone->error.message, "rank 0 aborted the communicator"));
    CU_ASSERT_EQUAL(ronde_request_status(request).status, RONDE_TIMEOUT);
    memset(&alone->error, 0, sizeof alone->error);
    CU_ASSERT_EQUAL(ronde_all_reduce(alone->comm, &in, &out, 1, RONDE_INT32, RONDE_SUM, NULL, NULL,
                                     &alone->error),
                    RONDE_TIMEOUT);
    CU_ASSERT_EQUAL(out, 0);
    ronde_request_free(request);
}

static void an_abort_ends_what_is_pending_and_what_comes(void)
{
    for_both(abort_it);
}

/* Each size class loads a program; more than may be kept are unloaded again, and results stay right. */
static void load_many(struct alone *alone)
{
    static int32_t in[1u << 16], out[1u << 16];
    for (uint32_t round = 0; round < 2; round++)
        for (uint64_t count = 1; count <= 1u << 16; count *= 2)
            for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
                struct ronde_call call = call_of((enum ronde_collective)c, in, out);
                call.count = count;
                in[count - 1] = (int32_t)(count + c);
                out[count - 1] = 0;
                CU_ASSERT_EQUAL(ronde_start(alone->comm, &call, NULL, &alone->error), RONDE_OK);
                CU_ASSERT(c == RONDE_BARRIER || out[count - 1] == (int32_t)(count + c));
            }
}

static void more_kinds_than_are_kept_do_no_harm(void)
{
    for_both(load_many);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"every_collective_copies", every_collective_copies},
        {"in_place_changes_nothing_or_is_refused", in_place_changes_nothing_or_is_refused},
        {"nothing_may_be_sent", nothing_may_be_sent},
        {"operators_leave_a_single_input_or_scale_it", operators_leave_a_single_input_or_scale_it},
        {"pending_operations_end_in_any_order_of_waits",
         pending_operations_end_in_any_order_of_waits},
        {"a_late_callback_is_called_at_once", a_late_callback_is_called_at_once},
        {"messages_to_itself_are_whole", messages_to_itself_are_whole},
        {"what_is_wrong_is_refused_and_harms_nothing", what_is_wrong_is_refused_and_harms_nothing},
        {"an_operation_of_an_open_group_is_not_waited_for",
         an_operation_of_an_open_group_is_not_waited_for},
        {"groups_start_at_their_outermost_end", groups_start_at_their_outermost_end},
        {"an_abort_ends_what_is_pending_and_what_comes",
         an_abort_ends_what_is_pending_and_what_comes},
        {"more_kinds_than_are_kept_do_no_harm", more_kinds_than_are_kept_do_no_harm},
    };
    return suite_run("alone", cases, sizeof cases / sizeof cases[0]);
}
