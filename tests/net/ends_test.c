/*
 * Operations that are tested, waited for, called off and dropped in any order, and processes forked in between.
 */
#include "hw/comm/comm_parts.h"
#include "net/run.h"
#include "support/suite.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

#define RANKS 3u

/* A communicator, and an all_reduce on it. */
struct work {
    struct ronde_comm *comm;
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    struct run_sum sum;
    struct ronde_launch launch;
};

static enum ronde_status open_work(const struct team_member *member, struct work *out,
                                   struct ronde_error *error)
{
    memset(out, 0, sizeof *out);
    out->launch = run_sum_launch(&out->sum, member->join.rank);
    enum ronde_status status = team_join(member, 20, &out->comm, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", member->join.ranks, 0, &out->schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(out->comm, out->schedule, NULL, &out->program, error);
    return status;
}

static void close_work(struct work *work)
{
    ronde_comm_unload(work->program);
    ronde_schedule_destroy(work->schedule);
    ronde_comm_destroy(work->comm);
}

/* Tests until the run is over. */
static enum ronde_status test_out(struct work *work, struct ronde_error *error)
{
    bool is_done = false;
    enum ronde_status status = RONDE_OK;
    while (status == RONDE_OK && !is_done)
        status = ronde_comm_test(work->program, &is_done, error);
    return status;
}

/* A run may be tested to its end and then waited for, once; or not waited for, and run again. */
static enum ronde_status test_and_wait(const struct team_member *member, struct ronde_error *error)
{
    struct work work;
    struct ronde_result result;
    bool is_done = true;
    enum ronde_status status = open_work(member, &work, error);
    for (uint32_t k = 0; k < 8 && status == RONDE_OK; k++) {
        work.sum.total = 0;
        status = ronde_comm_run(work.program, &work.launch, error);
        if (status == RONDE_OK && k % 4 != 3)
            status = test_out(&work, error);
        if (status == RONDE_OK && k % 4 == 1)
            status = ronde_comm_test(work.program, &is_done, error);
        (void)team_check(member, is_done, "what is over is not over");
        if (status == RONDE_OK && k % 2 == 1)
            status = ronde_comm_wait(work.program, &result, error);
        (void)team_check(member, work.sum.total == 6.0f, "the sum is wrong");
    }
    struct ronde_error why = {0};
    (void)team_check(member,
                     status != RONDE_OK ||
                         (ronde_comm_wait(work.program, &result, &why) == RONDE_BAD_ARGUMENT &&
                          strstr(why.message, "is not running") != NULL),
                     "a run is waited for twice");
    close_work(&work);
    return status;
}

static void runs_are_tested_and_waited_for_in_any_order(void)
{
    team_run_expecting(RANKS, test_and_wait, NULL, results, RONDE_OK);
}

/* How rank 1 ends what the others are in. */
enum ending { ENDING_UNLOAD, ENDING_DESTROY, ENDING_ABORT_FIRST, ENDING_KINDS };

/* In memory that all ranks share: rank 0 joins in when rank 1 has ended, so that no run is over before that. */
struct early {
    enum ending ending;
    atomic_bool has_ended;
};

/* Unloads while the run waits for rank 0. */
static enum ronde_status unload_early(const struct team_member *member, struct work *work,
                                      enum ending ending, struct ronde_error *error)
{
    struct ronde_error why = {0};
    bool is_done = false;
    if (ending == ENDING_DESTROY) {
        (void)team_check(member,
                         ronde_comm_test(work->program, &is_done, error) == RONDE_OK && !is_done,
                         "the run failed or ended before");
        ronde_comm_unload(work->program);
        work->program = NULL;
        return ronde_fail(error, RONDE_TIMEOUT, "rank 1 unloaded a program that was running");
    }
    ronde_comm_unload(work->program);
    work->program = NULL;
    (void)team_check(member, ronde_comm_allgather(work->comm, NULL, 0, NULL, &why) == RONDE_TIMEOUT,
                     "the communicator goes on");
    return ronde_fail(error, RONDE_TIMEOUT, "%s", why.message);
}

static enum ronde_status end_first(const struct team_member *member, struct work *work,
                                   struct early *early, struct ronde_error *error)
{
    /* With nothing of its own sent yet, or something. */
    if (early->ending == ENDING_ABORT_FIRST)
        ronde_comm_abort(work->comm);
    enum ronde_status status = ronde_comm_run(work->program, &work->launch, error);
    if (early->ending == ENDING_ABORT_FIRST)
        (void)team_check(member, status == RONDE_TIMEOUT, "what was called off runs");
    else if (status == RONDE_OK)
        status = unload_early(member, work, early->ending, error);
    atomic_store(&early->has_ended, true);
    return status;
}

static enum ronde_status run_with_it(const struct team_member *member, struct work *work,
                                     struct early *early, struct ronde_error *error)
{
    struct ronde_result result;
    while (member->join.rank == 0 && !atomic_load(&early->has_ended))
        (void)sched_yield();
    const enum ronde_status status = ronde_comm_run(work->program, &work->launch, error);
    return status == RONDE_OK ? ronde_comm_wait(work->program, &result, error) : status;
}

static enum ronde_status end_early(const struct team_member *member, struct ronde_error *error)
{
    struct early *const early = *(struct early *const *)member->self;
    struct work work;
    enum ronde_status status = open_work(member, &work, error);
    if (status == RONDE_OK)
        status = member->join.rank == 1 ? end_first(member, &work, early, error)
                                        : run_with_it(member, &work, early, error);
    close_work(&work);
    return status;
}

static void what_one_rank_unloads_ends_for_all(void)
{
    struct early *const early =
        mmap(NULL, sizeof *early, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(early != MAP_FAILED);
    for (enum ending ending = 0; ending < ENDING_KINDS; ending++) {
        early->ending = ending;
        atomic_store(&early->has_ended, false);
        team_run_expecting(RANKS, end_early, &early, results, RONDE_TIMEOUT);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            CU_ASSERT_PTR_NOT_NULL(
                strstr(results[rank].message, ending == ENDING_ABORT_FIRST
                                                  ? "rank 1 aborted the communicator"
                                                  : "rank 1 unloaded a program that was running"));
    }
    (void)munmap(early, sizeof *early);
}

/* Rank 1 waits for the others to gather, less long than they wait for it in a run. */
static enum ronde_status gather_alone(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm_options options = team_options(member->join.rank == 1 ? 1 : 20);
    struct work work;
    struct ronde_result result;
    memset(&work, 0, sizeof work);
    work.launch = run_sum_launch(&work.sum, member->join.rank);
    enum ronde_status status =
        ronde_comm_join(&member->join, &options, ronde_mem_default(), &work.comm, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", member->join.ranks, 0, &work.schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(work.comm, work.schedule, NULL, &work.program, error);
    if (status == RONDE_OK && member->join.rank == 1) {
        uint32_t all[RANKS];
        status = ronde_comm_allgather(work.comm, &member->join.rank, sizeof(uint32_t), all, error);
    } else if (status == RONDE_OK) {
        status = ronde_comm_run(work.program, &work.launch, error);
        if (status == RONDE_OK)
            status = ronde_comm_wait(work.program, &result, error);
    }
    close_work(&work);
    return status;
}

static void why_a_rank_left_an_allgather_is_sent_to_those_in_a_run(void)
{
    team_run_expecting(RANKS, gather_alone, NULL, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT(strstr(results[rank].message, "a gathering took longer than") &&
                  strstr(results[rank].message, "rank 1 has come to gather"));
}

/* Waits until nothing of a process is left but what its parent asks for. */
static void await_end(pid_t process)
{
    char path[64];
    char state = 'R';
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    while (state != 'Z') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
            state = 'Z';
        if (file)
            (void)fclose(file);
        sched_yield();
    }
}

/* Rank 2 dies; rank 0 learns of it from another communicator, and leaves this one, where rank 1 waits. */
static enum ronde_status leave_after_a_loss(const struct team_member *member,
                                            struct ronde_error *error)
{
    const uint32_t rank = member->join.rank;
    struct ronde_comm *comm = NULL;
    struct ronde_comm *group = NULL;
    const pid_t mine = getpid();
    pid_t all[RANKS] = {0};
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_allgather(comm, &mine, sizeof mine, all, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, rank == 1, 0, &group, error);
    if (status == RONDE_OK && rank == 2)
        (void)raise(SIGKILL);
    if (status == RONDE_OK)
        status = ronde_comm_allgather(rank == 0 ? group : comm, NULL, 0, NULL, error);
    if (rank == 0 && all[2] > 0)
        await_end(all[2]);
    ronde_comm_destroy(group);
    ronde_comm_destroy(comm);
    return status;
}

static void a_leaving_rank_0_forwards_alarms_it_has_not_read(void)
{
    CU_ASSERT_FATAL(team_run(RANKS, leave_after_a_loss, NULL, results));
    team_expect(results, RANKS - 1, RONDE_DEVICE);
    CU_ASSERT_EQUAL(results[2].signal, SIGKILL);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1 was lost"));
    CU_ASSERT_PTR_NOT_NULL(strstr(results[1].message, "rank 2 was lost"));
}

/* A child is forked, destroys all that its parent has, and ends; the parents go on. */
static enum ronde_status fork_without_exec(const struct team_member *member,
                                           struct ronde_error *error)
{
    struct work work;
    struct ronde_result result;
    int state = -1;
    enum ronde_status status = open_work(member, &work, error);
    for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++) {
        status = ronde_comm_run(work.program, &work.launch, error);
        /* Rank 1's in the middle of a run. */
        const pid_t child = member->join.rank == k ? fork() : -1;
        if (child == 0) {
            close_work(&work);
            _exit(7);
        }
        if (child > 0)
            (void)team_check(member,
                             waitpid(child, &state, 0) == child && WIFEXITED(state) &&
                                 WEXITSTATUS(state) == 7,
                             "the child did not end well");
        if (status == RONDE_OK)
            status = ronde_comm_wait(work.program, &result, error);
        (void)team_check(member, work.sum.total == 6.0f, "the sum is wrong");
    }
    close_work(&work);
    return status;
}

static void a_forked_child_has_no_effect(void)
{
    team_run_expecting(RANKS, fork_without_exec, NULL, results, RONDE_OK);
}

static void any_order_over_ucx(void)
{
    team_over_ucx(runs_are_tested_and_waited_for_in_any_order);
}

static void drops_over_ucx(void)
{
    team_over_ucx(what_one_rank_unloads_ends_for_all);
}

static void forks_over_ucx(void)
{
    team_over_ucx(a_forked_child_has_no_effect);
}

/* Rank 1 has files for the rendezvous, and hardly any more. */
static enum ronde_status come_with_few_files(const struct team_member *member,
                                             struct ronde_error *error)
{
    struct work work;
    struct rlimit before;
    const int lowest = dup(STDIN_FILENO);
    bool is_lowered = false;
    if (member->join.rank == 1 && lowest >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0) {
        const struct rlimit few = {(rlim_t)lowest + *(const unsigned *)member->self,
                                   before.rlim_max};
        is_lowered = setrlimit(RLIMIT_NOFILE, &few) == 0;
    }
    close(lowest);
    (void)team_check(member, is_lowered == (member->join.rank == 1), "the limit stays");
    const enum ronde_status status = open_work(member, &work, error);
    if (is_lowered)
        (void)setrlimit(RLIMIT_NOFILE, &before);
    close_work(&work);
    return status;
}

/* Too few for a worker, and for what UCX starts before. */
static void too_few_files_for_ucx_is_an_error_on_all_ranks(void)
{
    static const unsigned files[] = {8, 4};
    const char *reason = NULL;
    if (!ronde_transport_available(RONDE_TRANSPORT_UCX, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    team_transport = RONDE_TRANSPORT_UCX;
    for (size_t k = 0; k < sizeof files / sizeof files[0]; k++) {
        team_run_expecting(RANKS, come_with_few_files, &files[k], results, RONDE_DEVICE);
        for (uint32_t rank = 0; rank < RANKS; rank++)
            CU_ASSERT_PTR_NOT_NULL(
                strstr(results[rank].message, "more than this process may open"));
        CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1: "));
    }
    team_transport = RONDE_TRANSPORT_SHM;
}

/* What another rank had shown is gone: the error of its end comes first, not that of what is missing. */
static enum ronde_status miss_what_was_shown(const struct team_member *member,
                                             struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK && member->join.rank == 1)
        ronde_comm_abort(comm);
    if (status == RONDE_OK && member->join.rank == 0)
        status = ronde_fail(error, RONDE_DEVICE, "cannot open what rank 2 has shown");
    if (status == RONDE_OK || status == RONDE_DEVICE)
        status = ronde_comm_agree(comm, status, error);
    ronde_comm_destroy(comm);
    return status;
}

static void who_has_ended_is_named_before_what_is_missing(void)
{
    team_run_expecting(RANKS, miss_what_was_shown, NULL, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < RANKS; rank++)
        CU_ASSERT_STRING_EQUAL(results[rank].message, "rank 1 aborted the communicator");
}

/* What was sent is seen only once the loss of its sender is. */
static enum ronde_status see_late(struct ronde_comm_program *program, bool *io_moved,
                                  struct ronde_error *error)
{
    struct ronde_error why = {0};
    (void)error;
    if (ronde_control_known(program->comm->control, &why) != RONDE_OK) {
        program->lane_count = 0;
        *io_moved = true;
    }
    return RONDE_OK;
}

/* Rank 1 sends all that rank 0 needs, and ends without a word. */
static enum ronde_status send_and_end(const struct team_member *member, struct ronde_error *error)
{
    static float data[2][4096];
    struct work work;
    struct ronde_result result;
    memset(&work, 0, sizeof work);
    work.launch = run_sum_launch(&work.sum, member->join.rank);
    /* Too long to be eager: rank 0, whose lanes run elsewhere, reads no such messages. */
    work.launch.count = sizeof data[0] / sizeof data[0][0];
    work.sum.in[member->join.rank] = data[0];
    work.sum.out[member->join.rank] = data[1];
    enum ronde_status status = team_join(member, 20, &work.comm, error);
    if (status == RONDE_OK)
        status =
            run_compile(RONDE_BROADCAST, "direct", member->join.ranks, 1, &work.schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(work.comm, work.schedule, NULL, &work.program, error);
    if (status == RONDE_OK && member->join.rank == 0)
        work.program->drive = see_late;
    if (status == RONDE_OK)
        status = ronde_comm_run(work.program, &work.launch, error);
    if (status == RONDE_OK)
        status = ronde_comm_wait(work.program, &result, error);
    if (status == RONDE_OK && member->join.rank == 1)
        raise(SIGKILL);
    struct ronde_error why = {0};
    (void)team_check(member,
                     status != RONDE_OK ||
                         (ronde_comm_run(work.program, &work.launch, &why) == RONDE_DEVICE &&
                          strstr(why.message, "rank 1 was lost") != NULL),
                     "the next run does not say who was lost");
    close_work(&work);
    return status;
}

static void a_run_that_needs_no_more_of_a_lost_rank_ends_well(void)
{
    CU_ASSERT_FATAL(team_run(2, send_and_end, NULL, results));
    CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
    team_expect(results, 1, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"runs_are_tested_and_waited_for_in_any_order", runs_are_tested_and_waited_for_in_any_order},
        {"what_one_rank_unloads_ends_for_all", what_one_rank_unloads_ends_for_all},
        {"why_a_rank_left_an_allgather_is_sent_to_those_in_a_run",
         why_a_rank_left_an_allgather_is_sent_to_those_in_a_run},
        {"who_leaves_passes_on_what_it_has_not_heard_itself",
         a_leaving_rank_0_forwards_alarms_it_has_not_read},
        {"who_has_ended_is_named_before_what_is_missing",
         who_has_ended_is_named_before_what_is_missing},
        {"a_run_that_needs_no_more_of_a_lost_rank_ends_well",
         a_run_that_needs_no_more_of_a_lost_rank_ends_well},
        {"a_forked_child_has_no_effect", a_forked_child_has_no_effect},
        {"any_order_over_ucx", any_order_over_ucx},
        {"drops_over_ucx", drops_over_ucx},
        {"forks_over_ucx", forks_over_ucx},
        {"too_few_files_for_ucx_is_an_error_on_all_ranks",
         too_few_files_for_ucx_is_an_error_on_all_ranks},
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("ends", cases, sizeof cases / sizeof cases[0])
               : 1;
}
