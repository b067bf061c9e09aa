/*
 * Pending operations: many of one communicator, several communicators in any order, groups, callbacks, threads, and the ways
 * in which they end before they are over.
 */
#include "api/calls.h"
#include "support/built_with.h"
#include "support/suite.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

#define RANKS 3u

/* Who moves pending operations on in a case that is run for both. */
static enum ronde_progress progress_of(const struct team_member *member)
{
    const enum ronde_progress *progress = member->self;
    return progress ? *progress : RONDE_PROGRESS_THREAD;
}

static void by_both(team_part part, uint32_t ranks)
{
    for (unsigned k = 0; k < RONDE_PROGRESS_COUNT; k++) {
        const enum ronde_progress progress = (enum ronde_progress)k;
        team_run_expecting(ranks, part, &progress, results, RONDE_OK);
        for (uint32_t rank = 0; rank < ranks; rank++)
            CU_ASSERT(results[rank].checks > 0);
    }
}

#define PENDING 12u

/* A batch of random calls, waited for from the last to the first, or tested in turns. */
static enum ronde_status run_batch(const struct team_member *member, struct ronde_comm *comm,
                                   uint64_t *random, bool tests, struct ronde_error *error)
{
    static struct calls_case cases[PENDING];
    struct ronde_request *requests[PENDING] = {NULL};
    enum ronde_status status = RONDE_OK;
    uint32_t left = 0;
    for (uint32_t k = 0; k < PENDING && status == RONDE_OK; k++) {
        const struct buffers_shape shape = calls_draw(ronde_comm_ranks(comm), random);
        (void)team_check(member, calls_open(&cases[k], &shape, ronde_comm_rank(comm)), "memory");
        status = ronde_start(comm, &cases[k].call, &requests[k], error);
        left += status == RONDE_OK;
    }
    while (tests && left > 0 && status == RONDE_OK) {
        bool is_done = false;
        status = ronde_request_test(requests[left - 1], &is_done, error);
        left -= is_done;
    }
    for (uint32_t k = PENDING; k-- > 0;) {
        if (status == RONDE_OK && requests[k])
            status = ronde_request_wait(requests[k], 0, error);
        if (status == RONDE_OK)
            calls_check(member, &cases[k]);
        ronde_request_free(requests[k]);
        calls_close(&cases[k]);
    }
    return status;
}

