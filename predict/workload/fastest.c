/*
 * Calls that name no algorithm run by what plan finds for such a call alone, on the hosts of its group; where that has too many steps
 * for as many calls, by the best of fewer steps.
 */
#include "choose/outline.h"
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/selector.h"
#include "ronde/setup.h"
#include "ronde/synthesize.h"

#include <math.h>
#include <string.h>

/* Steps of all calls up to which each runs by the fastest, by default. */
#define ALL_STEPS ((uint64_t)RONDE_KEPT_STEPS / 4)

struct choosing {
    const struct ronde_workload *workload;
    const struct ronde_workload_sim *options;
    struct workload_calls *calls;
    struct ronde_error *error;
};

/* --- a question ------------------------------------------------------------------------------------------- */

/* Kinds that differ in their size alone have the same candidates. */
static bool is_one_question(const struct workload_call *a, const struct workload_call *b)
{
    return a->example == b->example && a->collective == b->collective && a->root == b->root;
}

/* The machine as a kind's group sees it; NULL where that is the machine's own order. */
static enum ronde_status view_of(const struct choosing *choosing, const struct workload_call *call,
                                 struct ronde_platform **out_view)
{
    const uint32_t *hosts = workload_call_hosts(choosing->workload, call);
    *out_view = NULL;
    return ronde_is_identity(hosts, call->ranks)
               ? RONDE_OK
               : ronde_platform_view(choosing->options->platform, hosts, call->ranks,
                                     ronde_mem_default(), out_view, choosing->error);
}

/* A candidate as it was priced for a kind. The schedule is taken from the choice, once for all kinds that have it. */
static enum ronde_status take(const struct choosing *choosing, struct ronde_selector *selector,
                              const struct workload_call *call, uint32_t candidate,
                              struct workload_run *out_run)
{
    const struct ronde_quote *quote = &selector->quotes[candidate];
    struct ronde_forecast forecast =
        ronde_candidate_forecast(&selector->choice.candidates[candidate],
                                 selector->platform_pricer.platform, &selector->options);
    if (!quote->is_bound)
        forecast.slot_bytes = quote->slot_bytes;
    ronde_forecast_set_count(&forecast, workload_call_count(call));
    *out_run = workload_run_of(&forecast, quote->is_bound ? INFINITY : quote->time_ns);
    struct ronde_schedule *own = ronde_choice_take_schedule(&selector->choice, candidate);
    return own ? workload_calls_keep(choosing->calls, own, choosing->error) : RONDE_OK;
}

/* Rivals may take so much longer alone, or less if all that is known is a bound. */
#define NEAR 1.6

/* The least of each other algorithm that is near the best, the least of all first; returns how many. */
static uint32_t find_rivals(const struct ronde_selector *selector, uint32_t best,
                            struct workload_alternative out_rivals[WORKLOAD_RIVALS])
{
    const struct ronde_choice *choice = &selector->choice;
    const struct ronde_quote *quotes = selector->quotes;
    const char *winner = ronde_algorithm_family(choice->candidates[best].request.algorithm);
    uint32_t count = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        const char *family = ronde_algorithm_family(choice->candidates[i].request.algorithm);
        if (!choice->candidates[i].is_eligible || strcmp(family, winner) == 0 ||
            ronde_choice_least_of(choice, quotes, i) != i ||
            !(quotes[i].time_ns <= NEAR * quotes[best].time_ns))
            continue;
        const struct workload_alternative rival = {family, quotes[i].time_ns, i};
        count = workload_keep_fastest(out_rivals, count, WORKLOAD_RIVALS, rival);
    }
    return count;
}

/* The run of a kind as a selector decides, and its rivals. */
static enum ronde_status decide(const struct choosing *choosing, struct ronde_selector *selector,
                                const struct workload_call *call, struct workload_run *out_run,
                                struct workload_rivals *out_rivals)
{
    struct workload_alternative rivals[WORKLOAD_RIVALS];
    struct ronde_decision decision;
    RONDE_TRY(ronde_selector_decide(selector, workload_call_count(call), &decision, choosing->error));
    const uint32_t count = find_rivals(selector, decision.best, rivals);
    RONDE_TRY(take(choosing, selector, call, decision.best, out_run));
    for (out_rivals->count = 0; out_rivals->count < count; out_rivals->count++)
        RONDE_TRY(take(choosing, selector, call, rivals[out_rivals->count].candidate,
                       &out_rivals->runs[out_rivals->count]));
    return RONDE_OK;
}

/* Candidates of a kind on its hosts. The caller closes the selector, then destroys the view, in every case. */
static enum ronde_status open_question(const struct choosing *choosing,
                                       const struct workload_call *call, uint64_t most_steps,
                                       struct ronde_selector *out_selector,
                                       struct ronde_platform **out_view)
{
    const struct ronde_workload_sim *options = choosing->options;
    const struct ronde_tune_options how = {.dtype = RONDE_UINT8,
                                           .keeps_ranks = true,
                                           .most_steps = most_steps,
                                           .timeout_ns = (uint64_t)(options->time_limit_s * 1e9),
                                           .cancel = options->cancel};
    const struct ronde_compile_request request = {.collective = call->collective,
                                                  .ranks = call->ranks,
                                                  .root = call->root};
    RONDE_TRY(view_of(choosing, call, out_view));
    RONDE_TRY(ronde_selector_open(&how, &request, out_selector, choosing->error));
    return ronde_selector_use(out_selector, *out_view ? *out_view : options->platform, NULL, 0,
                              choosing->error);
}

