/* The replay of a workload, and of the same with other algorithms. */
#include "formats/workload/matching.h"
#include "graph.h"

#include "ronde/mem.h"
#include "ronde/schedules.h"
#include "ronde/why.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a replayed step says: how its time divides, rank by rank and along the critical path. */

/** A graph that was replayed. */
struct workload_replay {
    const struct ronde_workload *workload;    /**< what */
    const struct workload_matching *matching; /**< of it */
    const struct workload_calls *calls;       /**< of it */
    const struct workload_graph *graph;       /**< of it */
    const double *start_ns;                   /**< per operation */
    const double *finish_ns;                  /**< per operation */
    const bool *on_path;                      /**< per operation */
};

/* Where the time of a step goes. */

/* Something that begins (+1) or ends (-1) on a rank. Calculations have no family. */
struct event {
    double at_ns;
    uint32_t family; /* RONDE_NONE = calculates */
    int change;
};

static int by_time(const void *left, const void *right)
{
    const struct event *a = left, *b = right;
    return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static uint32_t family_of(const struct ronde_workload *workload, const struct ronde_work *work)
{
    return work->kind == RONDE_WORK_COLLECTIVE ? workload->groups[work->group].family
                                               : workload->family_count;
}

/* A receive is under way once it is due and its message has been sent off: before, it is not the network that is slow. */
static double begin_of(const struct workload_replay *replay,
                       const struct ronde_workload_result *result, uint32_t w)
{
    const struct ronde_workload *workload = replay->workload;
    const struct ronde_work *work = &workload->works[w];
    const uint32_t sender = replay->matching->partner[w];
    double due_ns = 0;
    if (sender == RONDE_NONE)
        return result->start_ns[w];
    for (uint32_t d = 0; d < work->dep_count; d++) {
        const struct ronde_work_dep dep = workload->deps[work->first_dep + d];
        due_ns = fmax(due_ns, dep.on_start ? result->start_ns[dep.work] : result->end_ns[dep.work]);
    }
    return fmin(fmax(due_ns, result->start_ns[sender]), result->end_ns[w]);
}

/* One rank's step, swept from its first event to the end. */
struct sweep {
    uint32_t *active; /* per family: items under way */
    uint32_t families;
    uint32_t active_families;
    uint32_t calculating;
    struct ronde_workload_rank rank;
    double *exposed_ns; /* per family, summed over ranks */
};

/* What the rank does until the next event. */
static void pass(struct sweep *sweep, double span_ns)
{
    if (sweep->calculating > 0)
        sweep->rank.compute_ns += span_ns;
    else if (sweep->active_families > 0)
        sweep->rank.exposed_ns += span_ns;
    else
        sweep->rank.idle_ns += span_ns;
    if (sweep->calculating > 0 || sweep->active_families == 0 || span_ns == 0)
        return;
    for (uint32_t f = 0; f < sweep->families; f++)
        if (sweep->active[f] > 0)
            sweep->exposed_ns[f] += span_ns / sweep->active_families;
}

static void meet(struct sweep *sweep, const struct event *event)
{
    if (event->family == RONDE_NONE) {
        sweep->calculating += (uint32_t)event->change;
        return;
    }
    const bool was_active = sweep->active[event->family] > 0;
    sweep->active[event->family] += (uint32_t)event->change;
    const bool is_active = sweep->active[event->family] > 0;
    sweep->active_families += is_active;
    sweep->active_families -= was_active;
}

static void sweep_rank(struct sweep *sweep, struct event *events, size_t count, double end_ns)
{
    double now_ns = 0;
    sweep->rank = (struct ronde_workload_rank){0, 0, 0};
    if (count > 0)
        qsort(events, count, sizeof *events, by_time);
    for (size_t e = 0; e < count; e++) {
        pass(sweep, fmax(events[e].at_ns - now_ns, 0));
        now_ns = fmax(now_ns, events[e].at_ns);
        meet(sweep, &events[e]);
    }
    pass(sweep, fmax(end_ns - now_ns, 0));
}

static size_t collect(const struct workload_replay *replay,
                      const struct ronde_workload_result *result, const uint32_t *items,
                      uint32_t count, struct event *events)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct ronde_work *work = &replay->workload->works[items[i]];
        const bool computes = work->kind == RONDE_WORK_COMPUTE;
        const uint32_t family = computes ? RONDE_NONE : family_of(replay->workload, work);
        events[used++] = (struct event){begin_of(replay, result, items[i]), family, 1};
        events[used++] = (struct event){result->end_ns[items[i]], family, -1};
    }
    return used;
}

