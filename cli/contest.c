/* Who runs. See contest.h. */
#include "contest.h"

#include "report.h"

#include <string.h>

/* In a heat of a race a candidate is measured for about so long, and at least so often. */
#define HEAT_NS 5e6
#define LEAST_RUNS 3u
#define MOST_RUNS 1000u

/* Whoever took at most so many times as long as the fastest in its first heat runs in all, in turns, and medians count. */
#define CLOSE 1.5
/* But not where a run takes longer than this: it is its own mean. */
#define LONG_NS 2e7
#define HEATS 3u

/* Bytes of a name that rank 0 tells the others, its NUL included; the registry's are shorter. */
#define NAME_BYTES 32u

bool ronde_is_race(const struct ronde_options *options)
{
    return options->algorithm_count == 1 && strcmp(options->algorithms[0], "race") == 0;
}

/* Whether this process is the one that decides. */
static bool decides(const struct ronde_contest *contest)
{
    return !contest->comm || ronde_comm_rank(contest->comm) == 0;
}

/* Room for what this process may come to run. */
static enum ronde_status make_room(struct ronde_contest *contest, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    contest->most = contest->chooser.choice.count;
    if (contest->only_hears) {
        (void)ronde_algorithms(&contest->most);
        contest->heard = ronde_mem_new(mem, contest->most, sizeof *contest->heard);
    }
    contest->trials = ronde_mem_new(mem, contest->most, sizeof *contest->trials);
    return contest->trials && (contest->heard || !contest->only_hears)
               ? RONDE_OK
               : ronde_fail(error, RONDE_NO_MEMORY, "no memory for %u algorithms", contest->most);
}

enum ronde_status ronde_contest_open(const struct ronde_options *options,
                                     const struct ronde_request *request, struct ronde_comm *comm,
                                     struct ronde_contest *out_contest, struct ronde_error *error)
{
    *out_contest = (struct ronde_contest){.options = options,
                                          .comm = comm,
                                          .request = *request,
                                          .is_race = ronde_is_race(options)};
    out_contest->only_hears = !out_contest->is_race && !decides(out_contest);
    struct ronde_error *refusal = &out_contest->refusal;
    enum ronde_status status = RONDE_OK;
    if (!out_contest->only_hears)
        status = ronde_chooser_open(options, request, &out_contest->chooser, refusal);
    if (status == RONDE_OK)
        status = make_room(out_contest, refusal);
    /* The others wait for what rank 0 has to say, also where that is that it cannot. */
    return status == RONDE_OK || comm ? RONDE_OK : ronde_fail(error, status, "%s", refusal->message);
}

/* What a backend cannot run is not chosen there. */
static enum ronde_status leave_out(struct ronde_contest *contest, uint64_t count,
                                   struct ronde_error *error)
{
    struct ronde_choice *choice = &contest->chooser.choice;
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    uint32_t left = 0;
    for (uint32_t i = 0; i < choice->count; i++) {
        struct ronde_trial trial =
            ronde_trial_describe(contest->target, choice->candidates[i].schedule, contest->options);
        ronde_trial_aim(&trial, contest->memory, count, false);
        why_not = (struct ronde_error){RONDE_OK, 0, ""};
        const enum ronde_status status =
            contest->target->backend->supports(contest->target->self, trial.schedule, &trial.launch,
                                               &why_not);
        choice->candidates[i].is_eligible = choice->candidates[i].is_eligible && status == RONDE_OK;
        left += choice->candidates[i].is_eligible;
    }
    return left > 0 ? RONDE_OK
                    : ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm runs there: %s",
                                 why_not.message);
}

