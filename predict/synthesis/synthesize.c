/* Schedules made for one machine. See ronde/synthesize.h. */
#include "ronde/synthesize.h"

#include "emit.h"
#include "forest.h"

#include <string.h>

static bool is_rooted(const struct ronde_synthesis_request *request)
{
    return ronde_collective_traits(request->collective)->has_root;
}

static enum ronde_status check(const struct ronde_synthesis_request *request,
                               struct ronde_error *error)
{
    switch (request->collective) {
    case RONDE_ALL_GATHER:
    case RONDE_REDUCE_SCATTER:
    case RONDE_ALL_REDUCE:
    case RONDE_BROADCAST:
    case RONDE_REDUCE:
        break;
    default:
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s is not made of trees; all_gather, reduce_scatter, all_reduce, "
                          "broadcast and reduce are",
                          ronde_collective_text(request->collective));
    }
    if (request->ranks < 2)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "%u rank: a tree joins at least 2",
                          request->ranks);
    if (request->root >= request->ranks)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "root %u of %u ranks", request->root,
                          request->ranks);
    return RONDE_OK;
}

/*
 * What is tried for a size, 0 = any: one tree of few levels; several of a single root, which are soon packed, or made without
 * packing along the axes of a torus.
 */
static const struct trial {
    const char *name;
    uint32_t height;
    uint32_t trees;
    bool is_rooted;
    bool has_axes;
} trials[] = {
    {RONDE_SYNTHESIZED "_wide", 0, 0, false, false},
    {RONDE_SYNTHESIZED "_h1", 1, 1, false, false},
    {RONDE_SYNTHESIZED "_h2", 2, 1, false, false},
    {RONDE_SYNTHESIZED "_h3", 3, 1, false, false},
    {RONDE_SYNTHESIZED "_h4", 4, 1, false, false},
    {RONDE_SYNTHESIZED "_h6", 6, 1, false, false},
    {RONDE_SYNTHESIZED "_h2_wide", 2, 0, true, false},
    {RONDE_SYNTHESIZED "_h3_wide", 3, 0, true, false},
    {RONDE_SYNTHESIZED "_h4_wide", 4, 0, true, false},
    {RONDE_SYNTHESIZED "_axes", 0, 0, true, true},
};

#define TRIALS (sizeof trials / sizeof *trials)

/* Ranks up to which many trees of a root are soon packed at several heights. */
#define QUICK_RANKS 32u

bool ronde_is_synthesized(const char *name)
{
    for (size_t i = 0; i < TRIALS; i++)
        if (strcmp(trials[i].name, name) == 0)
            return true;
    return strcmp(name, RONDE_SYNTHESIZED) == 0;
}

const char *ronde_algorithm_family(const char *name)
{
    return ronde_is_synthesized(name) ? RONDE_SYNTHESIZED : name;
}

bool ronde_synthesis_serves(const struct ronde_synthesis_request *request)
{
    struct ronde_error why = {RONDE_OK, 0, ""};
    return check(request, &why) == RONDE_OK;
}

static enum ronde_status
find_bound(const struct ronde_platform *platform, const struct ronde_synthesis_request *request,
           const struct ronde_mem *mem, struct ronde_bound *out_bound, struct ronde_error *error)
{
    const struct ronde_compile_request asked = {.collective = request->collective,
                                                .ranks = request->ranks,
                                                .root = request->root};
    const enum ronde_status status = check(request, error);
    ronde_synthesis_say(&request->progress, "finding the bound", 0, 0);
    return status == RONDE_OK ? ronde_bound_find(platform, &asked, mem, out_bound, error) : status;
}

static bool is_tried(const struct trial *trial, const struct ronde_synthesis_request *request)
{
    if (request->only && strcmp(request->only, trial->name) != 0)
        return false;
    return !trial->is_rooted ||
           (is_rooted(request) &&
            (trial->has_axes ? request->trees + request->connections == 0
                             : !(request->is_quick && request->ranks > QUICK_RANKS)));
}

/* Makes schedules of several heights; `known` has the bound. */
static enum ronde_status
make_all(const struct ronde_platform *platform, const struct ronde_synthesis_request *request,
         const struct ronde_mem *mem, const struct ronde_synthesis_taker *taker,
         const struct ronde_synthesis *known, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; status == RONDE_OK && i < TRIALS; i++) {
        struct ronde_synthesis_request tried = *request;
        struct ronde_synthesis made = *known;
        struct ronde_schedule *schedule = NULL;
        if (!is_tried(&trials[i], request))
            continue;
        ronde_synthesis_say(&request->progress, "schedules tried", i, TRIALS);
        tried.most_height = trials[i].height;
        tried.has_axes = trials[i].has_axes;
        if (request->trees == 0)
            tried.trees = trials[i].trees;
        struct ronde_error why = {RONDE_OK, 0, ""};
        status = ronde_synthesis_once(platform, &tried, mem, &schedule, &made, &why);
        /* Few machines are tori. */
        if (status == RONDE_UNSUPPORTED && tried.has_axes)
            status = RONDE_OK;
        else if (status != RONDE_OK)
            status = ronde_fail(error, status, "%s", why.message);
        else
            status = taker->take(taker->self, trials[i].name, schedule, &made, error);
    }
    return status;
}

enum ronde_status
ronde_synthesize_all(const struct ronde_platform *platform,
                     const struct ronde_synthesis_request *request, const struct ronde_mem *mem,
                     const struct ronde_synthesis_taker *taker, struct ronde_error *error)
{
    struct ronde_synthesis known = {.trees = 0};
    RONDE_TRY(find_bound(platform, request, mem, &known.bound, error));
    return make_all(platform, request, mem, taker, &known, error);
}

/* Schedules that were made, as candidates. */
struct contest {
    struct ronde_choice choice;
    struct ronde_compile_request request;
    struct ronde_synthesis made[TRIALS];
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
    struct ronde_quote quotes[TRIALS];
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
    RONDE_TRY(ronde_selector_rely(selector, platform, NULL, 0, error));
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
    enum ronde_status status = make_all(platform, request, mem, &taker, out, error);
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
    RONDE_TRY(find_bound(platform, request, mem, &out_synthesis->bound, error));
    return request->bytes > 0 && request->most_height == 0
               ? synthesize_for_size(platform, request, mem, out_schedule, out_synthesis, error)
               : ronde_synthesis_once(platform, request, mem, out_schedule, out_synthesis, error);
}
