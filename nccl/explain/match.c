/*
 * Which calls of different ranks are one call. By the group's own numbers where the trace has them. Else by order: the k-th call
 * of a collective and size on each rank, if all ranks have as many; what else there is stays apart, a call of one rank each.
 */
#include "explain_parts.h"

#include <stdlib.h>

/* Logs of nccl-tests as rows: what they measured is without waiting already. */

/* Has at least so many numbers, and lets rows of logs point at them. Errors: NO_MEMORY. */
static bool reserve(struct ronde_explanation *explanation, size_t count)
{
    struct ronde_explain_row *rows = explanation->rows.items;
    const size_t before = explanation->number_count;
    if (before < count &&
        !ronde_mem_grow(explanation->mem, (void **)&explanation->numbers,
                        &explanation->number_count, count, sizeof *explanation->numbers))
        return false;
    for (size_t i = before; i < explanation->number_count; i++)
        explanation->numbers[i] = (uint32_t)i;
    for (uint32_t r = 0; r < explanation->rows.count; r++)
        if (rows[r].is_log)
            rows[r].ranks = explanation->numbers;
    return true;
}

/* Out of place, as most programs call; a log may have measured in place alone. */
static bool has_out_of_place(const struct ronde_published *published)
{
    for (size_t r = 0; r < published->count; r++)
        if (!published->rows[r].is_in_place)
            return true;
    return false;
}

enum ronde_status ronde_explanation_add_log(struct ronde_explanation *explanation,
                                            const struct ronde_published *published,
                                            struct ronde_error *error)
{
    const bool is_in_place = !has_out_of_place(published);
    ronde_log_facts_join(&explanation->log, &published->log);
    for (size_t r = 0; r < published->count; r++) {
        const struct ronde_published_row *from = &published->rows[r];
        if (from->is_in_place != is_in_place || !(from->measured_us > 0))
            continue;
        struct ronde_explain_row *row =
            ronde_list_push(explanation->mem, &explanation->rows, sizeof *row);
        if (!row || !reserve(explanation, from->call.ranks))
            return ronde_fail(error, RONDE_NO_MEMORY, "explain: no memory");
        *row = (struct ronde_explain_row){.ranks = explanation->numbers,
                                          .rank_count = from->call.ranks,
                                          .size = from->call.ranks,
                                          .seen = from->call.ranks,
                                          .nodes = from->call.nodes,
                                          .is_log = true,
                                          .collective = from->call.collective,
                                          .bytes = from->call.bytes,
                                          .calls = 1,
                                          .time_us = from->measured_us,
                                          .mean_us = from->measured_us,
                                          .p90_us = from->measured_us,
                                          .busbw_GBps =
                                              (double)from->call.bytes / from->measured_us / 1e3 *
                                              ronde_collective_bus_factor(from->call.collective,
                                                                          from->call.ranks),
                                          .expected_us = -1,
                                          .expected_low_us = -1,
                                          .expected_high_us = -1,
                                          .late_rank = RONDE_TRACE_NONE,
                                          .late_share = -1,
                                          .waiting_us = -1,
                                          .step_us = -1,
                                          .step_waiting_us = -1,
                                          .exposed_us = -1,
                                          .hidden_us = -1};
    }
    return RONDE_OK;
}

static const struct ronde_trace_call *call_of(const struct ronde_traces *traces,
                                              const struct explain_part *part)
{
    return (const struct ronde_trace_call *)traces->calls.items + part->call;
}

/* Group, process where there is no group, collective. */
static int by_bucket(const struct ronde_trace_call *a, const struct ronde_trace_call *b)
{
    int order = explain_order(a->group, b->group);
    if (order == 0 && a->group == RONDE_TRACE_NONE)
        order = explain_order(a->process, b->process);
    return order != 0 ? order : explain_order((uint64_t)a->collective, (uint64_t)b->collective);
}

static bool is_one_bucket(const struct ronde_traces *traces, const struct explain_part *a,
                          const struct explain_part *b)
{
    return by_bucket(call_of(traces, a), call_of(traces, b)) == 0;
}

