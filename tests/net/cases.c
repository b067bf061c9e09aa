/* Communicators of processes. See cases.h. */
#include "net/cases.h"
#include "net/run.h"
#include "support/buffers.h"
#include "support/suite.h"

#include "ronde/schedules.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* Collectives of the soak at 100 percent; RONDE_TEST_SCALE is its size in percent. */
#define SOAK_RUNS 1000u

/* Runs of one loaded schedule before the next is drawn. */
#define RUNS_PER_LOAD 5u

/* Loads for each that is made on a new group. */
#define LOADS_PER_GROUP 8u

static enum ronde_status join_and_sum(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, member->self, 20, error);
    ronde_comm_destroy(comm);
    return status;
}

static void processes_add_up(void)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 7};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        team_run_expecting(sizes[k], join_and_sum, "ring", results, RONDE_OK);
        for (uint32_t rank = 0; rank < sizes[k]; rank++)
            CU_ASSERT_EQUAL(results[rank].checks, 20);
    }
}

static void sixty_four_processes_add_up(void)
{
    team_run_expecting(64, join_and_sum, "recursive_doubling", results, RONDE_OK);
}

/* A random schedule, run some times. */
static enum ronde_status soak_some(const struct team_member *member, struct ronde_comm *comm,
                                   uint64_t *random, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {0, 0};
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = run_draw_schedule(ronde_comm_ranks(comm), random);
    if (!schedule)
        return ronde_fail(error, RONDE_BAD_INPUT, "no schedule was drawn");
    enum ronde_status status = ronde_comm_load(comm, schedule, &plan, &program, error);
    for (uint32_t k = 0; k < RUNS_PER_LOAD && status == RONDE_OK; k++)
        status = run_random(member, comm, program, schedule, random, error);
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    return status;
}

/* The ranks fall into two random groups, which work at the same time; all of them stay until the next ones. */
static enum ronde_status regroup(const struct team_member *member, struct ronde_comm *comm,
                                 struct ronde_comm **io_group, uint64_t *random,
                                 struct ronde_error *error)
{
    const uint64_t drawn = buffers_draw(random);
    const uint32_t color = (uint32_t)(drawn >> member->join.rank) & 1;
    /* Groups of different sizes draw differently. */
    uint64_t own = drawn ^ color;
    ronde_comm_destroy(*io_group);
    const enum ronde_status status =
        ronde_comm_split(comm, color, member->join.rank ^ (drawn >> 32 & 3), io_group, error);
    return status == RONDE_OK ? soak_some(member, *io_group, &own, error) : status;
}

/* How long to soak, and where the draws begin. */
struct plan {
    uint64_t runs;
    uint64_t seed;
};

/* Random schedules on random groups. */
static enum ronde_status soak(const struct team_member *member, struct ronde_error *error)
{
    const struct plan *plan = member->self;
    struct ronde_comm *comm = NULL;
    struct ronde_comm *group = NULL;
    uint64_t random = plan->seed;
    enum ronde_status status = team_join(member, 60, &comm, error);
    for (uint64_t done = 0; done < plan->runs && status == RONDE_OK; done += RUNS_PER_LOAD)
        status = buffers_draw(&random) % LOADS_PER_GROUP == 0
                     ? regroup(member, comm, &group, &random, error)
                     : soak_some(member, comm, &random, error);
    ronde_comm_destroy(group);
    ronde_comm_destroy(comm);
    return status;
}

static void random_collectives_leave_what_host_leaves(void)
{
    const struct plan plan = {SOAK_RUNS * suite_number("RONDE_TEST_SCALE", 100) / 100,
                              suite_number("RONDE_TEST_SEED", 20261121)};
    team_run_expecting(4, soak, &plan, results, RONDE_OK);
    for (uint32_t rank = 0; rank < 4; rank++) {
        CU_ASSERT(results[rank].checks >= plan.runs);
        CU_ASSERT_EQUAL(results[rank].number > plan.runs / 10,
                        team_transport != RONDE_TRANSPORT_UCX);
    }
    suite_note("%llu collectives of 4 processes, seed %llu", (unsigned long long)plan.runs,
               (unsigned long long)plan.seed);
}

