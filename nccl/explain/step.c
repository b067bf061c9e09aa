/*
 * A job's step as a workload (ronde/workload.h), for `ronde workload sim`: the calls that all ranks of a group have recorded, and as
 * calculations whatever a rank does between them. Of a call that has compute beside it the end is what the rank waits for; the
 * calculation behind it begins then. Where the first call of a rank begins is by how long it waits in it: the last rank that comes
 * to its first call begins with it.
 */
#include "explain_parts.h"

#include <inttypes.h>
#include <stdlib.h>

/* A rank's part of a call that is written. */
struct item {
    uint32_t call;
    uint32_t line;    /* index of struct line */
    uint64_t bytes;   /* of the call */
    int64_t least_ns; /* of its ranks */
    int64_t order_ns; /* among the calls of its line, on all ranks: when it began on the first of them */
    int64_t start_ns; /* when it began, or a call of its line that comes before it */
};

/* Groups that are written under one name: no rank is in two of them. */
struct family {
    uint32_t size;
    uint32_t number; /* among those of its size */
};

/* Calls of a group that follow each other: those of one stream, as its first rank has them. */
struct line {
    uint32_t group, lane;
    uint32_t family;
};

struct step {
    const struct ronde_traces *traces;
    const struct ronde_mem *mem;
    struct explain_part *parts;
    struct item *items;
    struct ronde_list lines;    /* of struct line */
    struct ronde_list families; /* of struct family */
    size_t part_count, item_count;
    size_t left_out; /* calls of ranks */
    uint32_t ranks;
    int64_t longest_wait_ns; /* of the first calls */
    bool has_roots;          /* calls whose root is not said */
};

static const struct ronde_trace_call *call_of(const struct step *step, uint32_t call)
{
    return (const struct ronde_trace_call *)step->traces->calls.items + call;
}

static const struct ronde_job_group *group_of(const struct step *step, uint32_t group)
{
    return (const struct ronde_job_group *)step->traces->groups.items + group;
}

static uint32_t rank_of(const struct step *step, uint32_t call)
{
    const struct ronde_trace_process *processes = step->traces->processes.items;
    return processes[call_of(step, call)->process].rank;
}

static int64_t end_of(const struct ronde_trace_call *call)
{
    return call->start_ns + call->duration_ns;
}

/* What of a call the rank waits for; all of it where what it computes is not said. */
static int64_t exposed_of(const struct ronde_trace_call *call)
{
    return call->exposed_ns == RONDE_TRACE_NO_TIME ? call->duration_ns : call->exposed_ns;
}

/* --- which calls ------------------------------------------------------------------------------ */

static const struct line *line_of(const struct step *step, uint32_t line)
{
    return (const struct line *)step->lines.items + line;
}

/* Whether a group has a rank that a family has already. */
static bool meets(const struct step *step, uint32_t group, uint32_t family)
{
    const struct ronde_job_group *self = group_of(step, group);
    for (uint32_t l = 0; l < step->lines.count; l++) {
        if (line_of(step, l)->family != family)
            continue;
        const struct ronde_job_group *other = group_of(step, line_of(step, l)->group);
        for (uint32_t i = 0, j = 0; i < self->count && j < other->count;) {
            if (self->ranks[i] == other->ranks[j])
                return true;
            if (self->ranks[i] < other->ranks[j])
                i++;
            else
                j++;
        }
    }
    return false;
}

/* The first family of its size that a group fits into; NONE without memory. */
static uint32_t find_family(struct step *step, uint32_t group)
{
    const struct family *families = step->families.items;
    const uint32_t size = group_of(step, group)->count;
    uint32_t number = 0;
    for (uint32_t f = 0; f < step->families.count; f++) {
        if (families[f].size == size && !meets(step, group, f))
            return f;
        number += families[f].size == size;
    }
    const struct family family = {size, number};
    return ronde_list_append(step->mem, &step->families, &family, sizeof family)
               ? step->families.count - 1
               : RONDE_TRACE_NONE;
}

/* The line of a call; NONE without memory. */
static uint32_t find_line(struct step *step, const struct ronde_trace_call *first)
{
    for (uint32_t l = 0; l < step->lines.count; l++)
        if (line_of(step, l)->group == first->group && line_of(step, l)->lane == first->lane)
            return l;
    const struct line line = {first->group, first->lane, find_family(step, first->group)};
    return line.family != RONDE_TRACE_NONE &&
                   ronde_list_append(step->mem, &step->lines, &line, sizeof line)
               ? step->lines.count - 1
               : RONDE_TRACE_NONE;
}