static enum ronde_status leave_pending(const struct team_member *member, struct ronde_error *error)
{
    uint64_t random = 5;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = calls_join(member, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_progress(comm, progress_of(member), error);
    for (uint32_t batch = 0; batch < 6 && status == RONDE_OK; batch++) {
        status = run_batch(member, comm, &random, batch % 2 == 1, error);
        /* A call that waits comes after all that is pending. */
        if (status == RONDE_OK)
            status = calls_sum(member, comm, error);
    }
    ronde_comm_destroy(comm);
    return status;
}

static void many_operations_of_a_communicator_are_pending(void)
{
    by_both(leave_pending, RANKS);
}

#define COMMS 3u

static enum ronde_status make_comms(const struct team_member *member, struct ronde_comm **comms,
                                    struct ronde_error *error)
{
    enum ronde_status status = calls_join(member, &comms[0], error);
    for (uint32_t k = 1; k < COMMS && status == RONDE_OK; k++)
        status = ronde_comm_split(comms[0], 0, member->join.rank, &comms[k], error);
    for (uint32_t k = 0; k < COMMS && status == RONDE_OK; k++)
        status = ronde_comm_progress(comms[k], progress_of(member), error);
    return status;
}

static void drop_comms(struct ronde_comm **comms)
{
    for (uint32_t k = COMMS; k-- > 0;)
        ronde_comm_destroy(comms[k]);
}

/* Every rank calls on the communicators in its own order, and waits in another: also the first time, when they load. */
static enum ronde_status mix_orders(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comms[COMMS] = {NULL};
    const uint32_t rank = member->join.rank;
    enum ronde_status status = make_comms(member, comms, error);
    for (uint32_t round = 0; round < 20 && status == RONDE_OK; round++) {
        struct ronde_request *requests[COMMS] = {NULL};
        int64_t in[COMMS];
        int64_t out[COMMS] = {0};
        for (uint32_t k = 0; k < COMMS && status == RONDE_OK; k++) {
            const uint32_t c = (k + rank) % COMMS;
            in[c] = (int64_t)(100 * c + rank);
            status = ronde_all_reduce(comms[c], &in[c], &out[c], 1, RONDE_INT64, RONDE_SUM, NULL,
                                      &requests[c], error);
        }
        for (uint32_t k = 0; k < COMMS; k++) {
            const uint32_t c = (2 * rank + 2 + COMMS - k) % COMMS;
            if (status == RONDE_OK)
                status = ronde_request_wait(requests[c], 0, error);
            (void)team_check(member, status != RONDE_OK || out[c] == (int64_t)(300 * c + 3),
                             "a sum");
            ronde_request_free(requests[c]);
        }
    }
    drop_comms(comms);
    return status;
}

static void communicators_are_called_and_waited_for_in_any_order(void)
{
    by_both(mix_orders, RANKS);
}

/*
 * Cold, rank 0 leaves an operation of one communicator pending and waits in another; the others wait in the first before they
 * come to that. While the first loads nobody drives it but the call that waits.
 */
static enum ronde_status wait_elsewhere(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comms[COMMS] = {NULL};
    struct ronde_request *pending = NULL;
    int32_t data[2] = {1, 1};
    enum ronde_status status = make_comms(member, comms, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comms[1], &data[0], &data[0], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  member->join.rank == 0 ? &pending : NULL, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(comms[2], &data[1], &data[1], 1, RONDE_INT32, RONDE_SUM, NULL,
                                  NULL, error);
    if (status == RONDE_OK && pending)
        status = ronde_request_wait(pending, 0, error);
    (void)team_check(member, status != RONDE_OK || (data[0] == RANKS && data[1] == RANKS), "a sum");
    ronde_request_free(pending);
    drop_comms(comms);
    return status;
}

static void what_is_pending_goes_on_while_another_communicator_loads(void)
{
    by_both(wait_elsewhere, RANKS);
}

/* Rank 0 leaves an operation pending and makes, splits or gathers in other communicators, which the others come to later. */
static enum ronde_status make_elsewhere(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comms[COMMS] = {NULL}, *plain = NULL, *last = NULL;
    struct ronde_request *pending = NULL;
    int8_t data[16];
    enum ronde_status status = make_comms(member, comms, error);
    /* One that never has an operation. */
    if (status == RONDE_OK)
        status = ronde_comm_split(comms[0], 0, member->join.rank, &plain, error);
    for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++) {
        memset(data, 1, sizeof data);
        /* Another kind each time, so that it is loaded first. */
        status = ronde_all_reduce(comms[1], data, data, 1u << 2 * k, RONDE_INT8, RONDE_SUM, NULL,
                                  member->join.rank == 0 ? &pending : NULL, error);
        if (status == RONDE_OK && k < 2)
            status = ronde_comm_split(k ? comms[0] : plain, 0, member->join.rank, &last, error);
        else if (status == RONDE_OK)
            status = ronde_comm_allgather(plain, NULL, 0, NULL, error);
        if (status == RONDE_OK && pending)
            status = ronde_request_wait(pending, 0, error);
        (void)team_check(member, status != RONDE_OK || data[0] == (int8_t)RANKS, "a sum");
        ronde_request_free(pending);
        ronde_comm_destroy(last);
        pending = NULL;
        last = NULL;
    }
    ronde_comm_destroy(plain);
    drop_comms(comms);
    return status;
}

static void what_is_pending_goes_on_while_communicators_are_made(void)
{
    by_both(make_elsewhere, RANKS);
}

/* Calls that wait, in a group: none runs before the group ends, so their order among communicators is free as well. */
static enum ronde_status call_in_groups(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comms[COMMS] = {NULL};
    const uint32_t rank = member->join.rank;
    enum ronde_status status = make_comms(member, comms, error);
    for (uint32_t round = 0; round < 10 && status == RONDE_OK; round++) {
        int64_t out[2 * COMMS] = {0};
        const int64_t in = rank;
        ronde_group_begin();
        ronde_group_begin();
        for (uint32_t k = 0; k < 2 * COMMS && status == RONDE_OK; k++)
            status = ronde_all_reduce(comms[(k + rank) % COMMS], &in, &out[k], 1, RONDE_INT64,
                                      RONDE_SUM, NULL, NULL, error);
        if (status == RONDE_OK)
            status = ronde_group_end(error);
        for (uint32_t k = 0; k < 2 * COMMS; k++)
            (void)team_check(member, out[k] == 0, "a group within a group has run");
        if (status == RONDE_OK)
            status = ronde_group_end(error);
        for (uint32_t k = 0; k < 2 * COMMS; k++)
            (void)team_check(member, status != RONDE_OK || out[k] == 3, "a group has not run");
    }
    struct ronde_error why = {0};
    (void)team_check(member, ronde_group_end(&why) == RONDE_BAD_ARGUMENT, "an end without begin");
    drop_comms(comms);
    return status;
}

static void a_group_starts_at_its_outermost_end(void)
{
    by_both(call_in_groups, RANKS);
}

/* Counts what was called, and calls again. */
struct chain {
    struct ronde_comm *comm;
    int32_t value;
    int32_t sum;
    uint32_t calls; /* atomic */
    enum ronde_status status;
};

static void go_on(void *self, enum ronde_status status, const struct ronde_error *error)
{
    struct chain *chain = self;
    struct ronde_request *next = NULL;
    struct ronde_error why = {0};
    if (error->status != status)
        status = RONDE_BAD_INPUT;
    const uint32_t calls = chain->calls + 1;
    if (status == RONDE_OK && calls < 10)
        status = ronde_all_reduce(chain->comm, &chain->value, &chain->sum, 1, RONDE_INT32,
                                  RONDE_SUM, NULL, &next, &why);
    chain->status = status;
    __atomic_store_n(&chain->calls, status == RONDE_OK ? calls : 10, __ATOMIC_RELEASE);
    if (next) {
        ronde_on_complete(next, go_on, self);
        ronde_request_free(next);
    }
}

/* Ten operations, each started by the callback of the one before, and moved on by the thread alone. */
static enum ronde_status call_back(const struct team_member *member, struct ronde_error *error)
{
    struct chain chain = {.value = 1};
    struct ronde_request *first = NULL;
    enum ronde_status status = calls_join(member, &chain.comm, error);
    if (status == RONDE_OK)
        status = ronde_all_reduce(chain.comm, &chain.value, &chain.sum, 1, RONDE_INT32, RONDE_SUM,
                                  NULL, &first, error);
    if (status == RONDE_OK) {
        ronde_on_complete(first, go_on, &chain);
        while (__atomic_load_n(&chain.calls, __ATOMIC_ACQUIRE) < 10)
            sched_yield();
        (void)team_check(member, chain.status == RONDE_OK && chain.sum == (int32_t)RANKS, "a sum");
        (void)team_check(member, ronde_request_status(first).is_done, "the first is not over");
        /* One that is over calls at once. */
        chain.calls = 9;
        ronde_on_complete(first, go_on, &chain);
        (void)team_check(member, chain.calls == 10, "called later");
    }
    ronde_request_free(first);
    ronde_comm_destroy(chain.comm);
    return status;
}

static void callbacks_are_called_once_and_may_call(void)
{
    team_run_expecting(RANKS, call_back, NULL, results, RONDE_OK);
}

/* A thread with a communicator of its own; others overlap with it. */
struct worker {
    pthread_t thread;
    struct team_member member;
    struct team_result result;
    struct ronde_comm *comm;
    uint64_t seed;
    enum ronde_status status;
    struct ronde_error error;
};

static void *work(void *self)
{
    struct worker *worker = self;
    for (uint32_t k = 0; k < 40 && worker->status == RONDE_OK; k++) {
        const struct buffers_shape shape = calls_draw(ronde_comm_ranks(worker->comm), &worker->seed);
        struct calls_case one;
        struct ronde_request *request = NULL;
        if (!calls_open(&one, &shape, ronde_comm_rank(worker->comm)))
            break;
        worker->status =
            ronde_start(worker->comm, &one.call, k % 2 == 0 ? NULL : &request, &worker->error);
        if (request)
            worker->status = ronde_request_wait(request, 0, &worker->error);
        if (worker->status == RONDE_OK)
            calls_check(&worker->member, &one);
        ronde_request_free(request);
        calls_close(&one);
    }
    return NULL;
}

/* World, its odd and even ranks, and its first and other ranks, each by a thread of its own. */
static enum ronde_status work_in_threads(const struct team_member *member, struct ronde_error *error)
{
    static struct worker workers[COMMS];
    struct ronde_comm *comms[COMMS] = {NULL};
    const uint32_t rank = member->join.rank;
    enum ronde_status status = calls_join(member, &comms[0], error);
    if (status == RONDE_OK)
        status = ronde_comm_split(comms[0], rank % 2, rank, &comms[1], error);
    if (status == RONDE_OK)
        status = ronde_comm_split(comms[0], rank > 0, rank, &comms[2], error);
    for (uint32_t k = 0; k < COMMS && status == RONDE_OK; k++) {
        workers[k] = (struct worker){.member = *member, .comm = comms[k], .seed = 10 + k};
        workers[k].member.result = &workers[k].result;
        status = ronde_comm_progress(comms[k], progress_of(member), error);
    }
    for (uint32_t k = 0; k < COMMS && status == RONDE_OK; k++)
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]) != 0)
            return ronde_fail(error, RONDE_DEVICE, "no thread");
    for (uint32_t k = 0; k < COMMS && status == RONDE_OK; k++) {
        (void)pthread_join(workers[k].thread, NULL);
        member->result->checks += workers[k].result.checks;
        (void)team_check(member, workers[k].result.failures == 0, workers[k].result.failure);
        (void)team_check(member, workers[k].status == RONDE_OK, workers[k].error.message);
        (void)team_check(member, workers[k].result.checks == 40, "calls are missing");
    }
    drop_comms(comms);
    return status;
}