/* In what rank 1 differs from rank 0. */
enum quarrel {
    QUARREL_COUNT,
    QUARREL_DTYPE,
    QUARREL_OP,
    QUARREL_SLOT,
    QUARREL_DEPTH,
    QUARREL_PROGRAM, /* another loaded schedule of the same collective */
    QUARREL_COLLECTIVE,
    QUARREL_ROOT,
    QUARREL_KINDS
};

static const char *const quarrel_words[] = {
    "about the count", "about the element type", "about the operator",   "about the slot",
    "about the depth", "about the schedule",     "about the collective", "about the root",
};

/* Two schedules are loaded by all; rank 1 runs another one, or otherwise, than rank 0. */
static enum ronde_status quarrel(const struct team_member *member, struct ronde_error *error)
{
    const enum quarrel kind = *(const enum quarrel *)member->self;
    const struct ronde_comm_plan plan = {0, 0};
    const bool is_odd = member->join.rank == 1;
    struct ronde_comm *comm = NULL;
    struct ronde_schedule *schedules[2] = {NULL, NULL};
    struct ronde_comm_program *programs[2] = {NULL, NULL};
    const enum ronde_collective collective =
        kind == QUARREL_ROOT ? RONDE_BROADCAST : RONDE_ALL_REDUCE;
    const bool is_other = kind == QUARREL_COLLECTIVE || kind == QUARREL_ROOT;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_compile(collective, kind == QUARREL_ROOT ? "chain" : "ring", 3, 0,
                             &schedules[0], error);
    if (status == RONDE_OK)
        status =
            run_compile(is_other ? RONDE_BROADCAST : RONDE_ALL_REDUCE, is_other ? "chain" : "tree",
                        3, kind == QUARREL_ROOT ? 2 : 0, &schedules[1], error);
    for (int k = 0; k < 2 && status == RONDE_OK; k++)
        status = ronde_comm_load(comm, schedules[k], &plan, &programs[k], error);
    if (status == RONDE_OK) {
        struct run_sum sum;
        struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
        float many[8] = {0};
        launch.count = is_odd && kind == QUARREL_COUNT ? 2 : 1;
        launch.dtype = is_odd && kind == QUARREL_DTYPE ? RONDE_INT32 : RONDE_FLOAT32;
        launch.op = is_odd && kind == QUARREL_OP ? RONDE_MAX : RONDE_SUM;
        launch.slot_bytes = is_odd && kind == QUARREL_SLOT ? 256 : 0;
        launch.depth = is_odd && kind == QUARREL_DEPTH ? 4 : 0;
        sum.in[member->join.rank] = many;
        sum.out[member->join.rank] = many + 4;
        status = run_launch(programs[is_odd && kind >= QUARREL_PROGRAM], &launch, error);
    }
    for (int k = 0; k < 2; k++) {
        ronde_comm_unload(programs[k]);
        ronde_schedule_destroy(schedules[k]);
    }
    ronde_comm_destroy(comm);
    return status;
}

static void ranks_that_disagree_all_name_both_sides(void)
{
    for (enum quarrel kind = 0; kind < QUARREL_KINDS; kind++) {
        team_run_expecting(3, quarrel, &kind, results, RONDE_REJECTED);
        for (uint32_t rank = 0; rank < 3; rank++) {
            const char *message = results[rank].message;
            CU_ASSERT_PTR_NOT_NULL(strstr(message, quarrel_words[kind]));
            CU_ASSERT_PTR_NOT_NULL(strstr(message, "1 runs "));
            CU_ASSERT(strstr(message, "0 runs ") || strstr(message, "2 runs "));
        }
    }
}

/* Ranks load different schedules. */
static enum ronde_status load_different(const struct team_member *member, struct ronde_error *error)
{
    struct ronde_comm *comm = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, member->join.rank == 2 ? "tree" : "ring", 1, error);
    ronde_comm_destroy(comm);
    return status;
}

static void ranks_that_load_different_schedules_get_an_error(void)
{
    team_run_expecting(3, load_different, NULL, results, RONDE_REJECTED);
    for (uint32_t rank = 0; rank < 3; rank++)
        CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "ranks 0 and 2 disagree"));
}

