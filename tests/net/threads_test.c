/*
 * Communicators and threads: what ronde/comm.h allows. Each of several communicators has a thread of its own, or one thread
 * moves several on in turns; abort comes from anywhere.
 */
#include "net/run.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct team_result results[TEAM_MAX];

#define RANKS 3u

/* Two communicators of the same ranks. */
struct remote_ends {
    struct ronde_comm *comm[2];
};

static enum ronde_status make_remote_ends(const struct team_member *member, struct remote_ends *out,
                                          struct ronde_error *error)
{
    out->comm[1] = NULL;
    enum ronde_status status = team_join(member, 20, &out->comm[0], error);
    if (status == RONDE_OK)
        status = ronde_comm_split(out->comm[0], 0, 0, &out->comm[1], error);
    return status;
}

static void part_remote_ends(const struct remote_ends *remote_ends)
{
    ronde_comm_destroy(remote_ends->comm[1]);
    ronde_comm_destroy(remote_ends->comm[0]);
}

/* What one thread does with its communicator. Each notes results of its own, which are then added up. */
struct worker {
    pthread_t thread;
    struct team_member member;
    struct team_result result;
    struct ronde_comm *comm;
    const char *algorithm;
    enum ronde_status status;
    struct ronde_error error;
};

static void *work(void *self)
{
    struct worker *worker = self;
    worker->status = run_sums(&worker->member, worker->comm, worker->algorithm, 200, &worker->error);
    return NULL;
}

static enum ronde_status drive_by_two_threads(const struct team_member *member,
                                              struct ronde_error *error)
{
    static const char *const algorithms[2] = {"ring", "tree"};
    struct worker workers[2];
    struct remote_ends remote_ends;
    enum ronde_status status = make_remote_ends(member, &remote_ends, error);
    memset(workers, 0, sizeof workers);
    for (int k = 0; k < 2 && status == RONDE_OK; k++) {
        workers[k].member = *member;
        workers[k].member.result = &workers[k].result;
        workers[k].comm = remote_ends.comm[k];
        workers[k].algorithm = algorithms[k];
        if (pthread_create(&workers[k].thread, NULL, work, &workers[k]) != 0)
            return ronde_fail(error, RONDE_DEVICE, "no thread");
    }
    for (int k = 0; k < 2 && status == RONDE_OK; k++) {
        (void)pthread_join(workers[k].thread, NULL);
        member->result->checks += workers[k].result.checks;
        (void)team_check(member, workers[k].result.failures == 0, workers[k].result.failure);
        (void)team_check(member, workers[k].status == RONDE_OK, workers[k].error.message);
    }
    part_remote_ends(&remote_ends);
    return status;
}

static void two_threads_drive_a_communicator_each(void)
{
    team_run_expecting(RANKS, drive_by_two_threads, NULL, results, RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT(results[rank].checks >= 400);
}

/* A run that has been started, whichever thread progresses it. */
struct started {
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    struct run_sum sum;
    bool is_done;
};

static enum ronde_status load_sum(struct started *out, struct ronde_comm *comm,
                                  const char *algorithm, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {0, 0};
    const enum ronde_status status =
        run_compile(RONDE_ALL_REDUCE, algorithm, ronde_comm_ranks(comm), 0, &out->schedule, error);
    return status == RONDE_OK ? ronde_comm_load(comm, out->schedule, &plan, &out->program, error)
                              : status;
}

static enum ronde_status start_sum(struct started *run, uint32_t rank, struct ronde_error *error)
{
    const struct ronde_launch launch = run_sum_launch(&run->sum, rank);
    run->is_done = false;
    return ronde_comm_run(run->program, &launch, error);
}

static void drop_sum(struct started *run)
{
    ronde_comm_unload(run->program);
    ronde_schedule_destroy(run->schedule);
}

/* Both runs are under way before either is waited for; ranks begin and end them in different orders. */
static enum ronde_status take_turns(const struct team_member *member, struct ronde_error *error)
{
    struct started runs[2];
    struct remote_ends remote_ends;
    struct ronde_result result;
    const uint32_t rank = member->join.rank;
    memset(runs, 0, sizeof runs);
    enum ronde_status status = make_remote_ends(member, &remote_ends, error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++)
        status = load_sum(&runs[k], remote_ends.comm[k], "ring", error);
    for (uint32_t round = 0; round < 50 && status == RONDE_OK; round++) {
        for (uint32_t k = 0; k < 2 && status == RONDE_OK; k++)
            status = start_sum(&runs[(k + rank) % 2], rank, error);
        while (status == RONDE_OK && !(runs[0].is_done && runs[1].is_done))
            for (int k = 0; k < 2 && status == RONDE_OK; k++)
                status = ronde_comm_test(runs[k].program, &runs[k].is_done, error);
        for (int k = 0; k < 2 && status == RONDE_OK; k++) {
            status = ronde_comm_wait(runs[k].program, &result, error);
            (void)team_check(member, runs[k].sum.total == RANKS * (RANKS + 1) / 2, "a sum is wrong");
        }
    }
    for (int k = 0; k < 2; k++)
        drop_sum(&runs[k]);
    part_remote_ends(&remote_ends);
    return status;
}

static void one_thread_moves_two_communicators_on_in_turns(void)
{
    team_run_expecting(RANKS, take_turns, NULL, results, RONDE_OK);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT_EQUAL(results[rank].checks, 100);
}

static void *call_off(void *comm)
{
    ronde_comm_abort(comm);
    return NULL;
}

/* Rank 1 waits in a run that rank 2 never begins; another of its threads calls it off. */
static enum ronde_status wait_for_nobody(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    struct started run;
    struct ronde_result result;
    pthread_t thread;
    memset(&run, 0, sizeof run);
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = load_sum(&run, comm, "ring", error);
    if (status == RONDE_OK && member->join.rank == 2)
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    else if (status == RONDE_OK)
        status = start_sum(&run, member->join.rank, error);
    const bool has_thread = status == RONDE_OK && member->join.rank == 1 &&
                            pthread_create(&thread, NULL, call_off, comm) == 0;
    if (status == RONDE_OK)
        status = ronde_comm_wait(run.program, &result, error);
    if (has_thread)
        (void)pthread_join(thread, NULL);
    drop_sum(&run);
    ronde_comm_destroy(comm);
    return status;
}

static void another_thread_calls_a_run_off(void)
{
    team_run_expecting(RANKS, wait_for_nobody, NULL, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1 aborted the communicator"));
}

static void two_threads_over_ucx(void)
{
    team_over_ucx(two_threads_drive_a_communicator_each);
}

static void turns_over_ucx(void)
{
    team_over_ucx(one_thread_moves_two_communicators_on_in_turns);
}

static void another_thread_over_ucx(void)
{
    team_over_ucx(another_thread_calls_a_run_off);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"two_threads_drive_a_communicator_each", two_threads_drive_a_communicator_each},
        {"one_thread_moves_two_communicators_on_in_turns",
         one_thread_moves_two_communicators_on_in_turns},
        {"another_thread_calls_a_run_off", another_thread_calls_a_run_off},
        {"two_threads_over_ucx", two_threads_over_ucx},
        {"turns_over_ucx", turns_over_ucx},
        {"another_thread_over_ucx", another_thread_over_ucx},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("threads", cases, sizeof cases / sizeof cases[0])
               : 1;
}
