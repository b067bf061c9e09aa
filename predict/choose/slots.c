/**
 * Times of loads whose flows share links, by the slots that look best. See outline.h.
 */
#include "outline.h"

#include "ronde/setup.h"
#include "ronde/split.h"

#include <math.h>
#include <string.h>

/* Steps of a load that pieces make clearly faster. */
#define MOST_LONG_STEPS ((uint64_t)1 << 23)

/* Steps of a load whose work is known to be little by longer pieces. */
#define MOST_FINER_STEPS ((uint64_t)1 << 21)

/*
 * Estimates are of messages as fast as alone, for some lengths of pieces: others may take so much less. All pairs of 16 GPUs on both
 * levels take .84 of theirs, 4 MiB in pieces of 32 KiB.
 */
#define ESTIMATED 0.8

/*
 * Work (ronde_sim_options.work_limit) of a long replay beside others that are known: some 5 s; of one that is not: 0.2 s. Of a step of
 * trees that were packed for the machine, as a rule far less: more where all ranks send at once, of which nothing comes. Of shorter
 * pieces of trees whose default cut was too much: a second; of the shortest of those that are the fastest there are: two.
 */
#define MOST_LONG_WORK UINT64_C(300000000)
#define MOST_QUICK_WORK UINT64_C(20000000)
#define MOST_AGAIN_WORK UINT64_C(100000000)
#define MOST_LAST_WORK UINT64_C(200000000)
#define MOST_STEP_WORK UINT64_C(4000)

/* How much more work than expected a replay may be that is done only as it is expected to be quick: shorter pieces meet more others. */
#define UNEXPECTED 2

/* Shorter slots than one that is so much worse than the best are worse still. */
#define RISEN 1.10

/* A slot is tried after another where its estimate is below that one's time, or near it where that is quick. */
#define NEAR 0.97
#define QUICK_NEAR 1.03

/* Estimates of the finest pieces are up to 8 % too high: of a chain over 128 GPUs by 1 GiB. */
#define CREDIBLE 0.92

/* What a second's replay has to promise. */
#define WORTH_WORK 0.975

/* Times of two slots that differ by less are equal: the last bit of a sum decides nothing. */
#define EQUAL 1e-9

/* Where sharing links costs much, slots of 32 KiB, 128 KiB and so on are tried, and shorter ones where that takes milliseconds. */
static const uint32_t contended[] = {2, 4, 6, 8, 10, 12, 1, 0};
#define CONTENDED_STEPS ((uint64_t)1 << 16)
#define CONTENDED_WORK 3e6

/*
 * The same work of a step of a symmetric schedule, at least: however few ranks are replayed, what all of them load is counted first.
 * Packed trees are known to share links.
 */
#define COUNTED_WORK 4

/* Where 32 KiB take so much longer than the best, shorter slots are not tried. */
#define LOST 1.5

enum ronde_status ronde_forecast_quote(const struct ronde_forecast *forecast, const char *engine,
                                       struct ronde_quote *out_quote, struct ronde_error *error)
{
    struct ronde_prediction prediction;
    RONDE_TRY(ronde_forecast_replay(forecast, engine, &prediction, error));
    *out_quote =
        (struct ronde_quote){.time_ns = prediction.time_ns,
                             .engine = prediction.engine,
                             .slot_bytes = forecast->load.slot_bytes,
                             .is_bound = prediction.result.is_beyond,
                             .bound_of = RONDE_BOUND_OF_PIECES,
                             .work = prediction.result.work,
                             .is_exact = prediction.result.is_contention_free &&
                                         !ronde_prediction_has(&prediction, "approximate")};
    return RONDE_OK;
}

/** Slots to replay a load with, one that holds all of it first, and their estimates. */
struct slots {
    uint64_t bytes[RONDE_OUTLINE_SLOTS + 1];
    double estimated_ns[RONDE_OUTLINE_SLOTS + 1];
    uint32_t count;
};

