/* Schedules made for one machine. See ronde/synthesize.h. */
#include "ronde/synthesize.h"

#include "existing.h"
#include "once.h"
#include "progress.h"
#include "timing.h"

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

/* What is tried for a size, 0 = any: one tree of few levels, and several of a single root, which are soon packed. */
static const struct trial {
    uint32_t height;
    uint32_t trees;
    bool is_rooted;
} trials[] = {{0, 0, false}, {1, 1, false}, {2, 1, false}, {3, 1, false}, {4, 1, false},
              {6, 1, false}, {2, 0, true},  {3, 0, true},  {4, 0, true}};

/* An algorithm of the registry takes the place of trees that are slower. */
static enum ronde_status
keep_faster(const struct ronde_platform *platform, const struct ronde_synthesis_request *request,
            const struct ronde_mem *mem, struct ronde_schedule **out_schedule,
            struct ronde_synthesis *out, struct ronde_error *error)
{
    struct ronde_existing existing;
    ronde_synthesis_say(&request->progress, "pricing the algorithms there are", 0, 0);
    const enum ronde_status status = ronde_existing_find(platform, request, mem, &existing, error);
    if (status != RONDE_OK || !existing.schedule)
        return status;
    if (existing.time_ns < out->time_ns) {
        struct ronde_schedule *trees = *out_schedule;
        *out_schedule = existing.schedule;
        existing.schedule = trees;
        out->algorithm = existing.algorithm;
        out->algorithm_ns = existing.time_ns;
    }
    ronde_schedule_destroy(existing.schedule);
    return RONDE_OK;
}

/* Makes schedules of several heights and keeps the one that is predicted to be fastest. */
static enum ronde_status synthesize_for_size(const struct ronde_platform *platform,
                                             const struct ronde_synthesis_request *request,
                                             const struct ronde_mem *mem,
                                             struct ronde_schedule **out_schedule,
                                             struct ronde_synthesis *out, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    for (size_t i = 0; status == RONDE_OK && i < sizeof trials / sizeof *trials; i++) {
        struct ronde_synthesis_request tried = *request;
        struct ronde_synthesis made = *out;
        struct ronde_schedule *schedule = NULL;
        if (trials[i].is_rooted && !is_rooted(request))
            continue;
        ronde_synthesis_say(&request->progress, "schedules tried", i,
                            sizeof trials / sizeof *trials);
        tried.most_height = trials[i].height;
        if (request->trees == 0)
            tried.trees = trials[i].trees;
        status = ronde_synthesis_once(platform, &tried, mem, &schedule, &made, error);
        if (status == RONDE_OK)
            status = ronde_synthesis_time(platform, schedule, request->bytes, &made.time_ns, error);
        if (status == RONDE_OK && (!*out_schedule || made.time_ns < out->time_ns)) {
            struct ronde_schedule *slower = *out_schedule;
            *out_schedule = schedule;
            *out = made;
            schedule = slower;
        }
        ronde_schedule_destroy(schedule);
    }
    if (status == RONDE_OK && !request->is_of_trees && request->trees == 0 &&
        request->connections == 0)
        status = keep_faster(platform, request, mem, out_schedule, out, error);
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
    const struct ronde_compile_request asked = {.collective = request->collective,
                                                .ranks = request->ranks,
                                                .root = request->root};
    *out_schedule = NULL;
    *out_synthesis = (struct ronde_synthesis){.trees = 0};
    enum ronde_status status = check(request, error);
    ronde_synthesis_say(&request->progress, "finding the bound", 0, 0);
    if (status == RONDE_OK)
        status = ronde_bound_find(platform, &asked, mem, &out_synthesis->bound, error);
    if (status != RONDE_OK)
        return status;
    return request->bytes > 0 && request->most_height == 0
               ? synthesize_for_size(platform, request, mem, out_schedule, out_synthesis, error)
               : ronde_synthesis_once(platform, request, mem, out_schedule, out_synthesis, error);
}
