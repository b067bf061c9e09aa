/*
 * The trace event format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
 *
 * Events are written as they are found; nothing of the file is kept. A slice and both ends of the arrow it receives
 * stand together, so that an arrow is there in full or not at all. The tail of an arrow lies in the last nanosecond of
 * the sender's slice: it must lie inside.
 */
#include "ronde/trace.h"

#include "ronde/utf8.h"
#include "sim/check.h"
#include "sim/shared/maxmin_share.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The file in the making. */
struct pen {
    const struct ronde_trace *trace;
    const struct ronde_dag *dag;
    const double *start_ns;
    const double *finish_ns;
    const struct ronde_mem *mem;
    FILE *file;
    struct ronde_error *error;
    uint32_t ranks;  /* that are written */
    uint32_t lanes;  /* most of any rank and channel */
    uint32_t tracks; /* channels * lanes */
    struct ronde_sim_routes routes;
    bool has_events; /* a comma is due */
};

static void begin_event(struct pen *pen)
{
    fputs(pen->has_events ? ",\n{" : "\n{", pen->file);
    pen->has_events = true;
}

/* A JSON string; names come from files, or are names of files, and may hold anything. */
static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    while (*text) {
        const size_t bytes = ronde_utf8_bytes(text);
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if ((unsigned char)*text < 0x20)
            fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text);
        else if (bytes == 0)
            fputs("\\ufffd", file);
        else
            fwrite(text, 1, bytes, file);
        text += bytes > 0 ? bytes : 1;
    }
    fputc('"', file);
}

/* Whole nanoseconds, so that slices that touch do so after rounding too. */
static double whole_ns(double ns)
{
    return nearbyint(ns);
}

static uint32_t track_of(const struct pen *pen, uint32_t op)
{
    const struct ronde_dag_origin *origin = &pen->dag->origins[op];
    return origin->channel * pen->lanes + origin->lane;
}

/* Process, thread and time: what every event has. */
static void put_place(struct pen *pen, uint32_t op, double at_ns)
{
    fprintf(pen->file, "\"pid\":%u,\"tid\":%u,\"ts\":%.3f", pen->dag->ops[op].src,
            track_of(pen, op), at_ns / 1000);
}

/* "rrs > 3": what the step does, and the rank its message goes to. */
static void put_name(struct pen *pen, uint32_t index)
{
    const struct ronde_dag_op *op = &pen->dag->ops[index];
    const bool is_flow = pen->dag->origins[index].op == RONDE_STEP_NOP && op->dst != op->src;
    const char *text = is_flow ? "flow" : ronde_step_op_text(pen->dag->origins[index].op);
    if (op->dst != op->src)
        fprintf(pen->file, "\"%s > %u\"", text, op->dst);
    else
        fprintf(pen->file, "\"%s\"", text);
}

static void put_slice(struct pen *pen, uint32_t op)
{
    const struct ronde_dag_origin *origin = &pen->dag->origins[op];
    const bool is_critical = pen->trace->on_path && pen->trace->on_path[op];
    const double from = whole_ns(pen->start_ns[op]);
    begin_event(pen);
    fputs("\"ph\":\"X\",\"name\":", pen->file);
    put_name(pen, op);
    fprintf(pen->file, ",\"cat\":\"%s\",", is_critical ? "critical" : "step");
    put_place(pen, op, from);
    fprintf(pen->file,
            ",\"dur\":%.3f,\"args\":{\"step\":%u,\"piece\":%u,\"bytes\":%" PRIu64
            ",\"work_ns\":%.3f}}",
            (whole_ns(pen->finish_ns[op]) - from) / 1000, origin->step, origin->piece,
            pen->dag->ops[op].bytes, pen->dag->ops[op].delay_ns);
}

/* One end of an arrow; "bp":"e" binds its head to the slice around it. */
static void put_end(struct pen *pen, const char *phase, uint32_t message, uint32_t op, double at_ns)
{
    begin_event(pen);
    fprintf(pen->file, "\"ph\":%s,\"id\":%u,\"cat\":\"message\",\"name\":\"message\",", phase,
            message);
    put_place(pen, op, at_ns);
    fputc('}', pen->file);
}