/** The best time of a load by any slot so far. */
struct search {
    const struct ronde_forecast *forecast;
    struct ronde_quote *quote; /**< the time, INFINITY at first */
    uint64_t most_steps;       /**< of a replay that is not long */
    double most_ns;    /**< times above are of no interest; INFINITY = all are, whatever the work */
    double fastest_ns; /**< of all that is known: a long replay has to promise less */
    double beyond_ns;  /**< the least that was found to be above; or INFINITY */
    double last_ns;    /**< the last time, or what it was found to be above */
    double off;        /**< the time over its estimate */
    double work_a_step;     /**< of what maxmin replayed so far, at most */
    bool is_packed;         /**< trees that were packed for the machine, unasked */
    uint64_t work_limit;    /**< of a replay (ronde_sim_options); 0 = none */
    uint64_t quick_work;    /**< of one that is expected to be quick; 0 = none is */
    uint64_t refused_steps; /**< so many are too much work */
    uint64_t tried[RONDE_OUTLINE_SLOTS + 2]; /**< slots */
    uint32_t tried_count;
};

static void add_slot(struct slots *slots, uint64_t bytes, double estimated_ns)
{
    slots->bytes[slots->count] = bytes;
    slots->estimated_ns[slots->count++] = estimated_ns;
}

/** A slot that holds the whole block: one piece, said as a length where that is not the default. */
static uint64_t whole_slot(const struct ronde_forecast *forecast)
{
    if (forecast->load.slot_bytes == 0)
        return 0;
    const uint64_t bytes = forecast->load.count * ronde_dtype_bytes(forecast->load.dtype);
    return (bytes + RONDE_GRAIN_BYTES) * forecast->schedule->max_chunk_count;
}

/** Steps of a load that is cut by a slot. */
static uint64_t steps_of(const struct ronde_forecast *forecast, uint64_t slot_bytes)
{
    struct ronde_forecast cut = *forecast;
    cut.load.slot_bytes = slot_bytes;
    return ronde_forecast_steps(&cut);
}

/** The most steps of a candidate that is cut finer than by default; is_long: where that is clearly faster or known to be quick. */
static uint64_t most_steps(const struct ronde_forecast *forecast,
                           const struct ronde_candidate *candidate, bool is_long)
{
    uint64_t most = candidate->most_steps ? candidate->most_steps : RONDE_SLOTS_MOST_STEPS;
    if (is_long)
        most = candidate->most_steps ? RONDE_SLOTS_MOST_STEPS : MOST_LONG_STEPS;
    return forecast->most_steps > 0 && forecast->most_steps < most ? forecast->most_steps : most;
}

/**
 * Estimates cost the steps of a few pieces, however many there are. From long slots on, until what messages cost by themselves
 * is more than what still shorter slots save.
 */
static enum ronde_status list_slots(const struct ronde_forecast *forecast,
                                    const struct ronde_candidate *candidate, struct slots *slots,
                                    struct ronde_error *error)
{
    struct ronde_outline *outline = candidate->outline;
    const uint64_t count = forecast->load.count;
    enum ronde_status status = RONDE_OK;
    double least_ns = INFINITY;
    add_slot(slots, whole_slot(forecast), ronde_outline_whole(outline, count));
    for (uint32_t s = RONDE_OUTLINE_SLOTS; s-- > 0 && status == RONDE_OK;) {
        const uint64_t slot_bytes = ronde_outline_slot_bytes(s);
        double estimated_ns = INFINITY;
        if (steps_of(forecast, slot_bytes) > most_steps(forecast, candidate, true))
            break;
        status = ronde_outline_cut(forecast, outline, s, count, &estimated_ns, error);
        add_slot(slots, slot_bytes, estimated_ns);
        if (estimated_ns > RISEN * least_ns)
            break;
        least_ns = fmin(least_ns, estimated_ns);
    }
    return status;
}

/** The longest slot that is as good as the best: fewer pieces are simpler, and quicker to replay. */
static uint32_t least_slot(const struct slots *slots)
{
    uint32_t least = 0, longest = 0;
    for (uint32_t s = 1; s < slots->count; s++)
        if (slots->estimated_ns[s] < slots->estimated_ns[least])
            least = s;
    while (slots->estimated_ns[longest] > RONDE_SLOTS_AS_GOOD * slots->estimated_ns[least])
        longest++;
    return longest;
}