/* The last rank dies in the middle of many collectives; the others meet again without it. */
static enum ronde_status lose_one(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const uint32_t lost = *(const uint32_t *)member->self;
    struct ronde_comm *comm = NULL;
    enum ronde_status status =
        ronde_comm_join(&member->join, &options, ronde_mem_default(), &comm, error);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 3, error);
    if (status == RONDE_OK && member->join.rank == lost)
        raise(SIGKILL);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 100, error);
    ronde_comm_destroy(comm);
    comm = NULL;
    /* The survivors' new communicator. */
    char token[32];
    struct ronde_join again = member->join;
    struct ronde_error unexpected = {0};
    snprintf(token, sizeof token, "again-%u", again.port);
    again.token = token;
    again.host = NULL;
    again.has_listener = false;
    again.ranks--;
    again.rank -= again.rank > lost;
    enum ronde_status second =
        ronde_comm_join(&again, &options, ronde_mem_default(), &comm, &unexpected);
    if (second == RONDE_OK)
        second = run_sums(member, comm, "ring", 5, &unexpected);
    (void)team_check(member, second == RONDE_OK, unexpected.message);
    ronde_comm_destroy(comm);
    return status;
}

static void survivors_of_a_killed_rank_name_it_and_start_anew(void)
{
    for (uint32_t lost = 0; lost < 4; lost += 3) {
        char name[32];
        snprintf(name, sizeof name, "rank %u was lost", lost);
        CU_ASSERT_FATAL(team_run(4, lose_one, &lost, results));
        CU_ASSERT_EQUAL(results[lost].signal, SIGKILL);
        for (uint32_t rank = 0; rank < 4; rank++) {
            if (rank == lost)
                continue;
            CU_ASSERT_EQUAL(results[rank].exit_code, 0);
            CU_ASSERT_EQUAL(results[rank].status, RONDE_DEVICE);
            CU_ASSERT_EQUAL(results[rank].failures, 0);
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, name));
            if (results[rank].failures > 0 || !strstr(results[rank].message, name))
                suite_note("rank %u: \"%s\", \"%s\"", rank, results[rank].message,
                           results[rank].failure);
        }
    }
}

/* So long that rank 1's part is not over after the most polls it gets: many more pieces than a connection has slots. */
#define LONG_COUNT (UINT64_C(1) << 22)

/* Polls rank 1 before it dies: never, when messages have begun to move, in the middle of them. */
static const uint32_t last_polls[] = {0, 1, 20};

/* Rank 1 dies inside a collective that the others are in. */
static enum ronde_status die_inside(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {0, 0};
    const uint32_t polls = *(const uint32_t *)member->self;
    struct ronde_comm *comm = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    float *data = calloc(2 * LONG_COUNT, sizeof *data);
    enum ronde_status status = data ? team_join(member, 20, &comm, error) : RONDE_NO_MEMORY;
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 3, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
    if (status == RONDE_OK) {
        struct run_sum sum;
        struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
        struct ronde_result result;
        bool is_done = false;
        launch.count = LONG_COUNT;
        sum.in[member->join.rank] = data;
        sum.out[member->join.rank] = data + LONG_COUNT;
        status = ronde_comm_run(program, &launch, error);
        for (uint32_t k = 0; member->join.rank == 1 && k < polls && status == RONDE_OK; k++)
            status = ronde_comm_test(program, &is_done, error);
        if (member->join.rank == 1 && status == RONDE_OK)
            raise(SIGKILL);
        if (status == RONDE_OK)
            status = ronde_comm_wait(program, &result, error);
    }
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    ronde_comm_destroy(comm);
    free(data);
    return status;
}

static void a_rank_killed_inside_a_collective_is_named(void)
{
    for (size_t k = 0; k < sizeof last_polls / sizeof last_polls[0]; k++) {
        CU_ASSERT_FATAL(team_run(3, die_inside, &last_polls[k], results));
        CU_ASSERT_EQUAL(results[1].signal, SIGKILL);
        for (uint32_t rank = 0; rank < 3; rank += 2) {
            CU_ASSERT_EQUAL(results[rank].status, RONDE_DEVICE);
            CU_ASSERT_PTR_NOT_NULL(strstr(results[rank].message, "rank 1 was lost"));
        }
    }
}