/* From the last nanosecond of the slice that sends to the first of the one that receives. */
static void put_arrow(struct pen *pen, uint32_t op)
{
    const struct ronde_dag_op *receiver = &pen->dag->ops[op];
    for (uint32_t i = receiver->first_edge; i < receiver->first_edge + receiver->edge_count; i++) {
        const struct ronde_dag_edge edge = pen->dag->edges[i];
        if (!edge.is_message || pen->dag->ops[edge.op].src >= pen->ranks)
            continue;
        const double from = whole_ns(pen->start_ns[edge.op]);
        put_end(pen, "\"s\"", edge.op, edge.op, fmax(from, whole_ns(pen->finish_ns[edge.op]) - 1));
        put_end(pen, "\"f\",\"bp\":\"e\"", edge.op, op, whole_ns(pen->start_ns[op]));
    }
}

/* Names a process, and puts it where it belongs in the viewer. */
static void name_process(struct pen *pen, uint32_t pid, const char *group, uint32_t rank,
                         const char *host)
{
    char text[300];
    if (host)
        (void)snprintf(text, sizeof text, "%s rank %u (%s)", group, rank, host);
    else
        (void)snprintf(text, sizeof text, "%s", group);
    begin_event(pen);
    fprintf(pen->file, "\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"args\":{\"name\":", pid);
    put_text(pen->file, text);
    fputs("}}", pen->file);
    begin_event(pen);
    fprintf(pen->file,
            "\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%u,\"args\":{\"sort_index\":%u}}",
            pid, pid);
}

static void name_ranks(struct pen *pen)
{
    const struct ronde_trace *trace = pen->trace;
    for (uint32_t g = 0; g < trace->group_count; g++)
        for (uint32_t i = 0; i < trace->groups[g].ranks; i++) {
            const uint32_t rank = trace->groups[g].first_rank + i;
            if (rank < pen->ranks)
                name_process(pen, rank, trace->groups[g].name, i,
                             ronde_platform_host(trace->replay.platform,
                                                 ronde_sim_host(trace->replay.options, rank)));
        }
}

static void name_thread(struct pen *pen, uint32_t rank, uint32_t track)
{
    begin_event(pen);
    fprintf(pen->file,
            "\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%u,\"tid\":%u,\"args\":{\"name\":"
            "\"channel %u lane %u\"}}",
            rank, track, track / pen->lanes, track % pen->lanes);
}

/* Only of lanes that did something. */
static enum ronde_status name_threads(struct pen *pen)
{
    const size_t count = (size_t)pen->ranks * pen->tracks;
    bool *named = ronde_mem_new(pen->mem, count, sizeof *named);
    if (!named)
        return ronde_fail(pen->error, RONDE_NO_MEMORY, "no memory for the names of %zu threads",
                          count);
    for (uint32_t i = 0; i < pen->dag->op_count; i++) {
        const uint32_t rank = pen->dag->ops[i].src;
        bool *is_named = rank < pen->ranks ? &named[rank * pen->tracks + track_of(pen, i)] : NULL;
        if (is_named && !*is_named)
            name_thread(pen, rank, track_of(pen, i));
        if (is_named)
            *is_named = true;
    }
    ronde_mem_free(pen->mem, named, count, sizeof *named);
    return RONDE_OK;
}

/* A link's load changes. */
struct change {
    double at_ns;
    double rate_GBps;
};

static int compare_changes(const void *left, const void *right)
{
    const double a = ((const struct change *)left)->at_ns;
    const double b = ((const struct change *)right)->at_ns;
    return a < b ? -1 : a > b;
}

/* How often the route of an operation crosses a link; 0 where nothing flows. */
static uint32_t crossings(const struct pen *pen, uint32_t op, uint32_t link)
{
    const struct ronde_sim_route *route = &pen->routes.all[pen->routes.of_op[op]];
    uint32_t count = 0;
    for (uint32_t i = 0; pen->dag->ops[op].bytes > 0 && i < route->hop_count; i++)
        count += pen->routes.hops[route->first_hop + i] == link;
    return count;
}