/* The steps that there are; the most of any trace. */
static uint32_t count_steps(const struct ronde_traces *traces, uint32_t *out_first)
{
    const struct ronde_trace_process *processes = traces->processes.items;
    uint32_t most = 0;
    for (uint32_t p = 0; p < traces->processes.count; p++)
        if (processes[p].steps > most) {
            most = processes[p].steps;
            *out_first = processes[p].first_step;
        }
    return most;
}

uint32_t explain_count_steps(const struct ronde_traces *traces)
{
    uint32_t first = 0;
    const uint32_t steps = count_steps(traces, &first);
    return steps > 0 ? steps : 1;
}

enum ronde_status explain_select(const struct ronde_traces *traces, uint32_t step,
                                 struct explain_part *parts, size_t *out_count,
                                 struct ronde_error *error)
{
    const struct ronde_trace_call *calls = traces->calls.items;
    uint32_t first = 0;
    *out_count = 0;
    for (uint32_t c = 0; c < traces->calls.count; c++)
        if (step == RONDE_TRACE_NONE || calls[c].step == step)
            parts[(*out_count)++].call = c;
    if (step == RONDE_TRACE_NONE || *out_count > 0)
        return RONDE_OK;
    const uint32_t steps = count_steps(traces, &first);
    return steps == 0
               ? ronde_fail(error, RONDE_BAD_INPUT,
                            "--step %u: the traces mark no steps (ProfilerStep#N of "
                            "torch.profiler); leave --step out",
                            step)
               : ronde_fail(error, RONDE_BAD_INPUT,
                            "--step %u: no calls in that step; the traces have %u, from %u on",
                            step, steps, first);
}

static int by_part(const void *left, const void *right, void *context)
{
    const struct explain_part *one = left, *two = right;
    const struct ronde_trace_call *a = call_of(context, one), *b = call_of(context, two);
    int order = by_bucket(a, b);
    order = order != 0 ? order : explain_order(one->instance, two->instance);
    order = order != 0 ? order : explain_order(a->process, b->process);
    return order != 0 ? order : explain_order_ns(a->start_ns, b->start_ns);
}

static void sort(const struct ronde_traces *traces, struct explain_part *parts, size_t count)
{
    qsort_r(parts, count, sizeof *parts, by_part, (void *)traces);
}

/* Size, process, start. */
static int by_size(const void *left, const void *right, void *context)
{
    const struct ronde_trace_call *a = call_of(context, left), *b = call_of(context, right);
    /* Blocks of all_to_all may differ from rank to rank. */
    int order = a->collective == RONDE_ALL_TO_ALL ? 0 : explain_order(a->bytes, b->bytes);
    order = order != 0 ? order : explain_order(a->process, b->process);
    return order != 0 ? order : explain_order_ns(a->start_ns, b->start_ns);
}

static bool is_one_size(const struct ronde_traces *traces, const struct explain_part *a,
                        const struct explain_part *b)
{
    return call_of(traces, a)->collective == RONDE_ALL_TO_ALL ||
           call_of(traces, a)->bytes == call_of(traces, b)->bytes;
}

/* How many parts from the first on are of its process. */
static size_t run_of(const struct ronde_traces *traces, const struct explain_part *parts,
                     size_t count)
{
    size_t run = 1;
    while (run < count && call_of(traces, parts + run)->process == call_of(traces, parts)->process)
        run++;
    return run;
}

/* Calls of one size, by process: numbered from `next` on. Returns the next number. */
static uint64_t number_size(const struct ronde_traces *traces, struct explain_part *parts,
                            size_t count, uint64_t next)
{
    const size_t each = run_of(traces, parts, count);
    bool is_even = call_of(traces, parts)->group != RONDE_TRACE_NONE &&
                   call_of(traces, parts)->bytes != RONDE_TRACE_NO_NUMBER;
    for (size_t p = 0; is_even && p < count; p += each)
        is_even = run_of(traces, parts + p, count - p) == each;
    for (size_t p = 0; p < count; p++)
        parts[p].instance = next + (is_even ? p % each : p);
    return next + (is_even ? each : count);
}

