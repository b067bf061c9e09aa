/** Racing algorithms, or doing what rank 0 decides. See autotune.h. */
#include "ronde/autotune.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/** In a round of a race a candidate is measured for about so long, and at least so often. */
#define ROUND_NS 5e6
#define LEAST_RUNS 3u
#define MOST_RUNS 1000u

/** What took at most so many times as long as the fastest in the first round runs in all, in turns, and medians count. */
#define CLOSE 1.5
/** But not where a run takes longer than this: it is its own mean. */
#define LONG_NS 2e7
#define ROUNDS 3

/** Bytes of a name that rank 0 tells the others, its NUL included; the registry's are shorter. */
#define NAME_BYTES 32u

/** Whether this process decides. */
static bool decides(const struct ronde_autotune *autotune)
{
    return autotune->hooks.rank == 0;
}

/** Room for what this process may be told to run. */
static enum ronde_status make_room(struct ronde_autotune *autotune, struct ronde_error *error)
{
    autotune->most = autotune->selector.choice.count;
    if (!autotune->only_hears)
        return RONDE_OK;
    (void)ronde_algorithms(&autotune->most);
    autotune->heard = ronde_mem_new(ronde_mem_default(), autotune->most, sizeof *autotune->heard);
    return autotune->heard
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u algorithms", autotune->most);
}

enum ronde_status ronde_autotune_open(const struct ronde_tune_options *options,
                                      const struct ronde_compile_request *request,
                                      const struct ronde_autotune_hooks *hooks, bool is_race,
                                      struct ronde_autotune *out_autotune, struct ronde_error *error)
{
    *out_autotune =
        (struct ronde_autotune){.hooks = *hooks, .request = *request, .is_autotune = is_race};
    out_autotune->only_hears = !is_race && !decides(out_autotune);
    struct ronde_error *refusal = &out_autotune->refusal;
    enum ronde_status status = RONDE_OK;
    struct ronde_tune_options how = *options;
    how.is_run = true;
    if (!out_autotune->only_hears)
        status = ronde_selector_open(&how, request, &out_autotune->selector, refusal);
    RONDE_THEN(status, make_room(out_autotune, refusal));
    /* The others wait for what rank 0 has to say, also where that is that it cannot. */
    return status == RONDE_OK || hooks->ranks > 0
               ? RONDE_OK
               : ronde_fail(error, status, "%s", refusal->message);
}

/** What a backend cannot run is not chosen there. */
static enum ronde_status leave_out(struct ronde_autotune *autotune, uint64_t count,
                                   struct ronde_error *error)
{
    struct ronde_choice *choice = &autotune->selector.choice;
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    uint32_t left = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        why_not = (struct ronde_error){RONDE_OK, 0, ""};
        const enum ronde_status status =
            autotune->hooks.supports(autotune->hooks.self, choice->candidates[i].schedule, count,
                                     &why_not);
        choice->candidates[i].is_eligible = choice->candidates[i].is_eligible && status == RONDE_OK;
        left += choice->candidates[i].is_eligible;
    }
    return left > 0 ? RONDE_OK
                    : ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm runs there: %s",
                                 why_not.message);
}

