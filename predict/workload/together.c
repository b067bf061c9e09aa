/*
 * Groups of one name make their calls at the same time, as a rule, and share links: what is fastest alone need not be then. Rivals that
 * are near it alone are replayed in all groups at once.
 */
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/scene.h"
#include "ronde/sim.h"

#include <math.h>

/* Steps of all groups up to which that is looked at. */
#define TOGETHER_STEPS ((uint64_t)1 << 20)

/* What is as fast together is no reason to leave the plan for one call. */
#define AS_FAST 0.99

static bool is_alike(const struct ronde_workload *workload, const struct workload_call *call,
                     uint32_t group)
{
    return workload->groups[group].family == call->family &&
           workload->groups[group].member_count == call->ranks;
}

static uint32_t count_groups(const struct ronde_workload *workload, const struct workload_call *call)
{
    uint32_t count = 0;
    for (uint32_t g = 0; g < workload->group_count; g++)
        count += is_alike(workload, call, g);
    return count;
}

/* A call of each of the groups at once, the kind's own group first; how many: 1 is that alone. */
static enum ronde_status replay_groups(const struct ronde_workload *workload,
                                       const struct ronde_workload_sim *options,
                                       const struct workload_call *call, const struct ronde_dag *dag,
                                       uint32_t count, double *out_ns, struct ronde_error *error)
{
    const struct ronde_mem *mem = ronde_mem_default();
    struct ronde_sim_options sim = {.time_limit_s = options->time_limit_s,
                                    .cancel = options->cancel};
    struct ronde_sim_result result;
    struct ronde_scene *scene = NULL;
    struct ronde_scene_part *parts = ronde_mem_new(mem, count, sizeof *parts);
    if (!parts)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for calls of %u groups", count);
    parts[0] = (struct ronde_scene_part){dag, workload_call_hosts(workload, call)};
    for (uint32_t g = 0, used = 1; g < workload->group_count && used < count; g++)
        if (g != call->example && is_alike(workload, call, g))
            parts[used++] =
                (struct ronde_scene_part){dag, workload->members + workload->groups[g].first_member};
    enum ronde_status status = ronde_scene_create(parts, count, NULL, 0, mem, &scene, error);
    if (status == RONDE_OK) {
        sim.host_of = scene->host_of;
        status =
            ronde_sim_graph_run(options->platform, &scene->dag, "auto", &sim, mem, &result, error);
    }
    if (status == RONDE_OK)
        *out_ns = result.time_ns;
    ronde_scene_destroy(scene);
    ronde_mem_free(mem, parts, count, sizeof *parts);
    return status;
}

/* A run in all groups at once, and where asked for alone. What is too much to replay is no rival, and no failure. */
static enum ronde_status
time_run(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
         const struct workload_call *call, uint32_t groups, struct workload_run *run,
         double *out_ns, struct ronde_error *error)
{
    struct ronde_error why_not = {RONDE_OK, 0, ""};
    *out_ns = INFINITY;
    if (run->steps * groups > TOGETHER_STEPS)
        return RONDE_OK;
    RONDE_TRY(workload_run_graph(run, ronde_mem_default(), error));
    enum ronde_status status =
        replay_groups(workload, options, call, run->dag, groups, out_ns, &why_not);
    if (status == RONDE_OK && isinf(run->alone_ns))
        status = replay_groups(workload, options, call, run->dag, 1, &run->alone_ns, &why_not);
    ronde_dag_destroy(run->dag, ronde_mem_default());
    run->dag = NULL;
    return status == RONDE_OK || status == RONDE_UNSUPPORTED || status == RONDE_TIMEOUT
               ? RONDE_OK
               : ronde_fail(error, status, "%s", why_not.message);
}

enum ronde_status workload_call_settle(const struct ronde_workload *workload,
                                       const struct ronde_workload_sim *options,
                                       struct workload_rivals *rivals, struct workload_call *call,
                                       struct ronde_error *error)
{
    const uint32_t groups = count_groups(workload, call);
    double best_ns;
    if (groups < 2 || rivals->count == 0)
        return RONDE_OK;
    RONDE_TRY(time_run(workload, options, call, groups, &call->run, &best_ns, error));
    for (uint32_t i = 0; i < rivals->count && isfinite(best_ns); i++) {
        double ns;
        RONDE_TRY(time_run(workload, options, call, groups, &rivals->runs[i], &ns, error));
        if (ns >= AS_FAST * best_ns)
            continue;
        best_ns = ns;
        call->run = rivals->runs[i];
    }
    return RONDE_OK;
}
