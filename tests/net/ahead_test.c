/*
 * Ranks that only send may be ahead of those that receive, over shared memory, while a launch repeats. Everybody gets the
 * right blocks all the same, and a rank that runs something else, or dies, is found out. With more ranks than processors
 * longer messages are copies that are kept for readers.
 */
#include "hw/comm/comm.h"
#include "net/run.h"

#include "support/suite.h"

#include "ronde/schedules.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

/* A row is longer than the letters of a connection are many. */
enum { RANKS = 4, MOST = 20000, ROW = 40, MORE_RUNS = 60 };

/* Runs that ranks may be ahead, with letters and with copies in a crowd, and hops from rank 0 to the last of a binomial tree. */
enum { LETTERS_AHEAD = 15, COPIES_AHEAD = 6, HOPS = 2 };

/* Of float32: a letter; what a crowd keeps; the most it keeps; what it does not. */
enum { SHORT = 2, KEPT = 3000, MOST_KEPT = 16384 };

static struct team_result results[TEAM_MAX];

/* What a part is told. */
struct part {
    const char *algorithm; /* of broadcasts */
    bool is_crowd;         /* all ranks share one processor */
    uint64_t count;        /* of the row's launches */
    uint32_t lapse;        /* enum lapse */
};

/* Joins, in a crowd with one processor for all ranks whatever the machine has. */
static enum ronde_status join(const struct team_seat *seat, const struct part *part,
                              struct ronde_comm **out_comm, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    if (part->is_crowd) {
        cpu_set_t all, one;
        size_t first = 0;
        CPU_ZERO(&all);
        CPU_ZERO(&one);
        (void)team_check(seat, sched_getaffinity(0, sizeof all, &all) == 0, "no affinity");
        while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all))
            first++;
        CPU_SET(first, &one);
        (void)team_check(seat, sched_setaffinity(0, sizeof one, &one) == 0, "cannot be bound");
    }
    const enum ronde_status status =
        ronde_comm_join(&seat->join, &options, ronde_mem_default(), out_comm, error);
    if (status == RONDE_OK && part->is_crowd)
        (void)team_check(seat, ronde_comm_is_crowded(*out_comm), "one processor is no crowd");
    return status;
}

/*
 * Lets the others come as far as they may without this rank. On a processor that strangers use too, each turn given away
 * may be a whole slice of theirs, so this may take seconds.
 */
static void fall_behind(void)
{
    for (uint32_t k = 0; k < 200; k++)
        sched_yield();
}

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
                                        .timeout_ns = UINT64_C(30000000000) * team_patience()};
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
    static const uint64_t counts[] = {1,    300, 1,         KEPT,          1024, KEPT + 4,
                                      MOST, 7,   MOST_KEPT, MOST_KEPT + 1, KEPT};
    static struct cast casts[2];
    const struct part *part = seat->self;
    struct ronde_comm *comm = NULL;
    float value = 0;
    enum ronde_status status = join(seat, part, &comm, error);
    if (status == RONDE_OK)
        status = open_cast(&casts[0], comm, part->algorithm, 0, error);
    if (status == RONDE_OK)
        status = open_cast(&casts[1], comm, part->algorithm, RANKS - 1, error);
    for (uint32_t row = 0; row < 2 * sizeof counts / sizeof counts[0]; row++)
        for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++, value += 1.0f) {
            if (k % RANKS == seat->join.rank)
                fall_behind();
            status = throw_once(seat, &casts[row % 2], counts[row / 2], value, error);
        }
    close_cast(&casts[0]);
    close_cast(&casts[1]);
    ronde_comm_destroy(comm);
    return status;
}

static void throw_rows_of_all(bool is_crowd)
{
    static const char *const algorithms[] = {"chain", "binomial", "double_tree",
                                             "scatter_allgather"};
    for (uint32_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        const struct part part = {.algorithm = algorithms[a], .is_crowd = is_crowd};
        CU_ASSERT_FATAL(team_run(RANKS, throw_rows, &part, results));
        team_expect(results, RANKS, RONDE_OK);
    }
}

static void rows_of_broadcasts_keep_their_blocks_apart(void)
{
    throw_rows_of_all(false);
}

static void rows_of_broadcasts_in_a_crowd_keep_their_blocks_apart(void)
{
    throw_rows_of_all(true);
}

/* A row of sums at one root, to which all others only send: in slots, where they do not lie in registered memory. */
static enum ronde_status add_rows(const struct team_seat *seat, struct ronde_error *error)
{
    static float in[KEPT], out[KEPT];
    const struct part *part = seat->self;
    const uint32_t rank = seat->join.rank;
    void *const ins[RANKS] = {in, in, in, in}, *const outs[RANKS] = {out, out, out, out};
    const struct ronde_launch launch = {.count = part->count,
                                        .dtype = RONDE_FLOAT32,
                                        .op = RONDE_SUM,
                                        .in = ins,
                                        .out = outs,
                                        .timeout_ns = UINT64_C(30000000000) * team_patience()};
    struct ronde_comm *comm = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = join(seat, part, &comm, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_REDUCE, part->algorithm, RANKS, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, NULL, &program, error);
    for (uint32_t k = 0; k < MORE_RUNS && status == RONDE_OK; k++) {
        if (k % RANKS == rank)
            fall_behind();
        for (uint64_t i = 0; i < part->count; i++)
            in[i] = (float)(k + rank + i);
        status = run_launch(program, &launch, error);
        for (uint64_t i = 0; i < part->count && rank == 0 && status == RONDE_OK; i++)
            if (!team_check(seat, out[i] == (float)(RANKS * (k + i) + 6), "a sum is another run's"))
                break;
    }
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    ronde_comm_destroy(comm);
    return status;
}