static void add_rank(struct ronde_workload_result *result, const struct ronde_workload_rank *rank,
                     uint32_t index, uint32_t ranks)
{
    result->mean.compute_ns += rank->compute_ns / ranks;
    result->mean.exposed_ns += rank->exposed_ns / ranks;
    result->mean.idle_ns += rank->idle_ns / ranks;
    if (index == 0 || rank->exposed_ns > result->worst.exposed_ns) {
        result->worst = *rank;
        result->worst_rank = index;
    }
}

/* What ranks do, and families' exposed times. Needs time, start and end of items. Errors: NO_MEMORY. */
static enum ronde_status account_ranks(const struct workload_replay *replay,
                                       struct ronde_workload_result *result,
                                       struct ronde_error *error)
{
    const struct ronde_workload *workload = replay->workload;
    const size_t works = workload->work_count;
    struct ronde_store store = {.mem = result->store.mem};
    struct sweep sweep = {.families = workload->family_count + 1};
    uint32_t *first = ronde_store_new(&store, (size_t)workload->ranks + 1, sizeof *first);
    uint32_t *items = ronde_store_new(&store, works, sizeof *items);
    struct event *events = ronde_store_new(&store, 2 * works, sizeof *events);
    sweep.active = ronde_store_new(&store, sweep.families, sizeof *sweep.active);
    sweep.exposed_ns = ronde_store_new(&store, sweep.families, sizeof *sweep.exposed_ns);
    enum ronde_status status = RONDE_OK;
    if (!store.is_short) {
        ronde_workload_sort_by_rank(workload, first, items);
        for (uint32_t r = 0; r < workload->ranks; r++) {
            const size_t count =
                collect(replay, result, items + first[r], first[r + 1] - first[r], events);
            sweep_rank(&sweep, events, count, result->time_ns);
            add_rank(result, &sweep.rank, r, workload->ranks);
        }
        for (uint32_t f = 0; f < sweep.families; f++)
            result->families[f].exposed_ns = sweep.exposed_ns[f] / workload->ranks;
    } else {
        status = ronde_fail(error, RONDE_NO_MEMORY, "no memory to account for %zu items", works);
    }
    ronde_store_clear(&store);
    return status;
}

/* --- the critical path ---------------------------------------------------------------------------------- */

/* Time on the path falls to the item whose operation it is, latency to the next one included. */
static void charge(const struct workload_replay *replay, struct ronde_workload_result *result,
                   uint32_t op, double ns)
{
    const uint32_t owner = replay->graph->owner[op];
    const struct ronde_work *work = &replay->workload->works[owner];
    if (work->kind == RONDE_WORK_COMPUTE) {
        result->path_compute_ns += ns;
        return;
    }
    result->families[family_of(replay->workload, work)].path_ns += ns;
    if (work->kind == RONDE_WORK_COLLECTIVE)
        result->calls[replay->calls->call_of[replay->matching->instance_of[owner]]].path_ns += ns;
}

static void average_calls(const struct workload_replay *replay, struct ronde_workload_result *result)
{
    const struct workload_matching *matching = replay->matching;
    for (uint32_t i = 0; i < matching->instance_count; i++) {
        const struct workload_instance *instance = &matching->instances[i];
        const uint32_t count = replay->workload->groups[instance->group].member_count;
        double joined_ns = 0, end_ns = 0;
        for (uint32_t p = 0; p < count; p++) {
            const uint32_t part = matching->parts[instance->first + p];
            joined_ns = fmax(joined_ns, result->start_ns[part]);
            end_ns = fmax(end_ns, result->end_ns[part]);
        }
        struct ronde_workload_call *call = &result->calls[replay->calls->call_of[i]];
        call->mean_ns += (end_ns - joined_ns) / call->count;
    }
}

