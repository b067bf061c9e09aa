/*
 * A process per GPU: emulated devices whose memory the processes share, and everything above them as on real ones.
 */
#include "hw/cuda/backend.h"
#include "net/run.h"
#include "support/built_with.h"
#include "support/emulated_gpu.h"
#include "support/suite.h"

#include "ronde/cuda.h"
#include "ronde/hw.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Collectives at 100 percent; RONDE_TEST_SCALE is their number in percent. */
#define SOAK_RUNS 400u

/* Runs of one loaded schedule before the next is drawn. */
#define RUNS_PER_LOAD 4u

static struct team_result results[TEAM_MAX];

/* A rank and its device. */
struct rank {
    struct ronde_comm *comm;
    const struct ronde_gpu *gpu;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
};

static enum ronde_status open_on(struct rank *rank, const struct team_member *member,
                                 const struct emulated_options *options, struct ronde_error *error)
{
    memset(rank, 0, sizeof *rank);
    rank->gpu = emulated_gpu_open(options);
    if (!rank->gpu)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for an emulated device");
    const enum ronde_status status = team_join(member, 30, &rank->comm, error);
    return status == RONDE_OK ? ronde_cuda_open_on(&rank->gpu, 1, rank->comm, ronde_mem_default(),
                                                   &rank->self, error)
                              : status;
}

static enum ronde_status open_rank(struct rank *rank, const struct team_member *member,
                                   struct ronde_error *error)
{
    const struct emulated_options options = {.room_bytes = 2000};
    return open_on(rank, member, &options, error);
}

static void unload(struct rank *rank)
{
    ronde_cuda_unload(rank->program);
    ronde_schedule_destroy(rank->schedule);
    rank->program = NULL;
    rank->schedule = NULL;
}

static void close_rank(struct rank *rank, const struct team_member *member)
{
    unload(rank);
    ronde_cuda_close_on(rank->self);
    ronde_comm_destroy(rank->comm);
    (void)team_check(member, !rank->gpu || emulated_gpu_counts(rank->gpu).live_blocks == 0,
                     "memory of the device is left");
    if (rank->gpu)
        emulated_gpu_close(rank->gpu);
}

/* Random schedules, each run some times. */
static enum ronde_status soak(const struct team_member *member, struct ronde_error *error)
{
    const uint64_t runs = *(const uint64_t *)member->self;
    struct rank rank;
    uint64_t random = 20261121 + member->join.ranks;
    enum ronde_status status = open_rank(&rank, member, error);
    for (uint64_t done = 0; done < runs && status == RONDE_OK; done += RUNS_PER_LOAD) {
        rank.schedule = run_draw_schedule(member->join.ranks, &random);
        if (!team_check(member, rank.schedule != NULL, "no schedule was drawn"))
            break;
        status = ronde_cuda_load(rank.self, rank.schedule, &rank.program, error);
        for (uint32_t k = 0; k < RUNS_PER_LOAD && status == RONDE_OK; k++) {
            const struct run_target target = {.backend = &ronde_backend_cuda,
                                              .program = rank.program,
                                              .rank = member->join.rank};
            status = run_random_on(member, &target, rank.schedule, &random, error);
        }
        unload(&rank);
    }
    if (rank.gpu && member->join.ranks > 1) {
        const struct emulated_counts done = emulated_gpu_counts(rank.gpu);
        const enum ronde_transport transport = ronde_comm_transport(rank.comm);
        (void)team_check(member, (done.pins > 0) == (transport != RONDE_TRANSPORT_SHM),
                         "messages between hosts went another way");
        (void)team_check(member, (done.attached > 0) == (transport != RONDE_TRANSPORT_UCX),
                         "messages inside a host went another way");
    }
    close_rank(&rank, member);
    return status;
}

static void random_collectives_leave_what_host_leaves(void)
{
    static const uint32_t sizes[] = {1, 2, 4};
    const uint64_t runs = SOAK_RUNS * suite_number("RONDE_TEST_SCALE", 100) / 100;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        team_run_expecting(sizes[k], soak, &runs, results, RONDE_OK);
        CU_ASSERT(results[0].checks >= runs);
    }
}

/* Loads a ring, and starts a sum on it. */
static enum ronde_status start_sum(struct rank *rank, struct run_sum *sum,
                                   struct ronde_launch *launch, const struct team_member *member,
                                   void **out_run, struct ronde_error *error)
{
    enum ronde_status status = open_rank(rank, member, error);
    if (status == RONDE_OK)
        status =
            run_compile(RONDE_ALL_REDUCE, "ring", member->join.ranks, 0, &rank->schedule, error);
    if (status == RONDE_OK)
        status = ronde_cuda_load(rank->self, rank->schedule, &rank->program, error);
    *launch = run_sum_launch(sum, member->join.rank);
    launch->timeout_ns = 0;
    return status == RONDE_OK ? ronde_cuda_run(rank->program, launch, out_run, error) : status;
}