/** A failure of one rank before the first run is one of all. */
static enum ronde_status tell_refusal(struct ronde_autotune *autotune, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = autotune->hooks.ranks;
    struct ronde_error *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for what %u ranks say", ranks);
    enum ronde_status status = autotune->refusal.status;
    if (status != RONDE_OK)
        (void)ronde_fail(error, status, "%s", autotune->refusal.message);
    if (ranks > 0) {
        const enum ronde_status heard =
            autotune->hooks.allgather(autotune->hooks.self, &autotune->refusal,
                                      sizeof autotune->refusal, all, error);
        status = status == RONDE_OK ? heard : status;
    }
    for (uint32_t rank = 0; rank < ranks && status == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            status = ronde_fail(error, all[rank].status, "rank %u: %.480s", rank, all[rank].message);
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}

/** What decides, and among which. */
static enum ronde_status find_basis(struct ronde_autotune *autotune, const char *backend,
                                    uint32_t cores, uint64_t count, struct ronde_error *error)
{
    struct ronde_selector *selector = &autotune->selector;
    if (autotune->is_autotune) {
        selector->basis = RONDE_BASIS_RACE;
        snprintf(selector->words, sizeof selector->words, "a race before each size, out of place");
    } else {
        RONDE_TRY(ronde_selector_use(selector, NULL, backend, cores, error));
    }
    return leave_out(autotune, count, error);
}

enum ronde_status ronde_autotune_enter(struct ronde_autotune *autotune, const char *backend,
                                       uint32_t cores, uint64_t count, struct ronde_error *error)
{
    struct ronde_error *refusal = &autotune->refusal;
    if (refusal->status == RONDE_OK && !autotune->only_hears)
        refusal->status = find_basis(autotune, backend, cores, count, refusal);
    return tell_refusal(autotune, error);
}

static enum ronde_status load(struct ronde_autotune *autotune, uint32_t index,
                              struct ronde_error *error)
{
    return autotune->hooks.load(autotune->hooks.self, index,
                                autotune->only_hears
                                    ? autotune->heard[index]
                                    : autotune->selector.choice.candidates[index].schedule,
                                error);
}

static enum ronde_status time_runs(struct ronde_autotune *autotune, uint32_t candidate,
                                   uint32_t runs, double *out_ns, struct ronde_error *error)
{
    return autotune->hooks.measure(autotune->hooks.self, candidate, runs, out_ns, error);
}

/** Another round of a candidate that knows how long it takes: the same number of runs everywhere, as times are joined. */
static enum ronde_status run_round(struct ronde_autotune *autotune, uint32_t candidate,
                                   double about_ns, double *out_ns, struct ronde_error *error)
{
    const double runs = about_ns > 0.0 ? ROUND_NS / about_ns : MOST_RUNS;
    const uint32_t most = runs < MOST_RUNS ? (uint32_t)runs : MOST_RUNS;
    return time_runs(autotune, candidate, most > LEAST_RUNS ? most : LEAST_RUNS, out_ns, error);
}

/** A first round, or a few runs where these take as long as one. */
static enum ronde_status qualify(struct ronde_autotune *autotune, uint32_t candidate,
                                 uint64_t count, double *out_ns, struct ronde_error *error)
{
    RONDE_TRY(load(autotune, candidate, error));
    autotune->hooks.aim(autotune->hooks.self, candidate, count);
    RONDE_TRY(time_runs(autotune, candidate, LEAST_RUNS, out_ns, error));
    if (*out_ns * LEAST_RUNS >= ROUND_NS)
        return RONDE_OK;
    return run_round(autotune, candidate, *out_ns, out_ns, error);
}

static void say(const struct ronde_autotune *autotune, const char *algorithm)
{
    if (decides(autotune) && autotune->hooks.progress)
        autotune->hooks.progress(autotune->hooks.self, algorithm);
}

/** The first round, of all. */
static enum ronde_status qualify_all(struct ronde_autotune *autotune, uint64_t count,
                                     struct ronde_error *error)
{
    struct ronde_selector *selector = &autotune->selector;
    for (uint32_t i = 0; i < selector->choice.count; i++) {
        const char *name = selector->choice.candidates[i].request.algorithm;
        selector->quotes[i] = (struct ronde_quote){.engine = "race"};
        if (!selector->choice.candidates[i].is_eligible)
            continue;
        say(autotune, name);
        RONDE_TRY(qualify(autotune, i, count, &selector->quotes[i].time_ns, error));
    }
    return RONDE_OK;
}

/** The median of the rounds. */
static double median_of(const double rounds[ROUNDS])
{
    const double low = fmin(rounds[0], rounds[1]), high = fmax(rounds[0], rounds[1]);
    return fmax(low, fmin(high, rounds[2]));
}

/** The other rounds, of those that are close to the best, in turns: a slow moment is not one candidate's alone. */
static enum ronde_status run_final(struct ronde_autotune *autotune, double limit_ns,
                                   struct ronde_error *error)
{
    struct ronde_selector *selector = &autotune->selector;
    const uint32_t count = selector->choice.count;
    enum ronde_status status = RONDE_OK;
    double(*rounds)[ROUNDS] = ronde_mem_new(ronde_mem_default(), count, sizeof *rounds);
    if (!rounds)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the rounds of %u algorithms",
                          count);
    for (uint32_t turn = 0; turn < count * ROUNDS && status == RONDE_OK; turn++) {
        const uint32_t i = turn % count, round = turn / count;
        const double first_ns = selector->quotes[i].time_ns;
        rounds[i][round] = first_ns;
        if (round > 0 && selector->choice.candidates[i].is_eligible && first_ns <= limit_ns)
            status = run_round(autotune, i, first_ns, &rounds[i][round], error);
    }
    for (uint32_t i = 0; i < count; i++)
        selector->quotes[i].time_ns = median_of(rounds[i]);
    ronde_mem_free(ronde_mem_default(), rounds, count, sizeof *rounds);
    return status;
}

