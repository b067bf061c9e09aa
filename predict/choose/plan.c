/** Plans: a decision per size, and where the winner changes. See plan.h. */
#define _POSIX_C_SOURCE 200809L

#include "ronde/plan.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
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
    const struct ronde_selector *selector = plan->selector;
    const struct ronde_pricer *pricer = &selector->pricer;
    struct ronde_candidate *candidate = &selector->choice.candidates[index];
    struct ronde_plan_facts *facts = &plan->facts[index];
    struct ronde_load load = plan->rows[0].decision.load;
    struct ronde_quote quote;
    if (facts->is_known)
        return RONDE_OK;
    load.count = load.count > 0 ? 1 : 0;
    /* A bound will do that knows the latency: links are hardly shared by messages of one element. */
    RONDE_TRY(pricer->price(pricer->self, candidate, &load, selector->choice.mem, &quote, error));
    while (quote.is_bound && quote.bound_of < RONDE_BOUND_OF_OUTLINE)
        RONDE_TRY(pricer->settle(pricer->self, candidate, &load, INFINITY, INFINITY, &quote, error));
    facts->latency_ns = quote.time_ns;
    facts->sent_blocks = ronde_schedule_volume(candidate->schedule).sent;
    facts->is_known = true;
    return RONDE_OK;
}

/** Decides one size. */
static enum ronde_status decide_row(struct ronde_selector *selector, struct ronde_plan_row *row,
                                    struct ronde_error *error)
{
    const uint32_t candidates = selector->choice.count;
    RONDE_TRY(ronde_selector_decide(selector, row->decision.load.count, &row->decision, error));
    row->quotes = ronde_mem_new(ronde_mem_default(), candidates, sizeof *row->quotes);
    if (!row->quotes)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u prices", candidates);
    for (uint32_t i = 0; i < candidates; i++)
        row->quotes[i] = selector->quotes[i];
    return RONDE_OK;
}

static enum ronde_status settle_row(struct ronde_selector *selector, struct ronde_plan_row *row,
                                    struct ronde_error *error)
{
    return ronde_choice_settle(&selector->choice, &row->decision.load, &selector->pricer,
                               row->quotes, error);
}

static enum ronde_status finish_row(struct ronde_plan *plan, struct ronde_plan_row *row,
                                    struct ronde_error *error)
{
    const enum ronde_status status = find_facts(plan, row->decision.best, error);
    const struct ronde_plan_facts *facts = &plan->facts[row->decision.best];
    const uint64_t count = row->decision.load.count;
    row->bytes = bytes_of(plan, count);
    row->sent_bytes =
        facts->sent_blocks * (double)count * ronde_dtype_bytes(plan->selector->options.dtype);
    row->latency_ns = facts->latency_ns;
    return status;
}

/* ---- Rows, two at a time ---------------------------------------------------------------------------------------- */

/*
 * What is decided of a size depends on no other size, so two threads take one after another: one from the smallest on, the other
 * from the largest, until they meet. Large sizes take longest, so those decided last are no long ones, and two of the largest,
 * each with a replay of a gigabyte, are seldom in memory at once.
 */

/** Steps of a candidate from which on a second thread is worth its while: their replay takes a tenth of a second. */
#define SHARED_STEPS ((uint64_t)1 << 17)

/** All of them, what is done with each, and how far they are. */
struct planning {
    struct ronde_plan *plan;
    enum ronde_status (*take)(struct ronde_selector *, struct ronde_plan_row *,
                              struct ronde_error *);
    atomic_uint taken; /**< by either thread */
    atomic_uint done;
};

/** Who takes them. */
struct planner {
    struct planning *all;
    struct ronde_selector *selector;
    bool is_from_largest;
    uint32_t taken; /**< by this thread */
    enum ronde_status status;
    struct ronde_error error;
};

static void tell(const struct planning *all)
{
    const struct ronde_sim_progress *progress = &all->plan->selector->options.plan_progress;
    if (progress->on_progress)
        progress->on_progress(progress->context, all->done, all->plan->row_count);
}

/** Until none is left. Progress is told by the caller's thread alone, which begins with the smallest. */
static void take_rows(struct planner *planner)
{
    struct planning *all = planner->all;
    while (planner->status == RONDE_OK && all->taken++ < all->plan->row_count) {
        const uint32_t row =
            planner->is_from_largest ? all->plan->row_count - 1 - planner->taken : planner->taken;
        planner->taken++;
        if (!planner->is_from_largest)
            tell(all);
        planner->status = all->take(planner->selector, &all->plan->rows[row], &planner->error);
        all->done++;
    }
}

/**
 * The other thread looks at outlines from the first candidate on, so that both meet half way; a price that rests on none ends it. What
 * is wrong shows again later.
 */
static void look_from_the_end(const struct planner *planner)
{
    const struct ronde_selector *selector = planner->selector;
    const struct ronde_pricer *pricer = &selector->pricer;
    const struct ronde_load load =
        ronde_platform_pricer_load(&selector->platform_pricer,
                                   planner->all->plan->rows[0].decision.load.count);
    struct ronde_quote quote = {.is_bound = true};
    struct ronde_error error = {0};
    for (uint32_t i = selector->choice.count; i-- > 0 && quote.is_bound;)
        if (pricer->price(pricer->self, &selector->choice.candidates[i], &load,
                          selector->choice.mem, &quote, &error) != RONDE_OK)
            return;
}

