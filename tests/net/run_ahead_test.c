/*
 * Ranks that only send may be ahead of those that receive, over shared memory, while a launch repeats. All ranks get the
 * right blocks all the same, and a rank that runs something else, or dies, is detected. With more ranks than processors
 * longer messages are send copies.
 */
#include "hw/comm/comm_parts.h"
#include "net/run.h"

#include "support/suite.h"

#include "ronde/schedules.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

/* A row is longer than a connection has eager slots. */
enum { RANKS = 4, MOST = 20000, LONGEST = 1200000, ROW = 40, LONG_ROW = 4, MORE_RUNS = 60 };

/* Runs that ranks may be ahead, with eager messages and with send copies, and hops from rank 0 to the last of a binomial tree. */
enum { EAGER_AHEAD = 15, COPIES_AHEAD = 6, HOPS = 2 };

/* Of float32: an eager message; what oversubscribed ranks copy; the most they copy; what they do not. */
enum { SHORT = 2, COPIED = 3000, MOST_COPIED = 16384 };

static struct team_result results[TEAM_MAX];

/* Parameters of a part. */
struct part {
    const char *algorithm;  /* of broadcasts */
    bool is_oversubscribed; /* all ranks share one processor */
    uint64_t count;         /* of the row's launches */
    uint32_t deviation;     /* enum deviation */
};

/* Joins; oversubscribed: with one processor for all ranks, whatever the machine has. */
static enum ronde_status join(const struct team_member *member, const struct part *part,
                              struct ronde_comm **out_comm, struct ronde_error *error)
{
    if (part->is_oversubscribed) {
        cpu_set_t all, one;
        size_t first = 0;
        CPU_ZERO(&all);
        CPU_ZERO(&one);
        (void)team_check(member, sched_getaffinity(0, sizeof all, &all) == 0, "no affinity");
        while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all))
            first++;
        CPU_SET(first, &one);
        (void)team_check(member, sched_setaffinity(0, sizeof one, &one) == 0, "cannot be bound");
    }
    const enum ronde_status status = team_join(member, 20, out_comm, error);
    if (status == RONDE_OK && part->is_oversubscribed)
        (void)team_check(member, ronde_comm_is_oversubscribed(*out_comm),
                         "one processor is not oversubscribed");
    return status;
}

/*
 * Lets the others come as far as they may without this rank. On a processor that other processes use too, each yield may
 * take a whole time slice of theirs, so this may take seconds.
 */
static void fall_behind(void)
{
    for (uint32_t k = 0; k < 200; k++)
        sched_yield();
}

/* A broadcast that one rank takes part in. */
struct broadcast {
    struct ronde_schedule *schedule;
    struct ronde_comm_program *program;
    uint32_t root;
    float data[LONGEST];
    void *in[TEAM_MAX];
    void *out[TEAM_MAX];
};

static enum ronde_status open_broadcast(struct broadcast *broadcast, struct ronde_comm *comm,
                                        const char *algorithm, uint32_t root,
                                        struct ronde_error *error)
{
    const enum ronde_status status =
        run_compile(RONDE_BROADCAST, algorithm, RANKS, root, &broadcast->schedule, error);
    broadcast->root = root;
    broadcast->in[ronde_comm_rank(comm)] = broadcast->data;
    broadcast->out[ronde_comm_rank(comm)] = broadcast->data;
    return status == RONDE_OK
               ? ronde_comm_load(comm, broadcast->schedule, NULL, &broadcast->program, error)
               : status;
}

static void close_broadcast(struct broadcast *broadcast)
{
    ronde_comm_unload(broadcast->program);
    ronde_schedule_destroy(broadcast->schedule);
}

/* Sends values of this run alone, and checks what was received. */
static enum ronde_status broadcast_once(const struct team_member *member,
                                        struct broadcast *broadcast, uint64_t count, float value,
                                        struct ronde_error *error)
{
    const struct ronde_launch launch = {.count = count,
                                        .dtype = RONDE_FLOAT32,
                                        .in = broadcast->in,
                                        .out = broadcast->out,
                                        .timeout_ns = UINT64_C(30000000000) * team_patience()};
    for (uint64_t i = 0; i < count; i++)
        broadcast->data[i] = member->join.rank == broadcast->root ? value + (float)(i % 100) : -1.0f;
    const enum ronde_status status = run_launch(broadcast->program, &launch, error);
    for (uint64_t i = 0; i < count && status == RONDE_OK; i++)
        if (!team_check(member, broadcast->data[i] == value + (float)(i % 100),
                        "a block is another run's"))
            break;
    return status;
}