static enum ronde_status race_all(struct ronde_autotune *autotune, uint64_t count,
                                  struct ronde_decision *out_decision, struct ronde_error *error)
{
    struct ronde_selector *selector = &autotune->selector;
    const struct ronde_choice *choice = &selector->choice;
    enum ronde_status status = qualify_all(autotune, count, error);
    const uint32_t first = ronde_choice_best(choice, selector->quotes, RONDE_NONE);
    if (status == RONDE_OK && first != RONDE_NONE && selector->quotes[first].time_ns < LONG_NS)
        status = run_final(autotune, CLOSE * selector->quotes[first].time_ns, error);
    say(autotune, NULL);
    out_decision->best = ronde_choice_best(choice, selector->quotes, RONDE_NONE);
    out_decision->second = ronde_choice_best(choice, selector->quotes, out_decision->best);
    return status;
}

/** What rank 0 has named, compiled when it is new. */
static enum ronde_status find_heard(struct ronde_autotune *autotune, const char *name,
                                    uint32_t *out_index, struct ronde_error *error)
{
    struct ronde_compile_request request = autotune->request;
    struct ronde_error why = {0};
    uint32_t index = 0;
    while (index < autotune->heard_count && strcmp(autotune->heard[index]->algorithm, name) != 0)
        index++;
    *out_index = index;
    if (index < autotune->heard_count)
        return RONDE_OK;
    request.algorithm = name;
    if (index == autotune->most || ronde_compile(&request, ronde_mem_default(), NULL,
                                                 &autotune->heard[index], &why) != RONDE_OK)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "rank 0 chose %s, which this build lacks: %.400s", name, why.message);
    autotune->heard_count++;
    return RONDE_OK;
}

/** By name, as builds may differ in what else they have. A rank 0 that could not decide says "". */
static enum ronde_status hear_rank_0(struct ronde_autotune *autotune,
                                     struct ronde_decision *io_decision, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_choice *choice = &autotune->selector.choice;
    const uint32_t ranks = autotune->hooks.ranks;
    char mine[NAME_BYTES] = "";
    if (decides(autotune) && io_decision->best != RONDE_NONE)
        snprintf(mine, sizeof mine, "%s", choice->candidates[io_decision->best].request.algorithm);
    char *all = ronde_mem_new(mem, ranks, NAME_BYTES);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the choices of %u ranks", ranks);
    const enum ronde_status status =
        autotune->hooks.allgather(autotune->hooks.self, mine, sizeof mine, all, error);
    memcpy(mine, all, sizeof mine);
    ronde_mem_free(mem, all, ranks, NAME_BYTES);
    if (status != RONDE_OK)
        return status;
    mine[NAME_BYTES - 1] = '\0';
    if (mine[0] == '\0')
        return ronde_fail(error, RONDE_UNSUPPORTED, "rank 0 could not choose an algorithm");
    return decides(autotune) ? RONDE_OK : find_heard(autotune, mine, &io_decision->best, error);
}

/** A failure of rank 0 is told to the others before it is reported here. */
static enum ronde_status decide(struct ronde_autotune *autotune, uint64_t count,
                                struct ronde_decision *out_decision, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    *out_decision = (struct ronde_decision){.best = RONDE_NONE, .second = RONDE_NONE};
    if (decides(autotune))
        status = ronde_selector_decide(&autotune->selector, count, out_decision, error);
    if (autotune->hooks.ranks > 0) {
        const enum ronde_status heard = hear_rank_0(autotune, out_decision, error);
        status = status == RONDE_OK ? heard : status;
    }
    return status;
}

enum ronde_status ronde_autotune_pick(struct ronde_autotune *autotune, uint64_t count,
                                      struct ronde_decision *out_decision, struct ronde_error *error)
{
    RONDE_TRY(autotune->is_autotune ? race_all(autotune, count, out_decision, error)
                                    : decide(autotune, count, out_decision, error));
    return load(autotune, out_decision->best, error);
}

void ronde_autotune_close(struct ronde_autotune *autotune)
{
    for (uint32_t i = 0; i < autotune->heard_count; i++)
        ronde_schedule_destroy(autotune->heard[i]);
    ronde_mem_free(ronde_mem_default(), autotune->heard, autotune->most, sizeof *autotune->heard);
    ronde_selector_close(&autotune->selector);
    *autotune = (struct ronde_autotune){.most = 0};
}
