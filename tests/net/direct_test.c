/*
 * GPUDirect: messages that leave and arrive in memory of devices, over a UCX that is told to take it for what it is, memory
 * of this process. Whether ranks do so, what they do where one cannot, and what becomes of it when a rank dies.
 */
#include "hw/cuda/backend.h"
#include "hw/cuda/proxy.h"
#include "net/run.h"
#include "support/emulated_gpu.h"
#include "support/emulated_network.h"
#include "support/suite.h"

#include "ronde/cuda.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements of the longest message but its rounding. */
#define COUNT_MAX 60000u

/* What the ranks are like. */
struct direct_case {
    enum ronde_gpu_direct wish;
    uint32_t blind;  /* rank whose UCX knows no GPUs; RONDE_NONE = none */
    uint32_t hidden; /* rank whose device does not show what others write to it */
    bool is_used;    /* what is expected: messages lie on the devices */
    bool dies;       /* the last rank does, in mid-run of long messages */
};

static struct team_result results[TEAM_MAX];

/* A rank, its device and what it sums. */
static struct seated {
    struct ronde_comm *comm;
    const struct ronde_gpu *gpu;
    void *self;
    void *program;
    struct ronde_schedule *schedule;
    int32_t in[COUNT_MAX];
    int32_t out[COUNT_MAX];
} seated;

static enum ronde_status open_rank(const struct team_member *member, struct ronde_error *error)
{
    const struct direct_case *given = member->self;
    const struct emulated_options options = {.room_bytes = 2000,
                                             .is_hidden = given->hidden == member->join.rank};
    memset(&seated, 0, sizeof seated);
    emulated_network_reach(given->blind != member->join.rank);
    seated.gpu = emulated_gpu_open(&options);
    if (!seated.gpu)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for an emulated device");
    enum ronde_status status = team_join(member, 30, &seated.comm, error);
    const struct ronde_cuda_place place = {.mem = ronde_mem_default(),
                                           .gpus = &seated.gpu,
                                           .gpu_count = 1,
                                           .comm = seated.comm,
                                           .gpu_direct = given->wish};
    if (status == RONDE_OK)
        status = ronde_cuda_open_place(&place, &seated.self, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "double_tree", member->join.ranks, 0,
                             &seated.schedule, error);
    return status == RONDE_OK ? ronde_cuda_load(seated.self, seated.schedule, &seated.program, error)
                              : status;
}

static void close_rank(void)
{
    ronde_cuda_unload(seated.program);
    ronde_schedule_destroy(seated.schedule);
    ronde_cuda_close_on(seated.self);
    ronde_comm_destroy(seated.comm);
}

/* Sums so many elements and checks them, and that nothing behind them was touched. */
static enum ronde_status sum(const struct team_member *member, uint32_t count,
                             struct ronde_error *error)
{
    const uint32_t ranks = member->join.ranks;
    void *ins[TEAM_MAX] = {NULL};
    void *outs[TEAM_MAX] = {NULL};
    struct ronde_result result;
    void *run = NULL;
    bool is_right = true;
    const struct ronde_launch launch = {.count = count,
                                        .dtype = RONDE_INT32,
                                        .in = ins,
                                        .out = outs,
                                        .timeout_ns = UINT64_C(60000000000)};
    ins[member->join.rank] = seated.in;
    outs[member->join.rank] = seated.out;
    memset(seated.out, 0, sizeof seated.out);
    for (uint32_t i = 0; i < COUNT_MAX; i++)
        seated.in[i] = (int32_t)(member->join.rank * 1000 + i + count);
    enum ronde_status status = ronde_cuda_run(seated.program, &launch, &run, error);
    if (status == RONDE_OK)
        status = ronde_cuda_wait(run, &result, error);
    for (uint32_t i = 0; i < COUNT_MAX; i++) {
        const uint32_t total = ranks * (ranks - 1) / 2 * 1000 + ranks * (i + count);
        is_right &= seated.out[i] == (i < count ? (int32_t)total : 0);
    }
    (void)team_check(member, status != RONDE_OK || is_right, "a sum is wrong");
    return status;
}

/* Long and short messages in turns: slots move from the host to the device and back. */
static enum ronde_status sum_in_turns(const struct team_member *member, struct ronde_error *error)
{
    static const uint32_t counts[] = {1,  60000, 60000, 3,     41111, 800,
                                      17, 59999, 0,     30000, 60000, 2};
    const struct direct_case *given = member->self;
    uint64_t settled = 0;
    enum ronde_status status = open_rank(member, error);
    for (uint32_t k = 0; k < sizeof counts / sizeof counts[0] && status == RONDE_OK; k++) {
        if (given->dies && k == 4 && member->join.rank == member->join.ranks - 1)
            raise(SIGKILL);
        status = sum(member, counts[k], error);
        const struct emulated_counts done = emulated_gpu_counts(seated.gpu);
        /* Short ones go through the host. */
        (void)team_check(member,
                         status != RONDE_OK ||
                             (done.settled > settled) == (given->is_used && counts[k] > 20000),
                         "messages did not lie where they should");
        settled = done.settled;
    }
    close_rank();
    if (seated.gpu && !given->dies)
        (void)team_check(member, emulated_gpu_counts(seated.gpu).live_blocks == 0,
                         "memory of the device is left");
    if (seated.gpu)
        emulated_gpu_close(seated.gpu);
    return status;
}

