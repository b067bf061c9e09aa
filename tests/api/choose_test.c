/*
 * From a kind of call to what is compiled for it: roots, pairs and tables arrive where they belong, and on one rank
 * every kind gets an algorithm that compiles.
 */
#include "api/cache.h"
#include "support/heap.h"
#include "support/suite.h"
#include "support/sweep.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* shift s: rank r sends to r + s, so rank r + s wants what r has; any s is taken modulo the ranks. */
static void a_shift_is_a_table_of_sources(void)
{
    static const uint32_t shifts[] = {0, 1, 2, 6, 7, 8, 700, UINT32_MAX - 1, UINT32_MAX};
    for (uint32_t ranks = 1; ranks <= 9; ranks++)
        for (size_t i = 0; i < sizeof shifts / sizeof shifts[0]; i++) {
            uint32_t sources[9];
            const struct ronde_call call = {.collective = RONDE_SEND_RECV, .shift = shifts[i]};
            const struct ronde_kind kind = ronde_kind_of(&call, 3);
            const struct ronde_compile_request request = ronde_kind_request(&kind, ranks, sources);
            CU_ASSERT_EQUAL(request.collective, RONDE_SEND_RECV);
            CU_ASSERT_EQUAL(request.ranks, ranks);
            CU_ASSERT_PTR_EQUAL(request.source_of, sources);
            for (uint32_t rank = 0; rank < ranks; rank++)
                CU_ASSERT_EQUAL(sources[((uint64_t)rank + shifts[i]) % ranks], rank);
        }
}

/* A table is passed on as it is, and the room for one left alone. */
static void a_table_is_passed_on(void)
{
    const uint32_t table[5] = {4, RONDE_NONE, 0, 0, 3};
    uint32_t sources[5] = {9, 9, 9, 9, 9};
    const struct ronde_call call = {.collective = RONDE_SEND_RECV, .source_of = table, .shift = 2};
    const struct ronde_kind kind = ronde_kind_of(&call, 1);
    const struct ronde_compile_request request = ronde_kind_request(&kind, 5, sources);
    CU_ASSERT_PTR_EQUAL(request.source_of, table);
    for (uint32_t rank = 0; rank < 5; rank++)
        CU_ASSERT_EQUAL(sources[rank], 9);
}

static void the_others_have_a_root_or_nothing(void)
{
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        uint32_t sources[8];
        const struct ronde_call call = {.collective = (enum ronde_collective)c, .root = 5};
        const struct ronde_kind kind = ronde_kind_of(&call, 1);
        const struct ronde_compile_request request = ronde_kind_request(&kind, 8, sources);
        CU_ASSERT_EQUAL(request.collective, c);
        CU_ASSERT_EQUAL(request.root,
                        ronde_collective_traits((enum ronde_collective)c)->has_root ? 5u : 0u);
        CU_ASSERT_EQUAL(request.source_of != NULL, c == RONDE_SEND_RECV);
        CU_ASSERT_PTR_NULL(request.algorithm);
    }
}

static struct ronde_comm *join_alone(void)
{
    char token[64];
    struct ronde_comm *comm = NULL;
    snprintf(token, sizeof token, "choose-%d", (int)getpid());
    const struct ronde_join join = {.token = token, .ranks = 1};
    const struct ronde_comm_options options = {.transport = RONDE_TRANSPORT_SHM};
    CU_ASSERT_EQUAL_FATAL(ronde_comm_join(&join, &options, ronde_mem_default(), &comm, NULL),
                          RONDE_OK);
    return comm;
}

/* Whether what was chosen is of the registry, compiles, and takes blocks that differ where these do. */
static bool is_of_use(const struct ronde_kind *kind, const char *algorithm)
{
    uint32_t sources[1];
    struct ronde_schedule *schedule = NULL;
    struct ronde_compile_request request = ronde_kind_request(kind, 1, sources);
    request.algorithm = algorithm;
    const bool is =
        ronde_compile(&request, ronde_mem_default(), NULL, &schedule, NULL) == RONDE_OK &&
        (!ronde_kind_is_v(kind) || schedule->v_form != RONDE_V_NONE);
    ronde_schedule_destroy(schedule);
    return is;
}

static bool has_v(enum ronde_collective collective)
{
    return collective == RONDE_ALL_GATHER || collective == RONDE_REDUCE_SCATTER ||
           collective == RONDE_GATHER || collective == RONDE_SCATTER ||
           collective == RONDE_ALL_TO_ALL;
}

static void every_kind_gets_an_algorithm_that_serves_it(void)
{
    static const char *const backends[] = {"shm", "tcp", "cuda", "no such backend"};
    struct ronde_comm *comm = join_alone();
    uint32_t chosen = 0;
    for (uint32_t c = 0; c < RONDE_COLLECTIVE_COUNT; c++)
        for (uint32_t v = 0; v < (has_v((enum ronde_collective)c) ? 2u : 1u); v++)
            for (uint64_t bytes = 0; bytes <= 1u << 30; bytes = bytes * 1024 + 1)
                for (size_t b = 0; b < sizeof backends / sizeof backends[0]; b++) {
                    char algorithm[RONDE_ALGORITHM_BYTES] = "";
                    struct ronde_error error = {0};
                    const struct ronde_call call = {.collective = (enum ronde_collective)c,
                                                    .is_v = v != 0};
                    const struct ronde_kind kind = ronde_kind_of(&call, bytes);
                    CU_ASSERT_EQUAL(ronde_choose(comm, &kind, backends[b], ronde_mem_default(),
                                                 algorithm, &error),
                                    RONDE_OK);
                    CU_ASSERT_TRUE(is_of_use(&kind, algorithm));
                    if (error.status != RONDE_OK)
                        suite_note("%s: %s", ronde_collective_text((enum ronde_collective)c),
                                   error.message);
                    chosen++;
                }
    CU_ASSERT(chosen >= 4 * RONDE_COLLECTIVE_COUNT);
    ronde_comm_destroy(comm);
}

static enum ronde_status choose_swept(const void *context, const struct ronde_mem *mem,
                                      struct ronde_error *error)
{
    char algorithm[RONDE_ALGORITHM_BYTES] = "";
    const struct ronde_call call = {.collective = RONDE_SEND_RECV, .shift = 1};
    const struct ronde_kind kind = ronde_kind_of(&call, 100);
    const enum ronde_status status = ronde_choose(context, &kind, "shm", mem, algorithm, error);
    CU_ASSERT_EQUAL(status == RONDE_OK, algorithm[0] != '\0');
    return status;
}

static void a_choice_without_memory_is_none(void)
{
    struct ronde_comm *comm = join_alone();
    const struct sweep sweep = {.what = "choice", .operation = choose_swept, .context = comm};
    CU_ASSERT(sweep_run(&sweep) > 3);
    ronde_comm_destroy(comm);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_shift_is_a_table_of_sources", a_shift_is_a_table_of_sources},
        {"a_table_is_passed_on", a_table_is_passed_on},
        {"the_others_have_a_root_or_nothing", the_others_have_a_root_or_nothing},
        {"every_kind_gets_an_algorithm_that_serves_it", every_kind_gets_an_algorithm_that_serves_it},
        {"a_choice_without_memory_is_none", a_choice_without_memory_is_none},
    };
    return suite_run("choose", cases, sizeof cases / sizeof cases[0]);
}
