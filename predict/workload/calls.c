/* Kinds of calls, and the algorithm each runs by. */
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/schedules.h"
#include "ronde/setup.h"

#include <math.h>
#include <string.h>

/* Steps of a candidate that is tried alone, at most: what needs more is no candidate. */
#define CANDIDATE_STEPS ((uint64_t)1 << 20)

static enum ronde_status no_memory(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the calls of a workload");
}

static const uint32_t *hosts_of(const struct ronde_workload *workload,
                                const struct workload_call *call)
{
    return workload->members + workload->groups[call->example].first_member;
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
                                      .host_of = hosts_of(workload, call)};
    RONDE_TRY(ronde_candidate_open(&setup, ronde_mem_default(), out_candidate, error));
    *out_forecast = ronde_candidate_forecast(out_candidate, options->platform, &how);
    ronde_forecast_set_count(out_forecast, ronde_collective_count(call->collective, call->ranks,
                                                                  call->bytes, RONDE_UINT8));
    return RONDE_OK;
}

/* Whether somebody asked for it by name. */
static bool is_asked(const struct ronde_workload_sim *options, const struct workload_call *call,
                     const char *algorithm)
{
    return (call->named && strcmp(call->named, algorithm) == 0) ||
           (options->algorithm && strcmp(options->algorithm, algorithm) == 0);
}

/* What nobody asked for must leave all ranks with the same bits, and be quick to try. */
static enum ronde_status check_candidate(const struct ronde_forecast *forecast,
                                         struct ronde_error *error)
{
    if (forecast->schedule->proof.rank_dependent_bits ||
        ronde_forecast_steps(forecast) > CANDIDATE_STEPS)
        return ronde_fail(error, RONDE_UNSUPPORTED, "%s on %u ranks is no candidate",
                          forecast->request.algorithm, forecast->schedule->ranks);
    return RONDE_OK;
}

enum ronde_status workload_call_alone(const struct ronde_workload *workload,
                                      const struct ronde_workload_sim *options,
                                      const struct workload_call *call, const char *algorithm,
                                      double *out_ns, struct ronde_error *error)
{
    struct ronde_candidate candidate = {.own = NULL};
    struct ronde_forecast forecast;
    struct ronde_prediction prediction;
    *out_ns = INFINITY;
    enum ronde_status status =
        forecast_of(workload, options, call, algorithm, &candidate, &forecast, error);
    if (status == RONDE_OK && !is_asked(options, call, algorithm))
        status = check_candidate(&forecast, error);
    RONDE_THEN(status, ronde_forecast_replay(&forecast, "auto", &prediction, error));
    if (status == RONDE_OK)
        *out_ns = prediction.time_ns;
    ronde_candidate_close(&candidate, ronde_mem_default());
    return status;
}

enum ronde_status workload_call_set(const struct ronde_workload *workload,
                                    const struct ronde_workload_sim *options,
                                    struct workload_call *call, const char *algorithm,
                                    const struct ronde_mem *mem, struct ronde_error *error)
{
    struct ronde_candidate candidate = {.own = NULL};
    struct ronde_forecast forecast;
    struct ronde_dag *dag = NULL;
    enum ronde_status status =
        forecast_of(workload, options, call, algorithm, &candidate, &forecast, error);
    if (status == RONDE_OK) {
        const struct ronde_time_params params =
            ronde_platform_time(options->platform, call->ranks, ronde_forecast_footprint(&forecast));
        status = ronde_dag_create(candidate.schedule, &forecast.load, &params, mem, &dag, error);
    }
    ronde_candidate_close(&candidate, ronde_mem_default());
    if (status != RONDE_OK)
        return status;
    ronde_dag_destroy(call->dag, mem);
    call->dag = dag;
    call->algorithm = algorithm;
    return RONDE_OK;
}