/* Rows of equal launches, eager and longer messages, two programs in turns: each change finds the others behind. */
static enum ronde_status broadcast_rows(const struct team_member *member, struct ronde_error *error)
{
    static const uint64_t counts[] = {1,    300, 1,           COPIED,          1024,  COPIED + 4,
                                      MOST, 7,   MOST_COPIED, MOST_COPIED + 1, COPIED};
    static struct broadcast broadcasts[2];
    const struct part *part = member->self;
    struct ronde_comm *comm = NULL;
    float value = 0;
    enum ronde_status status = join(member, part, &comm, error);
    if (status == RONDE_OK)
        status = open_broadcast(&broadcasts[0], comm, part->algorithm, 0, error);
    if (status == RONDE_OK)
        status = open_broadcast(&broadcasts[1], comm, part->algorithm, RANKS - 1, error);
    for (uint32_t row = 0; row < 2 * sizeof counts / sizeof counts[0]; row++)
        for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++, value += 1.0f) {
            if (k % RANKS == member->join.rank)
                fall_behind();
            status = broadcast_once(member, &broadcasts[row % 2], counts[row / 2], value, error);
        }
    close_broadcast(&broadcasts[0]);
    close_broadcast(&broadcasts[1]);
    ronde_comm_destroy(comm);
    return status;
}

/*
 * Longer ones: as many messages as there are slots, more, and again fewer, between short ones. Oversubscribed, those of
 * direct and binomial are held piece by piece.
 */
static enum ronde_status broadcast_long(const struct team_member *member, struct ronde_error *error)
{
    static const uint64_t counts[] = {100000, 300000, LONGEST, 300001, COPIED, LONGEST, 100000};
    static struct broadcast broadcast;
    const struct part *part = member->self;
    struct ronde_comm *comm = NULL;
    float value = 0;
    enum ronde_status status = join(member, part, &comm, error);
    if (status == RONDE_OK)
        status = open_broadcast(&broadcast, comm, part->algorithm, 1, error);
    for (uint32_t row = 0; row < sizeof counts / sizeof counts[0]; row++)
        for (uint32_t k = 0; k < LONG_ROW && status == RONDE_OK; k++, value += 1.0f) {
            if (k % RANKS == member->join.rank)
                fall_behind();
            status = broadcast_once(member, &broadcast, counts[row], value, error);
        }
    close_broadcast(&broadcast);
    ronde_comm_destroy(comm);
    return status;
}

static void long_broadcasts_arrive_whole(void)
{
    static const char *const algorithms[] = {"direct", "binomial"};
    for (uint32_t k = 0; k < 2 * sizeof algorithms / sizeof algorithms[0]; k++) {
        const struct part part = {.algorithm = algorithms[k / 2], .is_oversubscribed = k % 2 != 0};
        team_run_expecting(RANKS, broadcast_long, &part, results, RONDE_OK);
    }
}

static void broadcast_rows_of_all(bool is_oversubscribed)
{
    static const char *const algorithms[] = {"chain", "binomial", "double_tree",
                                             "scatter_allgather"};
    for (uint32_t a = 0; a < sizeof algorithms / sizeof algorithms[0]; a++) {
        const struct part part = {.algorithm = algorithms[a],
                                  .is_oversubscribed = is_oversubscribed};
        team_run_expecting(RANKS, broadcast_rows, &part, results, RONDE_OK);
    }
}

static void rows_of_broadcasts_stay_apart(void)
{
    broadcast_rows_of_all(false);
}

static void rows_of_broadcasts_of_oversubscribed_ranks_stay_apart(void)
{
    broadcast_rows_of_all(true);
}

/* A row of sums at one root, to which all others only send: in slots, where they do not lie in registered memory. */
static enum ronde_status add_rows(const struct team_member *member, struct ronde_error *error)
{
    static float in[COPIED], out[COPIED];
    const struct part *part = member->self;
    const uint32_t rank = member->join.rank;
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
    enum ronde_status status = join(member, part, &comm, error);
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
            if (!team_check(member, out[i] == (float)(RANKS * (k + i) + 6), "a sum is another run's"))
                break;
    }
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    ronde_comm_destroy(comm);
    return status;
}

static void rows_of_sums_at_one_root_are_each_their_own(void)
{
    static const uint64_t counts[] = {SHORT, COPIED};
    static const char *const algorithms[] = {"chain", "binomial"};
    for (uint32_t k = 0; k < 8; k++) {
        const struct part part = {.algorithm = algorithms[k % 2],
                                  .is_oversubscribed = k / 2 % 2 != 0,
                                  .count = counts[k / 4]};
        team_run_expecting(RANKS, add_rows, &part, results, RONDE_OK);
    }
}

/* What the last rank does when the others repeat once more. */
enum deviation { DEVIATION_COUNT, DEVIATION_PROGRAM, DEVIATION_DEATH };

