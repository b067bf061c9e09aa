/* What is decided of a size depends on no other size, nor on the thread that decides it: of a long plan two decide a half each. */
#include "support/suite.h"

#include "ronde/plan.h"
#include "ronde/selector.h"

#define SIZES 3u

/* What was told of the progress, and whether it ever went back. */
struct told {
    uint32_t times, last;
    bool goes_back;
};

static void note_progress(void *context, uint64_t done, uint64_t all)
{
    struct told *told = context;
    told->times++;
    told->goes_back |= done < told->last || all != SIZES;
    told->last = (uint32_t)done;
}

static void open_selector(struct ronde_sim_progress progress, struct ronde_selector *out)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32,
                                               .topology = "dgx-h100-pod",
                                               .plan_progress = progress};
    const struct ronde_compile_request request = {.collective = RONDE_ALL_REDUCE, .ranks = 32};
    struct ronde_error error = {0};
    CU_ASSERT_EQUAL_FATAL(ronde_selector_open(&options, &request, out, &error), RONDE_OK);
    CU_ASSERT_EQUAL_FATAL(ronde_selector_use(out, NULL, "cpu", UINT32_MAX, &error), RONDE_OK);
}

static void compare_with_alone(const struct ronde_plan_row *row, uint64_t size)
{
    const struct ronde_sim_progress quiet = {.on_progress = NULL};
    struct ronde_selector selector;
    struct ronde_plan plan;
    struct ronde_error error = {0};
    open_selector(quiet, &selector);
    CU_ASSERT_EQUAL_FATAL(ronde_plan_make(&selector, &size, 1, &plan, &error), RONDE_OK);
    const struct ronde_plan_row *alone = &plan.rows[0];
    const uint32_t best = alone->decision.best;
    CU_ASSERT_EQUAL(row->decision.best, best);
    CU_ASSERT_EQUAL(row->decision.second, alone->decision.second);
    CU_ASSERT_EQUAL(row->decision.slot_bytes, alone->decision.slot_bytes);
    CU_ASSERT_EQUAL(row->bytes, alone->bytes);
    CU_ASSERT_EQUAL(row->latency_ns, alone->latency_ns);
    CU_ASSERT(row->latency_ns > 0);
    for (uint32_t i = 0; i < selector.choice.count; i++) {
        CU_ASSERT_EQUAL(row->quotes[i].time_ns, alone->quotes[i].time_ns);
        CU_ASSERT_EQUAL(row->quotes[i].is_bound, alone->quotes[i].is_bound);
    }
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
}

static void a_long_plan_is_the_plans_of_its_sizes(void)
{
    static const uint64_t sizes[SIZES] = {UINT64_C(64) << 10, UINT64_C(4) << 20, UINT64_C(1) << 30};
    struct told told = {0};
    struct ronde_selector selector;
    struct ronde_plan plan;
    struct ronde_error error = {0};
    if (!suite_can_read_platforms())
        return;
    open_selector((struct ronde_sim_progress){note_progress, &told}, &selector);
    CU_ASSERT_EQUAL_FATAL(ronde_plan_make(&selector, sizes, SIZES, &plan, &error), RONDE_OK);
    CU_ASSERT(told.times >= 3 && told.last == SIZES && !told.goes_back);
    for (uint32_t r = 0; r < SIZES; r++)
        compare_with_alone(&plan.rows[r], sizes[r]);
    ronde_plan_free(&plan);
    ronde_selector_close(&selector);
}

int main(void)
{
    static const struct suite_case cases[] = {
        {"a_long_plan_is_the_plans_of_its_sizes", a_long_plan_is_the_plans_of_its_sizes},
    };
    return suite_run("plan", cases, sizeof cases / sizeof cases[0]);
}