/* A failure of one rank before the first run is one of all. */
static enum ronde_status tell_refusal(struct ronde_contest *contest, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = contest->comm ? ronde_comm_ranks(contest->comm) : 0;
    struct ronde_error *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for what %u ranks say", ranks);
    enum ronde_status status = contest->refusal.status;
    if (status != RONDE_OK)
        (void)ronde_fail(error, status, "%s", contest->refusal.message);
    if (contest->comm) {
        const enum ronde_status heard = ronde_comm_allgather(contest->comm, &contest->refusal,
                                                             sizeof contest->refusal, all, error);
        status = status == RONDE_OK ? heard : status;
    }
    for (uint32_t rank = 0; rank < ranks && status == RONDE_OK; rank++)
        if (all[rank].status != RONDE_OK)
            status = ronde_fail(error, all[rank].status, "rank %u: %.480s", rank, all[rank].message);
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}

/* Who decides, and among whom. */
static enum ronde_status find_judge(struct ronde_contest *contest, const char *engine,
                                    uint64_t count, struct ronde_error *error)
{
    /* A machine without such a number has a core for every rank. */
    const uint32_t cores = contest->target->machine.cores;
    char *basis = contest->chooser.basis;
    enum ronde_status status = RONDE_OK;
    if (contest->is_race)
        snprintf(basis, sizeof contest->chooser.basis, "a race before each size, out of place");
    else
        status =
            ronde_chooser_rely(&contest->chooser, NULL, engine, cores ? cores : UINT32_MAX, error);
    return status == RONDE_OK ? leave_out(contest, count, error) : status;
}

enum ronde_status ronde_contest_enter(struct ronde_contest *contest,
                                      const struct ronde_target *target, struct ronde_memory *memory,
                                      const char *engine, uint64_t count, struct ronde_error *error)
{
    struct ronde_error *refusal = &contest->refusal;
    contest->target = target;
    contest->memory = memory;
    if (refusal->status == RONDE_OK && !contest->only_hears)
        refusal->status = find_judge(contest, engine, count, refusal);
    return tell_refusal(contest, error);
}

static enum ronde_status load(struct ronde_contest *contest, uint32_t index,
                              struct ronde_error *error)
{
    struct ronde_trial *trial = &contest->trials[index];
    if (trial->target)
        return RONDE_OK;
    return ronde_trial_open(contest->target,
                            contest->only_hears ? contest->heard[index]
                                                : contest->chooser.choice.candidates[index].schedule,
                            contest->options, trial, error);
}

enum ronde_status ronde_stats_join(struct ronde_comm *comm, struct ronde_stats *io_stats,
                                   struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const uint32_t ranks = comm ? ronde_comm_ranks(comm) : 0;
    if (ranks == 0)
        return RONDE_OK;
    struct ronde_stats *all = ronde_mem_new(mem, ranks, sizeof *all);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the times of %u ranks", ranks);
    const enum ronde_status status =
        ronde_comm_allgather(comm, io_stats, sizeof *io_stats, all, error);
    for (uint32_t rank = 0; rank < ranks && status == RONDE_OK; rank++)
        if (rank == 0 || all[rank].median > io_stats->median)
            *io_stats = all[rank];
    ronde_mem_free(mem, all, ranks, sizeof *all);
    return status;
}

/*
 * Some runs in a row, as many on all ranks. Half as many before them do not count: processes have slept until then, and
 * need some time to spread over the processors again.
 */
static enum ronde_status time_runs(struct ronde_contest *contest, struct ronde_trial *trial,
                                   uint32_t runs, double *out_ns, struct ronde_error *error)
{
    const struct ronde_effort effort = {runs / 2, runs, runs, 0.0};
    struct ronde_stats stats = {0};
    enum ronde_status status = ronde_trials_measure(trial, 1, &effort, &stats, error);
    if (status == RONDE_OK)
        status = ronde_stats_join(contest->comm, &stats, error);
    *out_ns = stats.median;
    return status;
}

/* Another heat of a candidate that knows how long it takes: the same number of runs everywhere, as times are joined. */
static enum ronde_status run_heat(struct ronde_contest *contest, uint32_t candidate,
                                  double about_ns, double *out_ns, struct ronde_error *error)
{
    const double runs = about_ns > 0.0 ? HEAT_NS / about_ns : MOST_RUNS;
    const uint32_t most = runs < MOST_RUNS ? (uint32_t)runs : MOST_RUNS;
    return time_runs(contest, &contest->trials[candidate], most > LEAST_RUNS ? most : LEAST_RUNS,
                     out_ns, error);
}

