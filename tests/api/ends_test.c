/*
 * Operations that end before they are over: time limits, abort, a lost rank, a communicator that is destroyed; and requests
 * that are freed early.
 */
#include "api/calls.h"
#include "support/built_with.h"
#include "support/suite.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

#define RANKS 3u

/*
 * A limit that passes in a test. Where a machine is so slow that the ranks which do call are not all there by then, the next
 * one is taken.
 */
#define SHORT_NS UINT64_C(200000000)
#define LONGER 8u
#define LIMITS 3u

/*
 * A rank that makes no call of a communicator meets the others in another, where they come when theirs have ended; what it
 * calls then has ended before.
 */
static enum ronde_status stay_away(struct ronde_comm *comm, struct ronde_comm *aside,
                                   struct ronde_error *error)
{
    const enum ronde_status status = ronde_comm_allgather(aside, NULL, 0, NULL, error);
    return status == RONDE_OK ? ronde_barrier(comm, NULL, NULL, error) : status;
}

/*
 * Joins, splits, and sums where the call that stands still isn't to be the first. A rank may be done with a sum while
 * another still waits for its last message, which an abort would end: all meet before anything is ended.
 */
static enum ronde_status join_twice(const struct team_member *member, bool is_first,
                                    struct ronde_comm **out_comm, struct ronde_comm **out_aside,
                                    struct ronde_error *error)
{
    enum ronde_status status = calls_join(member, out_comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(*out_comm, 0, member->join.rank, out_aside, error);
    if (status == RONDE_OK && !is_first)
        status = calls_sum(member, *out_comm, error);
    return status == RONDE_OK ? ronde_comm_allgather(*out_aside, NULL, 0, NULL, error) : status;
}

/* Ways to have a limit. */
enum limit { LIMIT_OF_CALL, LIMIT_OF_WAIT, LIMIT_OF_COMM, LIMIT_OF_LATER, LIMIT_KINDS };

/* What a case of limits is. */
struct limit_case {
    enum limit limit;
    bool is_first; /* the call that stands still is the first of its kind */
    uint64_t limit_ns;
};

static enum ronde_status stand_still(const struct team_member *member, struct ronde_error *error)
{
    const struct limit_case *one = member->self;
    const uint64_t limit_ns = one->limit_ns;
    const int32_t mine = 1;
    int32_t sum[2];
    struct ronde_comm *comm = NULL;
    struct ronde_comm *aside = NULL;
    struct ronde_request *requests[2] = {NULL};
    struct ronde_call call = {.collective = RONDE_ALL_REDUCE,
                              .dtype = RONDE_INT32,
                              .in = &mine,
                              .out = &sum[0],
                              .count = 1};
    enum ronde_status status = join_twice(member, one->is_first, &comm, &aside, error);
    if (status == RONDE_OK && member->join.rank == 1) {
        status = stay_away(comm, aside, error);
        ronde_comm_destroy(aside);
        ronde_comm_destroy(comm);
        return status;
    }
    if (status == RONDE_OK && one->limit == LIMIT_OF_COMM)
        status = ronde_comm_timeout(comm, limit_ns, error);
    else if (status == RONDE_OK && one->limit != LIMIT_OF_CALL)
        status = ronde_comm_timeout(comm, 0, error);
    call.timeout_ns = one->limit == LIMIT_OF_CALL ? limit_ns : 0;
    if (status == RONDE_OK)
        status = ronde_start(comm, &call, &requests[0], error);
    call.out = &sum[1];
    call.timeout_ns = one->limit == LIMIT_OF_LATER ? limit_ns : 0;
    if (status == RONDE_OK)
        status = ronde_start(comm, &call, &requests[1], error);
    if (status == RONDE_OK)
        status = ronde_request_wait(requests[0], one->limit == LIMIT_OF_WAIT ? limit_ns : 0, error);
    struct ronde_error second = {0};
    (void)team_check(member,
                     requests[1] && ronde_request_wait(requests[1], 0, &second) == status &&
                         strcmp(second.message, error->message) == 0,
                     "the next request ends otherwise");
    (void)team_check(member, ronde_barrier(comm, NULL, NULL, NULL) == status,
                     "a later call goes on");
    (void)team_check(member, ronde_comm_allgather(aside, NULL, 0, NULL, NULL) == RONDE_OK, "aside");
    ronde_request_free(requests[0]);
    ronde_request_free(requests[1]);
    ronde_comm_destroy(aside);
    ronde_comm_destroy(comm);
    return status;
}

static bool all_name(const char *text)
{
    bool does = true;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        does = does && strstr(results[rank].message, text);
    return does;
}

static void limits_name_the_rank_waited_for(void)
{
    for (unsigned kind = 0; kind < 2 * LIMIT_KINDS; kind++) {
        struct limit_case one = {(enum limit)(kind / 2), kind % 2 == 0, SHORT_NS};
        for (uint32_t limit = 0; limit < LIMITS; limit++, one.limit_ns *= LONGER) {
            CU_ASSERT_FATAL(team_run(RANKS, stand_still, &one, results));
            if (all_name("rank 1"))
                break;
            suite_note("limit of %llu ns: %s", (unsigned long long)one.limit_ns, results[0].message);
        }
        team_expect(results, RANKS, RONDE_TIMEOUT);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1"));
    }
}

static void *call_off(void *comm)
{
    ronde_comm_abort(comm);
    return NULL;
}

/* Rank 2 never calls; a thread of rank 1's aborts while all of the others' operations are pending. */
static enum ronde_status abort_pending(const struct team_member *member, struct ronde_error *error)
{
    const bool *is_first = member->self;
    int32_t data[4] = {0};
    struct ronde_comm *comm = NULL;
    struct ronde_comm *aside = NULL;
    struct ronde_request *requests[4] = {NULL};
    pthread_t thread;
    bool has_thread = false;
    enum ronde_status status = join_twice(member, *is_first, &comm, &aside, error);
    if (status == RONDE_OK && member->join.rank == 2)
        status = stay_away(comm, aside, error);
    for (int k = 0; k < 4 && status == RONDE_OK && member->join.rank != 2; k++)
        status = ronde_all_reduce(comm, &data[k], &data[k], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  &requests[k], error);
    if (status == RONDE_OK && member->join.rank == 1)
        has_thread = pthread_create(&thread, NULL, call_off, comm) == 0;
    for (int k = 4; k-- > 0;) {
        struct ronde_error why = {0};
        if (requests[k])
            (void)team_check(member, ronde_request_wait(requests[k], 0, &why) == RONDE_TIMEOUT,
                             "a request ends otherwise");
        if (requests[k] && status == RONDE_OK)
            status = ronde_fail(error, why.status, "%s", why.message);
        ronde_request_free(requests[k]);
    }
    if (has_thread)
        (void)pthread_join(thread, NULL);
    if (member->join.rank != 2)
        (void)team_check(member, ronde_comm_allgather(aside, NULL, 0, NULL, NULL) == RONDE_OK,
                         "aside");
    ronde_comm_destroy(aside);
    ronde_comm_destroy(comm);
    return status;
}

static void abort_ends_all_that_is_pending(void)
{
    for (int k = 0; k < 2; k++) {
        const bool is_first = k == 0;
        team_run_expecting(RANKS, abort_pending, &is_first, results, RONDE_TIMEOUT);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1 aborted"));
    }
}

/* Rank 0 destroys its communicator with operations pending; requests outlive it. */
static enum ronde_status destroy_pending(const struct team_member *member, struct ronde_error *error)
{
    int32_t data[3] = {0};
    struct ronde_comm *comm = NULL;
    struct ronde_request *requests[3] = {NULL};
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    for (int k = 0; k < 3 && status == RONDE_OK && member->join.rank == 0; k++)
        status = ronde_all_reduce(comm, &data[k], &data[k], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  &requests[k], error);
    if (status == RONDE_OK && member->join.rank != 0)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    ronde_comm_destroy(comm);
    for (int k = 0; k < 3 && member->join.rank == 0; k++) {
        struct ronde_error why = {0};
        const struct ronde_request_status end = ronde_request_status(requests[k]);
        (void)team_check(member, end.is_done && end.status == RONDE_TIMEOUT,
                         "a request is not over");
        (void)team_check(member,
                         ronde_request_wait(requests[k], 1, &why) == RONDE_TIMEOUT &&
                             strstr(why.message, "rank 0") != NULL,
                         why.message);
        ronde_request_free(requests[k]);
    }
    return member->join.rank == 0 && status == RONDE_OK ? RONDE_TIMEOUT : status;
}

static void requests_outlive_a_communicator_that_is_destroyed(void)
{
    CU_ASSERT_FATAL(team_run(RANKS, destroy_pending, NULL, results));
    CU_ASSERT_EQUAL(results[0].status, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CU_ASSERT_EQUAL(results[rank].exit_code, 0);
        CU_ASSERT_EQUAL(results[rank].failures, 0);
        CU_ASSERT_NOT_EQUAL(results[rank].status, RONDE_OK);
        if (results[rank].failures > 0)
            suite_note("rank %u: %s", rank, results[rank].failure);
    }
}

/* Rank 2 dies while the others' operations are pending. */
static enum ronde_status lose_a_rank(const struct team_member *member, struct ronde_error *error)
{
    int32_t data[3] = {0};
    struct ronde_comm *comm = NULL;
    struct ronde_request *requests[3] = {NULL};
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    if (member->join.rank == 2)
        (void)raise(SIGKILL);
    for (int k = 0; k < 3 && status == RONDE_OK; k++)
        status = ronde_all_reduce(comm, &data[k], &data[k], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  &requests[k], error);
    for (int k = 0; k < 3; k++) {
        struct ronde_error why = {0};
        if (requests[k])
            (void)team_check(member, ronde_request_wait(requests[k], 0, &why) == RONDE_DEVICE,
                             why.message);
        if (requests[k] && status == RONDE_OK)
            status = ronde_fail(error, why.status, "%s", why.message);
        ronde_request_free(requests[k]);
    }
    ronde_comm_destroy(comm);
    return status;
}

static void a_lost_rank_ends_all_that_is_pending(void)
{
    CU_ASSERT_FATAL(team_run(RANKS, lose_a_rank, NULL, results));
    CU_ASSERT_EQUAL(results[2].signal, SIGKILL);
    team_expect(results, 2, RONDE_DEVICE);
    for (uint32_t rank = 0; rank < 2; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 2"));
}

static void note_end(void *self, enum ronde_status status, const struct ronde_error *error)
{
    (void)error;
    __atomic_store_n((int *)self, status == RONDE_OK ? 1 : 2, __ATOMIC_RELEASE);
}

/* Requests that are freed at once go on; the callback is told. */
static enum ronde_status free_early(const struct team_member *member, struct ronde_error *error)
{
    int32_t data[8];
    int ends[8] = {0};
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    for (int k = 0; k < 8 && status == RONDE_OK; k++) {
        struct ronde_request *request = NULL;
        data[k] = k;
        status = ronde_all_reduce(comm, &data[k], &data[k], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  &request, error);
        if (request && k % 2 == 0)
            ronde_on_complete(request, note_end, &ends[k]);
        ronde_request_free(request);
    }
    if (status == RONDE_OK)
        status = ronde_barrier(comm, NULL, NULL, error);
    ronde_comm_destroy(comm);
    for (int k = 0; k < 8; k++) {
        (void)team_check(member, data[k] == k * (int32_t)RANKS, "a freed operation has not run");
        (void)team_check(member, __atomic_load_n(&ends[k], __ATOMIC_ACQUIRE) == (k % 2 == 0),
                         "a callback");
    }
    return status;
}

static void requests_may_be_freed_before_they_are_over(void)
{
    team_run_expecting(RANKS, free_early, NULL, results, RONDE_OK);
}

/* An operation that none but the progress thread moves on. */
static enum ronde_status sum_by_thread(const struct team_member *member, struct ronde_comm *comm,
                                       struct ronde_error *error)
{
    int32_t data = 1;
    struct ronde_request *request = NULL;
    const enum ronde_status status =
        ronde_all_reduce(comm, &data, &data, 1, RONDE_INT32, RONDE_SUM, NULL, &request, error);
    while (status == RONDE_OK && !ronde_request_status(request).is_done)
        sched_yield();
    (void)team_check(member, data == (int32_t)ronde_comm_ranks(comm), "a sum by the thread");
    ronde_request_free(request);
    return status;
}

/* A forked child leaves its parent's communicator alone, and has a progress thread for its own. */
static enum ronde_status use_own_thread(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    ronde_comm_destroy((struct ronde_comm *)(uintptr_t)member->self);
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = sum_by_thread(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static enum ronde_status fork_children(const struct team_member *member, struct ronde_error *error)
{
    int32_t data = 1;
    struct ronde_comm *comm = NULL;
    struct ronde_request *request = NULL;
    struct team_result children[2];
    enum ronde_status status = calls_join(member, &comm, error);
    /* What a thread has at hand while it starts or loads would be lost in the child, with its sanitizer's locks. */
    if (status == RONDE_OK)
        status = sum_by_thread(member, comm, error);
    if (status == RONDE_OK)
        status =
            ronde_all_reduce(comm, &data, &data, 1, RONDE_INT32, RONDE_SUM, NULL, &request, error);
    const bool is_run = team_run(2, use_own_thread, comm, children);
    for (int k = 0; k < 2; k++)
        (void)team_check(member,
                         is_run && children[k].status == RONDE_OK && children[k].failures == 0 &&
                             children[k].exit_code == 0,
                         children[k].message);
    if (status == RONDE_OK)
        status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    ronde_comm_destroy(comm);
    return status;
}

static void a_forked_child_has_a_thread_of_its_own(void)
{
    if (strcmp(RONDE_SANITIZE, "thread") == 0) {
        suite_skip("ThreadSanitizer lets no child of a process with threads start any");
        return;
    }
    team_run_expecting(2, fork_children, NULL, results, RONDE_OK);
}

static void limits_over_ucx(void)
{
    team_over_ucx(limits_name_the_rank_waited_for);
}

static void abort_over_ucx(void)
{
    team_over_ucx(abort_ends_all_that_is_pending);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"limits_name_the_rank_waited_for", limits_name_the_rank_waited_for},
        {"abort_ends_all_that_is_pending", abort_ends_all_that_is_pending},
        {"requests_outlive_a_communicator_that_is_destroyed",
         requests_outlive_a_communicator_that_is_destroyed},
        {"a_lost_rank_ends_all_that_is_pending", a_lost_rank_ends_all_that_is_pending},
        {"requests_may_be_freed_before_they_are_over", requests_may_be_freed_before_they_are_over},
        {"a_forked_child_has_a_thread_of_its_own", a_forked_child_has_a_thread_of_its_own},
        {"limits_over_ucx", limits_over_ucx},
        {"abort_over_ucx", abort_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("ends", cases, sizeof cases / sizeof cases[0])
               : 1;
}
