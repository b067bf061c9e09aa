/**
 * One algorithm for one launch: a platform before a table, a table before the default, each only where it knows something,
 * and only algorithms that can do what is asked.
 */
#include "support/files.h"
#include "support/suite.h"

#include "ronde/select.h"
#include "ronde/topologies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* predict/tables/cpu.txt on 2 ranks: tree 0.178 us at 8 bytes, double_tree 108.5 us at 2 MiB against 109 of the ring. */
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
    /* The first row of the plan in docs/guide/choosing.md. */
    CU_ASSERT_STRING_EQUAL(selection.algorithm, "direct");
    CU_ASSERT_EQUAL(selection.basis, RONDE_BASIS_PLATFORM);
    CU_ASSERT_DOUBLE_EQUAL(selection.time_ns, 1310.0, 5.0);
    ronde_platform_destroy(platform);
}

/* The networks that select.h names, asked directly: the answer is their cheapest candidate, and its time. */
static void the_default_is_the_cheapest_on_its_network(void)
{
    static const struct ronde_network networks[] = {{.latency_ns = 20e3, .port_GBps = 12.5},
                                                    {.time = {.copy_GBps = 8, .gamma_GBps = 8},
                                                     .latency_ns = 200,
                                                     .port_GBps = 8}};
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_BROADCAST,
                                                        RONDE_ALL_TO_ALL};
    for (int is_one_host = 0; is_one_host < 2; is_one_host++)
        for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++)
            for (uint64_t count = 1; count <= 1u << 24; count <<= 8) {
                const struct ronde_select_query query = {.request = {.collective = collectives[c],
                                                                     .ranks = 6},
                                                         .count = count,
                                                         .dtype = RONDE_FLOAT64,
                                                         .slot_bytes = 32768,
                                                         .is_one_host = is_one_host};
                const struct ronde_load load = {.count = count,
                                                .dtype = RONDE_FLOAT64,
                                                .slot_bytes = 32768};
                const struct ronde_pricer pricer = ronde_network_pricer(&networks[is_one_host]);
                const struct ronde_selection selection = ask(&query);
                struct ronde_choice choice;
                struct ronde_quote quotes[32];
                struct ronde_error error = {0};
                CU_ASSERT_EQUAL_FATAL(ronde_choice_init(&query.request, ronde_mem_default(),
                                                        &choice, &error),
                                      RONDE_OK);
                CU_ASSERT_FATAL(choice.count < 32);
                CU_ASSERT_EQUAL(ronde_choice_price(&choice, &load, &pricer, quotes, &error),
                                RONDE_OK);
                for (uint32_t k = 0; k < choice.count; k++)
                    CU_ASSERT(!choice.candidates[k].is_eligible ||
                              selection.time_ns <= quotes[k].time_ns);
                const uint32_t best = ronde_choice_find(&choice, selection.algorithm);
                CU_ASSERT_FATAL(best < choice.count);
                CU_ASSERT_EQUAL(selection.time_ns, quotes[best].time_ns);
                ronde_choice_fini(&choice);
            }
}

/* Where no candidate has the form that is asked for, that is said; where one has, it is taken. */
static void a_form_that_no_algorithm_has_is_refused(void)
{
    unsigned refused = 0;
    for (unsigned c = 0; c < RONDE_COLLECTIVE_COUNT; c++) {
        const struct ronde_select_query query = {.request = {.collective = (enum ronde_collective)c,
                                                             .ranks = 4},
                                                 .count = 64,
                                                 .dtype = RONDE_UINT8,
                                                 .needs_v_form = true,
                                                 .is_one_host = true};
        struct ronde_selection selection = {.algorithm = "as it was"};
        struct ronde_choice choice;
        struct ronde_error error = {0};
        bool has_form = false;
        CU_ASSERT_EQUAL_FATAL(ronde_choice_init(&query.request, ronde_mem_default(), &choice, &error),
                              RONDE_OK);
        for (uint32_t k = 0; k < choice.count; k++)
            has_form |= choice.candidates[k].schedule->v_form != RONDE_V_NONE;
        ronde_choice_fini(&choice);
        CU_ASSERT_EQUAL(ronde_select(&query, ronde_mem_default(), &selection, &error),
                        has_form ? RONDE_OK : RONDE_UNSUPPORTED);
        if (has_form)
            continue;
        refused++;
        CU_ASSERT_STRING_EQUAL(selection.algorithm, "as it was");
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "blocks of different lengths"));
        CU_ASSERT_PTR_NOT_NULL(
            strstr(error.message, ronde_collective_text((enum ronde_collective)c)));
    }
    suite_note("%u of %u collectives", refused, (unsigned)RONDE_COLLECTIVE_COUNT);
    CU_ASSERT(refused < RONDE_COLLECTIVE_COUNT);
}

