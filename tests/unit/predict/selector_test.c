/*
 * What a decision rests on, and the decision: the cheapest of the prices, for every size; a plan is these decisions and the
 * sizes at which they change.
 */
#include "support/suite.h"
#include "unit/platform_text.h"

#include "ronde/executors.h"
#include "ronde/plan.h"
#include "ronde/record.h"
#include "ronde/selector.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct ronde_compile_request request_of(enum ronde_collective collective, uint32_t ranks)
{
    return (struct ronde_compile_request){.collective = collective, .ranks = ranks};
}

/* A selector of all_reduces on 16 hosts of a shipped platform. False after a skip. */
static bool open_on(const char *topology, enum ronde_collective collective, uint32_t ranks,
                    struct ronde_selector *out)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .topology = topology};
    const struct ronde_compile_request request = request_of(collective, ranks);
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return false;
    enum ronde_status status = ronde_selector_open(&options, &request, out, &error);
    if (status == RONDE_OK)
        status = ronde_selector_use(out, NULL, "cpu", UINT32_MAX, &error);
    CU_ASSERT_EQUAL(status, RONDE_OK);
    if (status != RONDE_OK) {
        suite_note("%s", error.message);
        ronde_selector_close(out);
    }
    return status == RONDE_OK;
}

static void what_decides_is_said_in_words(void)
{
    static const struct {
        const char *topology, *backend;
        enum ronde_status status;
        enum ronde_basis basis;
        const char *text; /* of the words, or of the message */
    } rows[] = {
        {"crossbar-64", "cpu", RONDE_OK, RONDE_BASIS_PLATFORM, "price on crossbar-64 ("},
        {"crossbar-64.xml", "steam", RONDE_OK, RONDE_BASIS_PLATFORM, "price on crossbar-64 ("},
        {NULL, "cpu", RONDE_OK, RONDE_BASIS_MEASURED, "times measured on cpu, "},
        {NULL, "host", RONDE_OK, RONDE_BASIS_MEASURED, "times measured on cpu, "},
        {NULL, "null", RONDE_OK, RONDE_BASIS_MEASURED, "times measured on cpu, "},
        {NULL, "cuda", RONDE_OK, RONDE_BASIS_TYPICAL, ", which stands for cuda"},
        {NULL, "steam", RONDE_UNSUPPORTED, RONDE_BASIS_NONE, "nothing is known of how fast steam"},
        {"no-such-machine", "cpu", RONDE_IO, RONDE_BASIS_NONE, "no-such-machine"},
    };
    if (!suite_can_read_platforms())
        return;
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; k++) {
        const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32,
                                                   .topology = rows[k].topology};
        const struct ronde_compile_request request = request_of(RONDE_ALL_REDUCE, 2);
        struct ronde_selector selector;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL_FATAL(ronde_selector_open(&options, &request, &selector, &error), RONDE_OK);
        const enum ronde_status status =
            ronde_selector_use(&selector, NULL, ronde_executor_times_of(rows[k].backend), 2, &error);
        const char *said = status == RONDE_OK ? selector.words : error.message;
        CU_ASSERT_EQUAL(status, rows[k].status);
        CU_ASSERT_EQUAL(selector.basis, rows[k].basis);
        CU_ASSERT_PTR_NOT_NULL(strstr(said, rows[k].text));
        if (status != rows[k].status || !strstr(said, rows[k].text))
            suite_note("%s: %s: %s", rows[k].backend, ronde_status_text(status), said);
        ronde_selector_close(&selector);
    }
}

/* A platform that is handed in goes before the one of the options. */
static void a_platform_that_is_given_goes_first(void)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32, .topology = "torus-8x8"};
    const struct ronde_compile_request request = request_of(RONDE_ALL_REDUCE, 8);
    struct ronde_selector selector;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    struct ronde_platform *platform = platform_text_open("topologies/crossbar-64.xml");
    CU_ASSERT_PTR_NOT_NULL_FATAL(platform);
    CU_ASSERT_EQUAL(ronde_selector_open(&options, &request, &selector, &error), RONDE_OK);
    CU_ASSERT_EQUAL(ronde_selector_use(&selector, platform, "cpu", 8, &error), RONDE_OK);
    CU_ASSERT_PTR_NOT_NULL(strstr(selector.words, "price on crossbar-64 ("));
    CU_ASSERT_PTR_NULL(selector.own);
    ronde_selector_close(&selector);
    ronde_platform_destroy(platform);
}