/* Rank 2 never begins the run that the others wait in. */
static enum ronde_status stay_away(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {0, 0};
    struct ronde_comm *comm = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 3, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
    if (status == RONDE_OK && member->join.rank == 2)
        /* Hears of it here. */
        status = ronde_comm_allgather(comm, NULL, 0, NULL, error);
    else if (status == RONDE_OK) {
        struct run_sum sum;
        struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
        launch.timeout_ns = UINT64_C(100000000) * team_patience();
        if (*(const bool *)member->self && member->join.rank == 1)
            ronde_comm_abort(comm);
        status = run_launch(program, &launch, error);
        struct ronde_error again = {0};
        (void)team_check(member, run_launch(program, &launch, &again) == RONDE_TIMEOUT,
                         "a failed communicator does not repeat its error");
        (void)team_check(member, strcmp(again.message, error->message) == 0,
                         "a failed communicator changes its error");
    }
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    ronde_comm_destroy(comm);
    return status;
}

static void a_time_limit_and_an_abort_end_the_run_of_all(void)
{
    for (int is_abort = 0; is_abort < 2; is_abort++) {
        const bool flag = is_abort != 0;
        team_run_expecting(3, stay_away, &flag, results, RONDE_TIMEOUT);
        for (uint32_t rank = 0; rank < 3; rank++) {
            const bool is_named =
                strstr(results[rank].message,
                       flag ? "rank 1 aborted the communicator" : "rank 2 has come to gather");
            CU_ASSERT(is_named);
            if (!is_named)
                suite_note("rank %u: %s", rank, results[rank].message);
        }
    }
}