bool ronde_forecast_is_long(const struct ronde_forecast *forecast)
{
    return forecast->most_steps > 0 && ronde_forecast_steps(forecast) > forecast->most_steps;
}

/* Whether a slot is not worth a replay: a load is replayed once with each, and not where fewer steps were too much work. */
static bool is_out(const struct search *search, uint64_t slot_bytes)
{
    struct ronde_forecast cut = *search->forecast;
    cut.load.slot_bytes = slot_bytes;
    bool is = ronde_forecast_steps(&cut) >= search->refused_steps || ronde_forecast_is_long(&cut);
    for (uint32_t i = 0; !is && i < search->tried_count; i++)
        is = search->tried[i] == slot_bytes;
    return is;
}

static void note_found(struct search *search, const struct ronde_quote *found)
{
    const double steps = (double)steps_of(search->forecast, found->slot_bytes);
    /* SimGrid, which has the few steps, works most as it begins. */
    if (strcmp(found->engine, "maxmin") == 0)
        search->work_a_step = fmax(search->work_a_step, (double)found->work / steps);
    search->last_ns = found->time_ns;
    if (found->is_bound)
        search->beyond_ns = fmin(search->beyond_ns, found->time_ns);
    else if (found->time_ns < search->quote->time_ns * (1 - EQUAL))
        *search->quote = *found;
}

/* What a replay of so many steps may be. */
static uint64_t work_limit_of(const struct search *search, uint64_t steps)
{
    const uint64_t work = steps * MOST_STEP_WORK;
    if (!search->is_packed)
        return search->work_limit;
    if (search->quick_work > 0)
        return UNEXPECTED * search->quick_work;
    return work < MOST_QUICK_WORK ? MOST_QUICK_WORK : work < MOST_LONG_WORK ? work : MOST_LONG_WORK;
}

/** A replay that is too much work is no candidate, and no failure; one that is no better than what is known ends early. */
static enum ronde_status try_slot(struct search *search, uint64_t slot_bytes,
                                  struct ronde_error *error)
{
    struct ronde_forecast cut = *search->forecast;
    struct ronde_quote found;
    struct ronde_error why = {RONDE_OK, 0, ""};
    const double until_ns = fmin(search->quote->time_ns, search->most_ns);
    const uint64_t steps = steps_of(&cut, slot_bytes);
    if (is_out(search, slot_bytes))
        return RONDE_OK;
    search->tried[search->tried_count++] = slot_bytes;
    cut.load.slot_bytes = slot_bytes;
    cut.sim.until_ns = isfinite(until_ns) ? until_ns : 0;
    cut.sim.work_limit = work_limit_of(search, steps);
    const enum ronde_status status = ronde_forecast_quote(&cut, "auto", &found, &why);
    if (status == RONDE_OK)
        note_found(search, &found);
    else if (status != RONDE_UNSUPPORTED)
        return ronde_fail(error, status, "%s", why.message);
    else
        search->refused_steps = steps;
    return RONDE_OK;
}

enum ronde_status ronde_slots_tighten(const struct ronde_forecast *forecast,
                                      const struct ronde_candidate *candidate,
                                      struct ronde_quote *quote, struct ronde_error *error)
{
    struct slots slots = {.count = 0};
    RONDE_TRY(list_slots(forecast, candidate, &slots, error));
    quote->time_ns = fmax(quote->time_ns, ESTIMATED * slots.estimated_ns[least_slot(&slots)]);
    quote->bound_of = RONDE_BOUND_OF_PIECES;
    return RONDE_OK;
}

/* Steps of a replay that is quick, so that slots are tried which are not sure to be better; its work, where that is known. */
#define QUICK_STEPS 0x1p17
#define QUICK_WORK 1e7
#define MOST_TRIES 4u

