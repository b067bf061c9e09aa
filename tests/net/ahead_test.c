/*
 * Ranks that only send may be ahead of those that receive, over shared memory, while a launch repeats. Everybody gets the
 * right blocks all the same, and a rank that runs something else is found out.
 */
#include "net/run.h"

#include "support/suite.h"

#include "ronde/schedules.h"

#include <string.h>

/* From rank 0 to the last rank of a binomial tree are two hops of six runs. */
enum { RANKS = 4, MOST = 3000, ROW = 25, MORE_RUNS = 60, MOST_AHEAD = 16 };

static struct team_result results[TEAM_MAX];

/* A broadcast that one rank takes part in. */
struct cast {
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    uint32_t root;
    float data[MOST];
    void *in[TEAM_MAX];
    void *out[TEAM_MAX];
};

static enum ronde_status open_cast(struct cast *cast, struct ronde_comm *comm,
                                   const char *algorithm, uint32_t root, struct ronde_error *error)
{
    const enum ronde_status status =
        run_compile(RONDE_BROADCAST, algorithm, RANKS, root, &cast->schedule, error);
    cast->root = root;
    cast->in[ronde_comm_rank(comm)] = cast->data;
    cast->out[ronde_comm_rank(comm)] = cast->data;
    return status == RONDE_OK ? ronde_comm_load(comm, cast->schedule, NULL, &cast->program, error)
                              : status;
}

static void close_cast(struct cast *cast)
{
    ronde_comm_unload(cast->program);
    ronde_schedule_destroy(cast->schedule);
}

/* Sends what only this run sends, and looks at what has come. */
static enum ronde_status throw_once(const struct team_seat *seat, struct cast *cast, uint64_t count,
                                    float value, struct ronde_error *error)
{
    const struct ronde_launch launch = {.count = count,
                                        .dtype = RONDE_FLOAT32,
                                        .in = cast->in,
                                        .out = cast->out,
                                        .timeout_ns = UINT64_C(4000000000) * team_patience()};
    for (uint64_t i = 0; i < count; i++)
        cast->data[i] = seat->join.rank == cast->root ? value + (float)(i % 100) : -1.0f;
    const enum ronde_status status = run_launch(cast->program, &launch, error);
    for (uint64_t i = 0; i < count && status == RONDE_OK; i++)
        if (!team_check(seat, cast->data[i] == value + (float)(i % 100), "a block is another run's"))
            break;
    return status;
}

/* Rows of equal launches, letters and longer messages, two programs in turns: each change finds the others behind. */
static enum ronde_status throw_rows(const struct team_seat *seat, struct ronde_error *error)
{
    static const uint64_t counts[] = {1, 300, 1, MOST, 1024, 1025, 7};
    static struct cast casts[2];
    const struct ronde_comm_options options = team_options(20);
    struct ronde_comm *comm = NULL;
    float value = 0;
    enum ronde_status status =
        ronde_comm_join(&seat->join, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        status = open_cast(&casts[0], comm, seat->self, 0, error);
    if (status == RONDE_OK)
        status = open_cast(&casts[1], comm, seat->self, RANKS - 1, error);
    for (uint32_t row = 0; row < 2 * sizeof counts / sizeof counts[0]; row++)
        for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++, value += 1.0f)
            status = throw_once(seat, &casts[row % 2], counts[row / 2], value, error);
    close_cast(&casts[0]);
    close_cast(&casts[1]);
    ronde_comm_destroy(comm);
    return status;
}

static void rows_of_broadcasts_keep_their_blocks_apart(void)
{
    static const char *const algorithms[] = {"chain", "binomial", "double_tree"};
    for (uint32_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        CU_ASSERT_FATAL(team_run(RANKS, throw_rows, algorithms[a], results));
        team_expect(results, RANKS, RONDE_OK);
    }
}

/* What the last rank does when the others repeat once more. */
enum lapse { LAPSE_COUNT, LAPSE_PROGRAM, LAPSES };

/* A row that all agree about; then the last rank does something else, once, and goes on as if nothing had been. */
static enum ronde_status lapse_once(const struct team_seat *seat, struct ronde_error *error)
{
    static struct cast cast, other;
    const enum lapse lapse = *(const enum lapse *)seat->self;
    const struct ronde_comm_options options = team_options(20);
    struct ronde_comm *comm = NULL;
    enum ronde_status status =
        ronde_comm_join(&seat->join, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        status = open_cast(&cast, comm, "binomial", 0, error);
    if (status == RONDE_OK)
        status = open_cast(&other, comm, "chain", RANKS - 1, error);
    for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++)
        status = throw_once(seat, &cast, 2, (float)k, error);
    if (status == RONDE_OK && seat->join.rank == RANKS - 1)
        status = throw_once(seat, lapse == LAPSE_PROGRAM ? &other : &cast,
                            lapse == LAPSE_COUNT ? 3 : 2, 1.0f, error);
    for (uint32_t k = 0; k < MORE_RUNS && status == RONDE_OK; k++, seat->result->number++)
        status = throw_once(seat, &cast, 2, (float)k, error);
    close_cast(&cast);
    close_cast(&other);
    ronde_comm_destroy(comm);
    return status;
}

static void a_rank_that_does_something_else_is_found_out_by_all(void)
{
    for (enum lapse lapse = 0; lapse < LAPSES; lapse++) {
        CU_ASSERT_FATAL(team_run(RANKS, lapse_once, &lapse, results));
        team_expect(results, RANKS, RONDE_REJECTED);
        for (uint32_t rank = 0; rank < RANKS; rank++) {
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "disagree about"));
            CU_ASSERT(results[rank].number < MOST_AHEAD);
        }
        /* Whoever lapses knows at once: those that should send to it do not. */
        CU_ASSERT_EQUAL(results[RANKS - 1].number, 0);
    }
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rows_of_broadcasts_keep_their_blocks_apart", rows_of_broadcasts_keep_their_blocks_apart},
        {"a_rank_that_does_something_else_is_found_out_by_all",
         a_rank_that_does_something_else_is_found_out_by_all},
    };
    team_transport = RONDE_TRANSPORT_PROC;
    return suite_run("ahead", cases, sizeof cases / sizeof cases[0]);
}