enum ronde_status
workload_call_messages(const struct ronde_workload *workload,
                       const struct ronde_workload_sim *options, const struct workload_call *call,
                       const struct ronde_mem *mem, struct ronde_workload **out_messages,
                       struct ronde_error *error)
{
    struct ronde_candidate candidate = {.own = NULL};
    struct ronde_forecast forecast;
    *out_messages = NULL;
    enum ronde_status status =
        forecast_of(workload, options, call, call->algorithm, &candidate, &forecast, error);
    if (status == RONDE_OK) {
        const struct ronde_time_params params =
            ronde_platform_time(options->platform, call->ranks, ronde_forecast_footprint(&forecast));
        status = ronde_workload_of_schedule(candidate.schedule, &forecast.load, &params, mem,
                                            out_messages, error);
    }
    ronde_candidate_close(&candidate, ronde_mem_default());
    return status;
}

/* The algorithm that is fastest alone. Ranks that end up with other bits are nothing for a program's calls. */
static const char *find_fastest(const struct ronde_workload *workload,
                                const struct ronde_workload_sim *options,
                                const struct workload_call *call)
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    const char *best = NULL;
    double best_ns = INFINITY, ns;
    for (uint32_t a = 0; a < count; a++) {
        struct ronde_error why_not = {RONDE_OK, 0, ""};
        if (all[a]->collective == call->collective &&
            workload_call_alone(workload, options, call, all[a]->name, &ns, &why_not) == RONDE_OK &&
            ns < best_ns) {
            best_ns = ns;
            best = all[a]->name;
        }
    }
    return best;
}

/* Whether an algorithm of this name serves the collective. */
static const char *find_named(const char *name, enum ronde_collective collective)
{
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; name && a < count; a++)
        if (all[a]->collective == collective && strcmp(all[a]->name, name) == 0)
            return all[a]->name;
    return NULL;
}

/* Ranks meet, then all take their time: arrivals, their meeting, and what each does from then on. */
static struct ronde_dag *make_meeting(uint32_t ranks, double ns, const struct ronde_mem *mem)
{
    struct ronde_dag *dag = ronde_mem_new(mem, 1, sizeof *dag);
    if (!dag)
        return NULL;
    *dag = (struct ronde_dag){.ranks = ranks, .op_count = 2 * ranks + 1, .edge_count = 2 * ranks};
    dag->ops = ronde_mem_new(mem, dag->op_count, sizeof *dag->ops);
    dag->edges = ronde_mem_new(mem, dag->edge_count, sizeof *dag->edges);
    if (!dag->ops || !dag->edges) {
        ronde_dag_destroy(dag, mem);
        return NULL;
    }
    dag->ops[ranks] = (struct ronde_dag_op){.edge_count = ranks};
    for (uint32_t r = 0; r < ranks; r++) {
        dag->ops[r] = (struct ronde_dag_op){.src = r, .dst = r};
        dag->edges[r] = (struct ronde_dag_edge){.op = r};
        dag->ops[ranks + 1 + r] = (struct ronde_dag_op){
            .src = r, .dst = r, .delay_ns = ns, .first_edge = ranks + r, .edge_count = 1};
        dag->edges[ranks + r] = (struct ronde_dag_edge){.op = ranks};
    }
    return dag;
}

/* The time that options->time gives. */
static enum ronde_status
settle_time(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
            struct workload_call *call, const struct ronde_mem *mem, struct ronde_error *error)
{
    const struct ronde_workload_ask ask = {call->collective, hosts_of(workload, call), call->ranks,
                                           call->bytes};
    RONDE_TRY(options->time(options->time_context, &ask, &call->alone_ns, &call->algorithm, error));
    call->dag = make_meeting(call->ranks, call->alone_ns, mem);
    return call->dag ? RONDE_OK : no_memory(error);
}

/* One rank, or no byte: nothing moves. */
static enum ronde_status settle(const struct ronde_workload *workload,
                                const struct ronde_workload_sim *options, struct workload_call *call,
                                const struct ronde_mem *mem, struct ronde_error *error)
{
    if (call->ranks == 1 || (call->bytes == 0 && call->collective != RONDE_BARRIER))
        return RONDE_OK;
    if (options->time)
        return settle_time(workload, options, call, mem, error);
    const char *name = call->named;
    if (!name)
        name = find_named(options->algorithm, call->collective);
    if (!name)
        name = find_fastest(workload, options, call);
    if (!name)
        return ronde_fail(error, RONDE_UNSUPPORTED, "no algorithm of %s serves %u ranks",
                          ronde_collective_text(call->collective), call->ranks);
    RONDE_TRY(workload_call_set(workload, options, call, name, mem, error));
    return workload_call_alone(workload, options, call, name, &call->alone_ns, error);
}

