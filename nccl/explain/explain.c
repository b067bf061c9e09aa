/*
 * Traces of a job as rows. Parts of calls are sorted into calls of groups (match.c), these by collective and size into rows; who
 * is late follows from all calls of a group; what a row should take, from the model of NCCL.
 */
#include "explain_parts.h"

#include "ronde/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a row should take, by the model of NCCL. */

bool ronde_explain_call(const struct ronde_explain_row *row,
                        const struct ronde_nccl_machine *machine, struct ronde_nccl_call *out)
{
    struct ronde_error ignored = {0};
    const bool is_known = row->collective != RONDE_COLLECTIVE_COUNT && row->size > 1 &&
                          row->bytes != RONDE_TRACE_NO_NUMBER && row->bytes > 0;
    *out = (struct ronde_nccl_call){.collective = row->collective,
                                    .ranks = row->size,
                                    .nodes = row->nodes,
                                    .bytes = row->bytes};
    if (!is_known || machine->gpus == 0)
        return false;
    if (out->nodes == 0) {
        /* Ranks that are apart by a node's GPUs are on different nodes: ranks are numbered node by node. */
        uint32_t last = RONDE_TRACE_NONE;
        for (uint32_t r = 0; r < row->rank_count && !row->is_own_numbers; r++) {
            out->nodes += row->ranks[r] / machine->gpus != last;
            last = row->ranks[r] / machine->gpus;
        }
        if (out->nodes == 0)
            out->nodes = (row->size + machine->gpus - 1) / machine->gpus;
    }
    return ronde_nccl_models(out->collective) &&
           ronde_nccl_call_check(machine, out, &ignored) == RONDE_OK;
}

struct ronde_nccl_machine ronde_explain_machine(const struct ronde_explain_row *row,
                                                const struct ronde_nccl_machine *machine)
{
    struct ronde_nccl_machine own = *machine;
    own.limits = row->limits;
    return own;
}

void ronde_explain_expect(struct ronde_explain_row *row, const struct ronde_nccl_call *call,
                          const struct ronde_nccl_machine *machine,
                          const struct ronde_nccl_constants *constants,
                          const struct ronde_doctor_spread *spread)
{
    const struct ronde_nccl_choice any = {RONDE_NCCL_ALGORITHM_COUNT, RONDE_NCCL_PROTOCOL_COUNT};
    const struct ronde_nccl_machine own = ronde_explain_machine(row, machine);
    struct ronde_nccl_choice choice;
    const double nccl_us = ronde_nccl_choose(constants, &own, call, any, &choice);
    if (!isfinite(nccl_us) && choice.algorithm != RONDE_NCCL_POINT)
        return;
    row->expected_us = ronde_nccl_execution_us(constants, &own, call, choice);
    row->expected_low_us = row->expected_us / ronde_doctor_tolerance(spread, call);
    row->expected_high_us = row->expected_us * ronde_doctor_tolerance(spread, call);
}

/* Who is late. A call points at its last rank where that one leads by more than the others are apart, and by more
 * than noise. One call proves nothing, somebody is always last: a rank is suspected where so many calls of its
 * group point at it as chance would make of them once in 20 groups, and called late in rows where most calls do. */

/* A lead below this is noise: of kernels' ends, of a log that counts microseconds. */
#define LEAST_LEAD_NS 8000

/* Share of a call's time that a lead must exceed. */
static const double least_share = 0.05;

/* A lead is this many times what the others are apart. */
static const int64_t times_apart = 3;

/* Chance that a rank is suspected though none is late, of a whole group. */
static const double most_chance = 0.05;

/* Calls of a row that must point at the rank. */
static const double least_pointing = 0.5;

/* The last rank of these finishes early because it may: the root's kernel ends before others begin. */
static bool can_tell(const struct explain_instance *instance)
{
    return instance->seen > 1 && instance->group != RONDE_TRACE_NONE &&
           instance->collective != RONDE_BROADCAST && instance->collective != RONDE_REDUCE &&
           instance->collective != RONDE_SEND_RECV && instance->collective != RONDE_GATHER &&
           instance->collective != RONDE_SCATTER;
}

static bool points(const struct explain_instance *instance)
{
    return can_tell(instance) && instance->lead_ns > LEAST_LEAD_NS &&
           (double)instance->lead_ns > least_share * (double)instance->least_ns &&
           instance->lead_ns > times_apart * instance->apart_ns;
}

