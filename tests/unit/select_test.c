/**
 * One algorithm for one launch: a platform before a table, a table before the default, each only where it knows something,
 * and only algorithms that can do what is asked.
 */
#include "support/suite.h"

#include "ronde/select.h"
#include "ronde/topologies.h"

#include <string.h>

static struct ronde_selection ask(const struct ronde_select_query *query)
{
    struct ronde_selection selection = {.algorithm = ""};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL(ronde_select(query, ronde_mem_default(), &selection, &error), RONDE_OK);
    if (error.status != RONDE_OK)
        suite_note("%s", error.message);
    CU_ASSERT(ronde_algorithm_find(query->request.collective, selection.algorithm, &error) != NULL);
    return selection;
}

/* tune/tables/cpu.txt on 2 ranks: tree 0.178 us at 8 bytes, double_tree 108.5 us at 2 MiB against 109 of the ring. */
static void tables_decide_where_they_speak(void)
{
    struct ronde_select_query query = {.request = {.collective = RONDE_ALL_REDUCE, .ranks = 2},
                                       .count = 2,
                                       .dtype = RONDE_FLOAT32,
                                       .backend = "cpu",
                                       .cores = 2,
                                       .is_one_host = true};
    struct ronde_selection selection = ask(&query);
    CU_ASSERT_STRING_EQUAL(selection.algorithm, "tree");
    CU_ASSERT_EQUAL(selection.basis, RONDE_BASIS_MEASURED);
    CU_ASSERT_DOUBLE_EQUAL(selection.time_ns, 178.0, 1e-9);
    CU_ASSERT(strstr(selection.words, "times measured on cpu, 2 ranks, ") == selection.words);
    query.count = 1u << 19;
    CU_ASSERT_STRING_EQUAL(ask(&query).algorithm, "double_tree");
}

/* A backend without a table, and one that is not named: few messages for few bytes, few bytes for many. */
static void without_a_table_the_default_decides(void)
{
    for (int is_one_host = 0; is_one_host < 2; is_one_host++) {
        struct ronde_select_query query = {.request = {.collective = RONDE_ALL_REDUCE, .ranks = 16},
                                           .count = 1,
                                           .dtype = RONDE_FLOAT32,
                                           .backend = is_one_host ? NULL : "hybrid",
                                           .cores = 64,
                                           .is_one_host = is_one_host};
        const struct ronde_selection small = ask(&query);
        query.count = 1u << 28;
        const struct ronde_selection large = ask(&query);
        CU_ASSERT_EQUAL(small.basis, RONDE_BASIS_DEFAULT);
        CU_ASSERT_EQUAL(large.basis, RONDE_BASIS_DEFAULT);
        CU_ASSERT_STRING_NOT_EQUAL(small.algorithm, large.algorithm);
        CU_ASSERT(small.time_ns > 0.0 && small.time_ns < large.time_ns);
        CU_ASSERT(strstr(small.words, "nominal network") != NULL);
    }
}

/* Blocks of different lengths: the answer has such a form, though a faster one has none. */
static void only_what_can_do_it_is_chosen(void)
{
    for (uint32_t ranks = 2; ranks <= 8; ranks++) {
        const struct ronde_select_query query = {.request = {.collective = RONDE_ALL_GATHER,
                                                             .ranks = ranks},
                                                 .count = 4096,
                                                 .dtype = RONDE_UINT8,
                                                 .needs_v_form = true,
                                                 .backend = "proc",
                                                 .cores = 2,
                                                 .is_one_host = true};
        struct ronde_compile_request request = query.request;
        struct ronde_schedule *schedule = NULL;
        struct ronde_error error = {0};
        request.algorithm = ask(&query).algorithm;
        CU_ASSERT_EQUAL_FATAL(ronde_compile(&request, ronde_mem_default(), NULL, &schedule, &error),
                              RONDE_OK);
        CU_ASSERT_NOT_EQUAL(schedule->v_form, RONDE_V_NONE);
        ronde_schedule_destroy(schedule);
    }
}

static void a_platform_goes_before_a_table(void)
{
    const char *reason = NULL;
    char path[1024];
    struct ronde_platform *platform = NULL;
    struct ronde_error error = {0};
    if (!ronde_topologies_available(&reason)) {
        suite_skip("no platform can be read: %s", reason);
        return;
    }
    CU_ASSERT_FATAL(suite_source(path, sizeof path, "topologies/crossbar-64.xml"));
    CU_ASSERT_EQUAL_FATAL(ronde_platform_read(path, ronde_mem_default(), &platform, &error),
                          RONDE_OK);
    const struct ronde_select_query query = {.request = {.collective = RONDE_BROADCAST, .ranks = 16},
                                             .count = 256,
                                             .dtype = RONDE_FLOAT32,
                                             .slot_bytes = 256u << 10,
                                             .backend = "cpu",
                                             .cores = 2,
                                             .platform = platform};
    const struct ronde_selection selection = ask(&query);
    /* The first row of the plan in docs/choosing.md. */
    CU_ASSERT_STRING_EQUAL(selection.algorithm, "direct");
    CU_ASSERT_EQUAL(selection.basis, RONDE_BASIS_PLATFORM);
    CU_ASSERT_DOUBLE_EQUAL(selection.time_ns, 1310.0, 5.0);
    ronde_platform_destroy(platform);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"tables_decide_where_they_speak", tables_decide_where_they_speak},
        {"without_a_table_the_default_decides", without_a_table_the_default_decides},
        {"only_what_can_do_it_is_chosen", only_what_can_do_it_is_chosen},
        {"a_platform_goes_before_a_table", a_platform_goes_before_a_table},
    };
    return suite_run("select", cases, sizeof cases / sizeof cases[0]);
}