/* Whether a part can be placed in time. */
static bool is_timed(const struct step *step, const struct explain_part *part)
{
    const struct ronde_trace_call *call = call_of(step, part->call);
    return call->start_ns != RONDE_TRACE_NO_TIME && call->duration_ns != RONDE_TRACE_NO_TIME &&
           rank_of(step, part->call) != RONDE_TRACE_NONE;
}

/* The parts of one call, where each rank of its group has one. Errors: NO_MEMORY. */
static enum ronde_status take_call(struct step *step, const struct explain_part *parts,
                                   size_t count, struct ronde_error *error)
{
    const struct ronde_trace_call *first = call_of(step, parts->call);
    const size_t before = step->item_count;
    uint64_t bytes = 0;
    int64_t least_ns = INT64_MAX;
    bool is_known =
        first->group != RONDE_TRACE_NONE && first->collective != RONDE_COLLECTIVE_COUNT &&
        first->collective != RONDE_SEND_RECV && !group_of(step, first->group)->is_own_numbers;
    for (size_t p = 0; p < count; p++) {
        const struct ronde_trace_call *call = call_of(step, parts[p].call);
        is_known = is_known && is_timed(step, &parts[p]) && call->bytes != RONDE_TRACE_NO_NUMBER;
        if (!is_known || (p > 0 && call->process == call_of(step, parts[p - 1].call)->process))
            continue;
        bytes = call->bytes > bytes ? call->bytes : bytes;
        least_ns = call->duration_ns < least_ns ? call->duration_ns : least_ns;
        step->items[step->item_count++] = (struct item){.call = parts[p].call};
    }
    if (!is_known || step->item_count - before != group_of(step, first->group)->count) {
        step->item_count = before;
        step->left_out += count;
        return RONDE_OK;
    }
    const uint32_t line = find_line(step, first);
    if (line == RONDE_TRACE_NONE)
        return ronde_fail(error, RONDE_NO_MEMORY, "explain: no memory");
    for (size_t i = before; i < step->item_count; i++) {
        step->items[i].line = line;
        step->items[i].bytes = bytes;
        step->items[i].least_ns = least_ns;
        step->items[i].order_ns = first->start_ns;
        step->items[i].start_ns = call_of(step, step->items[i].call)->start_ns;
    }
    step->has_roots = step->has_roots || first->collective == RONDE_BROADCAST ||
                      first->collective == RONDE_REDUCE || first->collective == RONDE_GATHER ||
                      first->collective == RONDE_SCATTER;
    return RONDE_OK;
}

static int by_line(const void *left, const void *right, void *context)
{
    const struct step *step = context;
    const struct item *a = left, *b = right;
    int order = explain_order_ns(rank_of(step, a->call), rank_of(step, b->call));
    order = order != 0
                ? order
                : explain_order_ns(call_of(step, a->call)->group, call_of(step, b->call)->group);
    order = order != 0 ? order : explain_order_ns(a->order_ns, b->order_ns);
    return order != 0 ? order : explain_order_ns(a->call, b->call);
}

/* Calls of a line have one order on all ranks: none begins before one that comes before it. */
static void order_calls(struct step *step)
{
    qsort_r(step->items, step->item_count, sizeof *step->items, by_line, step);
    for (size_t i = 1; i < step->item_count; i++) {
        const struct item *before = &step->items[i - 1];
        struct item *item = &step->items[i];
        if (rank_of(step, before->call) == rank_of(step, item->call) &&
            before->line == item->line && item->start_ns < before->start_ns)
            item->start_ns = before->start_ns;
    }
}

static int by_rank_and_start(const void *left, const void *right, void *context)
{
    const struct step *step = context;
    const struct item *a = left, *b = right;
    int order = explain_order_ns(rank_of(step, a->call), rank_of(step, b->call));
    order = order != 0 ? order : explain_order_ns(a->start_ns, b->start_ns);
    return order != 0 ? order : by_line(left, right, context);
}

/* How many items from one on are of its rank. */
static size_t run_of(const struct step *step, size_t first)
{
    size_t run = 1;
    while (first + run < step->item_count &&
           rank_of(step, step->items[first + run].call) == rank_of(step, step->items[first].call))
        run++;
    return run;
}

