/* Where the time of a step goes. */
#include "account.h"
#include "formats/workload/by_rank.h"

#include "ronde/mem.h"

#include <math.h>
#include <stdlib.h>

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

enum ronde_status workload_account_ranks(const struct workload_replay *replay,
                                         struct ronde_workload_result *result,
                                         struct ronde_error *error)
{
    const struct ronde_workload *workload = replay->workload;
    const struct ronde_mem *mem = result->mem;
    const size_t works = workload->work_count, ranks = (size_t)workload->ranks + 1;
    struct sweep sweep = {.families = workload->family_count + 1};
    uint32_t *first = ronde_mem_new(mem, ranks, sizeof *first);
    uint32_t *items = ronde_mem_new(mem, works, sizeof *items);
    struct event *events = ronde_mem_new(mem, 2 * works, sizeof *events);
    sweep.active = ronde_mem_new(mem, sweep.families, sizeof *sweep.active);
    sweep.exposed_ns = ronde_mem_new(mem, sweep.families, sizeof *sweep.exposed_ns);
    enum ronde_status status = RONDE_OK;
    if (first && items && events && sweep.active && sweep.exposed_ns) {
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
    ronde_mem_free(mem, first, ranks, sizeof *first);
    ronde_mem_free(mem, items, works, sizeof *items);
    ronde_mem_free(mem, events, 2 * works, sizeof *events);
    ronde_mem_free(mem, sweep.active, sweep.families, sizeof *sweep.active);
    ronde_mem_free(mem, sweep.exposed_ns, sweep.families, sizeof *sweep.exposed_ns);
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

void workload_account_path(const struct workload_replay *replay,
                           struct ronde_workload_result *result)
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