/** The slots that look best, as long as their estimates are below the time that was found, or near it where that is quick. */
static enum ronde_status try_best(struct search *search, struct slots slots,
                                  struct ronde_error *error)
{
    const double enough_ns = search->most_ns / ESTIMATED;
    enum ronde_status status = RONDE_OK;
    for (uint32_t s = 0; s < slots.count; s++)
        if ((s > 0 && steps_of(search->forecast, slots.bytes[s]) > search->most_steps) ||
            is_out(search, slots.bytes[s]))
            slots.estimated_ns[s] = INFINITY;
    for (uint32_t tries = 0; status == RONDE_OK && tries < MOST_TRIES; tries++) {
        const uint32_t least = least_slot(&slots);
        const double estimated_ns = slots.estimated_ns[least];
        const double before_ns = search->quote->time_ns;
        const double steps = (double)steps_of(search->forecast, slots.bytes[least]);
        const bool is_quick = search->work_a_step > 0 ? search->work_a_step * steps <= QUICK_WORK
                                                      : steps <= QUICK_STEPS;
        const double near_ns = (is_quick ? QUICK_NEAR : NEAR) * before_ns;
        if (isinf(estimated_ns) || estimated_ns > fmin(near_ns, enough_ns) ||
            (tries > 1 && !is_quick))
            break;
        slots.estimated_ns[least] = INFINITY;
        status = try_slot(search, slots.bytes[least], error);
        if (search->quote->time_ns < before_ns)
            search->off = search->quote->time_ns / estimated_ns;
    }
    return status;
}

/* Whether shorter pieces than those of the best time were no better: what they wait for is not what estimates know of. */
static bool has_turned(const struct search *search)
{
    for (uint32_t i = 0; i < search->tried_count; i++)
        if (search->tried[i] > 0 && search->tried[i] < search->quote->slot_bytes)
            return true;
    return false;
}

/**
 * A slot so short that its replay is long, where as much above its estimate as a longer one is it is still the fastest: put off
 * until others have been looked at, of which a quick one may be faster.
 */
static enum ronde_status promise_long(struct search *search, const struct slots *slots,
                                      struct ronde_error *error)
{
    struct ronde_quote *quote = search->quote;
    const uint32_t least = least_slot(slots);
    const double least_ns = search->off * slots->estimated_ns[least];
    search->work_limit = MOST_LONG_WORK;
    if (steps_of(search->forecast, slots->bytes[least]) <= search->most_steps ||
        is_out(search, slots->bytes[least]) || has_turned(search) ||
        least_ns >= NEAR * quote->time_ns)
        return RONDE_OK;
    if (isinf(quote->time_ns))
        return try_slot(search, slots->bytes[least], error);
    quote->promised_ns = CREDIBLE * least_ns;
    quote->promised_slot_bytes = quote->promised_ns < search->fastest_ns ? slots->bytes[least] : 0;
    return RONDE_OK;
}

/* What everyone shows of an algorithm that is named, where it promises more than what was found of those that are quicker to replay. */
static enum ronde_status try_default(struct search *search, const struct slots *slots,
                                     struct ronde_error *error)
{
    const uint64_t slot_bytes = search->forecast->load.slot_bytes;
    for (uint32_t s = 1; s < slots->count; s++)
        if (slots->bytes[s] == slot_bytes &&
            search->off * slots->estimated_ns[s] < search->quote->time_ns)
            return try_slot(search, slot_bytes, error);
    return RONDE_OK;
}

/**
 * The shortest slot of packed trees whose replay takes two seconds, by the work of steps so far, if they are the fastest there are and it
 * promises to be worth that: what is above the estimate is what messages wait for one another, and shorter ones wait for less.
 */
static enum ronde_status try_shortest(struct search *search, const struct slots *slots,
                                      struct ronde_error *error)
{
    const struct ronde_quote *quote = search->quote;
    const double waiting_ns = quote->time_ns * (1 - 1 / search->off);
    const double most_steps = (double)MOST_LAST_WORK / fmax(search->work_a_step, 1.0);
    uint32_t last = 0;
    while (last + 1 < slots->count &&
           (double)steps_of(search->forecast, slots->bytes[last + 1]) <= most_steps)
        last++;
    const double shorter = (double)slots->bytes[last] / (double)quote->slot_bytes;
    return search->work_a_step > 0 && quote->slot_bytes > 0 && shorter < 1 &&
                   slots->estimated_ns[last] + shorter * waiting_ns <
                       WORTH_WORK * fmin(quote->time_ns, search->fastest_ns)
               ? try_slot(search, slots->bytes[last], error)
               : RONDE_OK;
}

