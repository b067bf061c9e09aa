/*
 * Whom the error of a time limit names: the rank that all wait for in the end, whichever rank timed out, whatever that rank is
 * doing instead.
 */
#include "net/run.h"
#include "support/suite.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

#define RANKS 4u

/* Runs that go well before one does not. */
#define GOOD_RUNS 3u

/* So much that a ring is not over before one of its ranks stands still. */
#define LONG_COUNT (UINT64_C(1) << 20)

/* What a rank does instead of what the others wait for. */
enum idleness {
    IDLENESS_COMPUTES, /* it computes between two runs */
    IDLENESS_STOPS,    /* it is stopped inside the run, once it has begun it */
    IDLENESS_ELSEWHERE /* it waits in a run of another communicator, for one of them */
};

/* Which rank does it, and what. */
struct plot {
    enum idleness idleness;
    uint32_t rank;
    enum ronde_collective collective;
    const char *algorithm;
    uint32_t root;
};

/* A communicator, one of the same ranks beside it, and a program on each. */
struct stage {
    struct ronde_comm *comms[2];
    struct ronde_comm_program *programs[2];
    struct ronde_schedule *schedule;
    pid_t processes[RANKS];
    struct ronde_launch launch;
    struct run_sum sum;
    float *data;
};

static enum ronde_status open_stage(const struct team_member *member, struct stage *out,
                                    struct ronde_error *error)
{
    const struct plot *plot = member->self;
    const uint32_t rank = member->join.rank;
    const pid_t mine = getpid();
    memset(out, 0, sizeof *out);
    out->data = calloc(2 * LONG_COUNT, sizeof *out->data);
    out->launch = run_sum_launch(&out->sum, rank);
    out->sum.in[rank] = out->data;
    out->sum.out[rank] = out->data + LONG_COUNT;
    out->launch.timeout_ns = UINT64_C(200000000) * team_patience();
    enum ronde_status status =
        run_compile(plot->collective, plot->algorithm, RANKS, plot->root, &out->schedule, error);
    if (status == RONDE_OK)
        status = team_join(member, 20, &out->comms[0], error);
    if (status == RONDE_OK)
        status = ronde_comm_split(out->comms[0], 0, rank, &out->comms[1], error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++)
        status = ronde_comm_load(out->comms[k], out->schedule, NULL, &out->programs[k], error);
    if (status == RONDE_OK)
        status = ronde_comm_allgather(out->comms[0], &mine, sizeof mine, out->processes, error);
    /* These are not what is tested: on a busy machine ranks are late for them. */
    struct ronde_launch patient = out->launch;
    patient.timeout_ns = UINT64_C(20000000000);
    for (uint32_t k = 0; k < GOOD_RUNS && status == RONDE_OK; k++)
        status = run_launch(out->programs[0], &patient, error);
    return status;
}

static void close_stage(struct stage *stage)
{
    for (int k = 1; k >= 0; k--) {
        ronde_comm_unload(stage->programs[k]);
        ronde_comm_destroy(stage->comms[k]);
    }
    ronde_schedule_destroy(stage->schedule);
    free(stage->data);
}

/* What the team shares: a rank's number means that its run is over. */
static uint64_t *number_of(const struct team_member *member, uint32_t rank)
{
    return &(member->result - member->join.rank + rank)->number;
}

/* Computes until the runs of all but the idle rank are over. */
static void compute(const struct team_member *member)
{
    const struct plot *plot = member->self;
    for (uint32_t rank = 0; rank < RANKS; rank++)
        while (rank != plot->rank && __atomic_load_n(number_of(member, rank), __ATOMIC_ACQUIRE) == 0)
            sched_yield();
}

/* Takes part in a run, whose time is the others' to watch, and then stops until another rank wakes it. */
static enum ronde_status stop(const struct stage *stage, struct ronde_error *error)
{
    struct ronde_launch launch = stage->launch;
    bool is_done = false;
    launch.timeout_ns = 0;
    enum ronde_status status = ronde_comm_run(stage->programs[0], &launch, error);
    for (uint32_t k = 0; k < 3 && status == RONDE_OK; k++)
        status = ronde_comm_test(stage->programs[0], &is_done, error);
    if (status == RONDE_OK)
        (void)raise(SIGSTOP);
    return status;
}

/* What the idle rank does meanwhile; in the end it receives the error. */
static enum ronde_status idle(const struct team_member *member, struct stage *stage,
                              struct ronde_error *error)
{
    const struct plot *plot = member->self;
    struct ronde_error ignored = {0};
    struct ronde_launch launch = stage->launch;
    enum ronde_status status = RONDE_OK;
    if (plot->idleness == IDLENESS_ELSEWHERE) {
        /* Without a limit: what ends it is that the others leave this communicator, too. */
        launch.timeout_ns = 0;
        (void)team_check(member, run_launch(stage->programs[1], &launch, &ignored) != RONDE_OK,
                         "a run of one rank is over");
    } else if (plot->idleness == IDLENESS_COMPUTES) {
        compute(member);
    } else {
        status = stop(stage, error);
    }
    return status == RONDE_OK ? ronde_comm_allgather(stage->comms[0], NULL, 0, NULL, error) : status;
}