static bool has_ucx(void)
{
    const char *reason = NULL;
    const bool is_here = ronde_transport_available(RONDE_TRANSPORT_UCX, &reason);
    if (!is_here)
        suite_skip("%s", reason);
    return is_here;
}

static void expect(const struct direct_case *given, uint32_t ranks, enum ronde_status status)
{
    team_run_expecting(ranks, sum_in_turns, given, results, status);
}

static const struct direct_case plain = {.blind = RONDE_NONE, .hidden = RONDE_NONE, .is_used = true};

static void long_messages_lie_on_the_devices(void)
{
    if (!has_ucx())
        return;
    team_transport = RONDE_TRANSPORT_UCX;
    for (uint32_t ranks = 2; ranks <= 4; ranks++)
        expect(&plain, ranks, RONDE_OK);
    CU_ASSERT(results[0].checks >= 2 * 12);
}

/* Two ranks to a host: what they send each other stays where it was. */
static void beside_memory_that_is_shared(void)
{
    if (!has_ucx())
        return;
    team_transport = RONDE_TRANSPORT_HYBRID;
    team_ranks_per_host = 2;
    /* In the double tree of four every rank has a neighbour on the other host. */
    expect(&plain, 4, RONDE_OK);
    team_ranks_per_host = 0;
}

/* All or none. */
static void one_rank_that_cannot_decides_for_all(void)
{
    struct direct_case given = plain;
    if (!has_ucx())
        return;
    team_transport = RONDE_TRANSPORT_UCX;
    given.is_used = false;
    given.blind = 1;
    expect(&given, 3, RONDE_OK);
    given.blind = RONDE_NONE;
    given.hidden = 2;
    expect(&given, 3, RONDE_OK);
    given.hidden = RONDE_NONE;
    given.wish = RONDE_GPU_DIRECT_OFF;
    expect(&given, 2, RONDE_OK);
}

static void who_insists_is_told_what_is_missing(void)
{
    struct direct_case given = plain;
    if (!has_ucx())
        return;
    team_transport = RONDE_TRANSPORT_UCX;
    given.wish = RONDE_GPU_DIRECT_ON;
    expect(&given, 2, RONDE_OK);
    given.blind = 1;
    expect(&given, 2, RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "rank 1: UCX reports no CUDA memory here"));
    given.blind = RONDE_NONE;
    given.hidden = 0;
    expect(&given, 2, RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(results[1].message, "rank 0: kernels of its GPU cannot be shown"));
}

static void a_killed_process_ends_the_others(void)
{
    struct direct_case given = plain;
    if (!has_ucx())
        return;
    team_transport = RONDE_TRANSPORT_UCX;
    given.dies = true;
    CU_ASSERT_FATAL(team_run(3, sum_in_turns, &given, results));
    CU_ASSERT_EQUAL(results[2].signal, SIGKILL);
    team_expect(results, 2, RONDE_DEVICE);
    for (uint32_t rank = 0; rank < 2; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 2 was lost"));
}

/* What is asked of UCX itself: this one says what `ronde list` repeats. */
static void a_network_can_be_asked(void)
{
    struct ronde_error why_not = {0};
    emulated_network_reach(true);
    if (!has_ucx()) {
        CU_ASSERT_EQUAL(ronde_gpu_direct_probe(&why_not), RONDE_UNAVAILABLE);
        return;
    }
    CU_ASSERT_EQUAL(ronde_gpu_direct_probe(&why_not), RONDE_OK);
    emulated_network_reach(false);
    CU_ASSERT_EQUAL(ronde_gpu_direct_probe(&why_not), RONDE_UNAVAILABLE);
    CU_ASSERT_PTR_NOT_NULL(strstr(why_not.message, "reports no CUDA memory"));
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"long_messages_lie_on_the_devices", long_messages_lie_on_the_devices},
        {"beside_memory_that_is_shared", beside_memory_that_is_shared},
        {"one_rank_that_cannot_decides_for_all", one_rank_that_cannot_decides_for_all},
        {"who_insists_is_told_what_is_missing", who_insists_is_told_what_is_missing},
        {"a_killed_process_ends_the_others", a_killed_process_ends_the_others},
        {"a_network_can_be_asked", a_network_can_be_asked},
    };
    /* As tests of UCX do where the hosts are one machine. */
    if (setenv("UCX_TLS", "tcp,self", 1) != 0)
        return 1;
    return suite_run("direct", cases, sizeof cases / sizeof cases[0]);
}