/* Chance of `hits` and more of `trials` at 1 in `ranks` each, for any of the ranks. */
static double chance_of(uint64_t hits, uint64_t trials, uint32_t ranks)
{
    const double p = 1.0 / ranks;
    double sum = 0;
    for (uint64_t k = hits; k <= trials; k++)
        sum += exp(lgamma((double)trials + 1) - lgamma((double)k + 1) -
                   lgamma((double)(trials - k) + 1) + (double)k * log(p) +
                   (double)(trials - k) * log1p(-p));
    return sum * ranks;
}

/* How many of these calls point at a process; out of how many that point at anybody. */
static uint64_t count_points(const struct explain_instance *instances, size_t count,
                             uint32_t process, uint64_t *out_all)
{
    uint64_t hits = 0;
    *out_all = 0;
    for (size_t i = 0; i < count; i++) {
        *out_all += points(&instances[i]);
        hits += points(&instances[i]) && instances[i].last == process;
    }
    return hits;
}

/* The process that was last most often; how often, of how many calls that tell. The tally has a place per process, all 0. */
static uint32_t most_often(const struct explain_instance *instances, size_t count, uint32_t *tally,
                           uint64_t *out_hits, uint64_t *out_calls)
{
    uint32_t found = RONDE_TRACE_NONE;
    *out_hits = *out_calls = 0;
    for (size_t i = 0; i < count; i++) {
        if (!can_tell(&instances[i]))
            continue;
        ++*out_calls;
        if (++tally[instances[i].last] > *out_hits) {
            *out_hits = tally[instances[i].last];
            found = instances[i].last;
        }
    }
    for (size_t i = 0; i < count; i++)
        if (can_tell(&instances[i]))
            tally[instances[i].last] = 0;
    return found;
}

/*
 * Whether a rank of a row is late. `all` are the instances of the row's group, of which [first, first + count) are the row's.
 * Sets late_rank and late_share. The tally has a place per process, all 0, and is left so.
 */
static void blame(const struct explain_instance *all, size_t all_count, size_t first, size_t count,
                  uint32_t *tally, struct ronde_explain_row *row)
{
    uint64_t hits = 0, calls = 0, pointing = 0;
    const uint32_t last = most_often(all + first, count, tally, &hits, &calls);
    row->late_rank = RONDE_TRACE_NONE;
    row->late_share = -1;
    if (last == RONDE_TRACE_NONE)
        return;
    row->late_share = (double)hits / (double)calls;
    const uint64_t here = count_points(all + first, count, last, &pointing);
    if ((double)here < least_pointing * (double)calls)
        return;
    const uint64_t there = count_points(all, all_count, last, &pointing);
    if (row->seen < 2 || chance_of(there, pointing, row->seen) > most_chance)
        return;
    for (size_t i = first; i < first + count; i++)
        if (all[i].last == last)
            row->late_rank = all[i].last_rank;
}

/* What is worked on. */
struct work {
    const struct ronde_traces *traces;
    struct ronde_store store;
    struct ronde_explanation *out;
    struct explain_part *parts;
    struct explain_instance *instances;
    int64_t *scratch; /* times of one instance */
    double *times;    /* of one row */
    uint32_t *tally;  /* by process */
    size_t count;     /* parts */
    size_t made;      /* instances */
};

static enum ronde_status no_memory(struct ronde_error *error)
{
    return ronde_fail(error, RONDE_NO_MEMORY, "explain: no memory");
}

static bool reserve(struct work *work)
{
    struct ronde_store *store = &work->store;
    const size_t count = work->traces->calls.count;
    work->parts = ronde_store_new(store, count, sizeof *work->parts);
    work->instances = ronde_store_new(store, count, sizeof *work->instances);
    work->scratch = ronde_store_new(store, count, sizeof *work->scratch);
    work->times = ronde_store_new(store, count, sizeof *work->times);
    work->tally = ronde_store_new(store, work->traces->processes.count, sizeof *work->tally);
    work->out->loose_count = 2 * (size_t)work->traces->processes.count;
    work->out->loose = ronde_mem_new(store->mem, work->out->loose_count, sizeof *work->out->loose);
    return !store->is_short && work->out->loose;
}

static void put_together(struct work *work)
{
    explain_number(work->traces, work->parts, work->count);
    for (size_t p = 0, run; p < work->count; p += run) {
        run = explain_run(work->traces, work->parts + p, work->count - p);
        work->instances[work->made++] =
            explain_put_together(work->traces, work->parts + p, run, work->scratch);
    }
}

