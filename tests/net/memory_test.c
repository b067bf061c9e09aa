/*
 * Communicators that run out of memory: NO_MEMORY where it happens, nothing leaked, and no rank left waiting.
 */
#include "net/large.h"
#include "support/heap.h"
#include "support/suite.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct team_result results[TEAM_MAX];

/* More requests than all calls below make together. */
#define MOST_REQUESTS 400u

/* Everything that allocates. */
static enum ronde_status use_all(const struct ronde_join *join, const struct ronde_mem *mem,
                                 struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(1);
    const struct ronde_comm_plan plan = {0, 0};
    struct ronde_comm *comm = NULL;
    struct ronde_comm *part = NULL;
    struct ronde_comm_program *program = NULL;
    struct ronde_schedule *schedule = NULL;
    enum ronde_status status =
        run_compile(RONDE_ALL_REDUCE, "ring", join->ranks, 0, &schedule, error);
    if (status == RONDE_OK)
        status = ronde_comm_join(join, &options, mem, &comm, error);
    if (status == RONDE_OK)
        status = ronde_comm_load(comm, schedule, &plan, &program, error);
    if (status == RONDE_OK) {
        struct run_sum sum;
        const struct ronde_launch launch = run_sum_launch(&sum, join->rank);
        status = run_launch(program, &launch, error);
    }
    if (status == RONDE_OK) {
        void *block = ronde_mem_new(ronde_comm_mem(comm), 100, 1);
        if (!block)
            status = ronde_fail(error, RONDE_NO_MEMORY, "no registered memory");
        else
            ronde_mem_free(ronde_comm_mem(comm), block, 100, 1);
    }
    if (status == RONDE_OK)
        status = ronde_comm_split(comm, 0, 0, &part, error);
    ronde_comm_destroy(part);
    ronde_comm_unload(program);
    ronde_comm_destroy(comm);
    ronde_schedule_destroy(schedule);
    return status;
}

static void one_rank_fails_cleanly_at_every_allocation(void)
{
    const struct ronde_join alone = {.token = "memory", .ranks = 1};
    enum ronde_status status = RONDE_NO_MEMORY;
    size_t refused = 0;
    for (; status != RONDE_OK && refused < MOST_REQUESTS; refused++) {
        struct heap heap = heap_start(refused, true);
        const struct ronde_mem mem = heap_mem(&heap);
        struct ronde_error error = {0};
        status = use_all(&alone, &mem, &error);
        CU_ASSERT(status == RONDE_OK || status == RONDE_NO_MEMORY);
        CU_ASSERT_EQUAL(heap.live_blocks, 0);
        CU_ASSERT_EQUAL(heap.wrong_sizes, 0);
    }
    CU_ASSERT_EQUAL(status, RONDE_OK);
    CU_ASSERT(refused > 10);
    suite_note("%zu allocations", refused - 1);
}

/* Rank 1 runs out of memory; rank 0 has enough, and must receive the failure. */
static enum ronde_status use_all_of_two(const struct team_member *member, struct ronde_error *error)
{
    struct heap heap =
        heap_start(member->join.rank == 1 ? *(const size_t *)member->self : SIZE_MAX, true);
    const struct ronde_mem mem = heap_mem(&heap);
    const enum ronde_status status = use_all(&member->join, &mem, error);
    (void)team_check(member, heap.live_blocks == 0, "memory is leaked");
    (void)team_check(member, heap.wrong_sizes == 0, "a block is given back with another size");
    member->result->number = heap.requests;
    return status;
}

static void the_other_rank_receives_every_failure(void)
{
    size_t refused = 0;
    for (; refused < MOST_REQUESTS; refused += suite_is_sample() ? 3 : 1) {
        CU_ASSERT_FATAL(team_run(2, use_all_of_two, &refused, results));
        CU_ASSERT_EQUAL(results[0].failures + results[1].failures, 0);
        CU_ASSERT_EQUAL(results[0].exit_code, 0);
        CU_ASSERT_EQUAL(results[1].exit_code, 0);
        if (results[1].status == RONDE_OK)
            break;
        CU_ASSERT_EQUAL(results[1].status, RONDE_NO_MEMORY);
        CU_ASSERT(results[0].status == RONDE_NO_MEMORY || results[0].status == RONDE_DEVICE ||
                  results[0].status == RONDE_TIMEOUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(results[0].message, "1"));
    }
    CU_ASSERT_EQUAL(results[0].status, RONDE_OK);
    CU_ASSERT(refused > 10);
}

/* Leaves this process half a GiB of addresses more than it has: less than its registered memory takes. */
static bool limit_addresses(void)
{
    unsigned long pages = 0;
    struct rlimit limit;
    FILE *file = fopen("/proc/self/statm", "r");
    const bool is_read = file && fscanf(file, "%lu", &pages) == 1;
    if (file)
        fclose(file);
    if (!is_read || getrlimit(RLIMIT_AS, &limit) != 0)
        return false;
    limit.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + ((rlim_t)1 << 29);
    return setrlimit(RLIMIT_AS, &limit) == 0;
}

static enum ronde_status share_memory(const struct team_member *member, struct ronde_error *error)
{
    const struct ronde_comm_options options = team_options(20);
    const struct large_how how = {RONDE_PROTOCOL_PULL, true, NULL};
    struct large large;
    (void)team_check(member, limit_addresses(), "addresses cannot be limited");
    enum ronde_status status = large_open(member, how, &options, &large, error);
    if (status == RONDE_OK)
        status = large_run(member, &large, error);
    large_close(&large);
    return status;
}

static void registered_memory_makes_do_with_few_addresses(void)
{
    team_run_expecting(2, share_memory, NULL, results, RONDE_OK);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"one_rank_fails_cleanly_at_every_allocation", one_rank_fails_cleanly_at_every_allocation},
        {"the_other_rank_receives_every_failure", the_other_rank_receives_every_failure},
        {"registered_memory_makes_do_with_few_addresses",
         registered_memory_makes_do_with_few_addresses},
    };
    return suite_run("memory", cases, sizeof cases / sizeof cases[0]);
}