static bool is_set_up_of(const struct ronde_selector *selector, uint32_t a, uint32_t b)
{
    const struct ronde_candidate *candidates = selector->choice.candidates;
    const char *one = candidates[a].request.algorithm, *two = candidates[b].request.algorithm;
    return strcmp(one, two) == 0 || (ronde_is_synthesized(one) && ronde_is_synthesized(two));
}

static double compared_ns(const struct ronde_selector *selector, uint32_t candidate)
{
    return ronde_candidate_compared(&selector->choice.candidates[candidate],
                                    selector->quotes[candidate].time_ns);
}

/* Bounds that are left may be a little below the winner: finding out is not worth a replay. */
static void the_winner_is_the_cheapest_and_the_runner_up_the_next(void)
{
    static const char *const machines[] = {"crossbar-64", "torus-8x8", "dgx-h100", "dragonfly-72"};
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        struct ronde_selector selector;
        if (!open_on(machines[m], RONDE_ALL_REDUCE, 8, &selector))
            return;
        for (uint64_t count = 1; count <= 1u << 26; count *= 7) {
            struct ronde_decision decision;
            struct ronde_error error = {0};
            CU_ASSERT_EQUAL(ronde_selector_decide(&selector, count, &decision, &error), RONDE_OK);
            CU_ASSERT_EQUAL(decision.load.count, count);
            for (uint32_t k = 0; k < selector.choice.count; k++) {
                const double ns = compared_ns(&selector, k);
                const bool competes = selector.choice.candidates[k].is_eligible && ns > 0.0;
                const bool is_bound = selector.quotes[k].is_bound;
                const double least = 1 - (is_bound ? 0.015 : 1e-9);
                CU_ASSERT(!competes || ns >= least * compared_ns(&selector, decision.best));
                CU_ASSERT(!competes || is_bound || is_set_up_of(&selector, k, decision.best) ||
                          ns >= least * compared_ns(&selector, decision.second));
            }
            CU_ASSERT_NOT_EQUAL(decision.best, decision.second);
        }
        ronde_selector_close(&selector);
    }
}

/* Time that a candidate is quoted for so many bytes. */
static double quoted(struct ronde_selector *selector, enum ronde_collective collective,
                     uint32_t ranks, uint64_t bytes, uint32_t candidate)
{
    struct ronde_decision decision;
    struct ronde_error error = {0};
    const uint64_t count = ronde_record_count(collective, ranks, bytes, RONDE_FLOAT32);
    CU_ASSERT_EQUAL(ronde_selector_decide(selector, count, &decision, &error), RONDE_OK);
    return compared_ns(selector, candidate);
}

/* Where a plan changes its mind, the winners on both sides take about as long; of the loser a bound may be all that is known. */
static void check_changes(struct ronde_selector *selector, enum ronde_collective collective,
                          uint32_t ranks, const struct ronde_plan *plan)
{
    uint32_t changes = 0;
    for (uint32_t r = 0; r + 1 < plan->row_count; r++) {
        const uint32_t below = plan->rows[r].decision.best, above = plan->rows[r + 1].decision.best;
        if (below == above)
            continue;
        CU_ASSERT_FATAL(changes < plan->change_count);
        const struct ronde_plan_change *change = &plan->changes[changes++];
        CU_ASSERT(change->below == below && change->above == above);
        CU_ASSERT(change->bytes > plan->rows[r].bytes && change->bytes <= plan->rows[r + 1].bytes);
        const double above_ns = quoted(selector, collective, ranks, change->bytes, above);
        const double below_ns = quoted(selector, collective, ranks, change->bytes, below);
        const bool is_bound = selector->quotes[below].is_bound || selector->quotes[above].is_bound;
        CU_ASSERT(above_ns <= below_ns * (is_bound ? 1.015 : 1.0 + 1e-9));
        if (above_ns > below_ns * (is_bound ? 1.015 : 1.0 + 1e-9))
            suite_note("%llu B: %g ns above, %g below", (unsigned long long)change->bytes, above_ns,
                       below_ns);
    }
    CU_ASSERT_EQUAL(changes, plan->change_count);
}

