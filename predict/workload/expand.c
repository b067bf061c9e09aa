/*
 * Workloads without collectives: each becomes the messages of its schedule, between an item per rank that starts it, which
 * takes the launch, and one that ends it. Items of a rank stay in their order, so that one pass numbers and one adds.
 */
#include "formats/workload/matching.h"
#include "graph.h"

#include "ronde/mem.h"

/* The messages of a kind of call, by rank of its groups. NULL and zeroes where nothing moves. */
struct pattern {
    struct ronde_workload *steps;
    uint32_t *first, *items; /* those of rank r are items[first[r]] to items[first[r + 1]] */
    uint32_t *place;         /* per step: its place among those of its rank */
    bool *is_exit;           /* per step: no other of its rank waits for it */
    double launch_ns;
    uint32_t tags, cpus; /* one above the highest */
};

struct expanding {
    const struct ronde_workload *workload;
    const struct workload_matching *matching;
    const struct workload_calls *calls;
    struct ronde_store store;
    struct pattern *patterns; /* per kind of call */
    uint32_t *begin, *end;    /* per item: the first and the last item that it becomes */
    uint32_t *member;         /* per item: of a collective its rank's place in the group */
    uint32_t *first_tag;      /* per instance */
    uint32_t first_cpu;       /* above those that the workload's calculations are on */
    uint32_t most_cpus;       /* of a kind of call */
    struct ronde_workload *made;
    struct ronde_error *error;
};

static enum ronde_status no_memory(const struct expanding *expanding)
{
    return ronde_fail(expanding->error, RONDE_NO_MEMORY,
                      "no memory to expand a workload of %u items", expanding->workload->work_count);
}

/* --- patterns ------------------------------------------------------------------------------------------ */

static void index_pattern(struct pattern *pattern)
{
    const struct ronde_workload *steps = pattern->steps;
    ronde_workload_sort_by_rank(steps, pattern->first, pattern->items);
    for (uint32_t s = 0; s < steps->work_count; s++) {
        const struct ronde_work *work = &steps->works[s];
        pattern->place[pattern->items[s]] = s - pattern->first[steps->works[pattern->items[s]].rank];
        pattern->is_exit[s] = true;
        pattern->tags = work->tag >= pattern->tags ? work->tag + 1 : pattern->tags;
        pattern->cpus = work->cpu >= pattern->cpus ? work->cpu + 1 : pattern->cpus;
    }
    for (uint32_t d = 0; d < steps->dep_count; d++)
        pattern->is_exit[steps->deps[d].work] = false;
}

static enum ronde_status make_patterns(struct expanding *expanding)
{
    expanding->patterns =
        ronde_store_new(&expanding->store, expanding->calls->count, sizeof *expanding->patterns);
    if (expanding->store.is_short)
        return no_memory(expanding);
    for (uint32_t c = 0; c < expanding->calls->count; c++) {
        const struct workload_call *call = &expanding->calls->all[c];
        struct pattern *pattern = &expanding->patterns[c];
        if (!call->run.dag)
            continue;
        RONDE_TRY(ronde_workload_of_schedule(call->run.schedule, &call->run.load, &call->run.params,
                                             expanding->store.mem, &pattern->steps,
                                             expanding->error));
        const size_t steps = pattern->steps->work_count;
        pattern->launch_ns = call->run.dag->launch_ns;
        pattern->first =
            ronde_store_new(&expanding->store, (size_t)call->ranks + 1, sizeof *pattern->first);
        pattern->items = ronde_store_new(&expanding->store, steps, sizeof *pattern->items);
        pattern->place = ronde_store_new(&expanding->store, steps, sizeof *pattern->place);
        pattern->is_exit = ronde_store_new(&expanding->store, steps, sizeof *pattern->is_exit);
        if (expanding->store.is_short)
            return no_memory(expanding);
        index_pattern(pattern);
        if (pattern->cpus > expanding->most_cpus)
            expanding->most_cpus = pattern->cpus;
    }
    return RONDE_OK;
}

static void free_patterns(struct expanding *expanding)
{
    for (uint32_t c = 0; expanding->patterns && c < expanding->calls->count; c++)
        ronde_workload_destroy(expanding->patterns[c].steps);
    ronde_store_clear(&expanding->store);
}

static const struct pattern *pattern_of(const struct expanding *expanding, uint32_t instance)
{
    return &expanding->patterns[expanding->calls->call_of[instance]];
}

