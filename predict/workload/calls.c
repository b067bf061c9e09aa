/* Kinds of calls. */
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/schedules.h"

#include <string.h>

static enum ronde_status no_memory(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the calls of a workload");
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
    const struct ronde_workload_ask ask = {call->collective, workload_call_hosts(workload, call),
                                           call->ranks, call->bytes};
    RONDE_TRY(options->time(options->time_context, &ask, &call->run.alone_ns, &call->run.algorithm,
                            error));
    call->run.dag = make_meeting(call->ranks, call->run.alone_ns, mem);
    return call->run.dag ? RONDE_OK : no_memory(error);
}

/* One rank, or no byte: nothing moves. */
static enum ronde_status
settle(const struct ronde_workload *workload, const struct ronde_workload_sim *options,
       struct workload_calls *calls, struct workload_call *call, struct ronde_error *error)
{
    if (call->ranks == 1 || (call->bytes == 0 && call->collective != RONDE_BARRIER))
        return RONDE_OK;
    if (options->time)
        return settle_time(workload, options, call, calls->mem, error);
    const char *name = call->named ? call->named : find_named(options->algorithm, call->collective);
    call->is_open = !name;
    return name ? workload_run_named(workload, options, call, name, calls, &call->run, error)
                : RONDE_OK;
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
    if (options->algorithm && strcmp(options->algorithm, "auto") != 0)
        RONDE_TRY(ronde_check_algorithm(options->algorithm, error));
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
        RONDE_TRY(settle(workload, options, calls, &calls->all[c], error));
    RONDE_TRY(workload_calls_choose(workload, options, calls, error));
    for (uint32_t c = 0; c < calls->count; c++)
        if (calls->all[c].run.schedule)
            RONDE_TRY(workload_run_graph(&calls->all[c].run, calls->mem, error));
    return RONDE_OK;
}

void workload_calls_close(struct workload_calls *calls)
{
    for (uint32_t c = 0; c < calls->count; c++)
        ronde_dag_destroy(calls->all[c].run.dag, calls->mem);
    for (size_t s = 0; s < calls->schedules.count; s++)
        ronde_schedule_destroy(((struct ronde_schedule **)calls->schedules.items)[s]);
    ronde_list_free(calls->mem, &calls->schedules, sizeof(struct ronde_schedule *));
    ronde_mem_free(calls->mem, calls->all, calls->capacity, sizeof *calls->all);
    ronde_mem_free(calls->mem, calls->call_of, calls->instance_count, sizeof *calls->call_of);
    *calls = (struct workload_calls){0};
}