/* The kind of an item, added where there is none such yet. */
static uint32_t find_kind(const struct ronde_workload *workload, const struct ronde_work *work,
                          struct workload_calls *calls)
{
    const struct ronde_work_group *group = &workload->groups[work->group];
    for (uint32_t c = 0; c < calls->count; c++) {
        const struct workload_call *call = &calls->all[c];
        if (call->family == group->family && call->ranks == group->member_count &&
            call->collective == work->collective && call->bytes == work->bytes &&
            call->root == work->root && call->named == work->algorithm)
            return c;
    }
    if (!ronde_mem_grow(calls->mem, &calls->all, &calls->capacity, (size_t)calls->count + 1,
                        sizeof *calls->all))
        return RONDE_NONE;
    calls->all[calls->count] = (struct workload_call){.family = group->family,
                                                      .ranks = group->member_count,
                                                      .collective = work->collective,
                                                      .bytes = work->bytes,
                                                      .root = work->root,
                                                      .named = work->algorithm,
                                                      .example = work->group};
    return calls->count++;
}

enum ronde_status workload_calls_check(const struct ronde_workload *workload,
                                       const struct ronde_workload_sim *options,
                                       struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(options->platform);
    bool is_known = !options->algorithm || strcmp(options->algorithm, "auto") == 0;
    uint32_t count;
    const struct ronde_algorithm *const *all = ronde_algorithms(&count);
    for (uint32_t a = 0; a < count && !is_known; a++)
        is_known = strcmp(all[a]->name, options->algorithm) == 0;
    if (!is_known)
        return ronde_fail(error, RONDE_BAD_ARGUMENT, "no collective has an algorithm \"%s\"",
                          options->algorithm);
    if (facts->shared.cores > 0 || facts->shared.memory_GBps > 0)
        return ronde_fail(error, RONDE_UNSUPPORTED,
                          "%s: its ranks share cores or memory, and what a workload computes is "
                          "not modelled there",
                          ronde_platform_path(options->platform));
    if (facts->time.multicasts)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "%s: its switches copy and add (ronde.multicast), and calls of a workload "
            "are replayed as messages: take the machine without",
            ronde_platform_path(options->platform));
    return workload->ranks <= facts->hosts
               ? RONDE_OK
               : ronde_fail(error, RONDE_BAD_INPUT, "%s has %u hosts, fewer than %u ranks",
                            ronde_platform_path(options->platform), facts->hosts, workload->ranks);
}

enum ronde_status workload_calls_open(const struct ronde_workload *workload,
                                      const struct workload_matching *matching,
                                      const struct ronde_workload_sim *options,
                                      struct workload_calls *out_calls, struct ronde_error *error)
{
    struct workload_calls *calls = out_calls;
    *calls =
        (struct workload_calls){.instance_count = matching->instance_count, .mem = matching->mem};
    calls->call_of = ronde_mem_new(calls->mem, calls->instance_count, sizeof *calls->call_of);
    if (!calls->call_of)
        return no_memory(error);
    for (uint32_t i = 0; i < matching->instance_count; i++) {
        const uint32_t part = matching->parts[matching->instances[i].first];
        calls->call_of[i] = find_kind(workload, &workload->works[part], calls);
        if (calls->call_of[i] == RONDE_NONE)
            return no_memory(error);
        calls->all[calls->call_of[i]].count++;
    }
    for (uint32_t c = 0; c < calls->count; c++)
        RONDE_TRY(settle(workload, options, &calls->all[c], calls->mem, error));
    return RONDE_OK;
}

void workload_calls_close(struct workload_calls *calls)
{
    for (uint32_t c = 0; c < calls->count; c++)
        ronde_dag_destroy(calls->all[c].dag, calls->mem);
    ronde_mem_free(calls->mem, calls->all, calls->capacity, sizeof *calls->all);
    ronde_mem_free(calls->mem, calls->call_of, calls->instance_count, sizeof *calls->call_of);
    *calls = (struct workload_calls){0};
}