/* Group or process, collective, size. Calls of which nothing is known are one row, whosever they are. */
static int by_row(const void *left, const void *right)
{
    const struct explain_instance *a = left, *b = right;
    const bool is_nothing =
        a->collective == RONDE_COLLECTIVE_COUNT && b->collective == RONDE_COLLECTIVE_COUNT;
    int order = explain_order(a->group, b->group);
    order = order != 0 || is_nothing ? order : explain_order(a->process, b->process);
    order = order != 0 ? order : explain_order((uint64_t)a->collective, (uint64_t)b->collective);
    return order != 0 ? order : explain_order(a->bytes, b->bytes);
}

/* The ranks of a row of no group. */
static void name_loose(struct work *work, const struct explain_instance *instances, size_t count,
                       struct ronde_explain_row *row)
{
    const struct ronde_trace_process *processes = work->traces->processes.items;
    const uint32_t all = work->traces->processes.count;
    uint32_t *to = work->out->loose + instances->process;
    if (instances->collective == RONDE_COLLECTIVE_COUNT) {
        to = work->out->loose + all;
        for (size_t i = 0; i < count; i++)
            work->tally[instances[i].process] = 1;
        for (uint32_t p = 0; p < all; p++) {
            if (work->tally[p] > 0 && processes[p].rank != RONDE_TRACE_NONE)
                to[row->rank_count++] = processes[p].rank;
            row->seen += work->tally[p];
            work->tally[p] = 0;
        }
        row->ranks = to;
        return;
    }
    *to = processes[instances->process].rank;
    row->ranks = to;
    row->rank_count = *to != RONDE_TRACE_NONE;
    row->seen = 1;
}

static void name_group(struct work *work, const struct explain_instance *instances, size_t count,
                       struct ronde_explain_row *row)
{
    const struct ronde_job_group *group =
        (const struct ronde_job_group *)work->traces->groups.items + instances->group;
    row->ranks = group->ranks;
    row->rank_count = group->count;
    row->size = group->size;
    row->nodes = group->nodes;
    row->is_inferred = group->is_inferred;
    row->is_own_numbers = group->is_own_numbers;
    for (size_t i = 0; i < count; i++)
        if (instances[i].seen + instances[i].missing > row->seen)
            row->seen = instances[i].seen + instances[i].missing;
}

/* Median of times that are gathered; below 0 of none. */
static double median_us(double *times, size_t count)
{
    return count > 0 ? ronde_stats_of(times, count).median / 1e3 : -1;
}

static void count_calls(const struct work *work, const struct explain_instance *instances,
                        size_t count, struct ronde_explain_row *row)
{
    int64_t exposed = 0, hidden = 0;
    double least = 0, sum = 0;
    bool is_known = false;
    for (size_t i = 0; i < count; i++) {
        if (instances[i].seen > 0 && instances[i].collective != RONDE_COLLECTIVE_COUNT)
            row->calls++;
        else
            row->unknown++;
        if (instances[i].seen > 0) {
            least += (double)instances[i].seen * (double)instances[i].least_ns;
            sum += (double)instances[i].sum_ns;
        }
        exposed += instances[i].exposed_ns;
        hidden += instances[i].hidden_ns;
        is_known = is_known || instances[i].overlapped > 0;
    }
    const double ranks = (row->seen > 0 ? row->seen : 1) * (double)work->out->steps;
    row->step_us = least / 1e3 / ranks;
    row->step_waiting_us = row->seen > 1 ? (sum - least) / 1e3 / ranks : -1;
    row->exposed_us = is_known ? (double)exposed / 1e3 / ranks : -1;
    row->hidden_us = is_known ? (double)hidden / 1e3 / ranks : -1;
}

/* A call that some ranks have not recorded is known from above: that says something where it is no more than whole ones took. */
static bool is_usable(const struct explain_instance *instance, const struct ronde_explain_row *row,
                      int64_t most_ns)
{
    return instance->seen > 0 && (instance->seen == row->seen || instance->least_ns <= most_ns);
}

/* Times of the calls. Where no call is whole, all are taken as they are. */
static void time_calls(struct work *work, const struct explain_instance *instances, size_t count,
                       struct ronde_explain_row *row)
{
    size_t timed = 0;
    int64_t most_ns = INT64_MIN;
    for (size_t i = 0; i < count; i++)
        if (instances[i].seen > 0 && instances[i].seen == row->seen &&
            instances[i].least_ns > most_ns)
            most_ns = instances[i].least_ns;
    if (most_ns == INT64_MIN)
        most_ns = INT64_MAX;
    for (int waited = 0; waited < 2; waited++) {
        timed = 0;
        for (size_t i = 0; i < count; i++)
            if (is_usable(&instances[i], row, most_ns))
                work->times[timed++] =
                    (double)(waited ? instances[i].median_ns - instances[i].least_ns
                                    : instances[i].least_ns);
        if (waited) {
            row->waiting_us = row->seen > 1 ? median_us(work->times, timed) : -1;
            continue;
        }
        row->time_us = median_us(work->times, timed);
        row->mean_us = timed > 0 ? ronde_stats_of(work->times, timed).mean / 1e3 : -1;
        row->p90_us = timed > 0 ? ronde_percentile(work->times, timed, 90) / 1e3 : -1;
    }
}