/* The others run. A rank that is done all the same computes until the others have the error; then one wakes the stopped. */
static enum ronde_status run_into_it(const struct team_member *member, const struct stage *stage,
                                     struct ronde_error *error)
{
    const struct plot *plot = member->self;
    struct ronde_error ignored = {0};
    enum ronde_status status = run_launch(stage->programs[0], &stage->launch, error);
    __atomic_store_n(&member->result->number, 1, __ATOMIC_RELEASE);
    compute(member);
    if (plot->idleness == IDLENESS_STOPS)
        (void)kill(stage->processes[plot->rank], SIGCONT);
    if (plot->idleness == IDLENESS_ELSEWHERE) {
        ronde_comm_abort(stage->comms[1]);
        (void)team_check(member,
                         ronde_comm_allgather(stage->comms[1], NULL, 0, NULL, &ignored) != RONDE_OK,
                         "what was called off goes on");
    }
    return status == RONDE_OK ? ronde_comm_allgather(stage->comms[0], NULL, 0, NULL, error) : status;
}

static enum ronde_status play(const struct team_member *member, struct ronde_error *error)
{
    const struct plot *plot = member->self;
    struct stage stage;
    enum ronde_status status = open_stage(member, &stage, error);
    (void)team_check(member, status == RONDE_OK, "the stage does not stand");
    if (status == RONDE_OK)
        status = member->join.rank == plot->rank ? idle(member, &stage, error)
                                                 : run_into_it(member, &stage, error);
    close_stage(&stage);
    return status;
}

/* Every rank's error has some words, of which the last one is of ranks other than 0 where that is the idle one. */
static void expect(const struct plot *plot, const char *debt, const char *reason)
{
    char name[64];
    snprintf(name, sizeof name, "rank %u", plot->rank);
    team_run_expecting(RANKS, play, plot, results, RONDE_TIMEOUT);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        const char *message = results[rank].message;
        const bool is_right =
            strstr(message, name) && strstr(message, debt) && strstr(message, reason);
        CU_ASSERT(is_right);
        if (!is_right)
            suite_note("rank %u: \"%s\"", rank, message);
    }
    suite_note("%s", results[3].message);
}

static const struct plot ring_of = {IDLENESS_COMPUTES, 2, RONDE_ALL_REDUCE, "ring", 0};

static void a_rank_that_computes_is_named_by_all(void)
{
    expect(&ring_of, "rank 2 has not begun run 4 (all_reduce ring)", "makes no call");
}

static void a_rank_that_is_stopped_is_named_by_all(void)
{
    struct plot plot = ring_of;
    plot.idleness = IDLENESS_STOPS;
    expect(&plot, "rank 2 stands still in run 4 (all_reduce ring)", "wait for it");
}

static void a_rank_in_another_communicator_is_named_by_all(void)
{
    struct plot plot = ring_of;
    plot.idleness = IDLENESS_ELSEWHERE;
    expect(&plot, "rank 2 has not begun run 4", "makes no call of the communicator");
}

/* Ranks 0 and 1 are done and compute as well, but no rank waits for them. */
static void a_rank_that_is_done_and_silent_is_not_named(void)
{
    const struct plot plot = {IDLENESS_COMPUTES, 3, RONDE_BROADCAST, "chain", 1};
    expect(&plot, "rank 3 has not begun run 4 (broadcast chain)", "makes no call");
}

/* Rank 0 does not reply: each rank reports its own wait. */
static void rank_0_that_computes_is_called_silent(void)
{
    struct plot plot = ring_of;
    plot.rank = 0;
    expect(&plot, "rank 0 is silent", "it makes no call of the communicator");
}

static void rank_0_that_is_stopped_is_called_silent(void)
{
    struct plot plot = ring_of;
    plot.rank = 0;
    plot.idleness = IDLENESS_STOPS;
    expect(&plot, "rank 0 is silent", "it makes no call of the communicator");
}

/* Over shared memory, then over UCX alone and with two hosts. */
#define OVER_UCX(name)                                                                             \
    static void name##_over_ucx(void)                                                              \
    {                                                                                              \
        team_over_ucx(name);                                                                       \
    }
OVER_UCX(a_rank_that_computes_is_named_by_all)
OVER_UCX(a_rank_that_is_stopped_is_named_by_all)
OVER_UCX(a_rank_in_another_communicator_is_named_by_all)
OVER_UCX(a_rank_that_is_done_and_silent_is_not_named)
OVER_UCX(rank_0_that_computes_is_called_silent)
OVER_UCX(rank_0_that_is_stopped_is_called_silent)

int main(void)
{
#define BOTH(name)                                                                                 \
    {#name, name},                                                                                 \
    {                                                                                              \
#name "_over_ucx", name##_over_ucx                                                         \
    }
    static const struct suite_case cases[] = {
        BOTH(a_rank_that_computes_is_named_by_all),
        BOTH(a_rank_that_is_stopped_is_named_by_all),
        BOTH(a_rank_in_another_communicator_is_named_by_all),
        BOTH(a_rank_that_is_done_and_silent_is_not_named),
        BOTH(rank_0_that_computes_is_called_silent),
        BOTH(rank_0_that_is_stopped_is_called_silent),
    };
    return setenv("UCX_TLS", "tcp,self", 1) == 0
               ? suite_run("stall_diagnosis", cases, sizeof cases / sizeof cases[0])
               : 1;
}
