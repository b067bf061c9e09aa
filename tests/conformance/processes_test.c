/*
 * The conformance suite on every executor whose ranks are processes: the requests, launches and refusals of
 * conformance_test.c, sampled, in forked ranks.
 *
 * All ranks draw the same launches. Each computes what host, or the definition, leaves of all ranks' memory and compares
 * its own part with it; the others' parts it never has. Every number of ranks has a communicator of its own.
 */
#include "conformance/trial.h"
#include "conformance/walk.h"
#include "net/team.h"
#include "support/built_with.h"
#include "support/suite.h"

#include "ronde/executors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Requests tried of each number of ranks at 100 percent, evenly spread, and launches of each. */
#define REQUESTS 40u
#define LAUNCHES 6u

/* Above this number of ranks each of a request's ranks computes as much for all others: fewer requests will do. */
#define MANY_RANKS 9u
#define REQUESTS_OF_MANY 10u

#define EXECUTORS_MAX 8u

/* The executor whose turn it is. */
static const struct ronde_executor *executor;

/* What a rank did, in memory shared with the test. */
struct tally {
    uint64_t schedules;
    uint64_t launches;
    uint64_t refused; /* launches that must be refused */
    uint64_t runs[RONDE_PROTOCOL_COUNT];
};

static struct tally *tallies;

/* A rank on its way through the requests. */
struct rank {
    struct trial_runner runner; /* first: its callback gets the rank */
    const struct team_member *member;
    struct tally *tally;
    struct ronde_comm *comm;
    void *host;               /* the open host backend */
    uint64_t requests;        /* there are */
    uint64_t wanted;          /* of these are tried */
    uint64_t visited;         /* so far */
    struct ronde_error error; /* of the communicator; ends the walk */
};

static void expect_refusal(struct trial_runner *runner, struct trial *trial, const char *part)
{
    struct rank *rank = (struct rank *)runner;
    struct ronde_error why = {0};
    char text[512];
    if (!buffers_create(&trial->shape, &trial->actual)) {
        (void)team_check(rank->member, false, "no memory for a test");
        return;
    }
    const struct ronde_launch launch = buffers_launch(&trial->actual);
    const enum ronde_status status =
        executor->backend->supports(rank->comm, trial->schedule, &launch, &why);
    trial_describe(trial, executor->name, "not refused", text, sizeof text);
    (void)team_check(rank->member, status == RONDE_UNSUPPORTED && strstr(why.message, part), text);
    rank->tally->refused++;
    buffers_destroy(&trial->actual);
}

/* Small integers: the definition says what comes out. Bits: host in order does. */
static enum ronde_status make_expected(struct rank *rank, struct trial *trial)
{
    struct ronde_result result;
    if (trial->shape.data == BUFFERS_BITS) {
        const struct ronde_launch launch = trial_launch(trial, &trial->expected, true);
        return ronde_backend_run_once(&ronde_backend_host, rank->host, trial->schedule, &launch,
                                      &result, &rank->error);
    }
    buffers_fill(&trial->expected);
    return buffers_expect(&trial->expected)
               ? RONDE_OK
               : ronde_fail(&rank->error, RONDE_NO_MEMORY, "no memory for what is expected");
}

/* The launch as drawn; a protocol that this transport does not have is left to it. */
static enum ronde_status run_rank(struct rank *rank, void *program, struct trial *trial,
                                  struct ronde_result *out_result)
{
    struct ronde_error why = {0};
    void *run = NULL;
    struct ronde_launch launch = trial_launch(trial, &trial->actual, false);
    launch.timeout_ns *= team_patience();
    if (executor->backend->supports(rank->comm, trial->schedule, &launch, &why) != RONDE_OK)
        launch.protocol = RONDE_PROTOCOL_AUTO;
    const enum ronde_status status = executor->backend->run(program, &launch, &run, &rank->error);
    return status == RONDE_OK ? executor->backend->wait(run, out_result, &rank->error) : status;
}

static void compare(struct rank *rank, struct trial *trial)
{
    const size_t bytes = trial->actual.rank_bytes;
    char difference[200] = "";
    char text[512];
    for (uint32_t other = 0; other < trial->shape.ranks; other++)
        if (other != rank->member->join.rank)
            memcpy(trial->actual.images + other * bytes, trial->expected.images + other * bytes,
                   bytes);
    const bool is_wrong =
        buffers_differ(&trial->actual, &trial->expected, difference, sizeof difference);
    trial_describe(trial, executor->name, difference, text, sizeof text);
    (void)team_check(rank->member, !is_wrong, text);
}