/* Rank 1 dies while the others' kernels wait for it, without a limit of time. */
static enum ronde_status die_inside(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    struct run_sum sum;
    struct ronde_launch launch;
    struct ronde_result result;
    void *run = NULL;
    enum ronde_status status = start_sum(&rank, &sum, &launch, member, &run, error);
    if (status == RONDE_OK && member->join.rank == 1)
        raise(SIGKILL);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    struct ronde_error again = {0};
    (void)team_check(member, ronde_cuda_run(rank.program, &launch, &run, &again) == RONDE_DEVICE,
                     "a run after a rank was lost");
    close_rank(&rank, member);
    return status;
}

static void a_killed_process_ends_the_kernels_that_wait_for_it(void)
{
    CU_ASSERT_FATAL(team_run(3, die_inside, NULL, results));
    CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        team_expect(&results[rank], 1, RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1 was lost"));
        suite_note("rank %u: %s %s", rank, results[rank].message, results[rank].failure);
    }
}

/* Rank 2 aborts its run; the others hear of it in theirs. */
static enum ronde_status abort_one(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    struct run_sum sum;
    struct ronde_launch launch;
    struct ronde_result result;
    void *run = NULL;
    enum ronde_status status = start_sum(&rank, &sum, &launch, member, &run, error);
    if (status == RONDE_OK && member->join.rank == 2)
        ronde_comm_abort(rank.comm);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    if (status == RONDE_OK)
        /* Small runs may be over before the news come. */
        status = ronde_comm_allgather(rank.comm, NULL, 0, NULL, error);
    close_rank(&rank, member);
    return status;
}

