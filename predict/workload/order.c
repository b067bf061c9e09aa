/*
 * List scheduling: items are taken in the order they become ready, by times that know no contention. Calculations of a cpu
 * then follow one another in that order in the graph, which so has no circle that the workload has not.
 */
#include "graph.h"

#include "ronde/mem.h"

#include <math.h>
#include <stdlib.h>

/* A guess at links, for the order alone: the graph has the real ones. */
#define GUESS_GBps 50.0

/* Something that is ready. */
struct ready {
    double at_ns;
    uint32_t entry;
};

struct ordering {
    const struct ronde_workload *workload;
    const struct workload_matching *matching;
    const struct workload_calls *calls;
    struct workload_order *order;
    struct ronde_store store;
    uint32_t *waits;      /* per item: what has not come yet */
    double *ready_ns;     /* per item */
    uint32_t *first_next; /* per item, one more at the end: into next */
    uint32_t *next;       /* who waits for an item; with its highest bit, for its start */
    uint32_t *receiver;   /* per item: of a send its receive, else RONDE_NONE */
    uint32_t *follower;   /* per item: the next collective of its group, else RONDE_NONE */
    uint32_t *missing;    /* per instance: parts that are not ready */
    double *joined_ns;    /* per instance: the last part's time */
    uint32_t *cpu_of;     /* per item: of a calculation its cpu, counted over all ranks */
    double *cpu_free_ns;  /* per cpu */
    uint32_t *cpu_last;   /* per cpu: calculation */
    struct ready *heap;
    uint32_t heap_count;
};

#define ON_START 0x80000000u

/* --- the heap ----------------------------------------------------------------------------------- */

static bool is_before(struct ready a, struct ready b)
{
    return a.at_ns < b.at_ns || (a.at_ns == b.at_ns && a.entry < b.entry);
}