/* Buffers are now registered memory, now any. */
static enum ronde_status run_trial(struct rank *rank, void *program, struct trial *trial)
{
    const bool is_registered = buffers_draw(&rank->runner.random) % 2 == 0;
    const struct ronde_mem *mem = is_registered ? ronde_comm_mem(rank->comm) : ronde_mem_default();
    struct ronde_result result = {0};
    if (!buffers_create_from(&trial->shape, mem, &trial->actual))
        return ronde_fail(&rank->error, RONDE_NO_MEMORY, "no memory for a test");
    if (!buffers_create(&trial->shape, &trial->expected)) {
        buffers_destroy(&trial->actual);
        return ronde_fail(&rank->error, RONDE_NO_MEMORY, "no memory for a test");
    }
    enum ronde_status status = make_expected(rank, trial);
    if (status == RONDE_OK)
        status = run_rank(rank, program, trial, &result);
    if (status == RONDE_OK) {
        compare(rank, trial);
        rank->tally->launches++;
        rank->tally->runs[result.protocol]++;
    }
    buffers_destroy(&trial->actual);
    buffers_destroy(&trial->expected);
    return status;
}

static enum ronde_status try_schedule(struct rank *rank, const struct ronde_schedule *schedule)
{
    void *program = NULL;
    struct trial trial;
    enum ronde_status status = executor->backend->load(rank->comm, schedule, &program, &rank->error);
    for (uint32_t k = 0; k < LAUNCHES && status == RONDE_OK; k++) {
        trial_draw(&rank->runner, schedule, &trial);
        if (!trial.is_too_large)
            status = run_trial(rank, program, &trial);
    }
    executor->backend->unload(program);
    rank->tally->schedules++;
    return status;
}

static void count_request(const struct walk *walk, const struct ronde_algorithm *algorithm,
                          const struct ronde_compile_request *request)
{
    struct rank *rank = walk->self;
    rank->requests += algorithm->supports(request, NULL) == RONDE_OK;
}

/* Every so-many-th request, so that `wanted` of them are spread over all algorithms. */
static void try_request(const struct walk *walk, const struct ronde_algorithm *algorithm,
                        const struct ronde_compile_request *request)
{
    struct rank *rank = walk->self;
    struct ronde_schedule *schedule = NULL;
    if (rank->error.status != RONDE_OK || algorithm->supports(request, NULL) != RONDE_OK)
        return;
    const uint64_t at = rank->visited++;
    if (at * rank->wanted / rank->requests == (at + 1) * rank->wanted / rank->requests)
        return;
    if (ronde_compile(request, ronde_mem_default(), NULL, &schedule, &rank->error) == RONDE_OK)
        (void)try_schedule(rank, schedule);
    ronde_schedule_destroy(schedule);
}

static enum ronde_status walk_all(struct rank *rank, uint32_t ranks)
{
    const uint64_t percent = suite_number("RONDE_TEST_SCALE", 100);
    const uint64_t most = (ranks > MANY_RANKS ? REQUESTS_OF_MANY : REQUESTS) * percent / 100 + 1;
    struct walk walk = {.visit = count_request, .ranks = ranks, .self = rank};
    walk_requests(&walk);
    rank->wanted = most < rank->requests ? most : rank->requests;
    walk.visit = try_request;
    walk_requests(&walk);
    return rank->error.status;
}

/* What every forked rank does. */
static enum ronde_status be_rank(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_backend *host = &ronde_backend_host;
    struct ronde_machine machine;
    struct rank rank = {.member = member, .tally = &tallies[member->join.rank]};
    enum ronde_status status = host->probe(&machine, error);
    rank.runner = (struct trial_runner){.random = member->join.ranks,
                                        .slot_bytes = machine.default_slot_bytes,
                                        .first_rank = member->join.rank,
                                        .rank_count = 1,
                                        .expect_refusal = expect_refusal};
    if (status == RONDE_OK)
        status = host->open(&machine, ronde_mem_default(), &rank.host, error);
    if (status == RONDE_OK)
        status = team_join(member, 60, &rank.comm, error);
    if (status == RONDE_OK) {
        status = walk_all(&rank, member->join.ranks);
        *error = rank.error;
    }
    ronde_comm_destroy(rank.comm);
    host->close(rank.host);
    return status;
}