/* --- numbers ------------------------------------------------------------------------------------------- */

/* Every collective has tags of its own, above those of the workload's messages. */
static enum ronde_status number_tags(struct expanding *expanding)
{
    const struct ronde_workload *workload = expanding->workload;
    uint64_t tag = 0;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        const bool is_message = work->kind == RONDE_WORK_SEND || work->kind == RONDE_WORK_RECV;
        if (is_message && work->tag == RONDE_WORK_ANY_TAG)
            return ronde_fail(expanding->error, RONDE_UNSUPPORTED,
                              "%s:%u: a receive of any tag would take messages of collectives",
                              ronde_workload_text(workload, workload->path), work->line);
        if (is_message && work->tag >= tag)
            tag = (uint64_t)work->tag + 1;
        if (work->kind == RONDE_WORK_COMPUTE && work->cpu >= expanding->first_cpu)
            expanding->first_cpu = work->cpu + 1;
    }
    for (uint32_t i = 0; i < expanding->matching->instance_count; i++) {
        expanding->first_tag[i] = (uint32_t)tag;
        tag += pattern_of(expanding, i)->tags;
        if (tag > INT32_MAX)
            return ronde_fail(expanding->error, RONDE_UNSUPPORTED,
                              "%s: its collectives have more connections than there are tags",
                              ronde_workload_text(workload, workload->path));
    }
    return RONDE_OK;
}

static void number_items(struct expanding *expanding)
{
    const struct workload_matching *matching = expanding->matching;
    uint64_t next = 0;
    for (uint32_t i = 0; i < matching->instance_count; i++) {
        const struct workload_instance *instance = &matching->instances[i];
        for (uint32_t m = 0; m < expanding->workload->groups[instance->group].member_count; m++)
            expanding->member[matching->parts[instance->first + m]] = m;
    }
    /* Beyond the most items adding fails before a number that has wrapped is used. */
    for (uint32_t w = 0; w < matching->work_count; w++) {
        expanding->begin[w] = (uint32_t)next++;
        if (matching->instance_of[w] != RONDE_NONE) {
            const struct pattern *pattern = pattern_of(expanding, matching->instance_of[w]);
            const uint32_t m = expanding->member[w];
            next += 1 + (pattern->steps ? pattern->first[m + 1] - pattern->first[m] : 0);
        }
        expanding->end[w] = (uint32_t)(next - 1);
    }
}

/* --- items --------------------------------------------------------------------------------------------- */

static enum ronde_status wait_for(struct expanding *expanding, uint32_t item, bool on_start)
{
    return ronde_workload_depend(expanding->made, (struct ronde_work_dep){item, on_start},
                                 expanding->error);
}

/* An item with what the workload's item waits for. */
static enum ronde_status add_first(struct expanding *expanding, uint32_t w,
                                   const struct ronde_work *work)
{
    const struct ronde_workload *workload = expanding->workload;
    const uint32_t previous = expanding->matching->previous[w];
    RONDE_TRY(ronde_workload_add(expanding->made, work, expanding->error));
    for (uint32_t d = 0; d < workload->works[w].dep_count; d++) {
        const struct ronde_work_dep dep = workload->deps[workload->works[w].first_dep + d];
        RONDE_TRY(wait_for(expanding,
                           dep.on_start ? expanding->begin[dep.work] : expanding->end[dep.work],
                           dep.on_start));
    }
    if (previous != RONDE_NONE)
        RONDE_TRY(wait_for(expanding, expanding->end[previous], false));
    return RONDE_OK;
}

/* A step of a schedule as the item of a rank; `own` is the item that starts the collective there. */
static enum ronde_status add_step(struct expanding *expanding, const struct pattern *pattern,
                                  const struct ronde_work *own, uint32_t s, uint32_t begin)
{
    const struct ronde_workload *steps = pattern->steps;
    const struct ronde_work_group *group = &expanding->workload->groups[own->group];
    struct ronde_work work = steps->works[s];
    work.rank = own->rank;
    work.line = own->line;
    work.cpu += own->cpu;
    if (work.kind != RONDE_WORK_COMPUTE) {
        work.peer = expanding->workload->members[group->first_member + work.peer];
        work.tag += own->tag;
    }
    RONDE_TRY(ronde_workload_add(expanding->made, &work, expanding->error));
    for (uint32_t d = 0; d < steps->works[s].dep_count; d++) {
        const struct ronde_work_dep dep = steps->deps[steps->works[s].first_dep + d];
        RONDE_TRY(wait_for(expanding, begin + 1 + pattern->place[dep.work], dep.on_start));
    }
    if (steps->works[s].dep_count == 0)
        RONDE_TRY(wait_for(expanding, begin, false));
    return RONDE_OK;
}

