/* Groups: any subset of ranks as a communicator, several at once, from one thread and from several. */
#include "support/suite.h"

#include "ronde/engine.h"
#include "ronde/executors.h"
#include "ronde/hw.h"
#include "ronde/schedules.h"

#include <pthread.h>
#include <string.h>

#define WORLD 8u
#define COUNT 600u
#define ROUNDS 40u

/* The members of a group, by rank of the world, in the order of their ranks in the group. */
struct group {
    uint32_t ranks;
    uint32_t members[WORLD];
};

/* One group at work: its own output memory, since overlapping groups share the members' inputs. */
struct party {
    const struct group *group;
    void *self;
    struct ronde_schedule *schedule;
    void *program;
    void *run;
    void *in[WORLD];
    void *out[WORLD];
    int64_t result[WORLD][COUNT];
    struct ronde_error error;
    bool is_right;
};

static const struct ronde_backend *backend;
static int64_t world[WORLD][COUNT];
static struct party parties[4];

static void fill_world(void)
{
    for (uint32_t rank = 0; rank < WORLD; rank++)
        for (uint32_t i = 0; i < COUNT; i++)
            world[rank][i] = (int64_t)1 << (4 * rank) | (int64_t)i << 40;
}

static bool open_party(struct party *party, const struct group *group, const char *algorithm)
{
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE,
                                                  .algorithm = algorithm,
                                                  .ranks = group->ranks};
    struct ronde_machine machine;
    memset(party, 0, sizeof *party);
    party->group = group;
    void *inputs[WORLD];
    void *outputs[WORLD];
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        inputs[rank] = world[rank];
        outputs[rank] = party->result[rank];
    }
    ronde_group_pick(inputs, group->members, group->ranks, party->in);
    ronde_group_pick(outputs, group->members, group->ranks, party->out);
    return backend->probe(&machine, &party->error) == RONDE_OK &&
           backend->open(&machine, ronde_mem_default(), &party->self, &party->error) == RONDE_OK &&
           ronde_compile(&request, ronde_mem_default(), NULL, &party->schedule, &party->error) ==
               RONDE_OK &&
           backend->load(party->self, party->schedule, &party->program, &party->error) == RONDE_OK;
}

static void close_party(struct party *party)
{
    backend->unload(party->program);
    ronde_schedule_destroy(party->schedule);
    backend->close(party->self);
}

static bool start(struct party *party)
{
    const struct ronde_launch launch = {.count = COUNT,
                                        .dtype = RONDE_INT64,
                                        .op = RONDE_SUM,
                                        .in = party->in,
                                        .out = party->out,
                                        .slot_bytes = 256,
                                        .timeout_ns = UINT64_C(60000000000)};
    memset(party->result, 0xA5, sizeof party->result);
    return backend->run(party->program, &launch, &party->run, &party->error) == RONDE_OK;
}

/* Members hold the sum over members; the memory of all others is as it was. */
static bool is_right(const struct party *party)
{
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        bool is_member = false;
        for (uint32_t m = 0; m < party->group->ranks; m++)
            is_member = is_member || party->group->members[m] == rank;
        for (uint32_t i = 0; i < COUNT; i++) {
            int64_t wanted = 0;
            for (uint32_t m = 0; m < party->group->ranks; m++)
                wanted += world[party->group->members[m]][i];
            if (!is_member)
                memset(&wanted, 0xA5, sizeof wanted);
            if (party->result[rank][i] != wanted)
                return false;
        }
    }
    return true;
}

static bool finish(struct party *party)
{
    struct ronde_result result;
    return backend->wait(party->run, &result, &party->error) == RONDE_OK && is_right(party);
}

static const struct group disjoint[] = {{3, {6, 1, 4}}, {2, {0, 7}}, {1, {5}}, {2, {2, 3}}};
static const struct group overlapping[] = {{8, {0, 1, 2, 3, 4, 5, 6, 7}},
                                           {4, {7, 5, 3, 1}},
                                           {5, {1, 2, 3, 4, 5}},
                                           {3, {3, 0, 5}}};
static const char *const algorithms[] = {"ring", "tree", "double_tree", "ring"};

static void open_all(const struct group *groups)
{
    fill_world();
    for (uint32_t k = 0; k < 4; k++) {
        const bool is_open = open_party(&parties[k], &groups[k], algorithms[k]);
        if (!is_open)
            suite_note("%s", parties[k].error.message);
        CU_ASSERT_FATAL(is_open);
    }
}

static void close_all(void)
{
    for (uint32_t k = 0; k < 4; k++)
        close_party(&parties[k]);
}

/* All started, then waited for in another order each round: a wait moves only its own run, and that is enough. */
static void wait_in_any_order(const struct group *groups)
{
    open_all(groups);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t k = 0; k < 4; k++)
            CU_ASSERT(start(&parties[k]));
        for (uint32_t k = 0; k < 4; k++)
            CU_ASSERT(finish(&parties[(round + k * 3) % 4]));
    }
    close_all();
}

