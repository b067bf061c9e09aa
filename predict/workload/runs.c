/* How a kind of calls runs by an algorithm that is named, set up as by default. */
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/schedules.h"
#include "ronde/setup.h"

#include <string.h>

/* Steps of a candidate that is tried alone, at most: what needs more is no candidate. */
#define CANDIDATE_STEPS ((uint64_t)1 << 20)

const uint32_t *workload_call_hosts(const struct ronde_workload *workload,
                                    const struct workload_call *call)
{
    return workload->members + workload->groups[call->example].first_member;
}

uint64_t workload_call_count(const struct workload_call *call)
{
    return ronde_collective_count(call->collective, call->ranks, call->bytes, RONDE_UINT8);
}

enum ronde_status workload_calls_keep(struct workload_calls *calls, struct ronde_schedule *schedule,
                                      struct ronde_error *error)
{
    if (ronde_list_append(calls->mem, &calls->schedules, &schedule, sizeof schedule))
        return RONDE_OK;
    ronde_schedule_destroy(schedule);
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the schedules of a workload");
}

struct workload_run workload_run_of(const struct ronde_forecast *forecast, double alone_ns)
{
    return (struct workload_run){.algorithm = forecast->request.algorithm,
                                 .schedule = forecast->schedule,
                                 .load = forecast->load,
                                 .params = ronde_platform_time(forecast->platform,
                                                               forecast->request.ranks,
                                                               ronde_forecast_footprint(forecast)),
                                 .steps = ronde_forecast_steps(forecast),
                                 .alone_ns = alone_ns};
}

enum ronde_status workload_run_graph(struct workload_run *run, const struct ronde_mem *mem,
                                     struct ronde_error *error)
{
    return ronde_dag_create(run->schedule, &run->load, &run->params, mem, &run->dag, error);
}

/* The forecast of a kind by an algorithm; the caller closes *out_candidate. */
static enum ronde_status forecast_of(const struct ronde_workload *workload,
                                     const struct ronde_workload_sim *options,
                                     const struct workload_call *call, const char *algorithm,
                                     struct ronde_candidate *out_candidate,
                                     struct ronde_forecast *out_forecast, struct ronde_error *error)
{
    const struct ronde_tune_options how = {.dtype = RONDE_UINT8,
                                           .timeout_ns = (uint64_t)(options->time_limit_s * 1e9),
                                           .cancel = options->cancel};
    const struct ronde_setup setup = {.platform = options->platform,
                                      .request = {.collective = call->collective,
                                                  .algorithm = algorithm,
                                                  .ranks = call->ranks,
                                                  .root = call->root},
                                      .host_of = workload_call_hosts(workload, call)};
    RONDE_TRY(ronde_candidate_open(&setup, ronde_mem_default(), out_candidate, error));
    *out_forecast = ronde_candidate_forecast(out_candidate, options->platform, &how);
    ronde_forecast_set_count(out_forecast, workload_call_count(call));
    return RONDE_OK;
}

/* Whether a call or the options name the algorithm. */
static bool is_named(const struct ronde_workload_sim *options, const struct workload_call *call,
                     const char *algorithm)
{
    return (call->named && strcmp(call->named, algorithm) == 0) ||
           (options->algorithm && strcmp(options->algorithm, algorithm) == 0);
}

/* An algorithm that is not named must leave all ranks with the same bits, and be quick to try. */
static enum ronde_status check_candidate(const struct ronde_forecast *forecast,
                                         struct ronde_error *error)
{
    if (forecast->schedule->proof.rank_dependent_bits ||
        ronde_forecast_steps(forecast) > CANDIDATE_STEPS)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks is no candidate",
                          forecast->request.algorithm, forecast->schedule->ranks);
    return RONDE_OK;
}

/* Replays a kind alone; the caller closes *out_candidate in every case. */
static enum ronde_status try_alone(const struct ronde_workload *workload,
                                   const struct ronde_workload_sim *options,
                                   const struct workload_call *call, const char *algorithm,
                                   struct ronde_candidate *out_candidate,
                                   struct workload_run *out_run, struct ronde_error *error)
{
    struct ronde_forecast forecast;
    struct ronde_prediction prediction;
    RONDE_TRY(forecast_of(workload, options, call, algorithm, out_candidate, &forecast, error));
    if (!is_named(options, call, algorithm))
        RONDE_TRY(check_candidate(&forecast, error));
    RONDE_TRY(ronde_forecast_replay(&forecast, "auto", &prediction, error));
    *out_run = workload_run_of(&forecast, prediction.time_ns);
    return RONDE_OK;
}

/* What a kind takes alone by an algorithm; false where that does not serve. */
static bool find_alone(const struct ronde_workload *workload,
                       const struct ronde_workload_sim *options, const struct workload_call *call,
                       const char *algorithm, double *out_ns)
{
    struct ronde_candidate candidate = {.own = NULL};
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    struct workload_run run;
    const enum ronde_status status =
        try_alone(workload, options, call, algorithm, &candidate, &run, &why_not);
    ronde_candidate_close(&candidate, ronde_mem_default());
    if (status == RONDE_OK)
        *out_ns = run.alone_ns;
    return status == RONDE_OK;
}

uint32_t workload_keep_fastest(struct workload_alternative *fastest, uint32_t count, uint32_t most,
                               struct workload_alternative next)
{
    uint32_t at = count < most ? count++ : most;
    for (; at > 0 && fastest[at - 1].alone_ns > next.alone_ns; at--)
        if (at < most)
            fastest[at] = fastest[at - 1];
    if (at < most)
        fastest[at] = next;
    return count;
}

uint32_t workload_call_alternatives(const struct ronde_workload *workload,
                                    const struct ronde_workload_sim *options,
                                    const struct workload_call *call, const char *without,
                                    uint32_t most, struct workload_alternative *out)
{
    uint32_t all_count, count = 0;
    const struct ronde_algorithm *const *all = ronde_algorithms(&all_count);
    for (uint32_t a = 0; a < all_count; a++) {
        struct workload_alternative next = {.algorithm = all[a]->name};
        if (all[a]->collective == call->collective &&
            !(without && strcmp(next.algorithm, without) == 0) &&
            find_alone(workload, options, call, next.algorithm, &next.alone_ns))
            count = workload_keep_fastest(out, count, most, next);
    }
    return count;
}

enum ronde_status workload_run_named(const struct ronde_workload *workload,
                                     const struct ronde_workload_sim *options,
                                     const struct workload_call *call, const char *algorithm,
                                     struct workload_calls *calls, struct workload_run *out_run,
                                     struct ronde_error *error)
{
    struct ronde_candidate candidate = {.own = NULL};
    enum ronde_status status =
        try_alone(workload, options, call, algorithm, &candidate, out_run, error);
    if (status == RONDE_OK) {
        status = workload_calls_keep(calls, candidate.own, error);
        candidate.own = NULL;
    }
    ronde_candidate_close(&candidate, ronde_mem_default());
    return status;
}