/* The critical path: of calculations, calls and families; and the calls' mean times. */
static void account_path(const struct workload_replay *replay, struct ronde_workload_result *result)
{
    uint32_t before = RONDE_NONE;
    for (uint32_t op = 0; op < replay->graph->dag.op_count; op++) {
        if (!replay->on_path[op])
            continue;
        if (before != RONDE_NONE)
            charge(replay, result, before, replay->start_ns[op] - replay->start_ns[before]);
        before = op;
    }
    if (before != RONDE_NONE)
        charge(replay, result, before, replay->finish_ns[before] - replay->start_ns[before]);
    average_calls(replay, result);
}

/* Other algorithms of a kind of call that are tried in the step: those that are fastest alone. */
#define TRIED 2u

/* A question. */
struct simulation {
    const struct ronde_workload *workload;
    const struct ronde_workload_sim *options;
    const struct ronde_mem *mem;
    struct workload_matching matching;
    struct workload_calls calls;
    struct workload_order order;
};

/* A graph with its times. */
struct replayed {
    struct workload_graph graph;
    struct ronde_sim_options sim;
    struct ronde_sim_result result;
    struct ronde_store store; /* of the times */
};

/* The caller frees *replayed in every case. */
static enum ronde_status replay(struct simulation *simulation, struct replayed *replayed,
                                struct ronde_error *error)
{
    const struct ronde_platform_facts *facts = ronde_platform_facts(simulation->options->platform);
    const struct ronde_mem *mem = simulation->mem;
    memset(replayed, 0, sizeof *replayed);
    replayed->store.mem = mem;
    workload_order_free(&simulation->order);
    RONDE_TRY(workload_order_find(simulation->workload, &simulation->matching, &simulation->calls,
                                  mem, &simulation->order, error));
    RONDE_TRY(workload_graph_make(simulation->workload, &simulation->matching, &simulation->calls,
                                  &simulation->order, mem, &replayed->graph, error));
    replayed->graph.dag.alpha_ns = facts->time.alpha_ns;
    replayed->graph.dag.lane_GBps = facts->time.lane_GBps;
    const uint32_t ops = replayed->graph.dag.op_count;
    replayed->sim.time_limit_s = simulation->options->time_limit_s;
    replayed->sim.cancel = simulation->options->cancel;
    replayed->sim.out_start_ns = ronde_store_new(&replayed->store, ops, sizeof(double));
    replayed->sim.out_finish_ns = ronde_store_new(&replayed->store, ops, sizeof(double));
    if (replayed->store.is_short)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to keep the times of %u operations",
                          ops);
    return ronde_sim_graph_run(simulation->options->platform, &replayed->graph.dag,
                               simulation->options->engine ? simulation->options->engine : "auto",
                               &replayed->sim, mem, &replayed->result, error);
}

static void free_replayed(struct replayed *replayed)
{
    ronde_store_clear(&replayed->store);
    workload_graph_free(&replayed->graph);
}

/* --- the answer -------------------------------------------------------------------------------------------- */