/* Whether so many steps that share links are few, or known to be quick; is_short: they have to be, as far as is known. */
static bool may_contend(const struct search *search, uint64_t steps, bool is_short)
{
    const bool is_counted =
        search->forecast->schedule->symmetry != RONDE_SYMMETRY_NONE && !search->is_packed;
    const double work_a_step = fmax(search->work_a_step, is_counted ? COUNTED_WORK : 0);
    const bool is_quick = work_a_step * (double)steps <= CONTENDED_WORK;
    return steps <= CONTENDED_STEPS ? is_quick || !is_short : is_quick && search->work_a_step > 0;
}

/** Where sharing links costs much, pieces may break up what is in each other's way, of which estimates know nothing. */
static enum ronde_status try_pieces(struct search *search, const struct ronde_outline *outline,
                                    struct ronde_error *error)
{
    const struct ronde_forecast *forecast = search->forecast;
    const double bound_ns = ronde_outline_bound(outline, forecast->load.count);
    double longer_ns = 0;
    for (size_t i = 0; i < sizeof contended / sizeof contended[0]; i++) {
        const uint64_t slot_bytes = ronde_outline_slot_bytes(contended[i]);
        const uint64_t steps = steps_of(forecast, slot_bytes);
        const bool is_short = contended[i] < contended[0];
        if (search->quote->time_ns <= RONDE_OUTLINE_CLEARLY * bound_ns ||
            steps <= ronde_forecast_steps(forecast) || !may_contend(search, steps, is_short) ||
            (is_short && longer_ns > LOST * search->quote->time_ns))
            continue;
        search->last_ns = 0;
        RONDE_TRY(try_slot(search, slot_bytes, error));
        if (contended[i] <= contended[0])
            longer_ns = search->last_ns;
    }
    return RONDE_OK;
}

/** By shorter slots than were allowed at first, as far as replays are as quick as those were. */
static enum ronde_status try_finer(struct search *search, const struct slots *slots,
                                   struct ronde_error *error)
{
    const bool is_again = search->is_packed && search->refused_steps != UINT64_MAX;
    const double work_a_step = search->work_a_step > 0 ? search->work_a_step : 1.0;
    const uint64_t quick_work = is_again ? MOST_AGAIN_WORK : MOST_QUICK_WORK;
    const double quick_steps = (double)quick_work / work_a_step;
    /* Less than a visit a step: of many that are alike one is replayed. */
    const uint64_t most = work_a_step < 1 ? MOST_LONG_STEPS : MOST_FINER_STEPS;
    if (quick_steps <= (double)search->most_steps || search->most_steps >= most)
        return RONDE_OK;
    search->most_steps = quick_steps < (double)most ? (uint64_t)quick_steps : most;
    search->quick_work = isfinite(search->fastest_ns) ? quick_work : 0;
    const enum ronde_status status = try_best(search, *slots, error);
    search->quick_work = 0;
    return status;
}

/** By the slots that are listed, the best first. */
static enum ronde_status try_listed(struct search *search, const struct ronde_candidate *candidate,
                                    struct slots *slots, struct ronde_error *error)
{
    RONDE_TRY(list_slots(search->forecast, candidate, slots, error));
    return try_best(search, *slots, error);
}

/** Whether packed trees are too much work as they are cut by default, so that nothing is known of them. */
static bool is_refused(const struct search *search)
{
    return search->is_packed && isinf(search->quote->time_ns) && isinf(search->beyond_ns);
}

/** Whether packed trees, cut by default, have more steps than could be replayed of ranks that differ. */
static bool is_hopeless(const struct search *search)
{
    return search->is_packed && search->forecast->schedule->symmetry == RONDE_SYMMETRY_NONE &&
           ronde_forecast_steps(search->forecast) > RONDE_SLOTS_MOST_STEPS;
}