static enum ronde_status add_collective(struct expanding *expanding, uint32_t w)
{
    const uint32_t instance = expanding->matching->instance_of[w], m = expanding->member[w];
    const struct pattern *pattern = pattern_of(expanding, instance);
    const uint32_t from = pattern->steps ? pattern->first[m] : 0;
    const uint32_t to = pattern->steps ? pattern->first[m + 1] : 0;
    const uint32_t begin = expanding->begin[w];
    struct ronde_work own = expanding->workload->works[w];
    own.kind = RONDE_WORK_COMPUTE;
    own.name = 0;
    own.duration_ns = pattern->launch_ns;
    own.tag = expanding->first_tag[instance];
    own.cpu =
        expanding->first_cpu + expanding->workload->groups[own.group].family * expanding->most_cpus;
    RONDE_TRY(add_first(expanding, w, &own));
    for (uint32_t i = from; i < to; i++)
        RONDE_TRY(add_step(expanding, pattern, &own, pattern->items[i], begin));
    own.duration_ns = 0;
    RONDE_TRY(ronde_workload_add(expanding->made, &own, expanding->error));
    RONDE_TRY(wait_for(expanding, begin, false));
    for (uint32_t i = from; i < to; i++)
        if (pattern->is_exit[pattern->items[i]])
            RONDE_TRY(wait_for(expanding, begin + 1 + (i - from), false));
    return RONDE_OK;
}

static enum ronde_status add_items(struct expanding *expanding)
{
    const struct ronde_workload *workload = expanding->workload;
    RONDE_TRY(ronde_workload_create(workload->ranks, ronde_workload_text(workload, workload->path),
                                    expanding->store.mem, &expanding->made, expanding->error));
    for (uint32_t w = 0; w < workload->work_count; w++) {
        struct ronde_work own = workload->works[w];
        own.name = 0;
        RONDE_TRY(own.kind == RONDE_WORK_COLLECTIVE ? add_collective(expanding, w)
                                                    : add_first(expanding, w, &own));
    }
    return RONDE_OK;
}

static enum ronde_status expand(struct expanding *expanding)
{
    const size_t works = expanding->workload->work_count;
    const size_t instances = expanding->matching->instance_count;
    enum ronde_status status = make_patterns(expanding);
    expanding->begin = ronde_store_new(&expanding->store, works, sizeof *expanding->begin);
    expanding->end = ronde_store_new(&expanding->store, works, sizeof *expanding->end);
    expanding->member = ronde_store_new(&expanding->store, works, sizeof *expanding->member);
    expanding->first_tag =
        ronde_store_new(&expanding->store, instances, sizeof *expanding->first_tag);
    if (status == RONDE_OK && expanding->store.is_short)
        status = no_memory(expanding);
    RONDE_THEN(status, number_tags(expanding));
    if (status == RONDE_OK) {
        number_items(expanding);
        status = add_items(expanding);
    }
    return status;
}

enum ronde_status
ronde_workload_expand(const struct ronde_workload *workload,
                      const struct ronde_workload_sim *options, const struct ronde_mem *mem,
                      struct ronde_workload **out_workload, struct ronde_error *error)
{
    struct workload_matching matching = {0};
    struct workload_calls calls = {0};
    struct expanding expanding = {.workload = workload,
                                  .matching = &matching,
                                  .calls = &calls,
                                  .store = {.mem = mem},
                                  .error = error};
    *out_workload = NULL;
    enum ronde_status status = workload_calls_check(workload, options, error);
    RONDE_THEN(status, ronde_workload_match(workload, mem, &matching, error));
    RONDE_THEN(status, workload_calls_open(workload, &matching, options, &calls, error));
    RONDE_THEN(status, expand(&expanding));
    free_patterns(&expanding);
    workload_calls_close(&calls);
    ronde_workload_matching_free(&matching);
    if (status == RONDE_OK)
        *out_workload = expanding.made;
    else
        ronde_workload_destroy(expanding.made);
    return status;
}