static void push(struct ordering *ordering, struct ready ready)
{
    struct ready *heap = ordering->heap;
    uint32_t at = ordering->heap_count++;
    for (; at > 0 && is_before(ready, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = ready;
}

static struct ready pop(struct ordering *ordering)
{
    struct ready *heap = ordering->heap;
    const struct ready top = heap[0], last = heap[--ordering->heap_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < ordering->heap_count; child = 2 * at + 1) {
        child += child + 1 < ordering->heap_count && is_before(heap[child + 1], heap[child]);
        if (!is_before(heap[child], last))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* --- who waits for whom --------------------------------------------------------------------------- */

static void link_all(struct ordering *ordering)
{
    const struct ronde_workload *workload = ordering->workload;
    uint32_t *first = ordering->first_next;
    for (uint32_t w = 0; w < workload->work_count; w++)
        ordering->receiver[w] = ordering->follower[w] = RONDE_NONE;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const struct ronde_work *work = &workload->works[w];
        const uint32_t partner = ordering->matching->partner[w],
                       previous = ordering->matching->previous[w];
        ordering->waits[w] = work->dep_count + (partner != RONDE_NONE) + (previous != RONDE_NONE);
        if (partner != RONDE_NONE)
            ordering->receiver[partner] = w;
        if (previous != RONDE_NONE)
            ordering->follower[previous] = w;
        for (uint32_t d = 0; d < work->dep_count; d++)
            first[workload->deps[work->first_dep + d].work + 1]++;
    }
    for (uint32_t w = 0; w < workload->work_count; w++)
        first[w + 1] += first[w];
    for (uint32_t w = 0; w < workload->work_count; w++)
        for (uint32_t d = 0; d < workload->works[w].dep_count; d++) {
            const struct ronde_work_dep dep = workload->deps[workload->works[w].first_dep + d];
            ordering->next[first[dep.work]++] = w | (dep.on_start ? ON_START : 0);
        }
    for (uint32_t w = workload->work_count; w > 0; w--)
        first[w] = first[w - 1];
    first[0] = 0;
}

/* Calculations sorted by rank and cpu. */
struct processor {
    uint32_t rank, cpu, work;
};

static int by_processor(const void *left, const void *right)
{
    const struct processor *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->cpu > b->cpu) - (a->cpu < b->cpu);
}

/* Numbers the cpus of all ranks that calculate anything. */
static bool number_cpus(struct ordering *ordering)
{
    const struct ronde_workload *workload = ordering->workload;
    struct processor *all = ronde_store_new(&ordering->store, workload->work_count, sizeof *all);
    uint32_t used = 0, cpu = 0;
    if (!all)
        return false;
    for (uint32_t w = 0; w < workload->work_count; w++)
        if (workload->works[w].kind == RONDE_WORK_COMPUTE)
            all[used++] = (struct processor){workload->works[w].rank, workload->works[w].cpu, w};
    if (used > 0)
        qsort(all, used, sizeof *all, by_processor);
    for (uint32_t i = 0; i < used; i++) {
        cpu += i > 0 && by_processor(&all[i - 1], &all[i]) != 0;
        ordering->cpu_of[all[i].work] = cpu;
        ordering->cpu_last[cpu] = RONDE_NONE;
    }
    return true;
}

/* --- the walk --------------------------------------------------------------------------------------- */

/* Everything an item waits for has come. */
static void make_ready(struct ordering *ordering, uint32_t work)
{
    const uint32_t instance = ordering->matching->instance_of[work];
    if (instance == RONDE_NONE) {
        push(ordering, (struct ready){ordering->ready_ns[work], work});
        return;
    }
    ordering->joined_ns[instance] = fmax(ordering->joined_ns[instance], ordering->ready_ns[work]);
    if (--ordering->missing[instance] == 0)
        push(ordering, (struct ready){ordering->joined_ns[instance],
                                      ordering->workload->work_count + instance});
}

static void come(struct ordering *ordering, uint32_t work, double at_ns)
{
    if (work == RONDE_NONE)
        return;
    ordering->ready_ns[work] = fmax(ordering->ready_ns[work], at_ns);
    if (--ordering->waits[work] == 0)
        make_ready(ordering, work);
}

static void release(struct ordering *ordering, uint32_t work, double start_ns, double end_ns)
{
    for (uint32_t n = ordering->first_next[work]; n < ordering->first_next[work + 1]; n++) {
        const uint32_t next = ordering->next[n];
        come(ordering, next & ~ON_START, (next & ON_START) ? start_ns : end_ns);
    }
    come(ordering, ordering->receiver[work], end_ns);
    come(ordering, ordering->follower[work], end_ns);
}

static void take_work(struct ordering *ordering, uint32_t work, double ready_ns)
{
    const struct ronde_work *at = &ordering->workload->works[work];
    double start_ns = ready_ns, end_ns = ready_ns;
    if (at->kind == RONDE_WORK_COMPUTE) {
        const uint32_t cpu = ordering->cpu_of[work];
        ordering->order->cpu_before[work] = ordering->cpu_last[cpu];
        start_ns = fmax(ready_ns, ordering->cpu_free_ns[cpu]);
        end_ns = start_ns + at->duration_ns;
        ordering->cpu_free_ns[cpu] = end_ns;
        ordering->cpu_last[cpu] = work;
    } else if (at->kind == RONDE_WORK_SEND) {
        end_ns = start_ns + (double)at->bytes / GUESS_GBps;
    }
    release(ordering, work, start_ns, end_ns);
}

static void take_instance(struct ordering *ordering, uint32_t index, double ready_ns)
{
    const struct workload_instance *instance = &ordering->matching->instances[index];
    const uint32_t count = ordering->workload->groups[instance->group].member_count;
    const double end_ns =
        ready_ns + ordering->calls->all[ordering->calls->call_of[index]].run.alone_ns;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t part = ordering->matching->parts[instance->first + i];
        release(ordering, part, ordering->ready_ns[part], end_ns);
    }
}

/* Names an item that could go on but for another rank. */
static enum ronde_status say_stuck(const struct ordering *ordering, struct ronde_error *error)
{
    const struct ronde_workload *workload = ordering->workload;
    const struct workload_matching *matching = ordering->matching;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        const uint32_t instance = matching->instance_of[w];
        const char *name = ronde_workload_text(workload, workload->works[w].name);
        if (instance != RONDE_NONE && ordering->waits[w] == 0 && ordering->missing[instance] > 0)
            return ronde_work_fail(
                workload, w, error,
                "deadlock: rank %u waits in %s (group %s), where %u ranks never "
                "come",
                workload->works[w].rank, name,
                ronde_workload_text(workload, workload->groups[workload->works[w].group].name),
                ordering->missing[instance]);
    }
    for (uint32_t w = 0; w < workload->work_count; w++)
        if (ordering->waits[w] > 0 && matching->partner[w] != RONDE_NONE)
            return ronde_work_fail(workload, w, error,
                                   "deadlock: rank %u waits for a message of rank %u, which waits "
                                   "too",
                                   workload->works[w].rank, workload->works[w].peer);
    return ronde_fail(error, RONDE_BAD_INPUT, "%s: deadlock",
                      ronde_workload_text(workload, workload->path));
}