/* One row. Errors: NO_MEMORY. */
static enum ronde_status add_row(struct work *work, size_t group_first, size_t group_count,
                                 size_t first, size_t count, struct ronde_error *error)
{
    const struct explain_instance *instances = work->instances + first;
    struct ronde_explain_row *row = ronde_list_push(work->store.mem, &work->out->rows, sizeof *row);
    if (!row)
        return no_memory(error);
    row->collective = instances->collective;
    row->bytes = instances->bytes;
    row->expected_us = row->expected_low_us = row->expected_high_us = row->busbw_GBps = -1;
    row->late_rank = RONDE_TRACE_NONE;
    row->late_share = row->time_us = row->mean_us = row->p90_us = row->waiting_us = -1;
    if (instances->group == RONDE_TRACE_NONE)
        name_loose(work, instances, count, row);
    else
        name_group(work, instances, count, row);
    count_calls(work, instances, count, row);
    if (row->collective == RONDE_COLLECTIVE_COUNT)
        return RONDE_OK;
    blame(work->instances + group_first, group_count, first - group_first, count, work->tally, row);
    time_calls(work, instances, count, row);
    /* The others may have waited for a rank that is not seen. */
    row->is_bound = row->size != 1 && (row->seen <= 1 || row->seen < row->size);
    if (row->time_us > 0 && row->bytes != RONDE_TRACE_NO_NUMBER && row->size > 0)
        row->busbw_GBps = (double)row->bytes / row->time_us / 1e3 *
                          ronde_collective_bus_factor(row->collective, row->size);
    return RONDE_OK;
}

static enum ronde_status add_rows(struct work *work, struct ronde_error *error)
{
    const struct explain_instance *all = work->instances;
    qsort(work->instances, work->made, sizeof *work->instances, by_row);
    for (size_t g = 0, group; g < work->made; g += group) {
        for (group = 1; g + group < work->made && all[g + group].group == all[g].group; group++)
            ;
        for (size_t i = g, run; i < g + group; i += run) {
            for (run = 1; i + run < g + group && by_row(&all[i], &all[i + run]) == 0; run++)
                ;
            RONDE_TRY(add_row(work, g, group, i, run, error));
        }
    }
    return RONDE_OK;
}

/* The longest of a step first; what nothing is known of last. */
static int by_time(const void *left, const void *right)
{
    const struct ronde_explain_row *a = left, *b = right;
    const double one = a->time_us * (double)a->calls, other = b->time_us * (double)b->calls;
    return (one < other) - (one > other);
}

static void count_ranks(const struct ronde_traces *traces, struct ronde_explanation *out)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    for (uint32_t p = 0; p < traces->processes.count; p++) {
        out->ranks += !processes[p].is_copy;
        if (processes[p].world > out->world)
            out->world = processes[p].world;
    }
}

enum ronde_status ronde_explain(const struct ronde_traces *traces, uint32_t step,
                                const struct ronde_mem *mem, struct ronde_explanation *out,
                                struct ronde_error *error)
{
    struct work work = {.traces = traces, .store = {.mem = mem}, .out = out};
    *out = (struct ronde_explanation){.mem = mem};
    count_ranks(traces, out);
    enum ronde_status status = reserve(&work) ? RONDE_OK : no_memory(error);
    RONDE_THEN(status, explain_select(traces, step, work.parts, &work.count, error));
    if (status == RONDE_OK) {
        out->steps = step == RONDE_TRACE_NONE ? explain_count_steps(traces) : 1;
        put_together(&work);
        status = add_rows(&work, error);
    }
    if (status == RONDE_OK && out->rows.count > 1)
        qsort(out->rows.items, out->rows.count, sizeof(struct ronde_explain_row), by_time);
    ronde_store_clear(&work.store);
    return status;
}

void ronde_explanation_close(struct ronde_explanation *explanation)
{
    ronde_list_free(explanation->mem, &explanation->rows, sizeof(struct ronde_explain_row));
    ronde_mem_free(explanation->mem, explanation->loose, explanation->loose_count,
                   sizeof *explanation->loose);
    ronde_mem_free(explanation->mem, explanation->numbers, explanation->number_count,
                   sizeof *explanation->numbers);
    *explanation = (struct ronde_explanation){.mem = explanation->mem};
}