static void threads_work_in_overlapping_groups(void)
{
    by_both(work_in_threads, 4);
}

/* Time the other threads of this process have run, ns, and how many there are. */
static uint64_t time_of_others(uint32_t *out_count)
{
    DIR *tasks = opendir("/proc/self/task");
    uint64_t total = 0;
    *out_count = 0;
    for (struct dirent *entry = tasks ? readdir(tasks) : NULL; entry; entry = readdir(tasks)) {
        char path[300];
        unsigned long long ran_ns = 0;
        const long task = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "/proc/self/task/%ld/schedstat", task);
        FILE *file = task > 0 && task != (long)getpid() ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        if (fscanf(file, "%llu", &ran_ns) == 1) {
            total += ran_ns;
            ++*out_count;
        }
        fclose(file);
    }
    if (tasks)
        closedir(tasks);
    return total;
}

/* Whether there are so many other threads. The system lists one for a moment after it was joined. */
static bool is_alone_again(uint32_t others)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    uint32_t count = others + 1;
    for (uint32_t look = 0; look < 10000 && count != others; look++) {
        (void)time_of_others(&count);
        if (count != others)
            (void)nanosleep(&moment, NULL);
    }
    return count == others;
}

/* After what was pending is over the thread does not run at all while calls that wait are made. */
static enum ronde_status look_at_the_thread(const struct team_member *member,
                                            struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    struct ronde_request *request = NULL;
    const int32_t mine = 1;
    int32_t sum = 0;
    uint32_t before = 0;
    uint32_t during = 0;
    bool is_still = false;
    enum ronde_status status = calls_join(member, &comm, error);
    (void)time_of_others(&before);
    if (status == RONDE_OK)
        status = calls_sum(member, comm, error);
    (void)time_of_others(&during);
    (void)team_check(member, during == before, "a call that waits has started a thread");
    if (status == RONDE_OK)
        status =
            ronde_all_reduce(comm, &mine, &sum, 1, RONDE_INT32, RONDE_SUM, NULL, &request, error);
    if (status == RONDE_OK)
        status = ronde_request_wait(request, 0, error);
    ronde_request_free(request);
    /* It may still be on its way to sleep in the first of these. */
    for (uint32_t k = 0; k < 1000 && status == RONDE_OK && !is_still; k++) {
        const uint64_t then_ns = time_of_others(&during);
        for (uint32_t call = 0; call < 100 && status == RONDE_OK; call++)
            status = calls_sum(member, comm, error);
        is_still = time_of_others(&during) == then_ns;
        int32_t still = is_still;
        if (status == RONDE_OK)
            status = ronde_all_reduce(comm, &still, &still, 1, RONDE_INT32, RONDE_MIN, NULL, NULL,
                                      error);
        is_still = still != 0;
    }
    (void)team_check(member, during == before + 1, "there is no thread");
    (void)team_check(member, is_still, "the thread runs though nothing is pending");
    ronde_comm_destroy(comm);
    (void)team_check(member, is_alone_again(before), "the thread outlives the last communicator");
    return status;
}

static void the_thread_sleeps_while_nothing_is_pending(void)
{
    if (strcmp(RONDE_SANITIZE, "thread") == 0) {
        suite_skip("ThreadSanitizer has a thread of its own, which runs now and then");
        return;
    }
    team_run_expecting(2, look_at_the_thread, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"many_operations_of_a_communicator_are_pending",
         many_operations_of_a_communicator_are_pending},
        {"communicators_are_called_and_waited_for_in_any_order",
         communicators_are_called_and_waited_for_in_any_order},
        {"what_is_pending_goes_on_while_another_communicator_loads",
         what_is_pending_goes_on_while_another_communicator_loads},
        {"what_is_pending_goes_on_while_communicators_are_made",
         what_is_pending_goes_on_while_communicators_are_made},
        {"a_group_starts_at_its_outermost_end", a_group_starts_at_its_outermost_end},
        {"callbacks_are_called_once_and_may_call", callbacks_are_called_once_and_may_call},
        {"threads_work_in_overlapping_groups", threads_work_in_overlapping_groups},
        {"the_thread_sleeps_while_nothing_is_pending", the_thread_sleeps_while_nothing_is_pending},
    };
    return suite_run("requests", cases, sizeof cases / sizeof cases[0]);
}