/* A row that all agree about; then the last rank does something else, once, and goes on as if nothing had been. */
static enum ronde_status deviate_once(const struct team_member *member, struct ronde_error *error)
{
    static struct broadcast broadcast, other;
    const struct part *part = member->self;
    struct ronde_comm *comm = NULL;
    enum ronde_status status = join(member, part, &comm, error);
    if (status == RONDE_OK)
        status = open_broadcast(&broadcast, comm, part->algorithm, 0, error);
    if (status == RONDE_OK)
        status = open_broadcast(&other, comm, "chain", RANKS - 1, error);
    for (uint32_t k = 0; k < ROW && status == RONDE_OK; k++)
        status = broadcast_once(member, &broadcast, part->count, (float)k, error);
    if (status == RONDE_OK && member->join.rank == RANKS - 1 && part->deviation == DEVIATION_DEATH)
        raise(SIGKILL);
    if (status == RONDE_OK && member->join.rank == RANKS - 1)
        status = broadcast_once(member, part->deviation == DEVIATION_PROGRAM ? &other : &broadcast,
                                part->count + (part->deviation == DEVIATION_COUNT), 1.0f, error);
    for (uint32_t k = 0; k < MORE_RUNS && status == RONDE_OK; k++, member->result->number++)
        status = broadcast_once(member, &broadcast, part->count, (float)k, error);
    close_broadcast(&broadcast);
    close_broadcast(&other);
    ronde_comm_destroy(comm);
    return status;
}

/* Rows of eager messages and of send copies, by ranks with processors of their own and by oversubscribed ones. */
static void deviate_in_all_rows(enum deviation deviation, void (*expect)(uint32_t ahead))
{
    static const uint64_t counts[] = {SHORT, COPIED};
    for (uint32_t k = 0; k < 4; k++) {
        const struct part part = {.algorithm = "binomial",
                                  .is_oversubscribed = k % 2 != 0,
                                  .count = counts[k / 2],
                                  .deviation = deviation};
        CU_ASSERT_FATAL(team_run(RANKS, deviate_once, &part, results));
        expect(part.count == COPIED && part.is_oversubscribed ? COPIES_AHEAD : EAGER_AHEAD);
    }
}

static void expect_disagreement(uint32_t ahead)
{
    team_expect(results, RANKS, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < RANKS; rank++) {
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "disagree about"));
        CU_ASSERT(results[rank].number <= HOPS * (ahead + 1));
    }
    /* The rank that deviates finds out at once: those that should send to it do not. */
    CU_ASSERT_EQUAL(results[RANKS - 1].number, 0);
}

static void a_rank_that_does_something_else_is_found_out_by_all(void)
{
    deviate_in_all_rows(DEVIATION_COUNT, expect_disagreement);
    deviate_in_all_rows(DEVIATION_PROGRAM, expect_disagreement);
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
    deviate_in_all_rows(DEVIATION_DEATH, expect_loss);
}

/* Twice as many as runs that a rank may be ahead, unless a smaller depth was requested. */
static void few_ranks_have_many_eager_slots(void)
{
    static const uint32_t expected[][3] = {{2, 8, 64}, {4, 8, 32}, {8, 8, 16}, {16, 8, 8},
                                           {64, 8, 8}, {2, 3, 3},  {2, 9, 64}, {2, 99, 99}};
    for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        CU_ASSERT_FATAL(run_compile(RONDE_BROADCAST, "direct", expected[k][0], 0, &schedule,
                                    &error) == RONDE_OK);
        CU_ASSERT_EQUAL(ronde_eager_slots(schedule, expected[k][1]), expected[k][2]);
        ronde_schedule_destroy(schedule);
    }
    CU_ASSERT_EQUAL(ronde_comm_lead(RANKS), EAGER_AHEAD);
    CU_ASSERT_EQUAL(ronde_comm_lead(1000), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"rows_of_broadcasts_stay_apart", rows_of_broadcasts_stay_apart},
        {"rows_of_broadcasts_of_oversubscribed_ranks_stay_apart",
         rows_of_broadcasts_of_oversubscribed_ranks_stay_apart},
        {"long_broadcasts_arrive_whole", long_broadcasts_arrive_whole},
        {"few_ranks_have_many_eager_slots", few_ranks_have_many_eager_slots},
        {"rows_of_sums_at_one_root_are_each_their_own", rows_of_sums_at_one_root_are_each_their_own},
        {"a_rank_that_dies_behind_the_others_is_named", a_rank_that_dies_behind_the_others_is_named},
        {"a_rank_that_does_something_else_is_found_out_by_all",
         a_rank_that_does_something_else_is_found_out_by_all},
    };
    team_transport = RONDE_TRANSPORT_SHM;
    return suite_run("run_ahead", cases, sizeof cases / sizeof cases[0]);
}
