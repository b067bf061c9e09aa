/*
 * Traces of torch.profiler: which record a kernel is of. In this order: its own arguments; the record_param_comms of its
 * External id, or of its launch's; the innermost nccl:* annotation around its launch on that thread, in files whose External id
 * is the correlation and joins nothing. Otherwise it is of no record: of before the window, or of a graph's replay.
 */
#include "kineto.h"

#include "gather.h"

#include <stdlib.h>
#include <string.h>

/* Annotations that are looked at before a launch: those that enclose each other. */
#define MOST_ENCLOSING 32u

/* Calls that pieces of one may be behind: other streams' come between. */
#define MOST_BETWEEN 16u

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ns(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* Of intervals and steps: both begin with their start. */
static int by_start(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return compare_ns(*a, *b);
}

static int by_correlation(const void *left, const void *right)
{
    const struct kineto_launch *a = left, *b = right;
    return compare(a->correlation, b->correlation);
}

static int by_external(const void *left, const void *right)
{
    const struct kineto_record *a = left, *b = right;
    return compare(a->external, b->external);
}

static int by_thread(const void *left, const void *right)
{
    const struct kineto_record *a = left, *b = right;
    const int order = compare(a->thread, b->thread);
    return order != 0 ? order : compare_ns(a->start_ns, b->start_ns);
}

static int by_kernel(const void *left, const void *right)
{
    const struct kineto_kernel *a = left, *b = right;
    int order = compare_ns(a->start_ns, b->start_ns);
    order = order != 0 ? order : compare(a->device, b->device);
    order = order != 0 ? order : compare(a->lane, b->lane);
    order = order != 0 ? order : compare_ns(a->end_ns, b->end_ns);
    return order != 0 ? order : compare(a->name, b->name);
}

static void sort(struct ronde_list *list, size_t bytes, int (*order)(const void *, const void *))
{
    if (list->count > 1)
        qsort(list->items, list->count, bytes, order);
}

void kineto_unite(struct ronde_list *intervals)
{
    struct kineto_interval *items = intervals->items;
    uint32_t kept = 0;
    sort(intervals, sizeof *items, by_start);
    for (uint32_t i = 0; i < intervals->count; i++) {
        if (kept > 0 && items[i].start_ns <= items[kept - 1].end_ns) {
            if (items[i].end_ns > items[kept - 1].end_ns)
                items[kept - 1].end_ns = items[i].end_ns;
        } else {
            items[kept++] = items[i];
        }
    }
    intervals->count = kept;
}

/* Index of the first of sorted items for which `is_behind` says yes. */
static uint32_t first_behind(uint32_t count,
                             bool (*is_behind)(const void *items, uint32_t index, const void *what),
                             const void *items, const void *what)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (is_behind(items, middle, what))
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static bool has_correlation(const void *items, uint32_t index, const void *what)
{
    return ((const struct kineto_launch *)items)[index].correlation >= *(const uint64_t *)what;
}

static bool has_external(const void *items, uint32_t index, const void *what)
{
    return ((const struct kineto_record *)items)[index].external >= *(const uint64_t *)what;
}

static bool ends_behind(const void *items, uint32_t index, const void *what)
{
    return ((const struct kineto_interval *)items)[index].end_ns > *(const int64_t *)what;
}

static bool starts_behind_launch(const void *items, uint32_t index, const void *what)
{
    const struct kineto_record *record = (const struct kineto_record *)items + index;
    const struct kineto_launch *launch = what;
    return record->thread > launch->thread ||
           (record->thread == launch->thread && record->start_ns > launch->start_ns);
}

static const struct kineto_launch *launch_of(const struct kineto *kineto, uint64_t correlation)
{
    const struct kineto_launch *launches = kineto->launches.items;
    const uint32_t at =
        first_behind(kineto->launches.count, has_correlation, launches, &correlation);
    return correlation != RONDE_TRACE_NO_NUMBER && at < kineto->launches.count &&
                   launches[at].correlation == correlation
               ? &launches[at]
               : NULL;
}

static const struct kineto_record *host_record(const struct kineto *kineto, uint64_t external)
{
    const struct kineto_record *records = kineto->host.items;
    const uint32_t at = first_behind(kineto->host.count, has_external, records, &external);
    return external != RONDE_TRACE_NO_NUMBER && at < kineto->host.count &&
                   records[at].external == external
               ? &records[at]
               : NULL;
}

static const struct kineto_record *annotation_around(const struct kineto *kineto,
                                                     const struct kineto_launch *launch)
{
    const struct kineto_record *records = kineto->annotations.items;
    uint32_t at = first_behind(kineto->annotations.count, starts_behind_launch, records, launch);
    for (uint32_t i = 0; i < MOST_ENCLOSING && at > 0; i++) {
        const struct kineto_record *record = &records[--at];
        if (record->thread != launch->thread)
            break;
        if (record->end_ns >= launch->start_ns)
            return record;
    }
    return NULL;
}

/* The record of a kernel; NULL: there is none. */
static const struct kineto_record *record_of(const struct kineto *kineto,
                                             const struct kineto_kernel *kernel,
                                             const struct kineto_launch *launch)
{
    const struct kineto_record *records = kineto->records.items;
    if (launch && launch->is_graph)
        return NULL;
    if (kernel->record != RONDE_TRACE_NONE)
        return &records[kernel->record];
    const struct kineto_record *record =
        kernel->external != kernel->correlation ? host_record(kineto, kernel->external) : NULL;
    if (!record && launch && launch->external != launch->correlation)
        record = host_record(kineto, launch->external);
    return record || !launch ? record : annotation_around(kineto, launch);
}

static void sort_all(struct kineto *kineto)
{
    kineto_unite(&kineto->computing);
    sort(&kineto->launches, sizeof(struct kineto_launch), by_correlation);
    sort(&kineto->host, sizeof(struct kineto_record), by_external);
    sort(&kineto->annotations, sizeof(struct kineto_record), by_thread);
    sort(&kineto->steps, sizeof(struct kineto_step), by_start);
    sort(&kineto->kernels, sizeof(struct kineto_kernel), by_kernel);
}

/* The ranks of a group that events cut: pg_config's of its name and size that begin the same. */
static const struct kineto_group *config_of(const struct kineto *kineto,
                                            const struct kineto_group *group)
{
    const struct kineto_group *config = kineto->config.items;
    for (uint32_t c = 0; c < kineto->config.count; c++)
        if (strcmp(config[c].name, group->name) == 0 && !config[c].is_cut &&
            config[c].ranks.count >= group->ranks.count &&
            (group->size == 0 || config[c].ranks.count == group->size) &&
            (group->ranks.count == 0 || memcmp(config[c].ranks.items, group->ranks.items,
                                               group->ranks.count * sizeof(uint32_t)) == 0))
            return &config[c];
    return NULL;
}

/* Ranks of start, stride and size. */
static bool spread(struct kineto *kineto, struct kineto_group *group)
{
    group->ranks.count = 0;
    for (uint32_t i = 0; i < group->size; i++) {
        const uint32_t rank = group->start + i * group->stride;
        if (!source_keep(kineto->source, &group->ranks, &rank, sizeof rank))
            return false;
    }
    return true;
}

/* Which of the job's groups it is. */
static bool place_group(struct kineto *kineto, struct kineto_group *group)
{
    const bool is_whole = group->ranks.count > 0 && !group->is_cut &&
                          (group->size == 0 || group->ranks.count == group->size);
    const struct kineto_group *config = is_whole ? NULL : config_of(kineto, group);
    struct ronde_list *ranks = config ? (struct ronde_list *)&config->ranks : &group->ranks;
    const bool is_spread =
        !is_whole && !config && group->stride > 0 && group->size > 0 &&
        (uint64_t)group->start + (uint64_t)group->stride * group->size <= RONDE_MAX_RANKS;
    if (is_spread && !spread(kineto, group))
        return false;
    if (is_whole || config || is_spread)
        group->group = gather_group_of_ranks(kineto->traces, ranks->items, ranks->count);
    else
        group->group = gather_group_of_key(kineto->traces, group->hash, group->size);
    return group->group != RONDE_TRACE_NONE || source_no_memory(kineto->source);
}

static bool place_groups(struct kineto *kineto)
{
    struct kineto_group *groups = kineto->groups.items;
    for (uint32_t g = 0; g < kineto->groups.count; g++)
        if (!place_group(kineto, &groups[g]))
            return false;
    return true;
}

static uint32_t step_at(const struct kineto *kineto, int64_t time_ns)
{
    const struct kineto_step *steps = kineto->steps.items;
    for (uint32_t s = kineto->steps.count; s > 0; s--)
        if (steps[s - 1].start_ns <= time_ns)
            return steps[s - 1].end_ns > time_ns ? steps[s - 1].number : RONDE_TRACE_NONE;
    return RONDE_TRACE_NONE;
}

/* How long of an interval nothing was computed. */
static int64_t exposed(const struct kineto *kineto, int64_t start_ns, int64_t end_ns)
{
    const struct kineto_interval *items = kineto->computing.items;
    int64_t left = end_ns - start_ns;
    for (uint32_t i = first_behind(kineto->computing.count, ends_behind, items, &start_ns);
         i < kineto->computing.count && items[i].start_ns < end_ns; i++) {
        const int64_t from = items[i].start_ns > start_ns ? items[i].start_ns : start_ns,
                      to = items[i].end_ns < end_ns ? items[i].end_ns : end_ns;
        left -= to - from;
    }
    return left;
}

static void take_record(const struct kineto *kineto, const struct kineto_record *record,
                        struct ronde_trace_call *call)
{
    const struct kineto_group *groups = kineto->groups.items;
    const struct ronde_job_group *placed = kineto->traces->groups.items;
    uint32_t size = record->size;
    if (record->group != RONDE_TRACE_NONE) {
        call->group = groups[record->group].group;
        size = size > 0 ? size : placed[call->group].size;
    }
    call->collective = record->collective;
    call->sequence = record->sequence;
    if (record->in >= 0 && record->type_bytes > 0 && record->in <= INT64_MAX / 16)
        call->in_bytes = (uint64_t)record->in * record->type_bytes;
    /* Without a group, the ranks of all_gather and reduce_scatter are not known; what goes into the latter is its size. */
    call->bytes =
        name_call_bytes(record->collective, size, record->in, record->out, record->type_bytes);
}

/* What tells the pieces of a call from other calls of the file, kept beside the calls. */
struct piece {
    const struct kineto_record *record;
    uint64_t lane;
    int64_t end_ns;
    uint32_t call;
};

/* The call that a kernel is a further piece of: the same record on the same stream. */
static struct piece *find_piece(struct ronde_list *pieces, const struct kineto_record *record,
                                const struct kineto_kernel *kernel)
{
    struct piece *items = pieces->items;
    const uint32_t least = pieces->count > MOST_BETWEEN ? pieces->count - MOST_BETWEEN : 0;
    for (uint32_t p = pieces->count; record && p > least; p--)
        if (items[p - 1].lane == kernel->lane && items[p - 1].record &&
            items[p - 1].record->external == record->external &&
            record->external != RONDE_TRACE_NO_NUMBER &&
            items[p - 1].record->sequence == record->sequence &&
            items[p - 1].record->collective == record->collective)
            return &items[p - 1];
    return NULL;
}

/* A kernel as a call of its own, or as a piece of one. */
static bool add_kernel(struct kineto *kineto, const struct kineto_kernel *kernel,
                       struct ronde_list *pieces)
{
    const struct kineto_launch *launch = launch_of(kineto, kernel->correlation);
    const struct kineto_record *record = record_of(kineto, kernel, launch);
    struct ronde_trace_call *call;
    if (record && !record->is_call)
        return true;
    struct piece *piece = find_piece(pieces, record, kernel);
    if (piece) {
        call = (struct ronde_trace_call *)kineto->traces->calls.items + piece->call;
        piece->end_ns = piece->end_ns > kernel->end_ns ? piece->end_ns : kernel->end_ns;
        call->duration_ns = piece->end_ns - (call->start_ns - kineto->base_ns);
        call->exposed_ns = exposed(kineto, call->start_ns - kineto->base_ns, piece->end_ns);
        return true;
    }
    call = gather_call(kineto->traces, kineto->process);
    if (!call)
        return source_no_memory(kineto->source);
    call->start_ns = kernel->start_ns + kineto->base_ns;
    call->duration_ns = kernel->end_ns - kernel->start_ns;
    call->exposed_ns = exposed(kineto, kernel->start_ns, kernel->end_ns);
    call->lane = (uint32_t)kernel->lane;
    call->step = step_at(kineto, launch ? launch->start_ns : kernel->start_ns);
    if (record)
        take_record(kineto, record, call);
    const struct piece made = {record, kernel->lane, kernel->end_ns,
                               kineto->traces->calls.count - 1};
    return source_keep(kineto->source, pieces, &made, sizeof made);
}

static bool add_kernels(struct kineto *kineto)
{
    const struct kineto_kernel *kernels = kineto->kernels.items;
    struct ronde_list pieces = {.items = NULL};
    bool is_added = true;
    for (uint32_t k = 0; is_added && k < kineto->kernels.count; k++)
        /* A trace that was written twice has each event twice. */
        is_added = (k > 0 && by_kernel(&kernels[k], &kernels[k - 1]) == 0) ||
                   add_kernel(kineto, &kernels[k], &pieces);
    ronde_list_free(kineto->traces->mem, &pieces, sizeof(struct piece));
    return is_added;
}

/* gloo has no kernels: its annotations are the calls, in times of the host, waiting included. */
static bool add_gloo(struct kineto *kineto)
{
    const struct kineto_record *records = kineto->annotations.items;
    struct ronde_trace_process *process = kineto->traces->processes.items;
    process[kineto->process].is_host_time = true;
    gather_remark(
        kineto->traces,
        "gloo's calls are times of a host's thread, and name no groups; torch records its "
        "reduce_scatter as all_reduce");
    for (uint32_t r = 0; r < kineto->annotations.count; r++) {
        if (!records[r].is_call)
            continue;
        struct ronde_trace_call *call = gather_call(kineto->traces, kineto->process);
        if (!call)
            return source_no_memory(kineto->source);
        call->start_ns = records[r].start_ns + kineto->base_ns;
        call->duration_ns = records[r].end_ns - records[r].start_ns;
        call->step = step_at(kineto, records[r].start_ns);
        call->lane = (uint32_t)records[r].thread;
        take_record(kineto, &records[r], call);
    }
    return true;
}

bool kineto_join(struct kineto *kineto)
{
    struct ronde_trace_process *process = kineto->traces->processes.items;
    sort_all(kineto);
    const struct kineto_step *steps = kineto->steps.items;
    process += kineto->process;
    process->steps = kineto->steps.count;
    process->first_step = kineto->steps.count > 0 ? steps[0].number : RONDE_TRACE_NONE;
    return place_groups(kineto) && add_kernels(kineto) &&
           (kineto->kernels.count > 0 || !kineto->is_gloo || add_gloo(kineto));
}