static void an_abort_is_received_by_all(void)
{
    team_run_expecting(3, abort_one, NULL, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < 3; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 2 aborted the communicator"));
}

/* Rank 0 launches more elements than the others. */
static enum ronde_status disagree(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    struct run_sum sum;
    struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
    void *run = NULL;
    enum ronde_status status = open_rank(&rank, member, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 2, 0, &rank.schedule, error);
    if (status == RONDE_OK)
        status = ronde_cuda_load(rank.self, rank.schedule, &rank.program, error);
    launch.count = member->join.rank == 0 ? 0 : 1;
    if (status == RONDE_OK)
        status = ronde_cuda_run(rank.program, &launch, &run, error);
    close_rank(&rank, member);
    return status;
}

static void processes_that_disagree_are_told_in_what(void)
{
    team_run_expecting(2, disagree, NULL, results, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < 2; rank++)
        CU_ASSERT_PTR_NOT_NULL(
            strstr(results[rank].message, "ranks 0 and 1 disagree about the count"));
}

/* One process's device has no memory for its part: all are told. */
static enum ronde_status refuse_one(const struct team_member *member, struct ronde_error *error)
{
    struct rank rank;
    enum ronde_status status = open_rank(&rank, member, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 2, 0, &rank.schedule, error);
    if (status == RONDE_OK && member->join.rank == 1)
        emulated_gpu_refuse(rank.gpu, EMULATED_SHARE, 1);
    if (status == RONDE_OK)
        status = ronde_cuda_load(rank.self, rank.schedule, &rank.program, error);
    close_rank(&rank, member);
    return status;
}

static void a_process_without_memory_announces_the_others(void)
{
    team_run_expecting(2, refuse_one, NULL, results, RONDE_NO_MEMORY);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1: the device shares nothing"));
}

/* A case over another transport, with so many ranks to a host; 0 = as it is. */
static void over(enum ronde_transport transport, uint32_t ranks_per_host, void (*test)(void))
{
    const char *reason = NULL;
    if (!ronde_transport_available(transport, &reason)) {
        suite_skip("%s", reason);
        return;
    }
    team_transport = transport;
    team_ranks_per_host = ranks_per_host;
    test();
    team_transport = RONDE_TRANSPORT_SHM;
    team_ranks_per_host = 0;
}

/* Every process's thread moves what its kernel posts. */
static void over_a_network_collectives_leave_what_host_leaves(void)
{
    over(RONDE_TRANSPORT_UCX, 0, random_collectives_leave_what_host_leaves);
}

static void over_a_network_a_killed_process_ends_the_others(void)
{
    over(RONDE_TRANSPORT_UCX, 0, a_killed_process_ends_the_kernels_that_wait_for_it);
}

static void over_a_network_an_abort_is_received_by_all(void)
{
    over(RONDE_TRANSPORT_UCX, 0, an_abort_is_received_by_all);
}

/* Devices of one host reach each other, and the hosts do over the network. */
static void over_both_collectives_leave_what_host_leaves(void)
{
    over(RONDE_TRANSPORT_HYBRID, 2, random_collectives_leave_what_host_leaves);
}

static void over_both_a_killed_process_ends_the_others(void)
{
    over(RONDE_TRANSPORT_HYBRID, 2, a_killed_process_ends_the_kernels_that_wait_for_it);
}

static void over_both_an_abort_is_received_by_all(void)
{
    over(RONDE_TRANSPORT_HYBRID, 2, an_abort_is_received_by_all);
}

/* Runs of one launch in a stream. */
#define STREAM_RUNS 5u

/* What happens beside them. */
struct stream_case {
    bool dies;    /* the last rank does when half of them are done */
    bool refuses; /* the last rank's device refuses to start one of them */
    bool is_near; /* devices are where a recorded machine has GPUs, each near another processor of this one */
};

/* Whether a thread of this process may use just what this rank's device is near to. */
static bool has_thread_near(uint32_t rank)
{
    bool has_one = false;
    cpu_set_t usable, its;
    CPU_ZERO(&usable);
    (void)sched_getaffinity(0, sizeof usable, &usable);
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (cpu != rank && cpu != rank + 2)
            CPU_CLR(cpu, &usable);
    DIR *const threads = opendir("/proc/self/task");
    for (const struct dirent *thread; threads && (thread = readdir(threads));)
        has_one |= sched_getaffinity((pid_t)atoi(thread->d_name), sizeof its, &its) == 0 &&
                   atoi(thread->d_name) > 0 && CPU_EQUAL(&its, &usable);
    if (threads)
        closedir(threads);
    return has_one;
}

/* Sums in a stream, some at a time. Buffers need not be copied to the device. */
static enum ronde_status sum_in_stream(const struct team_member *member, struct ronde_error *error)
{
    static const char *const places[] = {"0000:10:00.0", "0000:13:00.0"};
    const struct stream_case *given = member->self;
    const bool dies = given->dies && member->join.rank == member->join.ranks - 1;
    const struct emulated_options options = {.room_bytes = 2000,
                                             .reaches_host = true,
                                             .bus =
                                                 given->is_near ? places[member->join.rank] : NULL};
    const uint32_t ranks = member->join.ranks;
    void *const streams[] = {&results};
    struct rank rank;
    struct run_sum sum;
    const struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
    enum ronde_status status = open_on(&rank, member, &options, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", ranks, 0, &rank.schedule, error);
    if (status == RONDE_OK)
        status = ronde_cuda_load(rank.self, rank.schedule, &rank.program, error);
    if (status == RONDE_OK)
        status = ronde_cuda_prepare(rank.program, &launch, error);
    for (uint32_t turn = 0; turn < 4 && status == RONDE_OK; turn++) {
        bool is_done = false;
        if (given->refuses && turn == 2 && member->join.rank == member->join.ranks - 1)
            emulated_gpu_refuse(rank.gpu, EMULATED_START, 2);
        sum.value = (float)(turn + member->join.rank);
        for (uint32_t run = 0; run < STREAM_RUNS && status == RONDE_OK; run++)
            status = ronde_cuda_enqueue(rank.program, streams, error);
        /* What follows must return, and with it the others' calls. */
        if (given->refuses && status != RONDE_OK) {
            struct ronde_error later = {0};
            while (!is_done && ronde_cuda_test(rank.program, &is_done, &later) == RONDE_OK)
                sched_yield();
            (void)team_check(member, ronde_cuda_check(rank.program, &later) != RONDE_OK,
                             "a run that did not start went well");
        }
        if (dies && turn == 2)
            raise(SIGKILL);
        while (status == RONDE_OK && !is_done)
            status = ronde_cuda_test(rank.program, &is_done, error);
        if (status == RONDE_OK)
            status = ronde_cuda_check(rank.program, error);
        const float total = (float)(ranks * turn + ranks * (ranks - 1) / 2);
        (void)team_check(member, status != RONDE_OK || sum.total == total, "a sum is wrong");
        /* The next numbers are for all ranks to see only when none adds up the last ones. */
        if (status == RONDE_OK)
            status = ronde_comm_allgather(rank.comm, NULL, 0, NULL, error);
    }
    (void)team_check(member, !given->is_near || has_thread_near(member->join.rank),
                     "no thread is near the device");
    close_rank(&rank, member);
    return status;
}

static void runs_in_streams_need_nobody_to_wait(void)
{
    const struct stream_case alive = {.dies = false};
    for (uint32_t ranks = 2; ranks <= 4; ranks += 2) {
        team_run_expecting(ranks, sum_in_stream, &alive, results, RONDE_OK);
        CU_ASSERT_EQUAL(results[0].checks, 4 + 2);
    }
}

static void a_killed_process_ends_runs_in_streams(void)
{
    const struct stream_case mortal = {.dies = true};
    CU_ASSERT_FATAL(team_run(3, sum_in_stream, &mortal, results));
    CU_ASSERT_EQUAL(results[2].signal, SIGKILL);
    team_expect(results, 2, RONDE_DEVICE);
    for (uint32_t rank = 0; rank < 2; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 2 was lost"));
}

static void a_refused_start_ends_runs_in_streams(void)
{
    const struct stream_case refusing = {.refuses = true};
    CU_ASSERT_FATAL(team_run(2, sum_in_stream, &refusing, results));
    team_expect(&results[0], 1, RONDE_TIMEOUT);
    team_expect(&results[1], 1, RONDE_DEVICE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[1].message, "the device starts nothing"));
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1"));
}

static void threads_stay_near_their_devices(void)
{
    const struct stream_case placed = {.is_near = true};
    team_run_expecting(2, sum_in_stream, &placed, results, RONDE_OK);
}

/* On a machine that hwloc is told to see; its first two processors are this one's. */
static void over_a_network_threads_stay_near_their_devices(void)
{
    cpu_set_t usable;
    CPU_ZERO(&usable);
    (void)sched_getaffinity(0, sizeof usable, &usable);
    if (!RONDE_ALL_COMPONENTS || !CPU_ISSET(0, &usable) || !CPU_ISSET(1, &usable)) {
        suite_skip("this needs hwloc and processors 0 and 1");
        return;
    }
    CU_ASSERT_FATAL(
        setenv("HWLOC_XMLFILE", RONDE_SOURCE_DIR "/tests/data/hwloc/four-gpus.xml", 1) == 0);
    over(RONDE_TRANSPORT_UCX, 0, threads_stay_near_their_devices);
    unsetenv("HWLOC_XMLFILE");
}

static void over_a_network_a_refused_start_ends_runs_in_streams(void)
{
    over(RONDE_TRANSPORT_UCX, 0, a_refused_start_ends_runs_in_streams);
}

static void over_a_network_runs_in_streams_need_nobody_to_wait(void)
{
    over(RONDE_TRANSPORT_UCX, 0, runs_in_streams_need_nobody_to_wait);
}

static void over_a_network_a_killed_process_ends_runs_in_streams(void)
{
    over(RONDE_TRANSPORT_UCX, 0, a_killed_process_ends_runs_in_streams);
}

static void over_both_runs_in_streams_need_nobody_to_wait(void)
{
    over(RONDE_TRANSPORT_HYBRID, 2, runs_in_streams_need_nobody_to_wait);
}

static void over_both_a_killed_process_ends_runs_in_streams(void)
{
    over(RONDE_TRANSPORT_HYBRID, 2, a_killed_process_ends_runs_in_streams);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"random_collectives_leave_what_host_leaves", random_collectives_leave_what_host_leaves},
        {"a_killed_process_ends_the_kernels_that_wait_for_it",
         a_killed_process_ends_the_kernels_that_wait_for_it},
        {"an_abort_is_heard_by_all", an_abort_is_received_by_all},
        {"processes_that_disagree_are_told_in_what", processes_that_disagree_are_told_in_what},
        {"a_process_without_memory_tells_the_others", a_process_without_memory_announces_the_others},
        {"over_a_network_collectives_leave_what_host_leaves",
         over_a_network_collectives_leave_what_host_leaves},
        {"over_a_network_a_killed_process_ends_the_others",
         over_a_network_a_killed_process_ends_the_others},
        {"runs_in_streams_need_nobody_to_wait", runs_in_streams_need_nobody_to_wait},
        {"over_a_network_threads_stay_near_their_devices",
         over_a_network_threads_stay_near_their_devices},
        {"over_a_network_runs_in_streams_need_nobody_to_wait",
         over_a_network_runs_in_streams_need_nobody_to_wait},
        {"over_a_network_a_killed_process_ends_runs_in_streams",
         over_a_network_a_killed_process_ends_runs_in_streams},
        {"over_a_network_a_refused_start_ends_runs_in_streams",
         over_a_network_a_refused_start_ends_runs_in_streams},
        {"over_both_runs_in_streams_need_nobody_to_wait",
         over_both_runs_in_streams_need_nobody_to_wait},
        {"over_both_a_killed_process_ends_runs_in_streams",
         over_both_a_killed_process_ends_runs_in_streams},
        {"over_a_network_an_abort_is_heard_by_all", over_a_network_an_abort_is_received_by_all},
        {"over_both_collectives_leave_what_host_leaves",
         over_both_collectives_leave_what_host_leaves},
        {"over_both_a_killed_process_ends_the_others", over_both_a_killed_process_ends_the_others},
        {"over_both_an_abort_is_heard_by_all", over_both_an_abort_is_received_by_all},
    };
    return suite_run("gpu", cases, sizeof cases / sizeof cases[0]);
}