static enum ronde_status find_time(struct search *search, bool is_open,
                                   const struct ronde_candidate *candidate,
                                   struct ronde_error *error)
{
    const struct ronde_forecast *forecast = search->forecast;
    struct ronde_quote *quote = search->quote;
    struct slots slots = {.count = 0};
    enum ronde_status status = RONDE_OK;
    *quote = (struct ronde_quote){.time_ns = INFINITY, .engine = "none"};
    if (is_open && candidate->outline->likes_pieces)
        status = try_listed(search, candidate, &slots, error);
    /* Trees that were packed for the machine, and what a user wrote, come with a cut that suits them. */
    if (status == RONDE_OK && !is_hopeless(search) &&
        (!isfinite(quote->time_ns) ||
         (!candidate->algorithm && ronde_forecast_steps(forecast) <= search->most_steps)))
        status = try_slot(search, forecast->load.slot_bytes, error);
    /* Longer pieces tell what a step costs. */
    if (status == RONDE_OK && is_open && slots.count == 0 && is_refused(search))
        status = try_listed(search, candidate, &slots, error);
    /* Packed trees that have lost may win by shorter pieces; so may what is known to be quick to replay. */
    if (status == RONDE_OK && slots.count > 0 &&
        (quote->is_exact || search->is_packed || search->work_a_step > 0))
        status = try_finer(search, &slots, error);
    if (status == RONDE_OK && is_open)
        status = try_pieces(search, candidate->outline, error);
    if (status == RONDE_OK && slots.count > 0)
        status = search->is_packed ? try_shortest(search, &slots, error)
                                   : promise_long(search, &slots, error);
    if (status == RONDE_OK && !search->is_packed && quote->promised_ns <= 0)
        status = try_default(search, &slots, error);
    if (isinf(quote->time_ns) && isfinite(search->beyond_ns))
        *quote = (struct ronde_quote){.time_ns = search->beyond_ns,
                                      .engine = "flat",
                                      .is_bound = true,
                                      .bound_of = RONDE_BOUND_OF_PIECES};
    return status;
}

/** What a replay may be: of copies less. */
static uint64_t work_of(const struct ronde_candidate *candidate, double most_ns)
{
    if (candidate->turns_of == 0)
        return isfinite(most_ns) ? MOST_LONG_WORK : 0;
    return MOST_QUICK_WORK;
}

enum ronde_status ronde_slots_find_time(const struct ronde_forecast *forecast,
                                        const struct ronde_candidate *candidate, bool is_open,
                                        double most_ns, double fastest_ns,
                                        struct ronde_quote *quote, struct ronde_error *error)
{
    struct search search = {.forecast = forecast,
                            .quote = quote,
                            .most_steps = most_steps(forecast, candidate, false),
                            .most_ns = most_ns,
                            .fastest_ns = fastest_ns,
                            .beyond_ns = INFINITY,
                            .off = 1,
                            .is_packed = candidate->most_steps > 0,
                            .work_limit = work_of(candidate, most_ns),
                            .refused_steps = UINT64_MAX};
    return find_time(&search, is_open, candidate, error);
}

enum ronde_status ronde_slots_keep_promise(const struct ronde_forecast *forecast,
                                           const struct ronde_candidate *candidate,
                                           double fastest_ns, struct ronde_quote *quote,
                                           struct ronde_error *error)
{
    struct search search = {.forecast = forecast,
                            .quote = quote,
                            .most_ns = INFINITY,
                            .work_limit = MOST_LONG_WORK,
                            .refused_steps = UINT64_MAX};
    const uint64_t slot_bytes = quote->promised_slot_bytes;
    const double promised_ns = quote->promised_ns;
    struct slots slots = {.count = 0};
    quote->promised_slot_bytes = 0;
    if (promised_ns >= fmin(quote->time_ns, fastest_ns))
        return RONDE_OK;
    quote->promised_ns = 0;
    RONDE_TRY(try_slot(&search, slot_bytes, error));
    RONDE_TRY(list_slots(forecast, candidate, &slots, error));
    search.off = promised_ns / CREDIBLE / slots.estimated_ns[least_slot(&slots)];
    return try_default(&search, &slots, error);
}
