/** Plans: a decision per size, and where the winner changes. See plan.h. */
#include "ronde/plan.h"

#include <math.h>

/** A change is looked for until the sizes on both sides are this close. */
#define CLOSE 1.01

static const struct ronde_compile_request *request_of(const struct ronde_plan *plan)
{
    return &plan->selector->choice.candidates[0].request;
}

static uint64_t count_of(const struct ronde_plan *plan, uint64_t bytes)
{
    const struct ronde_compile_request *request = request_of(plan);
    return ronde_collective_count(request->collective, request->ranks, bytes,
                                  plan->selector->options.dtype);
}

/** Size column of a count: what was asked for, in whole elements. */
static uint64_t bytes_of(const struct ronde_plan *plan, uint64_t count)
{
    const struct ronde_compile_request *request = request_of(plan);
    return ronde_collective_bytes(request->collective, request->ranks, count,
                                  plan->selector->options.dtype);
}

/** What a row says of its winner beside the time. Counting takes a look at every rank's steps, so it is done once. */
static enum ronde_status find_facts(struct ronde_plan *plan, uint32_t index,
                                    struct ronde_error *error)
{
    const struct ronde_selector *selector = plan->selector;
    const struct ronde_candidate *candidate = &selector->choice.candidates[index];
    struct ronde_plan_facts *facts = &plan->facts[index];
    struct ronde_load load = plan->rows[0].decision.load;
    struct ronde_quote quote;
    if (facts->is_known)
        return RONDE_OK;
    load.count = load.count > 0 ? 1 : 0;
    const enum ronde_status status =
        ronde_choice_time(&selector->choice, index, &load, &selector->pricer, &quote, error);
    if (status != RONDE_OK)
        return status;
    facts->latency_ns = quote.time_ns;
    facts->sent_blocks = ronde_schedule_volume(candidate->schedule).sent;
    facts->is_known = true;
    return RONDE_OK;
}

static enum ronde_status plan_row(struct ronde_plan *plan, uint64_t count, struct ronde_error *error)
{
    struct ronde_selector *selector = plan->selector;
    const uint32_t candidates = selector->choice.count;
    struct ronde_plan_row *row = &plan->rows[plan->row_count];
    enum ronde_status status = ronde_selector_decide(selector, count, &row->decision, error);
    if (status != RONDE_OK)
        return status;
    row->quotes = ronde_mem_new(ronde_mem_default(), candidates, sizeof *row->quotes);
    if (!row->quotes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", candidates);
    for (uint32_t i = 0; i < candidates; i++)
        row->quotes[i] = selector->quotes[i];
    plan->row_count++;
    row->bytes = bytes_of(plan, count);
    status = find_facts(plan, row->decision.best, error);
    const struct ronde_plan_facts *facts = &plan->facts[row->decision.best];
    row->sent_bytes =
        facts->sent_blocks * (double)count * ronde_dtype_bytes(selector->options.dtype);
    row->latency_ns = facts->latency_ns;
    return status;
}

/** A row per size. */
static enum ronde_status plan_rows(struct ronde_plan *plan, const uint64_t *sizes, uint32_t count,
                                   struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (count > RONDE_PLAN_SIZES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u sizes are more than %u", count,
                          RONDE_PLAN_SIZES);
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = plan_row(plan, count_of(plan, sizes[i]), error);
    return status;
}

/** Halves the factor between a size where the lower winner is cheaper than the upper one, and one where it is not. */
static enum ronde_status find_change(struct ronde_plan *plan, const struct ronde_decision *left,
                                     const struct ronde_decision *right, struct ronde_error *error)
{
    const struct ronde_selector *selector = plan->selector;
    const uint32_t pair[2] = {left->best, right->best};
    struct ronde_load load = left->load;
    uint64_t low = left->load.count, high = right->load.count;
    while (high - low > 1 && (double)high > CLOSE * (double)low) {
        const uint64_t root = (uint64_t)sqrt((double)low * (double)high);
        const uint64_t middle = root <= low ? low + 1 : root >= high ? high - 1 : root;
        bool is_below = false;
        load.count = middle;
        const enum ronde_status status = ronde_choice_compare(&selector->choice, pair, &load,
                                                              &selector->pricer, &is_below, error);
        if (status != RONDE_OK)
            return status;
        low = is_below ? middle : low;
        high = is_below ? high : middle;
    }
    plan->changes[plan->change_count++] =
        (struct ronde_plan_change){bytes_of(plan, high), pair[0], pair[1]};
    return RONDE_OK;
}

enum ronde_status ronde_plan_make(struct ronde_selector *selector, const uint64_t *sizes,
                                  uint32_t count, struct ronde_plan *out_plan,
                                  struct ronde_error *error)
{
    struct ronde_plan *plan = out_plan;
    const uint32_t candidates = selector->choice.count;
    *plan = (struct ronde_plan){.selector = selector};
    plan->facts = ronde_mem_new(ronde_mem_default(), candidates, sizeof *plan->facts);
    if (!plan->facts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u candidates", candidates);
    enum ronde_status status = plan_rows(plan, sizes, count, error);
    for (uint32_t i = 0; status == RONDE_OK && i + 1 < plan->row_count; i++)
        if (plan->rows[i].decision.best != plan->rows[i + 1].decision.best)
            status = find_change(plan, &plan->rows[i].decision, &plan->rows[i + 1].decision, error);
    return status;
}

void ronde_plan_free(struct ronde_plan *plan)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t candidates = plan->selector ? plan->selector->choice.count : 0;
    for (uint32_t i = 0; i < plan->row_count; i++)
        ronde_mem_free(mem, plan->rows[i].quotes, candidates, sizeof *plan->rows[i].quotes);
    ronde_mem_free(mem, plan->facts, candidates, sizeof *plan->facts);
    *plan = (struct ronde_plan){.selector = NULL};
}