static enum ronde_status walk(struct ordering *ordering, struct ronde_error *error)
{
    const struct ronde_workload *workload = ordering->workload;
    struct workload_order *order = ordering->order;
    uint32_t all = ordering->matching->instance_count;
    for (uint32_t i = 0; i < ordering->matching->instance_count; i++)
        ordering->missing[i] = workload->groups[ordering->matching->instances[i].group].member_count;
    for (uint32_t w = 0; w < workload->work_count; w++) {
        order->cpu_before[w] = RONDE_NONE;
        all += ordering->matching->instance_of[w] == RONDE_NONE;
    }
    for (uint32_t w = 0; w < workload->work_count; w++)
        if (ordering->waits[w] == 0)
            make_ready(ordering, w);
    while (ordering->heap_count > 0) {
        const struct ready ready = pop(ordering);
        order->entries[order->count++] = ready.entry;
        if (ready.entry < workload->work_count)
            take_work(ordering, ready.entry, ready.at_ns);
        else
            take_instance(ordering, ready.entry - workload->work_count, ready.at_ns);
    }
    return order->count == all ? RONDE_OK : say_stuck(ordering, error);
}

/* --- memory --------------------------------------------------------------------------------------- */

static bool reserve(struct ordering *ordering)
{
    const size_t works = ordering->workload->work_count,
                 instances = ordering->matching->instance_count;
    ordering->waits = ronde_store_new(&ordering->store, works, sizeof *ordering->waits);
    ordering->ready_ns = ronde_store_new(&ordering->store, works, sizeof *ordering->ready_ns);
    ordering->first_next =
        ronde_store_new(&ordering->store, works + 1, sizeof *ordering->first_next);
    ordering->next =
        ronde_store_new(&ordering->store, ordering->workload->dep_count, sizeof *ordering->next);
    ordering->receiver = ronde_store_new(&ordering->store, works, sizeof *ordering->receiver);
    ordering->follower = ronde_store_new(&ordering->store, works, sizeof *ordering->follower);
    ordering->missing = ronde_store_new(&ordering->store, instances, sizeof *ordering->missing);
    ordering->joined_ns = ronde_store_new(&ordering->store, instances, sizeof *ordering->joined_ns);
    ordering->cpu_of = ronde_store_new(&ordering->store, works, sizeof *ordering->cpu_of);
    ordering->cpu_free_ns = ronde_store_new(&ordering->store, works, sizeof *ordering->cpu_free_ns);
    ordering->cpu_last = ronde_store_new(&ordering->store, works, sizeof *ordering->cpu_last);
    ordering->heap = ronde_store_new(&ordering->store, works + instances, sizeof *ordering->heap);
    return !ordering->store.is_short;
}

enum ronde_status
workload_order_find(const struct ronde_workload *workload, const struct workload_matching *matching,
                    const struct workload_calls *calls, const struct ronde_mem *mem,
                    struct workload_order *out_order, struct ronde_error *error)
{
    struct ordering ordering = {.workload = workload,
                                .matching = matching,
                                .calls = calls,
                                .order = out_order,
                                .store = {.mem = mem}};
    *out_order = (struct workload_order){.store = {.mem = mem}};
    out_order->entries =
        ronde_store_new(&out_order->store, workload->work_count, sizeof *out_order->entries);
    out_order->cpu_before =
        ronde_store_new(&out_order->store, workload->work_count, sizeof *out_order->cpu_before);
    enum ronde_status status = RONDE_NO_MEMORY;
    if (reserve(&ordering) && !out_order->store.is_short) {
        link_all(&ordering);
        if (number_cpus(&ordering))
            status = walk(&ordering, error);
    }
    ronde_store_clear(&ordering.store);
    return status == RONDE_NO_MEMORY
               ? ronde_fail(error, status, "no memory to order %u items", workload->work_count)
               : status;
}

void workload_order_free(struct workload_order *order)
{
    ronde_store_clear(&order->store);
    *order = (struct workload_order){0};
}