static void impossible_launches_are_refused(void)
{
    static const struct ronde_compile_request requests[] = {
        {.collective = RONDE_ALL_REDUCE, .ranks = 0},
        {.collective = RONDE_BROADCAST, .ranks = 4, .root = 4},
        {.collective = RONDE_ALL_REDUCE, .ranks = 6, .shape_count = 2, .shape = {2, 2}},
    };
    for (size_t r = 0; r < sizeof requests / sizeof requests[0]; r++) {
        const struct ronde_select_query query = {.request = requests[r],
                                                 .count = 1,
                                                 .dtype = RONDE_FLOAT32};
        struct ronde_selection selection = {.algorithm = "as it was", .time_ns = 7};
        struct ronde_error error = {0};
        const enum ronde_status status =
            ronde_select(&query, ronde_mem_default(), &selection, &error);
        CU_ASSERT(status == RONDE_BAD_ARGUMENT || status == RONDE_UNSUPPORTED);
        CU_ASSERT_EQUAL(error.status, status);
        CU_ASSERT(error.message[0] != '\0');
        CU_ASSERT_STRING_EQUAL(selection.algorithm, "as it was");
        CU_ASSERT_EQUAL(selection.time_ns, 7);
    }
}

/* Tables in $RONDE_TUNE_DIR: one decides what it has rows for, leaves the rest to others, and a malformed one is an error. */
static void tables_of_the_user_decide_what_they_measured(void)
{
    static const char head[] = "ronde measured times 1\nbackend paper\nmachine of paper\n"
                               "date 2026-11-22\ncores 4\nbytes 8 4096\n";
    static const struct {
        const char *rows;
        enum ronde_status status;
        enum ronde_basis basis;
        const char *algorithm; /**< NULL = any */
    } cases[] = {
        {"broadcast chain 4 1 9\nbroadcast binomial 4 2 8\n", RONDE_OK, RONDE_BASIS_MEASURED,
         "chain"},
        {"broadcast chain 4 3 9\nbroadcast binomial 4 2 8\n", RONDE_OK, RONDE_BASIS_MEASURED,
         "binomial"},
        {"broadcast chain 4 0 0\nbroadcast binomial 4 2 8\n", RONDE_OK, RONDE_BASIS_MEASURED,
         "binomial"},
        {"all_reduce ring 4 1 2\n", RONDE_OK, RONDE_BASIS_DEFAULT, NULL},
        {"broadcast chain 4 1\n", RONDE_BAD_INPUT, RONDE_BASIS_NONE, NULL},
        {"broadcast chain 4 1 x\n", RONDE_BAD_INPUT, RONDE_BASIS_NONE, NULL},
    };
    char folder[] = "select_test_XXXXXX", path[64];
    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/paper.txt", folder);
    CU_ASSERT_EQUAL_FATAL(setenv("RONDE_TUNE_DIR", folder, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct ronde_select_query query = {.request = {.collective = RONDE_BROADCAST,
                                                             .ranks = 4},
                                                 .count = 8,
                                                 .dtype = RONDE_UINT8,
                                                 .backend = "paper",
                                                 .cores = 4,
                                                 .is_one_host = true};
        struct ronde_selection selection = {.basis = RONDE_BASIS_NONE};
        struct ronde_error error = {0};
        char text[512];
        snprintf(text, sizeof text, "%s%s", head, cases[i].rows);
        CU_ASSERT_FATAL(files_write(path, text));
        CU_ASSERT_EQUAL(ronde_select(&query, ronde_mem_default(), &selection, &error),
                        cases[i].status);
        CU_ASSERT_EQUAL(selection.basis, cases[i].basis);
        CU_ASSERT_EQUAL(error.line, cases[i].status == RONDE_OK ? 0 : 7);
        if (cases[i].algorithm)
            CU_ASSERT_STRING_EQUAL(selection.algorithm, cases[i].algorithm);
        if (selection.basis == RONDE_BASIS_MEASURED)
            CU_ASSERT_STRING_EQUAL(selection.words,
                                   "times measured on paper, 4 ranks, of paper, 2026-11-22");
    }
    CU_ASSERT_EQUAL(unsetenv("RONDE_TUNE_DIR"), 0);
    CU_ASSERT_EQUAL(unlink(path) + rmdir(folder), 0);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"tables_decide_where_they_speak", tables_decide_where_they_speak},
        {"without_a_table_the_default_decides", without_a_table_the_default_decides},
        {"only_what_can_do_it_is_chosen", only_what_can_do_it_is_chosen},
        {"a_platform_goes_before_a_table", a_platform_goes_before_a_table},
        {"the_default_is_the_cheapest_on_its_network", the_default_is_the_cheapest_on_its_network},
        {"a_form_that_no_algorithm_has_is_refused", a_form_that_no_algorithm_has_is_refused},
        {"impossible_launches_are_refused", impossible_launches_are_refused},
        {"tables_of_the_user_decide_what_they_measured",
         tables_of_the_user_decide_what_they_measured},
    };
    return suite_run("select", cases, sizeof cases / sizeof cases[0]);
}