/* One number of ranks. */
static void run_ranks(uint32_t ranks, struct tally *io_total)
{
    static struct team_result results[TEAM_MAX];
    memset(tallies, 0, TEAM_MAX * sizeof *tallies);
    team_run_expecting(ranks, be_rank, NULL, results, RONDE_OK);
    CU_ASSERT(tallies[0].schedules > 0 && tallies[0].launches > 0);
    for (uint32_t rank = 1; rank < ranks; rank++)
        CU_ASSERT_EQUAL(tallies[rank].launches, tallies[0].launches);
    io_total->schedules += tallies[0].schedules;
    io_total->launches += tallies[0].launches;
    io_total->refused += tallies[0].refused;
    for (int protocol = 0; protocol < RONDE_PROTOCOL_COUNT; protocol++)
        io_total->runs[protocol] += tallies[0].runs[protocol];
}

/* All numbers of ranks on `executor`. */
static void run_executor(void)
{
    struct tally total = {0};
    struct ronde_machine machine;
    struct ronde_error why_not = {0};
    if (ronde_executor_probe(executor, &machine, &why_not) != RONDE_OK) {
        suite_skip("not run on %s: %s", executor->name, why_not.message);
        return;
    }
    tallies = mmap(NULL, TEAM_MAX * sizeof *tallies, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(tallies != MAP_FAILED);
    team_transport = executor->transport;
    /* To UCX the hosts of hybrid are one machine, whose shared memory it would use between them. */
    const bool has_hosts = executor->transport == RONDE_TRANSPORT_HYBRID;
    team_ranks_per_host = has_hosts ? 2 : 0;
    if (has_hosts)
        CU_ASSERT_FATAL(setenv("UCX_TLS", "tcp,self", 1) == 0);
    for (uint32_t k = 0; k < WALK_RANKS; k++)
        run_ranks(walk_ranks[k], &total);
    if (has_hosts)
        CU_ASSERT_FATAL(unsetenv("UCX_TLS") == 0);
    suite_note("%llu schedules, %llu launches, %llu refused with a reason; of rank 0's runs %llu "
               "were staged, %llu pulled, %llu pushed",
               (unsigned long long)total.schedules, (unsigned long long)total.launches,
               (unsigned long long)total.refused,
               (unsigned long long)total.runs[RONDE_PROTOCOL_STAGED],
               (unsigned long long)total.runs[RONDE_PROTOCOL_PULL],
               (unsigned long long)total.runs[RONDE_PROTOCOL_PUSH]);
    CU_ASSERT(total.refused > 0);
    /* Registered memory of one machine is read and written in place; over UCX all messages are staged. */
    const bool shares_memory = executor->transport != RONDE_TRANSPORT_UCX;
    CU_ASSERT_EQUAL(total.runs[RONDE_PROTOCOL_PULL] > 0, shares_memory);
    CU_ASSERT_EQUAL(total.runs[RONDE_PROTOCOL_PUSH] > 0, shares_memory);
    munmap(tallies, TEAM_MAX * sizeof *tallies);
}

/* The row of a case. */
static const struct ronde_executor *rows[EXECUTORS_MAX];

/* A case has no argument: one function for each row there may be. */
#define EXECUTOR_CASES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define RUN_ROW(n)                                                                                 \
    static void run_row_##n(void)                                                                  \
    {                                                                                              \
        executor = rows[n];                                                                        \
        run_executor();                                                                            \
    }
EXECUTOR_CASES(RUN_ROW)

/* Names the cases after the rows whose ranks are processes. */
int main(void)
{
#define ROW(n) run_row_##n,
    static void (*const runs[EXECUTORS_MAX])(void) = {EXECUTOR_CASES(ROW)};
    static struct suite_case cases[EXECUTORS_MAX];
    static char names[EXECUTORS_MAX][64];
    size_t used = 0;
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        if (executors[e].ranks != RONDE_RANKS_PROCESSES)
            continue;
        if (used == EXECUTORS_MAX) {
            fprintf(stderr, "more than %u executors: raise EXECUTORS_MAX\n", EXECUTORS_MAX);
            return 1;
        }
        snprintf(names[used], sizeof names[used], "%s_gives_what_collectives_define",
                 executors[e].name);
        cases[used] = (struct suite_case){names[used], runs[used]};
        rows[used++] = &executors[e];
    }
    return suite_run("processes", cases, used);
}