/* All kinds of the question of the first, by as many steps as it takes. */
static enum ronde_status choose_all(const struct choosing *choosing, uint32_t first,
                                    struct workload_rivals *rivals)
{
    struct workload_call *all = choosing->calls->all;
    struct ronde_selector selector = {.own = NULL};
    struct ronde_platform *view = NULL;
    enum ronde_status status = open_question(choosing, &all[first], 0, &selector, &view);
    for (uint32_t c = first; c < choosing->calls->count && status == RONDE_OK; c++)
        if (all[c].is_open && is_one_question(&all[first], &all[c]))
            status = decide(choosing, &selector, &all[c], &all[c].run, &rivals[c]);
    ronde_selector_close(&selector);
    ronde_platform_destroy(view);
    return status;
}

/* --- fewer steps -------------------------------------------------------------------------------------------- */

/* The best of at most so many steps; alone_ns INFINITY where nothing has as few. */
static enum ronde_status choose_short(const struct choosing *choosing,
                                      const struct workload_call *call, uint64_t most_steps,
                                      struct workload_run *out_run, struct workload_rivals *rivals)
{
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    const struct choosing quietly = {choosing->workload, choosing->options, choosing->calls,
                                     &why_not};
    struct ronde_selector selector = {.own = NULL};
    struct ronde_platform *view = NULL;
    *out_run = (struct workload_run){.alone_ns = INFINITY};
    enum ronde_status status = open_question(&quietly, call, most_steps, &selector, &view);
    RONDE_THEN(status, decide(&quietly, &selector, call, out_run, rivals));
    ronde_selector_close(&selector);
    ronde_platform_destroy(view);
    return status == RONDE_OK || status == RONDE_UNSUPPORTED
               ? RONDE_OK
               : ronde_fail(choosing->error, status, "%s", why_not.message);
}

/* The best of so many steps, or of as many as the best of the algorithms has by default: none is slower than that. */
static enum ronde_status shorten(const struct choosing *choosing, struct workload_call *call,
                                 uint64_t most_steps, struct workload_rivals *rivals)
{
    struct workload_run by_default = {.alone_ns = INFINITY}, run;
    struct workload_alternative fastest;
    if (workload_call_alternatives(choosing->workload, choosing->options, call, NULL, 1, &fastest))
        RONDE_TRY(workload_run_named(choosing->workload, choosing->options, call, fastest.algorithm,
                                     choosing->calls, &by_default, choosing->error));
    if (by_default.steps > most_steps)
        most_steps = by_default.steps;
    if (most_steps >= call->run.steps)
        return RONDE_OK;
    RONDE_TRY(choose_short(choosing, call, most_steps, &run, rivals));
    if (!(run.alone_ns < by_default.alone_ns))
        run = by_default;
    if (isinf(run.alone_ns))
        return RONDE_OK;
    call->is_short = call->run.alone_ns < run.alone_ns;
    call->run = run;
    return RONDE_OK;
}

/* Steps of all calls where an open one has no more than so many. */
static uint64_t all_steps(const struct workload_calls *calls, uint64_t most_steps)
{
    uint64_t steps = 0;
    for (uint32_t c = 0; c < calls->count; c++) {
        const struct workload_call *call = &calls->all[c];
        const bool is_less = !call->is_open || call->run.steps <= most_steps;
        steps += call->count * (is_less ? call->run.steps : most_steps);
    }
    return steps;
}

static enum ronde_status choose(const struct choosing *choosing, struct workload_rivals *rivals)
{
    const struct ronde_workload_sim *options = choosing->options;
    const uint64_t all = options->most_steps > 0 ? options->most_steps : ALL_STEPS;
    struct workload_calls *calls = choosing->calls;
    uint64_t most_steps = all;
    for (uint32_t c = 0; c < calls->count; c++) {
        if (calls->all[c].is_open && !calls->all[c].run.schedule)
            RONDE_TRY(choose_all(choosing, c, rivals));
        calls->all[c].planned_ns = calls->all[c].is_open ? calls->all[c].run.alone_ns : 0;
    }
    while (most_steps > 1 && all_steps(calls, most_steps) > all)
        most_steps -= most_steps / 8 + 1;
    for (uint32_t c = 0; c < calls->count; c++) {
        struct workload_call *call = &calls->all[c];
        if (call->is_open && call->run.steps > most_steps)
            RONDE_TRY(shorten(choosing, call, most_steps, &rivals[c]));
        if (call->is_open)
            RONDE_TRY(workload_call_settle(choosing->workload, options, &rivals[c], call,
                                           choosing->error));
    }
    return RONDE_OK;
}

enum ronde_status workload_calls_choose(const struct ronde_workload *workload,
                                        const struct ronde_workload_sim *options,
                                        struct workload_calls *calls, struct ronde_error *error)
{
    const struct choosing choosing = {workload, options, calls, error};
    struct workload_rivals *rivals = ronde_mem_new(calls->mem, calls->count, sizeof *rivals);
    if (!rivals)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to choose for %u kinds of calls",
                          calls->count);
    const enum ronde_status status = choose(&choosing, rivals);
    ronde_mem_free(calls->mem, rivals, calls->count, sizeof *rivals);
    return status;
}