/* Parts of one group and collective. */
static void match(const struct ronde_traces *traces, struct explain_part *parts, size_t count)
{
    bool has_numbers = true;
    for (size_t p = 0; p < count; p++)
        has_numbers = has_numbers && call_of(traces, parts + p)->group != RONDE_TRACE_NONE &&
                      call_of(traces, parts + p)->sequence != RONDE_TRACE_NO_NUMBER;
    if (has_numbers) {
        for (size_t p = 0; p < count; p++)
            parts[p].instance = call_of(traces, parts + p)->sequence;
        return;
    }
    uint64_t next = 0;
    qsort_r(parts, count, sizeof *parts, by_size, (void *)traces);
    for (size_t p = 0, run; p < count; p += run) {
        for (run = 1; p + run < count && is_one_size(traces, parts + p, parts + p + run); run++)
            ;
        next = number_size(traces, parts + p, run, next);
    }
}

void explain_number(const struct ronde_traces *traces, struct explain_part *parts, size_t count)
{
    sort(traces, parts, count);
    for (size_t p = 0, run; p < count; p += run) {
        for (run = 1; p + run < count && is_one_bucket(traces, parts + p, parts + p + run); run++)
            ;
        match(traces, parts + p, run);
    }
    sort(traces, parts, count);
}

size_t explain_run(const struct ronde_traces *traces, const struct explain_part *parts, size_t count)
{
    size_t run = 1;
    while (run < count && parts[run].instance == parts->instance &&
           is_one_bucket(traces, parts, parts + run))
        run++;
    return run;
}

static int by_time(const void *left, const void *right)
{
    return explain_order_ns(*(const int64_t *)left, *(const int64_t *)right);
}

struct explain_instance explain_put_together(const struct ronde_traces *traces,
                                             const struct explain_part *parts, size_t count,
                                             int64_t *scratch)
{
    const struct ronde_trace_call *first = call_of(traces, parts);
    const struct ronde_trace_process *processes = traces->processes.items;
    struct explain_instance out = {.group = first->group,
                                   .process = first->group == RONDE_TRACE_NONE ? first->process : 0,
                                   .collective = first->collective,
                                   .bytes = first->bytes,
                                   .last = RONDE_TRACE_NONE,
                                   .least_ns = RONDE_TRACE_NO_TIME};
    for (size_t p = 0; p < count; p++) {
        const struct ronde_trace_call *call = call_of(traces, parts + p);
        if (call->bytes != RONDE_TRACE_NO_NUMBER &&
            (out.bytes == RONDE_TRACE_NO_NUMBER || call->bytes > out.bytes))
            out.bytes = call->bytes;
        /* Two files of a rank may have one call twice. */
        if (p > 0 && out.group != RONDE_TRACE_NONE &&
            call->process == call_of(traces, parts + p - 1)->process)
            continue;
        if (call->duration_ns == RONDE_TRACE_NO_TIME) {
            out.missing++;
            continue;
        }
        if (out.seen == 0 || call->duration_ns < out.least_ns) {
            out.least_ns = call->duration_ns;
            out.last = call->process;
            out.last_rank = call->rank != RONDE_TRACE_NONE ? call->rank : processes[out.last].rank;
        }
        scratch[out.seen++] = call->duration_ns;
        out.sum_ns += call->duration_ns;
        if (call->exposed_ns != RONDE_TRACE_NO_TIME) {
            out.exposed_ns += call->exposed_ns;
            out.hidden_ns += call->duration_ns - call->exposed_ns;
            out.overlapped++;
        }
    }
    if (out.seen == 0)
        return out;
    qsort(scratch, out.seen, sizeof *scratch, by_time);
    out.median_ns = scratch[out.seen / 2];
    out.lead_ns = out.seen > 1 ? scratch[1] - scratch[0] : 0;
    /* Of three and more: how far those who wait are apart. */
    out.apart_ns = out.seen > 2 ? out.median_ns - scratch[1] : 0;
    return out;
}