static enum ronde_status take_calls(struct step *step, struct ronde_error *error)
{
    for (size_t p = 0, run; p < step->part_count; p += run) {
        run = explain_run(step->traces, step->parts + p, step->part_count - p);
        RONDE_TRY(take_call(step, step->parts + p, run, error));
    }
    order_calls(step);
    qsort_r(step->items, step->item_count, sizeof *step->items, by_rank_and_start, step);
    for (size_t i = 0; i < step->item_count; i += run_of(step, i)) {
        const struct item *item = &step->items[i];
        const int64_t wait_ns = call_of(step, item->call)->duration_ns - item->least_ns;
        step->longest_wait_ns = wait_ns > step->longest_wait_ns ? wait_ns : step->longest_wait_ns;
        step->ranks++;
    }
    return RONDE_OK;
}

/* --- as text ------------------------------------------------------------------------------------ */

/* Calls of a rank that are under way at once, at most: what began before them is waited for no more. */
#define WINDOW 64u

/* What is written of a rank: where in its time, and what is to be waited for by what comes next. */
struct writer {
    const struct step *step;
    FILE *file;
    const struct item *items; /* of the rank */
    size_t count;
    size_t computed;       /* calculations so far */
    size_t joined[WINDOW]; /* calls that are waited for besides */
    size_t join_count;
    int64_t at_ns;
};

static void put_after(const struct writer *writer)
{
    if (writer->computed + writer->join_count == 0)
        return;
    fputs(" after", writer->file);
    if (writer->computed > 0)
        fprintf(writer->file, " c%zu", writer->computed - 1);
    for (size_t j = 0; j < writer->join_count; j++)
        fprintf(writer->file, " k%zu", writer->joined[j]);
}

/* A calculation up to a moment. */
static void compute_until(struct writer *writer, int64_t until_ns)
{
    if (until_ns <= writer->at_ns)
        return;
    fprintf(writer->file, "  c%zu compute %" PRId64 "ns", writer->computed,
            until_ns - writer->at_ns);
    put_after(writer);
    fputc('\n', writer->file);
    writer->computed++;
    writer->join_count = 0;
    writer->at_ns = until_ns;
}

static void skip_until(struct writer *writer, int64_t until_ns)
{
    writer->at_ns = until_ns > writer->at_ns ? until_ns : writer->at_ns;
}

/* Of the calls before number `before` that are still to be waited for the one that ends first; `count` = none. */
static size_t next_join(const struct writer *writer, size_t before, const bool *is_joined)
{
    size_t found = writer->count;
    for (size_t i = before > WINDOW ? before - WINDOW : 0; i < before; i++) {
        const struct ronde_trace_call *call = call_of(writer->step, writer->items[i].call);
        if (!is_joined[i % WINDOW] && exposed_of(call) > 0 &&
            (found == writer->count ||
             end_of(call) < end_of(call_of(writer->step, writer->items[found].call))))
            found = i;
    }
    return found;
}

/* What a rank does until a call begins: it computes, but where it waits for the ends of others. */
static void go_to(struct writer *writer, size_t item, bool *is_joined)
{
    const int64_t start_ns = writer->items[item].start_ns;
    for (size_t j; (j = next_join(writer, item, is_joined)) < writer->count;) {
        const struct ronde_trace_call *call = call_of(writer->step, writer->items[j].call);
        const int64_t from_ns = end_of(call) - exposed_of(call);
        compute_until(writer, from_ns < start_ns ? from_ns : start_ns);
        if (end_of(call) > start_ns)
            break;
        is_joined[j % WINDOW] = true;
        if (writer->join_count == WINDOW)
            writer->join_count--;
        writer->joined[writer->join_count++] = j;
        skip_until(writer, end_of(call));
    }
    /* One that is still waited for, if any, begins to be so before. */
    const size_t open = next_join(writer, item, is_joined);
    const bool waits = open < writer->count &&
                       end_of(call_of(writer->step, writer->items[open].call)) -
                               exposed_of(call_of(writer->step, writer->items[open].call)) <
                           start_ns;
    if (!waits)
        compute_until(writer, start_ns);
    skip_until(writer, start_ns);
}

static void put_family(const struct step *step, FILE *file, uint32_t family)
{
    const struct family *self = (const struct family *)step->families.items + family;
    fprintf(file, "g%" PRIu32, self->size);
    if (self->number > 0)
        fprintf(file, "_%" PRIu32, self->number);
}