static void *plan_in_thread(void *self)
{
    look_from_the_end(self);
    take_rows(self);
    return NULL;
}

/** Signals are for the caller's threads. */
static bool start(pthread_t *out_thread, struct planner *planner)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_started = pthread_create(out_thread, NULL, plan_in_thread, planner) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

/** Whether deciding takes so long that a second thread, with a replay's memory of its own, is worth its while. */
static bool is_long(const struct ronde_plan *plan)
{
    const struct ronde_choice *choice = &plan->selector->choice;
    if (!plan->selector->platform_pricer.platform || plan->row_count < 2)
        return false;
    const struct ronde_load load =
        ronde_platform_pricer_load(&plan->selector->platform_pricer,
                                   plan->rows[plan->row_count - 1].decision.load.count);
    for (uint32_t i = 0; i < choice->count; i++)
        if (choice->candidates[i].turns_of > 0 ||
            ronde_candidate_cut_steps(&choice->candidates[i], &load) >= SHARED_STEPS)
            return true;
    return false;
}

/** With a selector that is borrowed for the other thread; where there is none to be had, alone. */
static void take_rows_in_two(struct planner *first, struct planner *second)
{
    pthread_t thread;
    const bool is_started = start(&thread, second);
    take_rows(first);
    if (is_started)
        pthread_join(thread, NULL);
}

/** The error of the smallest size that has one: all that the first takes are smaller, whatever became of larger ones. */
static enum ronde_status judge(const struct planner *first, const struct planner *second,
                               struct ronde_error *error)
{
    const struct planner *planner = first->status != RONDE_OK ? first : second;
    return planner->status == RONDE_OK
               ? RONDE_OK
               : ronde_fail(error, planner->status, "%s", planner->error.message);
}

static enum ronde_status take_all(struct planning *all, struct ronde_error *error)
{
    struct ronde_selector borrowed = {.quotes = NULL};
    struct planner first = {.all = all, .selector = all->plan->selector};
    struct planner second = {.all = all, .selector = &borrowed, .is_from_largest = true};
    if (!is_long(all->plan)) {
        take_rows(&first);
    } else {
        second.status = ronde_selector_borrow(first.selector, &borrowed, &second.error);
        if (second.status == RONDE_OK)
            take_rows_in_two(&first, &second);
        ronde_selector_return(&borrowed);
    }
    tell(all);
    return judge(&first, &second, error);
}

/** A row per size. */
static enum ronde_status plan_rows(struct ronde_plan *plan, const uint64_t *sizes, uint32_t count,
                                   struct ronde_error *error)
{
    struct planning all = {.plan = plan, .take = decide_row};
    if (count > RONDE_PLAN_SIZES)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u sizes are more than %u", count,
                          RONDE_PLAN_SIZES);
    plan->row_count = count;
    for (uint32_t i = 0; i < count; i++)
        plan->rows[i].decision.load.count = count_of(plan, sizes[i]);
    enum ronde_status status = take_all(&all, error);
    for (uint32_t i = 0; i < count && status == RONDE_OK; i++)
        status = finish_row(plan, &plan->rows[i], error);
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
    load->count = count;
    for (int i = 0; i < 2; i++)
        RONDE_TRY(ronde_choice_time(&selector->choice, pair[i], load, &selector->pricer, &quotes[i],
                                    error));
    *out_lead = lead_of(plan, pair, quotes[0].time_ns, quotes[1].time_ns);
    return RONDE_OK;
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
    /* Where the distance is no multiple of the grid, one step still ends below the upper count. */
    const uint64_t last = steps > 1 ? steps - 1 : 1;
    return counts[0] + grid * (step < last ? step : last);
}

/** Steps and work of a replay that is not done for the size of a change alone: where the line crosses is near enough. */
#define MOST_CHANGE_STEPS ((uint64_t)1 << 20)
#define MOST_CHANGE_WORK UINT64_C(2000000)

/** Whether a candidate is, as it was cut for a row. */
static bool is_quick_alone(const struct ronde_plan *plan, const struct ronde_plan_row *row,
                           uint32_t index)
{
    const struct ronde_candidate *candidate = &plan->selector->choice.candidates[index];
    const uint64_t most = candidate->most_steps ? candidate->most_steps : MOST_CHANGE_STEPS;
    struct ronde_load load = row->decision.load;
    load.slot_bytes = row->quotes[index].slot_bytes;
    const uint64_t steps = ronde_candidate_steps(candidate, &load);
    return row->quotes[index].promised_slot_bytes == 0 &&
           (steps <= most || (steps <= MOST_CHANGE_STEPS && !row->quotes[index].is_bound &&
                              row->quotes[index].work <= MOST_CHANGE_WORK));
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
    RONDE_TRY(plan_rows(plan, sizes, count, error));
    for (uint32_t i = 0; i + 1 < plan->row_count; i++)
        if (is_change(plan, plan->rows[i].decision.best, plan->rows[i + 1].decision.best))
            RONDE_TRY(find_change(plan, &plan->rows[i], &plan->rows[i + 1], error));
    return RONDE_OK;
}

enum ronde_status ronde_plan_settle(struct ronde_plan *plan, struct ronde_error *error)
{
    struct planning all = {.plan = plan, .take = settle_row};
    return take_all(&all, error);
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