static void a_plan_is_its_decisions_and_where_they_change(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_REDUCE, RONDE_BROADCAST,
                                                        RONDE_ALL_GATHER, RONDE_REDUCE_SCATTER};
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        struct ronde_selector selector;
        struct ronde_plan plan;
        struct ronde_error error = {0};
        uint64_t sizes[12];
        for (uint32_t k = 0; k < 12; k++)
            sizes[k] = UINT64_C(8) << (2 * k);
        if (!open_on("crossbar-64", collectives[c], 16, &selector))
            return;
        CU_ASSERT_EQUAL(ronde_plan_make(&selector, sizes, 12, &plan, &error), RONDE_OK);
        CU_ASSERT_EQUAL(plan.row_count, 12);
        for (uint32_t r = 0; r < plan.row_count; r++) {
            const struct ronde_plan_row *row = &plan.rows[r];
            const double best_ns = row->quotes[row->decision.best].time_ns;
            CU_ASSERT(row->bytes == sizes[r] || r < 3);
            CU_ASSERT(best_ns > 0.0 && row->latency_ns > 0.0);
            CU_ASSERT(row->latency_ns <= best_ns * (1.0 + 1e-9));
            CU_ASSERT(r == 0 || row->sent_bytes > 0.0);
        }
        check_changes(&selector, collectives[c], 16, &plan);
        ronde_plan_free(&plan);
        ronde_plan_free(&plan);
        ronde_selector_close(&selector);
    }
}

/* Eight GPUs of which every two have a link of 64 GB/s: a block for each other rank takes as long as one block. */
static void all_links_of_a_mesh_are_busy(void)
{
    static const enum ronde_collective collectives[] = {RONDE_ALL_TO_ALL, RONDE_SCATTER,
                                                        RONDE_GATHER, RONDE_ALL_GATHER,
                                                        RONDE_REDUCE_SCATTER};
    const uint64_t block_bytes = UINT64_C(64) << 20;
    for (size_t c = 0; c < sizeof collectives / sizeof collectives[0]; c++) {
        struct ronde_selector selector;
        if (!open_on("mi300x", collectives[c], 8, &selector))
            return;
        const double least_ns = (double)block_bytes / 64;
        struct ronde_decision decision;
        struct ronde_error error = {0};
        CU_ASSERT_EQUAL(ronde_selector_decide(&selector, block_bytes / sizeof(float), &decision,
                                              &error),
                        RONDE_OK);
        CU_ASSERT(selector.quotes[decision.best].time_ns >= least_ns);
        CU_ASSERT(selector.quotes[decision.best].time_ns < 1.02 * least_ns);
        ronde_selector_close(&selector);
    }
}

static void more_sizes_than_a_plan_has_are_refused(void)
{
    static uint64_t sizes[RONDE_PLAN_SIZES + 1];
    struct ronde_selector selector;
    struct ronde_plan plan;
    struct ronde_error error = {0};
    for (uint32_t k = 0; k <= RONDE_PLAN_SIZES; k++)
        sizes[k] = 8 + 4 * k;
    if (!open_on("crossbar-64", RONDE_BROADCAST, 4, &selector))
        return;
    CU_ASSERT_EQUAL(ronde_plan_make(&selector, sizes, RONDE_PLAN_SIZES + 1, &plan, &error),
                    RONDE_BAD_ARGUMENT);
    CU_ASSERT_NOT_EQUAL(error.message[0], '\0');
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
    ronde_selector_close(&selector);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"what_decides_is_said_in_words", what_decides_is_said_in_words},
        {"a_platform_that_is_given_goes_first", a_platform_that_is_given_goes_first},
        {"the_winner_is_the_cheapest_and_the_runner_up_the_next",
         the_winner_is_the_cheapest_and_the_runner_up_the_next},
        {"a_plan_is_its_decisions_and_where_they_change",
         a_plan_is_its_decisions_and_where_they_change},
        {"all_links_of_a_mesh_are_busy", all_links_of_a_mesh_are_busy},
        {"more_sizes_than_a_plan_has_are_refused", more_sizes_than_a_plan_has_are_refused},
    };
    return suite_run("selector", cases, sizeof cases / sizeof cases[0]);
}
