/** Plans: a decision per size, and where the winner changes. See plan.h. */
#include "ronde/plan.h"

#include <math.h>
#include <string.h>

/**
 * A change is looked for among sizes this part of the lower one apart: to 6 %, and where blocks divide as those of the rows
 * do, so that replays fold.
 */
#define CHANGE_PARTS 16u
#define FORMULA_PARTS 128u /* formulas take any size, and no time */

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
    struct ronde_selector *selector = plan->selector;
    const struct ronde_candidate *candidate = &selector->choice.candidates[index];
    struct ronde_plan_facts *facts = &plan->facts[index];
    struct ronde_load load = plan->rows[0].decision.load;
    struct ronde_quote quote;
    if (facts->is_known)
        return RONDE_OK;
    load.count = load.count > 0 ? 1 : 0;
    /* A bound will do: links are hardly shared by messages of one element. */
    const enum ronde_status status =
        selector->pricer.price(selector->pricer.self, &selector->choice.candidates[index], &load,
                               selector->choice.mem, &quote, error);
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

static void tell(const struct ronde_plan *plan, uint32_t count)
{
    const struct ronde_sim_progress *progress = &plan->selector->options.plan_progress;
    if (progress->on_progress)
        progress->on_progress(progress->context, plan->row_count, count);
}

/** A row per size. */
static enum ronde_status plan_rows(struct ronde_plan *plan, const uint64_t *sizes, uint32_t count,
                                   struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    if (count > RONDE_PLAN_SIZES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u sizes are more than %u", count,
                          RONDE_PLAN_SIZES);
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++) {
        tell(plan, count);
        status = plan_row(plan, count_of(plan, sizes[i]), error);
    }
    tell(plan, count);
    return status;
}

/** By how much the one above takes longer than the one below, relative, as they are compared: negative where it wins. */
static double lead_of(const struct ronde_plan *plan, const uint32_t pair[2], double below_ns,
                      double above_ns)
{
    const struct ronde_candidate *candidates = plan->selector->choice.candidates;
    return log(ronde_candidate_compared(&candidates[pair[1]], above_ns) /
               ronde_candidate_compared(&candidates[pair[0]], below_ns));
}

static enum ronde_status find_lead(const struct ronde_plan *plan, const uint32_t pair[2],
                                   struct ronde_load *load, uint64_t count, double *out_lead,
                                   struct ronde_error *error)
{
    const struct ronde_selector *selector = plan->selector;
    struct ronde_quote quotes[2];
    enum ronde_status status = RONDE_OK;
    load->count = count;
    for (int i = 0; i < 2 && status == RONDE_OK; i++)
        status = ronde_choice_time(&selector->choice, pair[i], load, &selector->pricer, &quotes[i],
                                   error);
    if (status == RONDE_OK)
        *out_lead = lead_of(plan, pair, quotes[0].time_ns, quotes[1].time_ns);
    return status;
}

/** Where a line through the leads at two sizes crosses nought, on a scale of ratios, on a grid and strictly between both. */
static uint64_t between(const uint64_t counts[2], const double leads[2], uint64_t grid)
{
    const double share = leads[0] / (leads[0] - leads[1]);
    const double middle = (double)counts[0] *
                          pow((double)counts[1] / (double)counts[0], isfinite(share) ? share : 0.5);
    const uint64_t steps = (counts[1] - counts[0]) / grid;
    const double wanted = (middle - (double)counts[0]) / (double)grid;
    const uint64_t step = wanted < 1 ? 1 : (uint64_t)wanted;
    return counts[0] + grid * (step < steps ? step : steps - 1);
}

/** Steps of a replay that is not done for the size of a change alone: where the line crosses is near enough. */
#define MOST_CHANGE_STEPS ((uint64_t)1 << 20)

/** Whether a candidate is, as it was cut for a row. */
static bool is_quick_alone(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                           uint32_t index)
{
    const struct ronde_candidate *candidate = &plan->selector->choice.candidates[index];
    const uint64_t most = candidate->most_steps ? candidate->most_steps : MOST_CHANGE_STEPS;
    struct ronde_load load = row->decision.load;
    load.slot_bytes = row->quotes[index].slot_bytes;
    return ronde_candidate_steps(candidate, &load) <= most;
}

static bool is_quick_to_time(const struct ronde_plan *plan, const uint32_t pair[2],
                             const struct ronde_plan_row *left, const struct ronde_plan_row *right)
{
    return !plan->selector->platform_pricer.platform ||
           (is_quick_alone(plan, left, pair[0]) && is_quick_alone(plan, right, pair[0]) &&
            is_quick_alone(plan, left, pair[1]) && is_quick_alone(plan, right, pair[1]));
}

static uint64_t grid_of(uint64_t count, const struct ronde_plan_row *left, uint32_t below,
                        const struct ronde_plan_row *right, uint32_t above)
{
    const bool are_formulas = strcmp(left->quotes[below].engine, "closed_form") == 0 &&
                              strcmp(right->quotes[above].engine, "closed_form") == 0;
    const uint64_t grid = count / (are_formulas ? FORMULA_PARTS : CHANGE_PARTS);
    return grid > 0 ? grid : 1;
}

/** Looks between two sizes, of which the winner of the lower one is cheaper at the first and not at the second. */
static enum ronde_status find_change(struct ronde_plan *plan, const struct ronde_plan_row *left,
                                     const struct ronde_plan_row *right, struct ronde_error *error)
{
    const uint32_t pair[2] = {left->decision.best, right->decision.best};
    struct ronde_load load = left->decision.load;
    uint64_t counts[2] = {left->decision.load.count, right->decision.load.count};
    const uint64_t grid = grid_of(counts[0], left, pair[0], right, pair[1]);
    /* What lost is known by a bound at least: near enough for where to look first. */
    double leads[2] = {lead_of(plan, pair, left->quotes[pair[0]].time_ns,
                               left->quotes[pair[1]].time_ns),
                       lead_of(plan, pair, right->quotes[pair[0]].time_ns,
                               right->quotes[pair[1]].time_ns)};
    double lead = 0;
    enum ronde_status status = RONDE_OK;
    const bool is_quick = is_quick_to_time(plan, pair, left, right);
    if (!is_quick && counts[1] - counts[0] > grid)
        counts[1] = between(counts, leads, grid);
    /* Regula falsi; the end that stays weighs half as much the next time (Illinois), or it would stay for long. */
    for (int last = -1; is_quick && status == RONDE_OK && counts[1] - counts[0] > grid;) {
        const uint64_t middle = between(counts, leads, grid);
        status = find_lead(plan, pair, &load, middle, &lead, error);
        const int end = lead > 0 ? 0 : 1;
        counts[end] = middle;
        leads[end] = lead;
        leads[1 - end] *= end == last ? 0.5 : 1.0;
        last = end;
    }
    if (status == RONDE_OK)
        plan->changes[plan->change_count++] =
            (struct ronde_plan_change){bytes_of(plan, counts[1]), pair[0], pair[1]};
    return status;
}

/** Another algorithm; another set-up of the same one is none. */
static bool is_change(const struct ronde_plan *plan, uint32_t below, uint32_t above)
{
    const struct ronde_candidate *candidates = plan->selector->choice.candidates;
    return strcmp(candidates[below].request.algorithm, candidates[above].request.algorithm) != 0;
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
        if (is_change(plan, plan->rows[i].decision.best, plan->rows[i + 1].decision.best))
            status = find_change(plan, &plan->rows[i], &plan->rows[i + 1], error);
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
