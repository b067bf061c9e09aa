/* Plans: a decision per size, and where the winner changes. See plan.h. */
#include "plan.h"

#include "account.h"

#include <math.h>

/* A change is looked for until the sizes on both sides are this close. */
#define CLOSE 1.01

static const struct ronde_request *request_of(const struct ronde_plan *plan)
{
    return &plan->chooser->choice.candidates[0].request;
}

static uint64_t count_of(const struct ronde_plan *plan, uint64_t bytes)
{
    const struct ronde_request *request = request_of(plan);
    return ronde_record_count(request->collective, request->ranks, bytes,
                              plan->chooser->options->dtype);
}

/* Size column of a count: what was asked for, in whole elements. */
static uint64_t bytes_of(const struct ronde_plan *plan, uint64_t count)
{
    const struct ronde_request *request = request_of(plan);
    return ronde_record_bytes(request->collective, request->ranks, count,
                              plan->chooser->options->dtype);
}

/* What a row says of its winner beside the time. Counting takes a look at every rank's steps, so it is done once. */
static enum ronde_status find_facts(struct ronde_plan *plan, uint32_t index,
                                    struct ronde_error *error)
{
    const struct ronde_chooser *chooser = plan->chooser;
    const struct ronde_candidate *candidate = &chooser->choice.candidates[index];
    struct ronde_plan_facts *facts = &plan->facts[index];
    struct ronde_load load = plan->rows[0].decision.load;
    struct ronde_quote quote;
    if (facts->is_known)
        return RONDE_OK;
    load.count = load.count > 0 ? 1 : 0;
    const enum ronde_status status = chooser->pricer.price(chooser->pricer.self, candidate, &load,
                                                           chooser->choice.mem, &quote, error);
    if (status != RONDE_OK)
        return status;
    facts->latency_ns = quote.time_ns;
    facts->sent_blocks = ronde_account_of(candidate->schedule, &candidate->schedule->proof).sent_max;
    facts->is_known = true;
    return RONDE_OK;
}

static enum ronde_status plan_row(struct ronde_plan *plan, uint64_t count, struct ronde_error *error)
{
    struct ronde_chooser *chooser = plan->chooser;
    const uint32_t candidates = chooser->choice.count;
    struct ronde_plan_row *row = &plan->rows[plan->row_count];
    enum ronde_status status = ronde_chooser_decide(chooser, count, &row->decision, error);
    if (status != RONDE_OK)
        return status;
    row->quotes = ronde_mem_new(ronde_mem_default(), candidates, sizeof *row->quotes);
    if (!row->quotes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", candidates);
    for (uint32_t i = 0; i < candidates; i++)
        row->quotes[i] = chooser->quotes[i];
    plan->row_count++;
    row->bytes = bytes_of(plan, count);
    status = find_facts(plan, row->decision.best, error);
    const struct ronde_plan_facts *facts = &plan->facts[row->decision.best];
    row->sent_bytes =
        facts->sent_blocks * (double)count * ronde_dtype_bytes(chooser->options->dtype);
    row->latency_ns = facts->latency_ns;
    return status;
}

/* Sizes that come to the same number of elements are one. */
static enum ronde_status plan_rows(struct ronde_plan *plan, struct ronde_error *error)
{
    const struct ronde_options *options = plan->chooser->options;
    uint64_t last = UINT64_MAX, bytes = options->min_bytes;
    enum ronde_status status = RONDE_OK;
    do {
        const uint64_t count = count_of(plan, bytes);
        if (count != last && plan->row_count == RONDE_MAX_SIZES)
            return ronde_fail(error, RONDE_BAD_ARGUMENT,
                              "more than %u sizes: a larger factor than %llu makes fewer",
                              RONDE_MAX_SIZES, (unsigned long long)options->factor);
        if (count != last)
            status = plan_row(plan, count, error);
        last = count;
        bytes = ronde_options_next_size(options, bytes);
    } while (status == RONDE_OK && bytes != 0);
    return status;
}

/* Whether one candidate is cheaper than another for so many elements. */
static enum ronde_status is_cheaper(const struct ronde_plan *plan, const uint32_t pair[2],
                                    uint64_t count, bool *out_is_cheaper, struct ronde_error *error)
{
    const struct ronde_chooser *chooser = plan->chooser;
    struct ronde_load load = plan->rows[0].decision.load;
    struct ronde_quote quotes[2];
    enum ronde_status status = RONDE_OK;
    load.count = count;
    for (int i = 0; i < 2 && status == RONDE_OK; i++)
        status = chooser->pricer.price(chooser->pricer.self, &chooser->choice.candidates[pair[i]],
                                       &load, chooser->choice.mem, &quotes[i], error);
    if (status == RONDE_OK)
        *out_is_cheaper = quotes[0].time_ns <= quotes[1].time_ns;
    return status;
}

/* Halves the factor between a size where the lower winner is cheaper than the upper one, and one where it is not. */
static enum ronde_status find_change(struct ronde_plan *plan, const struct ronde_decision *left,
                                     const struct ronde_decision *right, struct ronde_error *error)
{
    const uint32_t pair[2] = {left->best, right->best};
    uint64_t low = left->load.count, high = right->load.count;
    while (high - low > 1 && (double)high > CLOSE * (double)low) {
        const uint64_t root = (uint64_t)sqrt((double)low * (double)high);
        const uint64_t middle = root <= low ? low + 1 : root >= high ? high - 1 : root;
        bool is_below = false;
        const enum ronde_status status = is_cheaper(plan, pair, middle, &is_below, error);
        if (status != RONDE_OK)
            return status;
        low = is_below ? middle : low;
        high = is_below ? high : middle;
    }
    plan->changes[plan->change_count++] =
        (struct ronde_plan_change){bytes_of(plan, high), pair[0], pair[1]};
    return RONDE_OK;
}

enum ronde_status ronde_plan_make(struct ronde_chooser *chooser, struct ronde_plan *out_plan,
                                  struct ronde_error *error)
{
    struct ronde_plan *plan = out_plan;
    const uint32_t candidates = chooser->choice.count;
    *plan = (struct ronde_plan){.chooser = chooser};
    plan->facts = ronde_mem_new(ronde_mem_default(), candidates, sizeof *plan->facts);
    if (!plan->facts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u candidates", candidates);
    enum ronde_status status = plan_rows(plan, error);
    for (uint32_t i = 0; status == RONDE_OK && i + 1 < plan->row_count; i++)
        if (plan->rows[i].decision.best != plan->rows[i + 1].decision.best)
            status = find_change(plan, &plan->rows[i].decision, &plan->rows[i + 1].decision, error);
    return status;
}

void ronde_plan_free(struct ronde_plan *plan)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t candidates = plan->chooser ? plan->chooser->choice.count : 0;
    for (uint32_t i = 0; i < plan->row_count; i++)
        ronde_mem_free(mem, plan->rows[i].quotes, candidates, sizeof *plan->rows[i].quotes);
    ronde_mem_free(mem, plan->facts, candidates, sizeof *plan->facts);
    *plan = (struct ronde_plan){.chooser = NULL};
}