static void put_rank(const struct step *step, FILE *file, const struct item *items, size_t count)
{
    struct writer writer = {.step = step, .file = file, .items = items, .count = count};
    const struct ronde_trace_call *first = call_of(step, items->call);
    bool is_joined[WINDOW] = {false};
    writer.at_ns =
        first->start_ns - (step->longest_wait_ns - (first->duration_ns - items->least_ns));
    fprintf(file, "\non %" PRIu32 "\n", rank_of(step, items->call));
    for (size_t i = 0; i < count; i++) {
        const struct ronde_trace_call *call = call_of(step, items[i].call);
        go_to(&writer, i, is_joined);
        is_joined[i % WINDOW] = false;
        fprintf(file, "  k%zu %s ", i, ronde_collective_text(call->collective));
        put_family(step, file, line_of(step, items[i].line)->family);
        if (call->collective != RONDE_BARRIER)
            fprintf(file, " %" PRIu64, items[i].bytes);
        put_after(&writer);
        fputc('\n', file);
    }
}

static void put_groups(const struct step *step, FILE *file)
{
    for (uint32_t f = 0; f < step->families.count; f++) {
        fputs("groups ", file);
        put_family(step, file, f);
        for (uint32_t l = 0; l < step->lines.count; l++) {
            const struct ronde_job_group *group = group_of(step, line_of(step, l)->group);
            for (uint32_t r = 0; line_of(step, l)->family == f && r < group->count; r++)
                fprintf(file, "%c%" PRIu32, r == 0 ? ' ' : ',', group->ranks[r]);
        }
        fputc('\n', file);
    }
}

static void put_step(const struct step *step, FILE *file)
{
    fprintf(file,
            "ronde-workload 1\nranks %" PRIu32
            "\n# Written by ronde explain: calls as they were recorded, and what ranks did between "
            "them.\n",
            step->ranks);
    if (step->left_out > 0)
        fprintf(file,
                "# Left out: %zu calls of ranks that others of their group have not recorded, or "
                "whose size or time is not known.\n",
                step->left_out);
    if (step->has_roots)
        fputs("# Traces do not say roots: they are the first ranks of their groups here.\n", file);
    put_groups(step, file);
    for (size_t i = 0, run; i < step->item_count; i += run) {
        run = run_of(step, i);
        put_rank(step, file, step->items + i, run);
    }
}

/* --- all of it ---------------------------------------------------------------------------------- */

/* Ranks are 0 and on, all of them. */
static enum ronde_status check(const struct step *step, struct ronde_error *error)
{
    const struct ronde_trace_process *processes = step->traces->processes.items;
    uint32_t world = step->ranks;
    for (uint32_t p = 0; p < step->traces->processes.count; p++) {
        world = processes[p].world > world ? processes[p].world : world;
        if (processes[p].rank != RONDE_TRACE_NONE && processes[p].rank >= world)
            world = processes[p].rank + 1;
    }
    if (step->item_count == 0)
        return ronde_fail(
            error, RONDE_UNSUPPORTED,
            "--to workload: no call of a group is there of all of its ranks, with its "
            "size and beginning: traces of torch.profiler of all ranks have that");
    return step->ranks == world
               ? RONDE_OK
               : ronde_fail(error, RONDE_UNSUPPORTED,
                            "--to workload: calls of %u of %u ranks are there; it takes the traces "
                            "of all of them",
                            step->ranks, world);
}

enum ronde_status ronde_explain_workload(const struct ronde_traces *traces, uint32_t number,
                                         const struct ronde_mem *mem, FILE *file,
                                         struct ronde_error *error)
{
    const size_t calls = traces->calls.count;
    struct ronde_store store = {.mem = mem};
    struct step step = {.traces = traces,
                        .mem = mem,
                        .parts = ronde_store_new(&store, calls, sizeof *step.parts),
                        .items = ronde_store_new(&store, calls, sizeof *step.items)};
    enum ronde_status status =
        store.is_short ? ronde_fail(error, RONDE_NO_MEMORY, "explain: no memory") : RONDE_OK;
    RONDE_THEN(status, explain_select(traces, number, step.parts, &step.part_count, error));
    if (status == RONDE_OK) {
        explain_number(traces, step.parts, step.part_count);
        status = take_calls(&step, error);
    }
    RONDE_THEN(status, check(&step, error));
    if (status == RONDE_OK)
        put_step(&step, file);
    ronde_store_clear(&store);
    ronde_list_free(mem, &step.lines, sizeof(struct line));
    ronde_list_free(mem, &step.families, sizeof(struct family));
    return status;
}