static void rows_of_sums_at_one_root_are_each_their_own(void)
{
    static const uint64_t counts[] = {SHORT, KEPT};
    static const char *const algorithms[] = {"chain", "binomial"};
    for (uint32_t k = 0; k < 8; k++) {
        const struct part part = {.algorithm = algorithms[k % 2],
                                  .is_crowd = k / 2 % 2 != 0,
                                  .count = counts[k / 4]};
        CU_ASSERT_FATAL(team_run(RANKS, add_rows, &part, results));
        team_expect(results, RANKS, RONDE_OK);
    }
}

/* What the last rank does when the others repeat once more. */
enum lapse { LAPSE_COUNT, LAPSE_PROGRAM, LAPSE_DEATH };

/* A row that all agree about; then the last rank does something else, once, and goes on as if nothing had been. */
static enum ronde_status lapse_once(const struct team_seat *seat, struct ronde_error *error)
{
    static struct cast cast, other;
    const struct part *part = seat->self;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = join(seat, part, &comm, error);
    if (status == RONDE_OK)
        status = open_cast(&cast, comm, part->algorithm, 0, error);
    if (status == RONDE_OK)
        status = open_cast(&other, comm, "chain", RANKS - 1, error);
    for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++)
        status = throw_once(seat, &cast, part->count, (float)k, error);
    if (status == RONDE_OK && seat->join.rank == RANKS - 1 && part->lapse == LAPSE_DEATH)
        raise(SIGKILL);
    if (status == RONDE_OK && seat->join.rank == RANKS - 1)
        status = throw_once(seat, part->lapse == LAPSE_PROGRAM ? &other : &cast,
                            part->count + (part->lapse == LAPSE_COUNT), 1.0f, error);
    for (uint32_t k = 0; k < MORE_RUNS && status == RONDE_OK; k++, seat->result->number++)
        status = throw_once(seat, &cast, part->count, (float)k, error);
    close_cast(&cast);
    close_cast(&other);
    ronde_comm_destroy(comm);
    return status;
}

/* Rows of letters and of copies, by ranks with processors of their own and in a crowd. */
static void lapse_in_all_rows(enum lapse lapse, void (*expect)(uint32_t ahead))
{
    static const uint64_t counts[] = {SHORT, KEPT};
    for (uint32_t k = 0; k < 4; k++) {
        const struct part part = {.algorithm = "binomial",
                                  .is_crowd = k % 2 != 0,
                                  .count = counts[k / 2],
                                  .lapse = lapse};
        CU_ASSERT_FATAL(team_run(RANKS, lapse_once, &part, results));
        expect(part.count == KEPT && part.is_crowd ? COPIES_AHEAD : LETTERS_AHEAD);
    }
}

static void expect_disagreement(uint32_t ahead)
{
    team_expect(results, RANKS, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "disagree about"));
        CU_ASSERT(results[rank].number <= HOPS * (ahead + 1));
    }
    /* Whoever lapses knows at once: those that should send to it do not. */
    CU_ASSERT_EQUAL(results[RANKS - 1].number, 0);
}

static void a_rank_that_does_something_else_is_found_out_by_all(void)
{
    lapse_in_all_rows(LAPSE_COUNT, expect_disagreement);
    lapse_in_all_rows(LAPSE_PROGRAM, expect_disagreement);
}

static void expect_loss(uint32_t ahead)
{
    CU_ASSERT_EQUAL(results[RANKS - 1].signal, SIGKILL);
    for (uint32_t rank = 0; rank + 1 < RANKS; rank++) {
        CU_ASSERT_EQUAL(results[rank].status, RONDE_DEVICE);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 3 was lost"));
        CU_ASSERT_EQUAL(results[rank].failures, 0);
        CU_ASSERT(results[rank].number <= HOPS * (ahead + 1));
    }
}

static void a_rank_that_dies_behind_the_others_is_named(void)
{
    lapse_in_all_rows(LAPSE_DEATH, expect_loss);
}

/* Twice as many as runs that a rank may be ahead, unless somebody has asked for few. */
static void few_ranks_have_many_letters(void)
{
    static const uint32_t expected[][3] = {{2, 8, 64}, {4, 8, 32}, {8, 8, 16}, {16, 8, 8},
                                           {64, 8, 8}, {2, 3, 3},  {2, 9, 64}, {2, 99, 99}};
    for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_FATAL(run_compile(RONDE_BROADCAST, "direct", expected[k][0], 0, &schedule,
                                    &error) == RONDE_OK);
        CU_ASSERT_EQUAL(ronde_letter_slots(schedule, expected[k][1]), expected[k][2]);
        ronde_schedule_destroy(schedule);
    }
    CU_ASSERT_EQUAL(ronde_comm_lead(RANKS), LETTERS_AHEAD);
    CU_ASSERT_EQUAL(ronde_comm_lead(1000), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rows_of_broadcasts_keep_their_blocks_apart", rows_of_broadcasts_keep_their_blocks_apart},
        {"rows_of_broadcasts_in_a_crowd_keep_their_blocks_apart",
         rows_of_broadcasts_in_a_crowd_keep_their_blocks_apart},
        {"few_ranks_have_many_letters", few_ranks_have_many_letters},
        {"rows_of_sums_at_one_root_are_each_their_own", rows_of_sums_at_one_root_are_each_their_own},
        {"a_rank_that_dies_behind_the_others_is_named", a_rank_that_dies_behind_the_others_is_named},
        {"a_rank_that_does_something_else_is_found_out_by_all",
         a_rank_that_does_something_else_is_found_out_by_all},
    };
    team_transport = RONDE_TRANSPORT_PROC;
    return suite_run("ahead", cases, sizeof cases / sizeof cases[0]);
}
