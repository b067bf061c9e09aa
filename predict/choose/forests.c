/** Schedules made for the machine as candidates. See setup.h. */
#include "ronde/setup.h"

#include "ronde/synthesize.h"

#include <string.h>

/** Unasked, of so many ranks at most: of 128 ranks all are made in a tenth of a second, of 1,024 in ten. */
#define MOST_QUICK_RANKS 512u

/** Unasked, so many steps where ranks are not folded, as 128 ranks have for all_reduce; what their replays may cost is for slots.c. */
#define MOST_QUICK_STEPS 65536u

/** Steps up to which they are cut into pieces before the work of a step is known, where ranks are folded and where they are not. */
#define MOST_CUT_STEPS (UINT64_C(1) << 16)
#define MOST_PLAIN_STEPS (UINT64_C(1) << 13)

/** The same where no two messages share a link. */
#define MOST_APART_STEPS (UINT64_C(1) << 20)

/** What is made, and where it goes. */
struct planting {
    struct ronde_choice *choice;
    const struct ronde_compile_request *request; /**< of the others */
    const struct ronde_platform *platform;
    const char *only; /**< the one of this name; NULL = all */
    bool is_quick;    /**< those that are quickly made and replayed */
    uint32_t first;   /**< of them in the choice */
    bool was_long;    /**< one was left out as it takes long */
};

static bool is_plain(const struct ronde_schedule *schedule)
{
    return schedule->symmetry == RONDE_SYMMETRY_NONE;
}

static bool takes_long(const struct ronde_schedule *schedule, const struct ronde_synthesis *made)
{
    return is_plain(schedule) && !made->is_apart &&
           schedule->proof.steps * schedule->channel_count > MOST_QUICK_STEPS;
}

/** Steps of a load that is cut finer than by default, at first. */
static uint64_t most_steps(const struct ronde_schedule *schedule, const struct ronde_synthesis *made)
{
    return made->is_apart       ? MOST_APART_STEPS
           : is_plain(schedule) ? MOST_PLAIN_STEPS
                                : MOST_CUT_STEPS;
}

static bool is_known(const struct planting *planting, const struct ronde_schedule *schedule)
{
    for (uint32_t i = planting->first; i < planting->choice->count; i++)
        if (planting->choice->candidates[i].schedule->hash == schedule->hash)
            return true;
    return false;
}

static enum ronde_status take(void *self, const char *name, struct ronde_schedule *schedule,
                              const struct ronde_synthesis *made, struct ronde_error *error)
{
    struct planting *planting = self;
    struct ronde_candidate *candidate;
    const bool is_long = planting->is_quick && takes_long(schedule, made);
    /* Where ranks are not folded, pieces are few unless all is asked for. */
    planting->was_long |= planting->is_quick && is_plain(schedule) && !made->is_apart;
    if (is_long || is_known(planting, schedule)) {
        ronde_schedule_destroy(schedule);
        return RONDE_OK;
    }
    RONDE_TRY(
        ronde_choice_take(planting->choice, planting->request, name, schedule, &candidate, error));
    if (planting->is_quick)
        candidate->most_steps = most_steps(schedule, made);
    return RONDE_OK;
}

static enum ronde_status plant(struct planting *planting, struct ronde_error *error)
{
    struct ronde_choice *choice = planting->choice;
    const struct ronde_synthesis_request request = {.collective = planting->request->collective,
                                                    .ranks = planting->request->ranks,
                                                    .root = planting->request->root,
                                                    .is_quick = planting->is_quick,
                                                    .only = planting->only};
    const struct ronde_synthesis_taker taker = {planting, take};
    struct ronde_error why = {RONDE_OK, 0, ""};
    if (!ronde_synthesis_serves(&request))
        return RONDE_OK;
    planting->first = choice->count;
    choice->lacks_forests = planting->is_quick && request.ranks > MOST_QUICK_RANKS;
    if (choice->lacks_forests)
        return RONDE_OK;
    const enum ronde_status status =
        ronde_synthesize_all(planting->platform, &request, choice->mem, &taker, &why);
    choice->lacks_forests =
        planting->was_long || (planting->is_quick && status == RONDE_UNSUPPORTED);
    /* Machines whose routes are not known, or whose ranks share a memory, have none. */
    return status == RONDE_OK || status == RONDE_UNSUPPORTED || status == RONDE_BAD_INPUT
               ? RONDE_OK
               : ronde_fail(error, status, "%s", why.message);
}

enum ronde_status
ronde_choice_add_forests(struct ronde_choice *choice, const struct ronde_compile_request *request,
                         const struct ronde_platform *platform,
                         const struct ronde_tune_options *options, struct ronde_error *error)
{
    const bool is_only = options->only && ronde_is_synthesized(options->only);
    const bool is_any = is_only && strcmp(options->only, RONDE_SYNTHESIZED) == 0;
    struct planting planting = {.choice = choice,
                                .request = request,
                                .platform = platform,
                                .only = is_any ? NULL : options->only,
                                .is_quick = options->forests == RONDE_FORESTS_QUICK};
    if (options->forests == RONDE_FORESTS_NONE || (options->only && !is_only) ||
        (options->is_placed && options->placement == RONDE_PLACE_SCATTERED) || request->order ||
        request->channel_orders || request->channels > 0 || request->shape_count > 0)
        return RONDE_OK;
    RONDE_TRY(plant(&planting, error));
    if (!is_only || !choice->lacks_forests || choice->count > planting.first)
        return RONDE_OK;
    planting.is_quick = planting.was_long = false;
    return plant(&planting, error);
}
