/* The fastest of the trees that are tried, beside the best algorithm there is. See ronde/synthesize.h. */
#include "ronde/synthesize.h"

#include "emit.h"

/* Schedules that were made, as candidates. */
struct contest {
    struct ronde_choice choice;
    struct ronde_compile_request request;
    struct ronde_synthesis made[RONDE_SYNTHESIS_TRIALS];
};

static enum ronde_status enter(void *self, const char *name, struct ronde_schedule *schedule,
                               const struct ronde_synthesis *made, struct ronde_error *error)
{
    struct contest *contest = self;
    struct ronde_candidate *candidate;
    RONDE_TRY(
        ronde_choice_take(&contest->choice, &contest->request, name, schedule, &candidate, error));
    contest->made[contest->choice.count - 1] = *made;
    return RONDE_OK;
}

/* The fastest for the load; of the others a bound is enough. */
static enum ronde_status find_fastest(struct contest *contest, const struct ronde_pricer *pricer,
                                      const struct ronde_load *load,
                                      struct ronde_schedule **out_schedule,
                                      struct ronde_synthesis *out, struct ronde_error *error)
{
    struct ronde_quote quotes[RONDE_SYNTHESIS_TRIALS];
    RONDE_TRY(ronde_choice_price(&contest->choice, load, pricer, quotes, error));
    const uint32_t best = ronde_choice_best(&contest->choice, quotes, RONDE_NONE);
    if (best == RONDE_NONE)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "trees of %u ranks have too many messages to be replayed: leave out the "
                          "size",
                          contest->request.ranks);
    *out = contest->made[best];
    out->time_ns = quotes[best].time_ns;
    (void)ronde_candidate_options(&contest->choice.candidates[best], load, quotes[best].slot_bytes,
                                  out->options);
    *out_schedule = ronde_choice_take_schedule(&contest->choice, best);
    return RONDE_OK;
}

/* The best algorithm of a selector takes the place of trees that are slower. */
static enum ronde_status take_if_faster(struct ronde_selector *selector,
                                        const struct ronde_platform *platform, uint64_t count,
                                        struct ronde_schedule **schedule,
                                        struct ronde_synthesis *out, struct ronde_error *error)
{
    struct ronde_decision decision;
    RONDE_TRY(ronde_selector_use(selector, platform, NULL, 0, error));
    RONDE_TRY(ronde_selector_decide(selector, count, &decision, error));
    if (selector->quotes[decision.best].time_ns >= out->time_ns)
        return RONDE_OK;
    ronde_schedule_destroy(*schedule);
    *schedule = ronde_choice_take_schedule(&selector->choice, decision.best);
    out->algorithm = selector->choice.candidates[decision.best].request.algorithm;
    out->algorithm_ns = selector->quotes[decision.best].time_ns;
    (void)ronde_decision_options(selector, &decision, out->options);
    return RONDE_OK;
}

/* Algorithms of the registry are set up as a plan has them; where none serves the request, trees stay. */
static enum ronde_status keep_faster(const struct ronde_platform *platform,
                                     const struct ronde_synthesis_request *request, uint64_t count,
                                     struct ronde_schedule **schedule, struct ronde_synthesis *out,
                                     struct ronde_error *error)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32,
                                               .forests = RONDE_FORESTS_NONE};
    const struct ronde_compile_request asked = {.collective = request->collective,
                                                .ranks = request->ranks,
                                                .root = request->root};
    struct ronde_error why = {RONDE_OK, 0, ""};
    struct ronde_selector selector;
    ronde_synthesis_say(&request->progress, "pricing the algorithms there are", 0, 0);
    enum ronde_status status = ronde_selector_open(&options, &asked, &selector, &why);
    RONDE_THEN(status, take_if_faster(&selector, platform, count, schedule, out, &why));
    ronde_selector_close(&selector);
    return status == RONDE_OK || status == RONDE_UNSUPPORTED
               ? RONDE_OK
               : ronde_fail(error, status, "%s", why.message);
}

/* Makes schedules of several heights and keeps the one that is predicted to be fastest. */
static enum ronde_status synthesize_for_size(const struct ronde_platform *platform,
                                             const struct ronde_synthesis_request *request,
                                             const struct ronde_mem *mem,
                                             struct ronde_schedule **out_schedule,
                                             struct ronde_synthesis *out, struct ronde_error *error)
{
    const struct ronde_tune_options options = {.dtype = RONDE_FLOAT32};
    const uint64_t elements =
        ronde_collective_count(request->collective, request->ranks, request->bytes, options.dtype);
    const uint64_t count = elements > 0 ? elements : 1;
    struct contest contest = {.choice = {.mem = mem},
                              .request = {.collective = request->collective,
                                          .ranks = request->ranks,
                                          .root = request->root}};
    const struct ronde_synthesis_taker taker = {&contest, enter};
    struct ronde_platform_pricer own;
    enum ronde_status status = ronde_synthesis_try(platform, request, mem, &taker, out, error);
    RONDE_THEN(status, ronde_platform_pricer_open(platform, &options, request->ranks, &own, error));
    if (status == RONDE_OK) {
        const struct ronde_pricer pricer = ronde_platform_pricer_pricer(&own);
        const struct ronde_load load = ronde_platform_pricer_load(&own, count);
        ronde_synthesis_say(&request->progress, "replaying schedules", 0, 0);
        status = find_fastest(&contest, &pricer, &load, out_schedule, out, error);
    }
    ronde_choice_fini(&contest.choice);
    if (status == RONDE_OK && !request->is_of_trees && request->trees == 0 &&
        request->connections == 0)
        status = keep_faster(platform, request, count, out_schedule, out, error);
    if (status != RONDE_OK) {
        ronde_schedule_destroy(*out_schedule);
        *out_schedule = NULL;
    }
    return status;
}

enum ronde_status ronde_synthesize(const struct ronde_platform *platform,
                                   const struct ronde_synthesis_request *request,
                                   const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
                                   struct ronde_synthesis *out_synthesis, struct ronde_error *error)
{
    *out_schedule = NULL;
    *out_synthesis = (struct ronde_synthesis){.trees = 0};
    RONDE_TRY(ronde_synthesis_bound(platform, request, mem, &out_synthesis->bound, error));
    return request->bytes > 0 && request->most_height == 0
               ? synthesize_for_size(platform, request, mem, out_schedule, out_synthesis, error)
               : ronde_synthesis_once(platform, request, mem, out_schedule, out_synthesis, error);
}