/* One thread moves all of them a little at a time. */
static void test_in_turns(const struct group *groups)
{
    open_all(groups);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        enum ronde_status status = RONDE_OK;
        uint32_t waiting = 0xf;
        for (uint32_t k = 0; k < 4; k++)
            CU_ASSERT_FATAL(start(&parties[k]));
        while (waiting != 0) {
            for (uint32_t k = 0; k < 4; k++) {
                bool is_done = false;
                if ((waiting >> k & 1) == 0)
                    continue;
                status = backend->test(parties[k].run, &is_done, &parties[k].error);
                is_done = is_done || status != RONDE_OK;
                waiting &= ~((uint32_t)is_done << k);
            }
        }
        for (uint32_t k = 0; k < 4; k++)
            CU_ASSERT(finish(&parties[k]));
        CU_ASSERT_EQUAL(status, RONDE_OK);
    }
    close_all();
}

static void *run_rounds(void *self)
{
    struct party *party = self;
    party->is_right = true;
    for (uint32_t round = 0; round < ROUNDS; round++)
        party->is_right = party->is_right && start(party) && finish(party);
    return NULL;
}

/* A thread for each. */
static void run_in_threads(const struct group *groups)
{
    pthread_t threads[4];
    open_all(groups);
    for (uint32_t k = 0; k < 4; k++)
        CU_ASSERT_FATAL(pthread_create(&threads[k], NULL, run_rounds, &parties[k]) == 0);
    for (uint32_t k = 0; k < 4; k++) {
        CU_ASSERT_FATAL(pthread_join(threads[k], NULL) == 0);
        CU_ASSERT(parties[k].is_right);
        if (!parties[k].is_right)
            suite_note("group %u: %s", k, parties[k].error.message);
    }
    close_all();
}

/* Every backend that is here, with disjoint and with overlapping groups. */
static void on_all_backends(void (*scene)(const struct group *groups))
{
    uint32_t count;
    const struct ronde_executor *executors = ronde_executors(&count);
    for (uint32_t e = 0; e < count; e++) {
        struct ronde_machine machine;
        struct ronde_error error = {0};
        if (executors[e].ranks == RONDE_RANKS_PROCESSES || !executors[e].moves_data)
            continue;
        backend = executors[e].backend;
        if (backend->probe(&machine, &error) != RONDE_OK) {
            suite_note("not run on %s: %s", backend->name, error.message);
            continue;
        }
        scene(disjoint);
        scene(overlapping);
    }
}

static void groups_run_at_once_and_are_waited_for_in_any_order(void)
{
    on_all_backends(wait_in_any_order);
}

static void groups_run_at_once_moved_in_turns_by_one_thread(void)
{
    on_all_backends(test_in_turns);
}

static void groups_run_at_once_each_from_a_thread_of_its_own(void)
{
    on_all_backends(run_in_threads);
}

/*
 * Two programs of one open backend, run from two threads: loading is one thread's, running is any
 * thread's.
 */
static void programs_of_one_backend_run_from_two_threads(void)
{
    struct ronde_machine machine;
    pthread_t thread;
    backend = &ronde_backend_cpu;
    fill_world();
    if (backend->probe(&machine, &parties[0].error) != RONDE_OK) {
        suite_skip("%s", parties[0].error.message);
        return;
    }
    CU_ASSERT_FATAL(open_party(&parties[0], &overlapping[0], "ring"));
    CU_ASSERT_FATAL(open_party(&parties[1], &overlapping[1], "tree"));
    void *second;
    CU_ASSERT_FATAL(backend->load(parties[0].self, parties[1].schedule, &second,
                                  &parties[1].error) == RONDE_OK);
    backend->unload(parties[1].program);
    parties[1].program = second;
    CU_ASSERT_FATAL(pthread_create(&thread, NULL, run_rounds, &parties[1]) == 0);
    run_rounds(&parties[0]);
    CU_ASSERT_FATAL(pthread_join(thread, NULL) == 0);
    CU_ASSERT(parties[0].is_right && parties[1].is_right);
    close_party(&parties[1]);
    close_party(&parties[0]);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"groups_run_at_once_and_are_waited_for_in_any_order",
         groups_run_at_once_and_are_waited_for_in_any_order},
        {"groups_run_at_once_moved_in_turns_by_one_thread",
         groups_run_at_once_moved_in_turns_by_one_thread},
        {"groups_run_at_once_each_from_a_thread_of_its_own",
         groups_run_at_once_each_from_a_thread_of_its_own},
        {"programs_of_one_backend_run_from_two_threads",
         programs_of_one_backend_run_from_two_threads},
    };
    return suite_run("group", cases, sizeof cases / sizeof cases[0]);
}