/* Rows and columns of a grid of 2 x 3, both at once, and what is left when one of them goes. */
static enum ronde_status divide(const struct team_member *member, struct ronde_error *error)
{
    const uint32_t rank = member->join.rank;
    struct ronde_comm *world = NULL;
    struct ronde_comm *row = NULL;
    struct ronde_comm *column = NULL;
    struct ronde_comm *none = NULL;
    enum ronde_status status = team_join(member, 20, &world, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(world, rank / 3, rank, &row, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(world, rank % 3, 100 - rank, &column, error);
    if (status == RONDE_OK)
        status = ronde_comm_split(world, rank == 4 ? 0 : RONDE_NONE, 0, &none, error);
    if (status == RONDE_OK) {
        (void)team_check(member, ronde_comm_ranks(row) == 3 && ronde_comm_rank(row) == rank % 3,
                         "a row is wrong");
        (void)team_check(member,
                         ronde_comm_ranks(column) == 2 && ronde_comm_rank(column) == 1 - rank / 3,
                         "a column is wrong");
        (void)team_check(member, (none != NULL) == (rank == 4), "a group of one is wrong");
        status = run_sums(member, row, "ring", 5, error);
    }
    if (status == RONDE_OK)
        status = run_sums(member, column, "recursive_doubling", 5, error);
    if (status == RONDE_OK)
        status = run_sums(member, world, "ring", 5, error);
    ronde_comm_destroy(world);
    if (status == RONDE_OK)
        status = run_sums(member, row, "tree", 5, error);
    ronde_comm_destroy(none);
    ronde_comm_destroy(column);
    ronde_comm_destroy(row);
    return status;
}

static void groups_work_side_by_side(void)
{
    team_run_expecting(6, divide, NULL, results, RONDE_OK);
}

/* A bootstrap over another communicator's allgather stands in for a launcher's. */
static enum ronde_status gather_through(void *self, const void *mine, size_t bytes, void *out_all,
                                        struct ronde_error *error)
{
    return ronde_comm_allgather(self, mine, bytes, out_all, error);
}

static enum ronde_status bootstrap(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    struct ronde_comm *helper = NULL;
    struct ronde_comm *comm = NULL;
    enum ronde_status status =
        ronde_comm_join(&member->join, &options, ronde_mem_default(), &helper, error);
    const struct ronde_bootstrap callbacks = {helper, member->join.rank, member->join.ranks,
                                              gather_through};
    if (status == RONDE_OK)
        status = ronde_comm_create(&callbacks, &options, ronde_mem_default(), &comm, error);
    ronde_comm_destroy(helper);
    if (status == RONDE_OK)
        status = run_sums(member, comm, "ring", 5, error);
    ronde_comm_destroy(comm);
    return status;
}

static void one_callback_makes_a_communicator(void)
{
    team_run_expecting(3, bootstrap, NULL, results, RONDE_OK);
}

/* What one rank does wrong alone is refused alone, and the communicator stays whole. */
static enum ronde_status refuse(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_plan plan = {1024, 4};
    const struct ronde_comm_plan shallow = {0, 1};
    struct ronde_comm *comm = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    struct ronde_schedule *large = NULL;
    struct ronde_error why = {0};
    struct run_sum sum;
    struct ronde_launch launch = run_sum_launch(&sum, member->join.rank);
    bool is_done;
    enum ronde_status status = team_join(member, 20, &comm, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 2, 0, &schedule, error);
    if (status == RONDE_OK)
        status = run_compile(RONDE_ALL_REDUCE, "ring", 3, 0, &large, error);
    if (status != RONDE_OK)
        return status;
    (void)team_check(member,
                     ronde_comm_load(comm, large, &plan, &program, &why) == RONDE_BAD_ARGUMENT,
                     "a schedule of other ranks is loaded");
    (void)team_check(member, !program && strstr(why.message, "for 3 ranks") != NULL, why.message);
    (void)team_check(member,
                     ronde_comm_load(comm, schedule, &shallow, &program, NULL) == RONDE_BAD_ARGUMENT,
                     "a depth below the least is loaded");
    status = ronde_comm_load(comm, schedule, &plan, &program, error);
    (void)team_check(member, ronde_comm_test(program, &is_done, NULL) == RONDE_BAD_ARGUMENT,
                     "what does not run can be tested");
    launch.slot_bytes = 2048;
    (void)team_check(member, ronde_comm_run(program, &launch, NULL) == RONDE_BAD_ARGUMENT,
                     "a slot longer than loaded is taken");
    launch.slot_bytes = 0;
    launch.protocol = RONDE_PROTOCOL_PULL;
    (void)team_check(member,
                     team_transport != RONDE_TRANSPORT_UCX ||
                         ronde_comm_run(program, &launch, NULL) == RONDE_UNSUPPORTED,
                     "pull is taken");
    launch.protocol = RONDE_PROTOCOL_AUTO;
    sum.in[member->join.rank] = NULL;
    (void)team_check(member, ronde_comm_run(program, &launch, NULL) == RONDE_BAD_ARGUMENT,
                     "a missing buffer is taken");
    sum.in[member->join.rank] = &sum.value;
    if (status == RONDE_OK)
        status = ronde_comm_run(program, &launch, error);
    (void)team_check(member, ronde_comm_run(program, &launch, NULL) == RONDE_BAD_ARGUMENT,
                     "a second run is taken");
    struct ronde_result result;
    if (status == RONDE_OK)
        status = ronde_comm_wait(program, &result, error);
    (void)team_check(member, sum.total == 3.0f, "the sum is wrong");
    ronde_comm_unload(program);
    ronde_schedule_destroy(schedule);
    ronde_schedule_destroy(large);
    ronde_comm_destroy(comm);
    return status;
}

static void what_is_wrong_on_one_rank_is_refused_there(void)
{
    team_run_expecting(2, refuse, NULL, results, RONDE_OK);
}

int cases_run(const char *name, enum ronde_transport transport)
{
    static const struct suite_case cases[] = {
        SUITE_CASE(processes_add_up),
        SUITE_CASE(sixty_four_processes_add_up),
        SUITE_CASE(random_collectives_leave_what_host_leaves),
        SUITE_CASE(ranks_that_disagree_all_name_both_sides),
        SUITE_CASE(ranks_that_load_different_schedules_get_an_error),
        SUITE_CASE(survivors_of_a_killed_rank_name_it_and_start_anew),
        SUITE_CASE(a_rank_killed_inside_a_collective_is_named),
        SUITE_CASE(a_time_limit_and_an_abort_end_the_run_of_all),
        SUITE_CASE(groups_work_side_by_side),
        SUITE_CASE(one_callback_makes_a_communicator),
        SUITE_CASE(what_is_wrong_on_one_rank_is_refused_there),
    };
    team_transport = transport;
    return suite_run(name, cases, sizeof cases / sizeof cases[0]);
}