static enum ronde_status reserve_result(const struct simulation *simulation,
                                        struct ronde_workload_result *result,
                                        struct ronde_error *error)
{
    const struct ronde_workload *workload = simulation->workload;
    result->store.mem = simulation->mem;
    result->family_count = workload->family_count + 1;
    result->call_count = simulation->calls.count;
    result->work_count = workload->work_count;
    result->families =
        ronde_store_new(&result->store, result->family_count, sizeof *result->families);
    result->calls = ronde_store_new(&result->store, result->call_count, sizeof *result->calls);
    result->start_ns = ronde_store_new(&result->store, result->work_count, sizeof *result->start_ns);
    result->end_ns = ronde_store_new(&result->store, result->work_count, sizeof *result->end_ns);
    if (result->store.is_short)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the result of %u items",
                          result->work_count);
    for (uint32_t f = 0; f < workload->family_count; f++)
        result->families[f].name = ronde_workload_text(workload, workload->families[f]);
    result->families[workload->family_count].name = "messages";
    for (uint32_t c = 0; c < result->call_count; c++) {
        const struct workload_call *call = &simulation->calls.all[c];
        result->calls[c] =
            (struct ronde_workload_call){.family = result->families[call->family].name,
                                         .collective = call->collective,
                                         .bytes = call->bytes,
                                         .ranks = call->ranks,
                                         .count = call->count,
                                         .algorithm = call->run.algorithm,
                                         .alone_ns = call->run.alone_ns,
                                         .planned_ns = call->planned_ns,
                                         .is_short = call->is_short};
    }
    return RONDE_OK;
}

/* Times of items, what the engine found, and the accounts. */
static enum ronde_status account(const struct simulation *simulation,
                                 const struct replayed *replayed,
                                 struct ronde_workload_result *result, struct ronde_error *error)
{
    const struct workload_graph *graph = &replayed->graph;
    const struct ronde_mem *mem = simulation->mem;
    struct ronde_why why;
    result->time_ns = replayed->result.time_ns;
    result->engine = replayed->result.engine;
    result->is_contention_free = replayed->result.is_contention_free;
    result->ops = graph->dag.op_count;
    for (uint32_t w = 0; w < result->work_count; w++) {
        result->start_ns[w] = replayed->sim.out_start_ns[graph->begin_op[w]];
        result->end_ns[w] = replayed->sim.out_finish_ns[graph->end_op[w]];
    }
    bool *on_path = ronde_mem_new(mem, graph->dag.op_count, sizeof *on_path);
    if (!on_path)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory for the critical path");
    const struct workload_replay seen = {simulation->workload,
                                         &simulation->matching,
                                         &simulation->calls,
                                         graph,
                                         replayed->sim.out_start_ns,
                                         replayed->sim.out_finish_ns,
                                         on_path};
    const struct ronde_replay inquiry = {simulation->options->platform, &graph->dag, &replayed->sim,
                                         0};
    enum ronde_status status = ronde_why_find(&inquiry, mem, on_path, &why, error);
    if (status == RONDE_OK) {
        account_path(&seen, result);
        status = account_ranks(&seen, result, error);
    }
    if (status == RONDE_OK && why.link_count > 0) {
        const char *name = ronde_platform_link(simulation->options->platform, why.links[0])->name;
        strncpy(result->busiest_link, name, sizeof result->busiest_link - 1);
        result->busiest_utilisation = why.utilisation[0];
    }
    ronde_mem_free(mem, on_path, graph->dag.op_count, sizeof *on_path);
    return status;
}

/* --- other algorithms ----------------------------------------------------------------------------------------- */

/* The step by another algorithm for one kind of call; the kind is then as before. */
static enum ronde_status try_one(struct simulation *simulation, uint32_t index,
                                 const char *algorithm, double *out_ns, struct ronde_error *error)
{
    struct workload_call *call = &simulation->calls.all[index];
    const struct workload_run before = call->run;
    struct replayed replayed = {.store = {.mem = simulation->mem}};
    struct workload_run run;
    RONDE_TRY(workload_run_named(simulation->workload, simulation->options, call, algorithm,
                                 &simulation->calls, &run, error));
    call->run = run;
    enum ronde_status status = workload_run_graph(&call->run, simulation->mem, error);
    RONDE_THEN(status, replay(simulation, &replayed, error));
    *out_ns = replayed.result.time_ns;
    free_replayed(&replayed);
    ronde_dag_destroy(call->run.dag, simulation->mem);
    call->run = before;
    return status;
}

