/* Which trees are tried for a machine and a request, and making all of them. See ronde/synthesize.h. */
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
 * packing along the axes of a torus. Several of few levels miss what links allow by far; balanced from how they grew or from what
 * links allow, either may be faster, by a fifth.
 */
static const struct trial {
    const char *name;
    uint32_t height;
    uint32_t trees;
    bool is_rooted;
    bool has_axes;
    bool descends;
    bool overfills;
} trials[] = {
    {.name = RONDE_SYNTHESIZED "_wide"},
    {.name = RONDE_SYNTHESIZED "_h1", .height = 1, .trees = 1},
    {.name = RONDE_SYNTHESIZED "_h2", .height = 2, .trees = 1},
    {.name = RONDE_SYNTHESIZED "_h3", .height = 3, .trees = 1},
    {.name = RONDE_SYNTHESIZED "_h4", .height = 4, .trees = 1},
    {.name = RONDE_SYNTHESIZED "_h6", .height = 6, .trees = 1},
    {.name = RONDE_SYNTHESIZED "_h6_low", .height = 6, .trees = 1, .overfills = true},
    {.name = RONDE_SYNTHESIZED "_h2_wide", .height = 2, .is_rooted = true},
    {.name = RONDE_SYNTHESIZED "_h3_wide", .height = 3, .is_rooted = true},
    {.name = RONDE_SYNTHESIZED "_h4_wide", .height = 4, .is_rooted = true},
    {.name = RONDE_SYNTHESIZED "_h2_even", .height = 2, .is_rooted = true, .descends = true},
    {.name = RONDE_SYNTHESIZED "_h3_even", .height = 3, .is_rooted = true, .descends = true},
    {.name = RONDE_SYNTHESIZED "_h4_even", .height = 4, .is_rooted = true, .descends = true},
    {.name = RONDE_SYNTHESIZED "_axes", .is_rooted = true, .has_axes = true},
};

#define TRIALS (sizeof trials / sizeof *trials)

_Static_assert(TRIALS == RONDE_SYNTHESIS_TRIALS, "as emit.h has it");

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

enum ronde_status ronde_synthesis_bound(const struct ronde_platform *platform,
                                        const struct ronde_synthesis_request *request,
                                        const struct ronde_mem *mem, struct ronde_bound *out_bound,
                                        struct ronde_error *error)
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

enum ronde_status ronde_synthesis_try(const struct ronde_platform *platform,
                                      const struct ronde_synthesis_request *request,
                                      const struct ronde_mem *mem,
                                      const struct ronde_synthesis_taker *taker,
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
        tried.descends = trials[i].descends;
        tried.overfills = trials[i].overfills;
        if (request->trees == 0)
            tried.trees = trials[i].trees;
        struct ronde_error why = {RONDE_OK, 0, ""};
        status = ronde_synthesis_once(platform, &tried, mem, &schedule, &made, &why);
        /* Few machines are tori, or have ranks that look alike. */
        if (status == RONDE_UNSUPPORTED && (tried.has_axes || tried.overfills))
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
    RONDE_TRY(ronde_synthesis_bound(platform, request, mem, &known.bound, error));
    return ronde_synthesis_try(platform, request, mem, taker, &known, error);
}