/* A first heat, or a few runs where these take as long as one. */
static enum ronde_status qualify(struct ronde_contest *contest, uint32_t candidate, uint64_t count,
                                 double *out_ns, struct ronde_error *error)
{
    struct ronde_trial *trial = &contest->trials[candidate];
    enum ronde_status status = load(contest, candidate, error);
    if (status != RONDE_OK)
        return status;
    ronde_trial_aim(trial, contest->memory, count, false);
    ronde_memory_fill(contest->memory, &trial->shape, RONDE_PATTERN_ANY);
    status = time_runs(contest, trial, LEAST_RUNS, out_ns, error);
    if (status != RONDE_OK || *out_ns * LEAST_RUNS >= HEAT_NS)
        return status;
    return run_heat(contest, candidate, *out_ns, out_ns, error);
}

/* The first heat, of all. */
static enum ronde_status qualify_all(struct ronde_contest *contest, uint64_t count,
                                     struct ronde_error *error)
{
    struct ronde_chooser *chooser = &contest->chooser;
    enum ronde_status status = RONDE_OK;
    for (uint32_t i = 0; i < chooser->choice.count && status == RONDE_OK; i++) {
        const char *name = chooser->choice.candidates[i].request.algorithm;
        chooser->quotes[i] = (struct ronde_quote){0.0, "race", false};
        if (!chooser->choice.candidates[i].is_eligible)
            continue;
        if (decides(contest))
            ronde_progress("racing %s", name);
        status = qualify(contest, i, count, &chooser->quotes[i].time_ns, error);
    }
    return status;
}

/* The other heats, of those that are close to the best, in turns: a slow moment is not one candidate's alone. */
static enum ronde_status run_final(struct ronde_contest *contest, double limit_ns,
                                   struct ronde_error *error)
{
    struct ronde_chooser *chooser = &contest->chooser;
    const uint32_t count = chooser->choice.count;
    enum ronde_status status = RONDE_OK;
    double(*heats)[HEATS] = ronde_mem_new(ronde_mem_default(), count, sizeof *heats);
    if (!heats)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the heats of %u algorithms", count);
    for (uint32_t turn = 0; turn < count * HEATS && status == RONDE_OK; turn++) {
        const uint32_t i = turn % count, heat = turn / count;
        const double first_ns = chooser->quotes[i].time_ns;
        heats[i][heat] = first_ns;
        if (heat > 0 && chooser->choice.candidates[i].is_eligible && first_ns <= limit_ns)
            status = run_heat(contest, i, first_ns, &heats[i][heat], error);
    }
    for (uint32_t i = 0; i < count; i++)
        chooser->quotes[i].time_ns = ronde_stats_of(heats[i], HEATS).median;
    ronde_mem_free(ronde_mem_default(), heats, count, sizeof *heats);
    return status;
}

static enum ronde_status race(struct ronde_contest *contest, uint64_t count,
                              struct ronde_decision *out_decision, struct ronde_error *error)
{
    struct ronde_chooser *chooser = &contest->chooser;
    const struct ronde_choice *choice = &chooser->choice;
    enum ronde_status status = qualify_all(contest, count, error);
    const uint32_t first = ronde_choice_best(choice, chooser->quotes, RONDE_NONE);
    if (status == RONDE_OK && first != RONDE_NONE && chooser->quotes[first].time_ns < LONG_NS)
        status = run_final(contest, CLOSE * chooser->quotes[first].time_ns, error);
    if (decides(contest))
        ronde_progress_end();
    out_decision->best = ronde_choice_best(choice, chooser->quotes, RONDE_NONE);
    out_decision->second = ronde_choice_best(choice, chooser->quotes, out_decision->best);
    return status;
}