/* Graphs that become too large by an algorithm are no answer, and no failure. */
static enum ronde_status try_others(struct simulation *simulation, uint32_t index, double step_ns,
                                    struct ronde_workload_call *out, struct ronde_error *error)
{
    /* Sums in another order differ in the last bits. */
    double best_ns = step_ns * (1 - 1e-9);
    struct workload_alternative others[TRIED];
    const struct workload_call *call = &simulation->calls.all[index];
    const uint32_t count = workload_call_alternatives(simulation->workload, simulation->options,
                                                      call, call->run.algorithm, TRIED, others);
    for (uint32_t i = 0; i < count; i++) {
        struct ronde_error why_not = {RONDE_OK, 0, ""};
        double ns = 0;
        const enum ronde_status status =
            try_one(simulation, index, others[i].algorithm, &ns, &why_not);
        if (status == RONDE_UNSUPPORTED || status == RONDE_TIMEOUT)
            continue;
        if (status != RONDE_OK)
            return ronde_fail(error, status, "%s", why_not.message);
        out->is_tried = true;
        if (ns < best_ns) {
            out->better = others[i].algorithm;
            out->better_ns = best_ns = ns;
        }
    }
    return RONDE_OK;
}

/* The kinds that take most of the critical path, one after another. */
static enum ronde_status try_all(struct simulation *simulation,
                                 struct ronde_workload_result *result, struct ronde_error *error)
{
    enum ronde_status status = RONDE_OK;
    bool *is_tried = ronde_mem_new(simulation->mem, result->call_count, sizeof *is_tried);
    if (!is_tried)
        return ronde_fail(error, RONDE_NO_MEMORY, "no memory to try other algorithms");
    for (uint32_t k = 0; k < simulation->options->alternatives && status == RONDE_OK; k++) {
        uint32_t best = RONDE_NONE;
        for (uint32_t c = 0; c < result->call_count; c++)
            if (!is_tried[c] && result->calls[c].algorithm && result->calls[c].path_ns > 0 &&
                (best == RONDE_NONE || result->calls[c].path_ns > result->calls[best].path_ns))
                best = c;
        if (best == RONDE_NONE)
            break;
        is_tried[best] = true;
        status = try_others(simulation, best, result->time_ns, &result->calls[best], error);
    }
    ronde_mem_free(simulation->mem, is_tried, result->call_count, sizeof *is_tried);
    return status;
}

static int by_path(const void *left, const void *right)
{
    const struct ronde_workload_call *a = left, *b = right;
    return (a->path_ns < b->path_ns) - (a->path_ns > b->path_ns);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

enum ronde_status
ronde_workload_simulate(const struct ronde_workload *workload,
                        const struct ronde_workload_sim *options, const struct ronde_mem *mem,
                        struct ronde_workload_result *out_result, struct ronde_error *error)
{
    struct simulation simulation = {.workload = workload, .options = options, .mem = mem};
    struct replayed replayed = {.store = {.mem = mem}};
    *out_result = (struct ronde_workload_result){.store = {.mem = mem}};
    enum ronde_status status = workload_calls_check(workload, options, error);
    RONDE_THEN(status, ronde_workload_match(workload, mem, &simulation.matching, error));
    RONDE_THEN(status, workload_calls_open(workload, &simulation.matching, options,
                                           &simulation.calls, error));
    RONDE_THEN(status, reserve_result(&simulation, out_result, error));
    RONDE_THEN(status, replay(&simulation, &replayed, error));
    RONDE_THEN(status, account(&simulation, &replayed, out_result, error));
    free_replayed(&replayed);
    RONDE_THEN(status, try_all(&simulation, out_result, error));
    if (status == RONDE_OK && out_result->call_count > 0)
        qsort(out_result->calls, out_result->call_count, sizeof *out_result->calls, by_path);
    workload_order_free(&simulation.order);
    workload_calls_close(&simulation.calls);
    ronde_workload_matching_free(&simulation.matching);
    return status;
}

void ronde_workload_result_free(struct ronde_workload_result *result)
{
    ronde_store_clear(&result->store);
    *result = (struct ronde_workload_result){0};
}