/* Both changes a message brings: its mean rate, from when its bytes begin to flow until the last has left. */
static uint32_t add_changes(const struct pen *pen, uint32_t op, uint32_t link,
                            struct change *changes)
{
    const uint32_t times = crossings(pen, op, link);
    const double from = pen->start_ns[op] + pen->dag->ops[op].delay_ns;
    const double to = pen->finish_ns[op];
    if (times == 0 || to <= from)
        return 0;
    const double rate = times * (double)pen->dag->ops[op].bytes / (to - from);
    if (changes) {
        changes[0] = (struct change){whole_ns(from), rate};
        changes[1] = (struct change){whole_ns(to), -rate};
    }
    return 2;
}

static void put_load(struct pen *pen, const struct ronde_link *facts, double at_ns, double rate_GBps)
{
    begin_event(pen);
    fputs("\"ph\":\"C\",\"name\":", pen->file);
    put_text(pen->file, facts->name);
    fprintf(pen->file, ",\"pid\":%u,\"ts\":%.3f,\"args\":{\"GB/s\":%.6g}}", pen->dag->ranks,
            at_ns / 1000, rate_GBps > 1e-9 * facts->rate_GBps ? rate_GBps : 0);
}

/* One value per instant: the sum of what changes then. Rounding leaves a little behind, which is no load. */
static void put_counter(struct pen *pen, uint32_t link, struct change *changes, size_t count)
{
    const struct ronde_link *facts = ronde_platform_link(pen->trace->replay.platform, link);
    double rate = 0;
    if (count > 0)
        qsort(changes, count, sizeof *changes, compare_changes);
    for (size_t i = 0; i < count; i++) {
        rate += changes[i].rate_GBps;
        if (i + 1 < count && changes[i + 1].at_ns <= changes[i].at_ns)
            continue;
        put_load(pen, facts, changes[i].at_ns, rate);
    }
}

/* The same from loads that are known: the last one of an instant. */
static void put_loads(struct pen *pen, const struct ronde_sim_loads *loads)
{
    const struct ronde_link *facts = ronde_platform_link(pen->trace->replay.platform, loads->link);
    for (size_t i = 0; i < loads->count; i++) {
        const double at_ns = whole_ns(loads->all[i].at_ns);
        if (i + 1 == loads->count || whole_ns(loads->all[i + 1].at_ns) > at_ns)
            put_load(pen, facts, at_ns, loads->all[i].rate_GBps);
    }
}

/* Links whose flows have rates that change while they flow. */
static enum ronde_status put_shared_links(struct pen *pen, const struct ronde_sim_scene *scene)
{
    const struct ronde_why *why = pen->trace->why;
    struct ronde_sim_loads loads[RONDE_WHY_LINKS] = {{0}};
    for (uint32_t i = 0; i < why->link_count; i++)
        loads[i].link = why->links[i];
    const enum ronde_status status = ronde_sim_loads_find(scene, loads, why->link_count);
    for (uint32_t i = 0; i < why->link_count; i++) {
        if (status == RONDE_OK)
            put_loads(pen, &loads[i]);
        ronde_mem_free(pen->mem, loads[i].all, loads[i].capacity, sizeof *loads[i].all);
    }
    return status;
}

static enum ronde_status put_link(struct pen *pen, uint32_t link)
{
    size_t count = 0;
    for (uint32_t i = 0; i < pen->dag->op_count; i++)
        count += add_changes(pen, i, link, NULL);
    struct change *changes = ronde_mem_new(pen->mem, count, sizeof *changes);
    if (!changes)
        return ronde_fail(pen->error, RONDE_NO_MEMORY, "no memory for %zu changes of a link's load",
                          count);
    size_t at = 0;
    for (uint32_t i = 0; i < pen->dag->op_count; i++)
        at += add_changes(pen, i, link, changes + at);
    put_counter(pen, link, changes, count);
    ronde_mem_free(pen->mem, changes, count, sizeof *changes);
    return RONDE_OK;
}