/* What rank 0 has named, compiled when it is new. */
static enum ronde_status find_heard(struct ronde_contest *contest, const char *name,
                                    uint32_t *out_index, struct ronde_error *error)
{
    struct ronde_request request = contest->request;
    struct ronde_error why = {0};
    uint32_t index = 0;
    while (index < contest->heard_count && strcmp(contest->heard[index]->algorithm, name) != 0)
        index++;
    *out_index = index;
    if (index < contest->heard_count)
        return RONDE_OK;
    request.algorithm = name;
    if (index == contest->most || ronde_compile(&request, ronde_mem_default(), NULL,
                                                &contest->heard[index], &why) != RONDE_OK)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "rank 0 chose %s, which this build lacks: %.400s", name, why.message);
    contest->heard_count++;
    return RONDE_OK;
}

/* By name, as builds may differ in what else they have. A rank 0 that could not decide says "". */
static enum ronde_status hear_rank_0(struct ronde_contest *contest,
                                     struct ronde_decision *io_decision, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    const struct ronde_choice *choice = &contest->chooser.choice;
    const uint32_t ranks = ronde_comm_ranks(contest->comm);
    char mine[NAME_BYTES] = "";
    if (decides(contest) && io_decision->best != RONDE_NONE)
        snprintf(mine, sizeof mine, "%s", choice->candidates[io_decision->best].request.algorithm);
    char *all = ronde_mem_new(mem, ranks, NAME_BYTES);
    if (!all)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the choices of %u ranks", ranks);
    const enum ronde_status status =
        ronde_comm_allgather(contest->comm, mine, sizeof mine, all, error);
    memcpy(mine, all, sizeof mine);
    ronde_mem_free(mem, all, ranks, NAME_BYTES);
    if (status != RONDE_OK)
        return status;
    mine[NAME_BYTES - 1] = '\0';
    if (mine[0] == '\0')
        return ronde_fail(error, RONDE_UNSUPPORTED, "rank 0 could not choose an algorithm");
    return decides(contest) ? RONDE_OK : find_heard(contest, mine, &io_decision->best, error);
}

/* A failure of rank 0 is told to the others before it is reported here. */
static enum ronde_status decide(struct ronde_contest *contest, uint64_t count,
                                struct ronde_decision *out_decision, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    *out_decision = (struct ronde_decision){.best = RONDE_NONE, .second = RONDE_NONE};
    if (decides(contest))
        status = ronde_chooser_decide(&contest->chooser, count, out_decision, error);
    if (contest->comm) {
        const enum ronde_status heard = hear_rank_0(contest, out_decision, error);
        status = status == RONDE_OK ? heard : status;
    }
    return status;
}

enum ronde_status ronde_contest_pick(struct ronde_contest *contest, uint64_t count,
                                     struct ronde_decision *out_decision,
                                     struct ronde_trial **out_trial, struct ronde_error *error)
{
    enum ronde_status status = contest->is_race ? race(contest, count, out_decision, error)
                                                : decide(contest, count, out_decision, error);
    if (status == RONDE_OK)
        status = load(contest, out_decision->best, error);
    if (status == RONDE_OK)
        *out_trial = &contest->trials[out_decision->best];
    return status;
}

void ronde_contest_close(struct ronde_contest *contest)
{
    const struct ronde_mem *mem = ronde_mem_default();
    for (uint32_t i = 0; contest->trials && i < contest->most; i++)
        ronde_trial_close(&contest->trials[i]);
    for (uint32_t i = 0; i < contest->heard_count; i++)
        ronde_schedule_destroy(contest->heard[i]);
    ronde_mem_free(mem, contest->trials, contest->most, sizeof *contest->trials);
    ronde_mem_free(mem, contest->heard, contest->most, sizeof *contest->heard);
    ronde_chooser_close(&contest->chooser);
    *contest = (struct ronde_contest){.options = NULL};
}