/* The busiest ones; on a shared host no message flows and there is nothing to draw. */
static enum ronde_status put_links(struct pen *pen)
{
    const struct ronde_replay *replay = &pen->trace->replay;
    const struct ronde_sim_scene scene = {replay->platform, replay->dag, replay->options, pen->mem,
                                          pen->error};
    const struct ronde_why *why = pen->trace->why;
    if (!why || why->link_count == 0 || ronde_sim_is_shared(replay->platform))
        return RONDE_OK;
    name_process(pen, pen->dag->ranks, "busiest links", 0, NULL);
    if (pen->trace->is_shared)
        return put_shared_links(pen, &scene);
    enum ronde_status status = ronde_sim_routes_make(&scene, &pen->routes);
    for (uint32_t i = 0; i < why->link_count && status == RONDE_OK; i++)
        status = put_link(pen, why->links[i]);
    ronde_sim_routes_free(&pen->routes, pen->mem);
    return status;
}

/* The largest number of ranks, from 0 on, whose steps are not too many. */
static enum ronde_status sample(struct pen *pen)
{
    const struct ronde_dag *dag = pen->dag;
    const uint32_t most = pen->trace->max_steps ? pen->trace->max_steps : RONDE_TRACE_STEPS;
    uint32_t *steps = ronde_mem_new(pen->mem, dag->ranks, sizeof *steps);
    uint64_t total = 0;
    if (!steps)
        return ronde_fail(pen->error, RONDE_NO_MEMORY, "no memory to count the steps of %u ranks",
                          dag->ranks);
    for (uint32_t i = 0; i < dag->op_count; i++) {
        const struct ronde_dag_origin *origin = &dag->origins[i];
        steps[dag->ops[i].src]++;
        pen->lanes = origin->lane >= pen->lanes ? origin->lane + 1 : pen->lanes;
        pen->tracks = origin->channel >= pen->tracks ? origin->channel + 1 : pen->tracks;
    }
    pen->tracks *= pen->lanes;
    while (pen->ranks < dag->ranks && total + steps[pen->ranks] <= most)
        total += steps[pen->ranks++];
    ronde_mem_free(pen->mem, steps, dag->ranks, sizeof *steps);
    return RONDE_OK;
}

static enum ronde_status put_all(struct pen *pen)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", pen->file);
    name_ranks(pen);
    enum ronde_status status = name_threads(pen);
    for (uint32_t i = 0; i < pen->dag->op_count && status == RONDE_OK; i++)
        if (pen->dag->ops[i].src < pen->ranks) {
            put_slice(pen, i);
            put_arrow(pen, i);
        }
    RONDE_THEN(status, put_links(pen));
    fprintf(pen->file, "\n],\"otherData\":{\"ranks\":\"%u\",\"ranks_written\":\"%u\"}}\n",
            pen->dag->ranks, pen->ranks);
    if (status == RONDE_OK && (fflush(pen->file) != 0 || ferror(pen->file)))
        status = ronde_fail(pen->error, RONDE_DEVICE, "cannot write the trace");
    return status;
}

enum ronde_status ronde_trace_write(const struct ronde_trace *trace, const struct ronde_mem *mem,
                                    FILE *file, uint32_t *out_ranks, struct ronde_error *error)
{
    const struct ronde_sim_options *options = trace->replay.options;
    struct pen pen = {.trace = trace, .dag = trace->replay.dag, .mem = mem, .file = file};
    pen.error = error;
    pen.start_ns = options->out_start_ns;
    pen.finish_ns = options->out_finish_ns;
    if (!pen.start_ns || !pen.finish_ns || (!pen.dag->origins && pen.dag->op_count > 0))
        return ronde_fail(error, RONDE_BAD_ARGUMENT,
                          "a trace needs start and finish times and the origins of operations");
    enum ronde_status status = ronde_sim_check(trace->replay.platform, pen.dag, options, error);
    RONDE_THEN(status, sample(&pen));
    RONDE_THEN(status, put_all(&pen));
    if (out_ranks)
        *out_ranks = pen.ranks;
    return status;
}
